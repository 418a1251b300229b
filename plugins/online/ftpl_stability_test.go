package online

import (
	"math/rand/v2"
	"testing"

	"github.com/shatterlab/shatter/plugins/algo"
)

// The schedules call the oracle as often as documented: once in a round, and once more to follow
// the least loss. The sum of the measured stability stays below its proved bound.
func TestOracleCalls(t *testing.T) {
	const rounds = 50
	problem := algo.Problem{Class: "parities", Dim: 4}
	for _, c := range []struct {
		name      string
		set       func(p *ftplGaussianParams)
		most      float64 // maximum number of calls
		reports   bool    // whether calls are reported
		constant  bool    // whether the scale is constant
		separated float64 // number of separating points
	}{
		{"proved", func(*ftplGaussianParams) {}, 1, true, true, 4},
		{"cube", func(p *ftplGaussianParams) { p.Separator = "cube" }, 1, true, true, 16},
		{"once", func(p *ftplGaussianParams) { p.Noise = onceNoise }, 1, true, true, 4},
		{"self-confident", func(p *ftplGaussianParams) { p.Schedule = confidentSchedule }, 2, true, false, 4},
		{"doubling", func(p *ftplGaussianParams) { p.Schedule = doublingSchedule }, 2, true, false, 4},
		{"exact", func(p *ftplGaussianParams) { p.Separator, p.Exact = "cube", true }, 0, false, true, 16},
	} {
		p, err := gaussianPlan(problem, rounds, c.set)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		l, err := p.start(rand.New(rand.NewPCG(3, 3)), func(name string, v float64) { got[name] = v })
		if err != nil {
			t.Fatal(err)
		}
		x, y := sequence(t, p, rounds, rand.New(rand.NewPCG(4, 4)))
		play(t, l, 4, x, y)
		calls, reported := got[oracleCallsMetric]
		if reported != c.reports || calls > c.most || c.name != "once" && calls != c.most {
			t.Errorf("%s: %v calls for each round, want %v", c.name, calls, c.most)
		}
		inputs := (rounds - 1) / 2.0 // mean over the draws
		if calls == 1 && got[oracleInputsMetric] != inputs+c.separated {
			t.Errorf("%s: calls of %v, want %v", c.name, got[oracleInputsMetric], inputs+c.separated)
		}
		proved, ok := got[provedStabilityMetric]
		if ok != c.constant || ok && got[stabilityMetric] > proved {
			t.Errorf("%s: stability %v, proved %v", c.name, got[stabilityMetric], proved)
		}
	}
}
