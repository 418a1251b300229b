package prediction

import (
	"context"
	"fmt"

	"github.com/shatterlab/shatter/plugins/algo"
)

// Values of the parameter noise.
const (
	Gaussian = "gaussian" // of all answers together exactly (epsilon, delta)
	Laplace  = "laplace"  // pure epsilon
)

// majority answers each query by the noisy majority of k hypotheses that never change (Dwork and Feldman 2018; Bassily, Thakurta and
// Thakkar 2018): one example moves one vote, and the noise is for left answers.
type majority struct {
	gen     generator
	k       int
	noise   func() float64
	queries int // that the noise is made for
	left    int
	last    float64 // noise of the last answer
}

// Answer implements algo.Answerer. The error says that all answers which the noise was made for are given.
func (p *majority) Answer(_ context.Context, x []float64) (float64, bool, error) {
	if p.left == 0 {
		return 0, false, fmt.Errorf("answer query %d: the noise was made for %d queries: set queries to their number", p.queries, p.queries)
	}
	p.left--
	p.last = p.noise()
	return p.label(x), false, nil
}

func (p *majority) label(x []float64) float64 {
	if float64(p.gen.votes(x))-float64(p.k)/2+p.last >= 0 {
		return 1
	}
	return -1
}

// Predict implements algo.Model: with the noise of the last answer.
func (p *majority) Predict(ctx context.Context, x *algo.Data, out []float64) error {
	for i := range out {
		out[i] = p.label(x.X(i))
	}
	return ctx.Err()
}
