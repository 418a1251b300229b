package boosting

import (
	"context"
	"math"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/plugins/algo"
)

// committee is a model that predicts the sign of mean_t f(<z_t, x>) over the rows z_t of vectors,
// where f transforms the answers as the loss does. It is not a halfspace.
type committee struct {
	vectors []float64 // row-major
	loss    string    // Clip or vote
}

// Predict implements [algo.Model].
func (c committee) Predict(ctx context.Context, x *algo.Data, out []float64) error {
	d := x.Dim()
	var margins [blockRows]float64
	for lo := 0; lo < len(out); lo += blockRows {
		if err := ctx.Err(); err != nil {
			return err
		}
		block := out[lo:min(lo+blockRows, len(out))]
		rows := x.Xs()[lo*d : (lo+len(block))*d]
		clear(block)
		for t := 0; t < len(c.vectors); t += d {
			m := margins[:len(block)]
			numeric.RowProducts(m, rows, c.vectors[t:t+d])
			bend(m, nil, c.loss)
			for i, v := range m {
				block[i] += v
			}
		}
		signs(block)
	}
	return nil
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

// byVotes reports whether the model is a committee instead of a halfspace.
func (p *Params) byVotes() bool { return p.Loss == Clip || p.Loss == vote }
