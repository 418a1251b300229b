// Command logistic is a plugin for private logistic regression: noisy gradient descent on examples in the
// unit ball, with Gaussian differential privacy.
package main

import (
	"context"
	"fmt"
	"math"

	"github.com/shatterlab/shatter/plugins/algo"
)

type params struct {
	Steps int     `doc:"number of steps of gradient descent" min:"1" max:"10000"`
	Rate  float64 `doc:"length of a step, as a multiple of the gradient" min:"0.001" max:"1000"`
}

// logistic descends along the mean gradient of log(1 + exp(-y w.x)). One replaced example in the unit ball
// changes the gradient by at most 2/n, because each example's term has norm at most 1/n.
var logistic = algo.Algorithm[params]{
	Name: "gallery/logistic", Version: "1.0.0", Doc: "Logistic regression by gradient descent with Gaussian noise.",
	Defaults: params{Steps: 20, Rate: 4},
	Metrics:  map[string]string{"norm": "length of the weights [nats per radius of the ball]"},
	Learn:    learn, Declares: algo.Always[params], Check: check, Guarantee: guarantee,
}

func main() { algo.Serve(logistic) }

func check(s *algo.Setting[params]) error {
	if s.Problem.Class != "halfspace" {
		return algo.Invalid("class %q: use class halfspace, whose examples are in the unit ball", s.Problem.Class)
	}
	if s.Epsilon > 0 && s.Delta == 0 {
		return algo.Infeasible("Gaussian noise requires a delta above 0")
	}
	return nil
}

// gaussianDelta returns the delta at epsilon of Gaussian differential privacy mu (Dong, Roth and Su 2019,
// Corollary 1).
func gaussianDelta(mu, epsilon float64) float64 {
	normal := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	return normal(-epsilon/mu+mu/2) - math.Exp(epsilon)*normal(-epsilon/mu-mu/2)
}

// privacy returns a mu just below the largest one that the budget allows, found by bisection.
func privacy(s *algo.Setting[params]) float64 {
	low, high := 0.0, 1.0
	for high < 1e6 && gaussianDelta(high, s.Epsilon) < s.Delta {
		high *= 2
	}
	for range 60 {
		if mid := (low + high) / 2; gaussianDelta(mid, s.Epsilon) < s.Delta {
			low = mid
		} else {
			high = mid
		}
	}
	return low * (1 - 1e-9)
}

func guarantee(s *algo.Setting[params]) (algo.Guarantee, error) {
	return algo.Guarantee{
		Epsilon: s.Epsilon, Delta: s.Delta, Mu: privacy(s), Source: fmt.Sprintf("Gaussian mechanism composed over %d steps, "+
			"sensitivity 2/n each (Dong, Roth and Su 2019, Corollaries 1 and 2)", s.Params.Steps),
	}, nil
}

type weights []float64

func (w weights) dot(x []float64) (sum float64) {
	for k, v := range x {
		sum += w[k] * v
	}
	return sum
}

func learn(ctx context.Context, t *algo.Trial[params], sample *algo.Data) (algo.Model, error) {
	n := float64(sample.Len())
	noise := 2 / n * math.Sqrt(float64(t.Params.Steps)) / privacy(&t.Setting)
	w, gradient := make(weights, sample.Dim()), make([]float64, sample.Dim())
	for range t.Params.Steps {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		clear(gradient)
		for i := range sample.Len() {
			x, y := sample.X(i), sample.Y(i)
			pull := y / (1 + math.Exp(y*w.dot(x))) / n
			for k, v := range x {
				gradient[k] += pull * v
			}
		}
		for k := range w {
			w[k] += t.Params.Rate * (gradient[k] + noise*t.Rand.NormFloat64())
		}
	}
	t.Report("norm", math.Sqrt(w.dot(w)))
	return algo.Halfspace(w, 0), nil
}
