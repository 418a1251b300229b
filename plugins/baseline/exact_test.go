package baseline

import (
	"math"
	"testing"

	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite/finitetest"
)

// twoPoints is a problem on thresholds over the points 0 and 1, whose three hypotheses label them
// ++, -+ and --. Only the first is good, and its excess over the others is the least that is bad.
type twoPoints struct {
	realizable bool // the target is ++; otherwise +-, which is no threshold
	noise      string
	rate       float64
}

const (
	twoAlpha = 0.4
	twoBeta  = 0.1
)

// setting returns what an algorithm is told of the problem.
func (p twoPoints) setting() algo.Setting[struct{}] {
	s := algo.Setting[struct{}]{
		Problem: algo.Problem{
			Class: "thresholds", Domain: 2, Dim: 1, Noise: p.noise, NoiseRate: p.rate, Realizable: p.realizable,
		},
		Alpha: twoAlpha, Beta: twoBeta,
	}
	if !p.realizable {
		s.Above = 1 - p.mass()
	}
	return s
}

// mass returns the probability of point 0.
func (p twoPoints) mass() float64 {
	const more = twoAlpha + 1e-6
	if p.realizable {
		return more // what -+ errs
	}
	return 0.5 + more/2 // what -- errs; ++ errs on the rest
}

// truth returns the target's label at a point.
func (p twoPoints) truth(x int) float64 {
	if x == 1 && !p.realizable {
		return -1
	}
	return 1
}

// bad returns the probability that a uniform minimiser is bad, for a sample with so many examples at
// each point, and so many of them labelled wrongly.
func (p twoPoints) bad(count, wrong [2]int) float64 {
	var errs [3]int
	for h, labels := range [3][2]float64{{1, 1}, {-1, 1}, {-1, -1}} {
		for x, label := range labels {
			if label == p.truth(x) {
				errs[h] += wrong[x]
			} else {
				errs[h] += count[x] - wrong[x]
			}
		}
	}
	least, ties, good := min(errs[0], errs[1], errs[2]), 0., 0.
	for h, e := range errs {
		if e == least {
			ties++
			if h == 0 {
				good++
			}
		}
	}
	return 1 - good/ties
}

// failure returns the probability of a bad answer to a sample of n, against the adversary that is
// worst for it where the noise is adversarial.
func (p twoPoints) failure(n int) (sum float64) {
	for k := range n + 1 {
		count := [2]int{k, n - k}
		fails := 0.0
		for a := range count[0] + 1 {
			for b := range count[1] + 1 {
				switch {
				case p.noise != "adversarial":
					fails += binomial(count[0], a, p.rate) * binomial(count[1], b, p.rate) * p.bad(count, [2]int{a, b})
				case float64(a+b) <= p.rate*float64(n):
					fails = max(fails, p.bad(count, [2]int{a, b}))
				}
			}
		}
		sum += binomial(n, k, p.mass()) * fails
	}
	return sum
}

// binomial returns the probability of k heads in n tosses of a coin that shows them at rate p.
func binomial(n, k int, p float64) float64 {
	if p == 0 {
		return float64(1 - min(k, 1))
	}
	ln := func(m int) float64 {
		v, _ := math.Lgamma(float64(m + 1))
		return v
	}
	return math.Exp(ln(n) - ln(k) - ln(n-k) + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
}

// leastBound returns the least of the bounds that hold where above is the least error of the class.
func leastBound(list []algo.Bound, s algo.Setting[struct{}]) float64 {
	least := math.Inf(1)
	for _, b := range finitetest.Holding(list, s.Problem, s.Above, s.Above) {
		least = min(least, b.Value)
	}
	return least
}

// twoPointCases has the target in the class or not, with each noise.
var twoPointCases = []twoPoints{
	{true, "none", 0}, {true, "random", 0.15}, {true, "adversarial", 0.04},
	{false, "none", 0}, {false, "random", 0.1}, {false, "adversarial", 0.04},
}

// From the least bound on, the exact probability of failure is at most beta, and the bound is not far
// from what is needed: the union over bad hypotheses and Chernoff's inequality cost a factor of
// about 4 here, and that floor(rate n) is below rate n some more.
func TestERMBoundsExactly(t *testing.T) {
	for _, p := range twoPointCases {
		s := p.setting()
		list, err := ERM().Bound(&s)
		if err != nil {
			t.Fatal(err)
		}
		least := leastBound(list, s)
		need := 1 // the least n from which on failure is rare
		for n := 1; n < int(least)+10; n++ {
			if p.failure(n) > twoBeta {
				need = n + 1
			}
		}
		t.Logf("%+v: least bound %v, needed %d", p, least, need)
		if float64(need) > least || least > 7*float64(need) {
			t.Errorf("%+v: the least bound is %v, needed are %d", p, least, need)
		}
	}
}
