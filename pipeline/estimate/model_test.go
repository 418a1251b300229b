package estimate

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/pipeline/testkit"
)

// A rateCurve is the success rate as a function of real sample sizes.
type rateCurve func(n float64) float64

// needle returns the success rate of the exponential mechanism over thresholds of a domain that
// differ from the good one on a point of mass a to either side. With kL and kR examples there, it
// succeeds with probability 1/(1 + L e^(-epsilon kL/2) + R e^(-epsilon kR/2)).
func needleCurve(others, rate float64) rateCurve {
	return func(n float64) float64 { return 1 / (1 + others*math.Exp(-rate*n)) }
}

func exponentialCurve(c, rate float64) rateCurve {
	return func(n float64) float64 { return max(0, 1-c*math.Exp(-rate*n)) }
}

func logisticCurve(star, slope, target float64) rateCurve {
	return func(n float64) float64 { return 1 / (1 + (1-target)/target*math.Pow(n/star, -slope)) }
}

// chance adds guessing: a trial succeeds with probability at least floor for every n.
func chance(floor float64, l rateCurve) rateCurve {
	return func(n float64) float64 { return floor + (1-floor)*l(n) }
}

// reaches returns the real number n* at which the curve reaches target.
func (l rateCurve) reaches(target float64) float64 {
	n, _ := numeric.Bisect(1, 1e9, func(n float64) bool { return l(n) < target })
	return n
}

func (l rateCurve) world(seed uint64) world {
	return world{rate: func(n int64) float64 { return l(float64(n)) }, seed: seed}
}

// TestModelCoverage checks that, on points as a search produces them, the interval covers n* with
// the stated frequency, and that the estimate has little bias, for each curve, before and after a
// sweep is extended.
func TestModelCoverage(t *testing.T) {
	testkit.Long(t)
	const level = 0.05
	for _, c := range []struct {
		name         string
		distribution rateCurve
		target       float64
		within       float64
		least        int // number of estimates required in 400 runs
	}{
		{"needle", needleCurve(1<<32, 0.025), 0.9, 1.5, 220},
		{"needle", needleCurve(1<<16, 0.05), 0.95, 1.2, 330},
		{"few hypotheses", needleCurve(3, 0.005), 0.9, 1.5, 360},
		{"steep", needleCurve(1<<40, 0.025), 0.95, 1.05, 300},
		{"exponential", exponentialCurve(20, 0.005), 0.95, 1.5, 325},
		{"exponential", exponentialCurve(1, 0.005), 0.9, 2, 345},
		{"logistic", logisticCurve(1200, 2, 0.9), 0.9, 1.5, 335},
		{"logistic", logisticCurve(1100, 5, 0.95), 0.95, 1.5, 335},
		{"chance, exponential", chance(0.5, exponentialCurve(20, 0.01)), 0.9, 1.5, 320},
		{"chance, needle", chance(0.5, needleCurve(1<<16, 0.03)), 0.95, 1.2, 335},
		{"chance, logistic", chance(0.2, logisticCurve(900, 4, 0.7)), 0.7, 1.5, 350},
	} {
		for _, extended := range []int{1, 60} { // more cells share the confidence after --extend
			t.Run(fmt.Sprintf("%s, %v, %v, %d cells", c.name, c.target, c.within, extended), func(t *testing.T) {
				t.Parallel()
				find := usual()
				find.Target, find.Within, find.Cells = c.target, c.within, extended
				truth := c.distribution.reaches(c.target)
				found, covered, runs := 0, 0, 160
				if extended > 1 {
					runs = 60
				}
				var bias, square, width float64
				for seed := range uint64(runs) {
					points := c.distribution.world(seed).solve(t, find).Points
					m := FitModel(points, c.target, level)
					if m.Reason != "" {
						continue
					}
					found++
					if m.Low <= truth && truth <= m.High {
						covered++
					}
					if a, b := Bracket(points, c.target, level); m.Low == float64(a) && m.High == float64(b) {
						t.Errorf("seed %d: the interval is the bracket", seed)
					}
					miss := math.Log(m.N / truth)
					bias, square, width = bias+miss, square+miss*miss, width+math.Log(m.High/m.Low)
				}
				share := float64(covered) / float64(found)
				bias, width = bias/float64(found), width/float64(found)
				deviation := math.Sqrt(square/float64(found) - bias*bias)
				t.Logf("n* = %.1f: %d estimates, %.3f covered, bias %+.3f, deviation %.3f, mean width %.3f",
					truth, found, share, bias, deviation, width)
				least := c.least * runs / 400
				if extended > 1 {
					least = 10 // a search with a smaller error probability stays near its bracket
				}
				if share < 0.93 || found < least {
					t.Errorf("%d of %d intervals cover n* = %v, %d wanted at least", covered, found, truth, least)
				}
				if math.Abs(bias) > 0.03 || width > 20*deviation+0.02 {
					t.Errorf("bias %v, mean width %v for a deviation of %v", bias, width, deviation)
				}
			})
		}
	}
}

func TestNoModel(t *testing.T) {
	at := func(successes ...int) []Point {
		var points []Point
		for i, k := range successes {
			points = append(points, Point{N: 100 << i, Consumed: 64, Successes: k})
		}
		return points
	}
	for _, c := range []struct {
		name   string
		points []Point
		reason string
	}{
		{"nothing", nil, "do not cross"},
		{"one size", at(60), "do not cross"},
		{"all above", at(62, 64), "do not cross"},
		{"all below", at(1, 20, 40), "do not cross"},
		{"separated", at(0, 0, 64, 64), "fewer than two"},
		{"separated but for one size", at(0, 50, 64, 64), "fewer than two"},
		{"steep", at(1, 63), "fewer than two"},
		{"flat", at(56, 59), "significantly"},
		{"hardly rising", at(50, 59), "wider than a factor of 4"},
		{"falling at first", []Point{
			{N: 10, Consumed: 400, Successes: 390},
			{N: 20, Consumed: 400, Successes: 300},
			{N: 40, Consumed: 400, Successes: 395},
		}, "plateau or steps"},
		{"plateau", []Point{
			{N: 100, Consumed: 2000, Successes: 400},
			{N: 200, Consumed: 2000, Successes: 1760},
			{N: 400, Consumed: 2000, Successes: 1764},
			{N: 800, Consumed: 2000, Successes: 1770},
			{N: 1600, Consumed: 2000, Successes: 1900},
		}, "plateau or steps"},
		{"jump", []Point{
			{N: 10, Consumed: 80, Successes: 58},
			{N: 20, Consumed: 160, Successes: 112},
			{N: 40, Consumed: 320, Successes: 307},
			{N: 80, Consumed: 80, Successes: 77},
		}, "jumps"},
	} {
		m := FitModel(c.points, 0.9, 0.05)
		if m.N != 0 || m.Low != 0 || m.High != 0 || !strings.Contains(m.Reason, c.reason) {
			t.Errorf("%s: %+v, want the reason %q", c.name, m, c.reason)
		}
	}
}

// TestModelIsSound checks, for arbitrary counts, that a model is either a reason or numbers in
// order, and that equal points give equal bits.
func TestModelIsSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var points []Point
		n := int64(0)
		for range rapid.IntRange(0, 8).Draw(t, "points") {
			n += rapid.Int64Range(1, 1000).Draw(t, "step")
			trials := rapid.IntRange(1, 300).Draw(t, "trials")
			points = append(points, Point{N: n, Consumed: trials, Successes: rapid.IntRange(0, trials).Draw(t, "successes")})
		}
		target := rapid.Float64Range(0.3, 0.99).Draw(t, "target")
		m := FitModel(points, target, 0.05)
		if m != FitModel(slices.Clone(points), target, 0.05) {
			t.Fatal("equal points, different models")
		}
		ordered := 0 < m.Low && m.Low <= m.N && m.N <= m.High && !math.IsInf(m.High, 1)
		if (m.Reason == "") != (m.N > 0) || m.Reason == "" && !ordered {
			t.Fatalf("%+v", m)
		}
	})
}
