package problem

import (
	"math"
	"slices"
	"testing"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/pipeline/theory"
	"github.com/shatterlab/shatter/schemas"
)

// ruleDistribution describes the effect of the sequential rule on trials of one true error whose
// answers are labels.
type ruleDistribution struct {
	below, above float64 // probabilities that a trial ends at an early look, on either side of the goal
	read         float64 // mean number of points
	end, mixed   float64 // means of the error at the end, and of that or of the first block's if it is early
}

// distributionOf computes the effect of the rule on m points from the distribution of the number
// of errors after each look.
func distributionOf(m int, goal, p float64) (r ruleDistribution) {
	after := []float64{1} // probability of each number of errors, for trials that continue
	sums := []float64{0}  // the same, multiplied by the mean error of the first block
	n := 0
	all := looks(m)
	for k, to := range all {
		block := binomial(to-n, p)
		after, sums = convolved(after, block), convolved(sums, block)
		n = to
		for errors, mass := range after {
			e := float64(errors) / float64(n)
			if k == 0 {
				sums[errors] = e * mass
			}
			switch {
			case k == len(all)-1:
				r.end, r.mixed, r.read = r.end+e*mass, r.mixed+e*mass, r.read+float64(n)*mass
			case Clear(e, n, goal):
				if r.end, r.mixed, r.read = r.end+e*mass, r.mixed+sums[errors], r.read+float64(n)*mass; e < goal {
					r.below += mass
				} else {
					r.above += mass
				}
				after[errors], sums[errors] = 0, 0
			}
		}
	}
	return r
}

func binomial(n int, p float64) []float64 {
	all := make([]float64, n+1)
	whole, _ := math.Lgamma(float64(n + 1))
	for k := range all {
		a, _ := math.Lgamma(float64(k + 1))
		b, _ := math.Lgamma(float64(n - k + 1))
		all[k] = math.Exp(whole - a - b + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
	}
	return all
}

func convolved(a, b []float64) []float64 {
	sum := make([]float64, len(a)+len(b)-1)
	for i, x := range a {
		if x < 1e-20 {
			continue
		}
		for j, y := range b {
			sum[i+j] += x * y
		}
	}
	return sum
}

// A trial whose true error equals the goal, the hardest case, ends early on either side with
// probability at most Misjudged, and not much less for many points. Far from the goal nearly all
// trials end at the first looks.
func TestSequentialRule(t *testing.T) {
	for _, m := range []int{LeastSequential, 1000, 3605} {
		for _, goal := range []float64{0.02, 0.1, 0.25, 0.45} {
			at := distributionOf(m, goal, goal)
			if most := max(at.below, at.above); most > Misjudged || m*int(100*goal) > 20_000 && most < Misjudged/20 {
				t.Errorf("%d points, goal %v: misjudged with probability %v and %v", m, goal, at.below, at.above)
			}
			deviation := math.Sqrt(goal * (1 - goal) / float64(m))
			for _, p := range []float64{goal - 2*deviation, goal + 2*deviation} {
				if p < 0 {
					continue
				}
				wrong := distributionOf(m, goal, p).above
				if p > goal {
					wrong = distributionOf(m, goal, p).below
				}
				if wrong > Misjudged/2 {
					t.Errorf("%d points, goal %v, error %v: misjudged with probability %v", m, goal, p, wrong)
				}
			}
		}
	}
	for p, most := range map[float64]float64{0.01: 0.08, 0.05: 0.27, 0.1: 1, 0.15: 0.5, 0.3: 0.08, 0.5: 0.07} {
		if r := distributionOf(3605, 0.1, p); r.read > most*3605 {
			t.Errorf("error %v: %v points of 3605 are read", p, r.read)
		}
	}
}

// The error at which the rule stops is biased, and so is a mixture with the error of the first
// block if the rule does not stop early. Therefore mean errors are those of first blocks.
func TestSequentialErrorsAreBiased(t *testing.T) {
	r := distributionOf(3605, 0.1, 0.09)
	if math.Abs(r.end-0.09) < 1e-5 || math.Abs(r.mixed-0.09) < 1e-5 {
		t.Errorf("means %v and %v of the true error 0.09", r.end, r.mixed)
	}
}

func TestRechecks(t *testing.T) {
	for m, want := range map[int][]int{
		256: {16, 32, 64, 128, 256}, 257: {17, 33, 65, 129, 257}, 3605: {226, 451, 902, 1803, 3605},
	} {
		if got := looks(m); !slices.Equal(got, want) {
			t.Errorf("%d points: looks %v, want %v", m, got, want)
		}
	}
}

// If true errors satisfy the premises of bounds, trials succeed often enough under the rule.
func TestSequentialIsOnTheSafeSide(t *testing.T) {
	const m, goal = 3605, 0.1
	spec := schemas.Problem{Class: "halfspace", Distribution: "iso", Dim: 5, Margin: 0.1, Test: m}
	p, err := Open(spec, "")
	if err != nil {
		t.Fatal(err)
	}
	e := p.Sequential(p.Evaluation(0, goal, m, false))
	if e.Looks[len(e.Looks)-1] != m || e.Least >= m {
		t.Errorf("evaluation %+v", e)
	}
	for _, want := range []float64{Leeway, 0.02, 0.05, 0.1, 0.5, 1 - Leeway} {
		alpha, beta, ok := theory.Goal{Alpha: goal, Beta: want, Test: e.Least}.Safe()
		if !ok {
			t.Fatalf("beta %v: not ok", want)
		}
		read := math.Exp(-m * numeric.Divergence(goal, alpha))
		if failures := beta + read + Misjudged; failures > want {
			t.Errorf("beta %v: failures with probability %v", want, failures)
		}
	}
}

// The rule applies to independent points only, and not to few of them.
func TestSequentialAppliesTo(t *testing.T) {
	const shortened = "at most 300 points (0.0001)"
	for _, tt := range []struct {
		p       schemas.Problem
		applies bool
		words   string
	}{
		{schemas.Problem{Class: "halfspace", Distribution: "iso", Dim: 5, Margin: 0.1, Test: 300}, true, shortened},
		{schemas.Problem{Class: "halfspace", Distribution: "iso", Dim: 5, Margin: 0.1, Test: 255}, false, "255 points"},
		{schemas.Problem{Class: "parities", Distribution: "uniform", Dim: 20, Test: 300}, true, shortened},
		{schemas.Problem{Class: "parities", Distribution: "uniform", Dim: 5}, false, "exact"},
		{schemas.Problem{Class: "thresholds", Distribution: "uniform", Domain: 1 << 20, Test: 300}, true, shortened},
	} {
		p, err := Open(tt.p, "")
		if err != nil {
			t.Fatal(err)
		}
		full := p.Evaluation(0, 0.1, p.Test(0, 0.1), false)
		e := p.Sequential(full)
		plain, sequential := AllRead(e.Words)
		if e.Words != tt.words || sequential != tt.applies || (e.Looks != nil) != tt.applies || plain != full.Words {
			t.Errorf("%+v: %+v", tt.p, e)
		}
	}
}

// The number of points reaches the precision, and the goal lies half-way between two errors.
func TestPointsFor(t *testing.T) {
	for _, c := range []struct {
		t, alpha float64
		want     int
	}{{0.1, 0.1, 3605}, {0.3, 0.1, 8405}} {
		m := pointsFor(c.t, c.alpha)
		if e := math.Sqrt(c.t * (1 - c.t) / float64(m)); m != c.want || e > c.alpha/20 ||
			math.Abs(math.Mod(c.t*float64(m), 1)-0.5) > 1e-9 {
			t.Errorf("%+v: %d points, standard error %v", c, m, e)
		}
	}
	for _, alpha := range []float64{1e-5, 1e-9, 1e-300} {
		for _, goal := range []float64{alpha, 0.4 + alpha} {
			if m := pointsFor(goal, alpha); m < 1 || m > MaxPoints {
				t.Errorf("goal %v, alpha %v: %d points", goal, alpha, m)
			}
		}
	}
}
