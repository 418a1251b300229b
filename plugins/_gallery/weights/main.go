// Command weights is a plugin with multiplicative weights for the task online. The experts are the thresholds
// at the points of a finite line.
package main

import (
	"context"
	"math"

	"github.com/shatterlab/shatter/plugins/algo"
)

type params struct {
	Eta float64 `doc:"learning rate; 0: the best rate for the number of rounds" min:"0" max:"10"`
}

var multiplicative = algo.Algorithm[params]{
	Name: "gallery/weights", Version: "1.0.0", Doc: "Multiplicative weights over all thresholds of a line.",
	Metrics: map[string]string{algo.ProvedRegret: "ln N/eta + eta T/8 for the N thresholds [mistakes]"},
	Online:  online, Check: check, Bound: bound,
}

func main() { algo.Serve(multiplicative) }

func check(s *algo.Setting[params]) error {
	if s.Problem.Class != "thresholds" || s.Problem.Domain > 1<<16 {
		return algo.Invalid("class %q of %d points: use thresholds on at most 65536", s.Problem.Class, s.Problem.Domain)
	}
	if s.Params.Eta == 0 && s.Rounds > 0 {
		s.Params.Eta = math.Sqrt(8 * math.Log(experts(s)) / float64(s.Rounds))
	}
	return nil
}

// experts returns N: the thresholds at 0 to X-1, and the constant -1 unless the class lacks it.
func experts(s *algo.Setting[params]) float64 {
	if s.Problem.NoConstant {
		return float64(s.Problem.Domain)
	}
	return float64(s.Problem.Domain + 1)
}

// regret bounds the loss minus that of the best expert, for truths that do not depend on the answer of their
// round: the loss is at most 1 per round, and the loss of the mean answer is the mean loss.
func regret(s *algo.Setting[params]) float64 {
	return math.Log(experts(s))/s.Params.Eta + s.Params.Eta*float64(s.Rounds)/8
}

func bound(s *algo.Setting[params]) ([]algo.Bound, error) {
	return []algo.Bound{{
		Name: "hedge", Source: "Cesa-Bianchi and Lugosi, Prediction, Learning, and Games, Theorem 2.2", Value: regret(s),
		Unit: algo.Regret, Proved: true,
	}}, nil
}

// learner holds the log-weight of the threshold at each point.
type learner struct {
	trial *algo.Trial[params]
	logs  []float64
}

func online(_ context.Context, t *algo.Trial[params]) (algo.Learner, error) {
	t.Report(algo.ProvedRegret, regret(&t.Setting))
	return &learner{t, make([]float64, int(experts(&t.Setting)))}, nil
}

// Predict answers the mean label: a threshold answers +1 at and above its point.
func (l *learner) Predict(_ context.Context, x *algo.Data, out []float64) error {
	most := math.Inf(-1)
	for _, v := range l.logs {
		most = max(most, v)
	}
	for i := range out {
		positive, all := 0.0, 0.0
		for at, v := range l.logs {
			w := math.Exp(v - most)
			all += w
			if float64(at) <= x.X(i)[0] {
				positive += w
			}
		}
		out[i] = min(1, max(-1, 2*positive/all-1))
	}
	return nil
}

func (l *learner) Observe(_ context.Context, x *algo.Data, y []float64) error {
	for i, truth := range y {
		for at := range l.logs {
			if (float64(at) <= x.X(i)[0]) != (truth > 0) {
				l.logs[at] -= l.trial.Params.Eta
			}
		}
	}
	return nil
}
