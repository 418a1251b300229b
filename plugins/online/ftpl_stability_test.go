package online

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite"
)

// What a game measures as stability has the mean of the total variation distance, however the noise
// is drawn: with a draw for many hypotheses, with one for each, kept, at the points of the
// separator, or averaged.
func TestStabilityIsVariation(t *testing.T) {
	testkit.Serial(t)
	const draws, scale = 3000, 1.5
	at, err := newSite(finite.Place{Spec: concept.Spec{Name: concept.Parities, Dim: 3}, Kind: "cube"})
	if err != nil {
		t.Fatal(err)
	}
	past := []struct{ x, y []float64 }{
		{[]float64{1, 0, 0}, []float64{1}}, {[]float64{1, 1, 0}, []float64{-1}}, {[]float64{1, 0, 1}, []float64{1}},
		{[]float64{0, 1, 1}, []float64{1}}, {[]float64{0, 1, 0}, []float64{-1}},
	}
	last := past[0]
	observe := func(c *table, x, y []float64) float64 {
		_, moved, err := c.observe(x, y[0])
		if err != nil {
			t.Fatal(err)
		}
		return moved
	}
	for _, c := range []struct {
		name, law string
		noise     noise
	}{
		{"one draw, Gaussian", gaussianNoise, noise{law: normalLaw()}},
		{"one draw, Laplace", laplaceNoise, noise{law: laplaceLaw()}},
		{"one draw, exponential", exponentialNoise, noise{law: exponentialLaw()}},
		{"kept", gaussianNoise, noise{law: normalLaw(), once: true}},
		{"at the points", gaussianNoise, noise{fill: normals(1 / math.Sqrt(8))}},
		{"averaged", gaussianNoise, noise{law: normalLaw(), exact: true}},
	} {
		r := rand.New(rand.NewPCG(1, 1))
		sum, squares, want := 0.0, 0.0, 0.0
		for i := range draws {
			list := newTable(at, c.noise, r)
			list.best, list.played = 0, at.class.Member(0)
			for _, round := range past {
				w := list.lend()
				list.listing.column(round.x, w.column)
				list.add(w.column, uint8((round.y[0]+1)/2))
				list.scratch.Put(w)
			}
			if err := list.draw(scale, r); err != nil {
				t.Fatal(err)
			}
			before := slices.Clone(list.losses)
			v := observe(list, last.x, last.y)
			sum += v
			squares += v * v
			if i == 0 {
				want = variation(lawOf(c.law, before, scale), lawOf(c.law, list.losses, scale))
			}
		}
		mean := sum / draws
		deviation := math.Sqrt(max(0, squares/draws-mean*mean) / draws)
		if !(want > 0.02) || math.Abs(mean-want) > 5*deviation+1e-4 {
			t.Errorf("%s: mean %v, total variation %v", c.name, mean, want)
		}
	}
}

// lawOf computes the probability that each hypothesis is played under independent noise.
func lawOf(name string, losses []int32, scale float64) (p []float64) {
	for i, own := range losses {
		levels := []level{{float64(own), 1}}
		for j, v := range losses {
			if j != i {
				levels = append(levels, level{float64(v), 1})
			}
		}
		p = append(p, chance(name, levels, 0, scale, 4000))
	}
	return p
}

// The schedules ask the oracle as often as they say: once in a round, and once more to follow the
// least loss. The sum of the measured stability stays below what is proved of it.
func TestOracleCalls(t *testing.T) {
	const rounds = 50
	problem := algo.Problem{Class: "parities", Dim: 4}
	for _, c := range []struct {
		name      string
		set       func(p *ftplGaussianParams)
		most      float64 // calls
		reports   bool    // of calls
		constant  bool    // scale
		separated float64 // points
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
		inputs := (rounds - 1) / 2.0 // of the draws, on average
		if calls == 1 && got[oracleInputsMetric] != inputs+c.separated {
			t.Errorf("%s: calls of %v, want %v", c.name, got[oracleInputsMetric], inputs+c.separated)
		}
		proved, ok := got[provedStabilityMetric]
		if ok != c.constant || ok && got[stabilityMetric] > proved {
			t.Errorf("%s: stability %v, proved %v", c.name, got[stabilityMetric], proved)
		}
	}
}
