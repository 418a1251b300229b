package boosting

import (
	"context"
	"math"

	"github.com/shatterlab/shatter/plugins/algo"
)

// ensemble is a model that predicts the sign of the sum of its hypotheses, and +1 at 0.
type ensemble []hypothesis

// Predict implements [algo.Model].
func (e ensemble) Predict(ctx context.Context, x *algo.Data, out []float64) error {
	d := x.Dim()
	var answers [blockRows]float64
	for lo := 0; lo < len(out); lo += blockRows {
		if err := ctx.Err(); err != nil {
			return err
		}
		block := out[lo:min(lo+blockRows, len(out))]
		clear(block)
		for _, h := range e {
			a := answers[:len(block)]
			h.answer(a, x.Xs()[lo*d:(lo+len(block))*d], d)
			for i, v := range a {
				block[i] += v
			}
		}
		signs(block)
	}
	return nil
}

// bent is the hypothesis f(<v, x>), where f transforms the answers as the loss does: Clip or vote.
type bent struct {
	direction
	loss string
}

func (h bent) answer(out, x []float64, d int) {
	h.direction.answer(out, x, d)
	bend(out, nil, h.loss)
}

// signs replaces the numbers of v by their signs, -1 or +1; the sign of 0 is +1.
func signs(v []float64) {
	plus := math.Float64bits(1)
	for i, x := range v {
		label := plus
		if x < 0 { // a conditional move: labels are hard to predict
			label |= 1 << 63
		}
		v[i] = math.Float64frombits(label)
	}
}

// byVotes reports whether the model is an ensemble instead of a halfspace.
func (p *Params) byVotes() bool { return p.Loss == Clip || p.Loss == vote }
