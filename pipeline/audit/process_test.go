package audit

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/pipeline/privacy"
)

// value returns a result whose declared hypothesis has one number.
func value(v float64) result {
	r := result{values: make([]float64, len(Features))}
	for i := range r.values {
		r.values[i] = math.NaN()
	}
	r.values[ProbePoints] = v
	return r
}

// laplace adds noise for the given epsilon to a query whose answers are 0 and 1.
func laplace(r *rand.Rand, side int, epsilon float64) result {
	return value(float64(side) + privacy.Laplace(privacy.Uniform(r), 1/epsilon))
}

// response is randomized response.
func response(r *rand.Rand, side int, epsilon float64) result {
	answer := side
	if r.Float64() > 1/(1+math.Exp(-epsilon)) {
		answer = 1 - side
	}
	return value(float64(answer))
}

// normal adds Gaussian noise for the given mu to such a query.
func normal(r *rand.Rand, side int, mu float64) result {
	return value(float64(side) + r.NormFloat64()/mu)
}

// mean returns the mean number of pairs until a claim is refuted at an e-value of 100, if all pairs
// are of one kind.
func mean(claimed form, mechanism func(*rand.Rand, int, float64) result, true float64, runs int) float64 {
	total := 0
	for run := range runs {
		p, r := newProcess(claimed, 0.01), rand.New(rand.NewPCG(uint64(run), 7))
		p.kinds = p.kinds[:1]
		pairs := 0
		for ; p.refuted < steps && pairs < 30_000; pairs++ {
			p.add(0, [2]result{mechanism(r, 0, true), mechanism(r, 1, true)})
		}
		total += pairs
	}
	return float64(total) / float64(runs)
}

// A false claim is refuted with at most three times as many pairs as by the best fixed bet on the
// best event.
func TestPairs(t *testing.T) {
	epsilon := func(x float64) form { return Claim{Epsilon: x}.forms()[0] }
	mu := func(x float64) form { return Claim{Mu: x}.forms()[1] }
	rho := func(mu float64) form { return Claim{Rho: mu * mu / 2}.forms()[1] } // as Gaussian noise has
	for _, c := range []struct {
		name          string
		mechanism     func(*rand.Rand, int, float64) result
		form          func(float64) form
		claimed, true float64
		best          float64
		runs          int
	}{
		{"Laplace", laplace, epsilon, 0.1, 0.2, 2233, 5}, {"Laplace", laplace, epsilon, 0.5, 1, 178, 20},
		{"Laplace", laplace, epsilon, 1, 2, 99, 20}, {"Laplace", laplace, epsilon, 1, 1.5, 284, 20},
		{"response", response, epsilon, 1, 2, 45, 20}, {"response", response, epsilon, 1, 1.2, 765, 10},
		{"Laplace", laplace, epsilon, 1, 1.1, 5375, 3},
		{"Gauss", normal, mu, 0.2, 0.4, 734, 10}, {"Gauss", normal, mu, 1, 2, 42, 20}, {"Gauss", normal, mu, 1, 1.5, 141, 20},
		{"Gauss", normal, rho, 0.2, 0.4, 1318, 10}, {"Gauss", normal, rho, 1, 2, 78, 20},
		{"Gauss", normal, rho, 1, 1.5, 611, 10},
	} {
		got := mean(c.form(c.claimed), c.mechanism, c.true, c.runs)
		t.Logf("%s claims %v, has %v: %.0f pairs, best %v", c.name, c.claimed, c.true, got, c.best)
		if got > 3*c.best {
			t.Errorf("%s claims %v, has %v: %.0f pairs, best %v", c.name, c.claimed, c.true, got, c.best)
		}
	}
}

// Honest claims are refuted with at most the stated probability.
func TestHonest(t *testing.T) {
	const runs, pairs, level = 300, 300, 0.05
	claim := Claim{Epsilon: 1, Mu: 1, Rho: 0.5}
	for i, c := range []struct {
		form      int
		mechanism func(*rand.Rand, int, float64) result
	}{{0, laplace}, {0, response}, {1, normal}, {2, normal}} {
		wrong := 0
		for run := range runs {
			p, r := newProcess(claim.forms()[c.form], level), rand.New(rand.NewPCG(uint64(run), 3))
			for i := range pairs {
				p.add(i%len(Pairs), [2]result{c.mechanism(r, 0, 1), c.mechanism(r, 1, 1)})
			}
			if p.refuted == steps {
				wrong++
			}
		}
		if wrong > level*runs {
			t.Errorf("case %d: %d of %d honest claims are refuted", i, wrong, runs)
		}
	}
}

// A bet gains nothing on average if the claim holds with equality.
func TestFairBets(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	staked := [3]int{}
	for i := range 3000 {
		x, delta, q := 0.01+2*r.Float64(), 0.1*r.Float64(), r.Float64()
		claim := Claim{Epsilon: x, Delta: delta, Mu: x, Rho: x * x / 2}
		p := [3]float64{
			float64(math.Exp(x)*q) + delta,
			math.Erfc(-x/math.Sqrt2-math.Erfinv(2*q-1)) / 2, // Phi(Phi^-1(q) + x)
			1,
		}[i%3]
		if i%3 == 2 && numeric.Divergence(1, q) > claim.Rho {
			_, p = numeric.Bisect(q, 1, func(p float64) bool { return numeric.Divergence(p, q) <= claim.Rho })
		}
		if p > 1 {
			continue
		}
		m := 1 + r.IntN(50)
		f := claim.forms()[i%3]
		b := choose([]counted{{event{feature: ProbePoints, limit: 1}, m, r.IntN(m)}}, m, f, f.stated)
		factor := func(x, y float64) float64 { return math.Exp(b.gain([2]result{value(x), value(y)})) }
		sum := p*q*factor(1, 1) + p*(1-q)*factor(1, 0) + (1-p)*q*factor(0, 1) + (1-p)*(1-q)*factor(0, 0)
		// The bound of epsilon is a line, which is its own tangent.
		if sum > 1+1e-9 || i%3 == 0 && sum < 1-1e-9 || factor(0, 1) <= 0 {
			t.Fatalf("%s %v, delta %v, q %v: mean factor %v", f.name, x, delta, q, sum)
		}
		if b.stake > 0 {
			staked[i%3]++
		}
	}
	if slices.Min(staked[:]) < 100 {
		t.Errorf("too few bets: %v", staked)
	}
}
