package finite

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/shatterlab/shatter/plugins/algo"
)

// No allowed distribution has a smaller rate than rate, and best is the maximum.
func TestRates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := Gap{Alpha: rapid.Float64Range(0.01, 0.6).Draw(t, "alpha"), realizable: rapid.Bool().Draw(t, "realizable")}
		switch rapid.IntRange(0, 2).Draw(t, "noise") {
		case 1:
			g.Random = rapid.Float64Range(0, 0.45).Draw(t, "random")
		case 2:
			g.Adversary = rapid.Float64Range(0, 0.45).Draw(t, "adversary")
		}
		s := rapid.Float64Range(1e-3, 3).Draw(t, "s")
		rate := g.rate(s)
		if best := g.best(); best > 0 && rate > g.rate(best)*(1+1e-9) {
			t.Fatalf("rate(%v) = %v, best(%v) = %v", s, rate, best, g.rate(best))
		} else if best <= 0 && rate > 1e-12 {
			t.Fatalf("rate(%v) = %v where none should be", s, rate)
		}
		// One distribution: h and h* differ with probability d, where h is wrong with probability q
		// before the noise.
		d := rapid.Float64Range(g.Alpha, 1).Draw(t, "d")
		q := 1.0
		if !g.realizable {
			q = rapid.Float64Range((1+g.Alpha/d)/2, 1).Draw(t, "q")
		}
		q = q*(1-g.Random) + (1-q)*g.Random
		moment := 1 + d*(q*math.Expm1(-s)+(1-q)*math.Expm1(s))
		if distributionRate := -math.Log(moment) - 2*s*g.Adversary; rate > 0 && distributionRate < rate-1e-9 {
			t.Fatalf("%+v, s %v: a distribution with d %v, q %v has rate %v, below %v", g, s, d, q, distributionRate, rate)
		}
	})
}

// The sizes of a minimizer at |H| = 257, alpha 0.1, beta 0.05, where ln((|H|-1)/beta) = 8.5409:
// without noise ln is divided by -ln(1 - alpha) = 0.10536; random noise of rate r makes it -ln(1 -
// alpha(1 - 2 sqrt(r(1-r)))), which is 0.04082 at r = 0.1; without a target in the class it is
// -ln(1 - g^2)/2 with g = alpha(1 - 2r), 0.0050252 and 0.0032103.
func TestSharp(t *testing.T) {
	for _, c := range []struct {
		noise                string
		rate                 float64
		agnostic, realizable float64
	}{
		{"none", 0, 1700, 82},
		{"random", 0.1, 2661, 210},
		{"adversarial", 0.06, math.Inf(1), math.Inf(1)},
	} {
		s := algo.Setting[struct{}]{Problem: algo.Problem{Noise: c.noise, NoiseRate: c.rate}, Alpha: 0.1, Beta: 0.05}
		list := GapOf(&s, math.Log(257)).Sharp(math.Inf(1))
		if len(list) != 2 || list[0].Value != c.agnostic || list[1].Value != c.realizable {
			t.Errorf("%+v: %+v", c, list)
		}
	}
}

// Errors that are measured on a sample leave a smaller part of alpha and beta for the proof.
func TestGapOfMeasuredErrors(t *testing.T) {
	s := algo.Setting[struct{}]{Alpha: 0.1, Beta: 0.05}
	exact := GapOf(&s, 1)
	if exact.Alpha != 0.1 || exact.Beta != 0.05 {
		t.Errorf("exact errors: %+v", exact)
	}
	s.Test = 10000
	if g := GapOf(&s, 1); !(g.Alpha > 0.08 && g.Alpha < 0.1 && g.Beta < 0.05) {
		t.Errorf("errors on 10000 points: %+v", g)
	}
}
