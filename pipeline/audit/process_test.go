package audit

import (
	"math"
	"math/rand/v2"
	"testing"

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

// mean returns the mean number of pairs until a claim is refuted at an e-value of 100, if all pairs
// are of one kind.
func mean(mechanism func(*rand.Rand, int, float64) result, claimed, true float64, runs, limit int) float64 {
	total := 0
	for run := range runs {
		p, r := newProcess(claimed, 0, 0.01), rand.New(rand.NewPCG(uint64(run), 7))
		p.kinds = p.kinds[:1]
		pairs := 0
		for ; p.refuted < steps && pairs < limit; pairs++ {
			p.add(0, [2]result{mechanism(r, 0, true), mechanism(r, 1, true)})
		}
		total += pairs
	}
	return float64(total) / float64(runs)
}

// A false claim is refuted with at most three times as many pairs as by the best fixed bet on the
// best event.
func TestPairs(t *testing.T) {
	for _, c := range []struct {
		name          string
		mechanism     func(*rand.Rand, int, float64) result
		claimed, true float64
		best          float64
		runs          int
	}{
		{"Laplace", laplace, 0.1, 0.2, 2233, 5}, {"Laplace", laplace, 0.5, 1, 178, 20}, {"Laplace", laplace, 1, 2, 99, 20},
		{"Laplace", laplace, 1, 1.5, 284, 20}, {"response", response, 1, 2, 45, 20}, {"response", response, 1, 1.2, 765, 10},
		{"Laplace", laplace, 1, 1.1, 5375, 3},
	} {
		got := mean(c.mechanism, c.claimed, c.true, c.runs, 30_000)
		t.Logf("%s claims %v, has %v: %.0f pairs, best %v", c.name, c.claimed, c.true, got, c.best)
		if got > 3*c.best {
			t.Errorf("%s claims %v, has %v: %.0f pairs, best %v", c.name, c.claimed, c.true, got, c.best)
		}
	}
}

// Honest claims are refuted with at most the stated probability.
func TestHonest(t *testing.T) {
	const runs, pairs, level = 300, 300, 0.05
	for name, mechanism := range map[string]func(*rand.Rand, int, float64) result{
		"laplace": laplace, "response": response,
	} {
		wrong := 0
		for run := range runs {
			p, r := newProcess(1, 0, level), rand.New(rand.NewPCG(uint64(run), 3))
			for i := range pairs {
				p.add(i%len(Pairs), [2]result{mechanism(r, 0, 1), mechanism(r, 1, 1)})
			}
			if p.refuted == steps {
				wrong++
			}
		}
		if wrong > level*runs {
			t.Errorf("%s: %d of %d honest claims are refuted", name, wrong, runs)
		}
	}
}

// A bet gains nothing on average if the claim holds with equality.
func TestFairBets(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 1000 {
		epsilon, delta := 2*r.Float64(), 0.1*r.Float64()
		ratio := math.Exp(epsilon)
		q := r.Float64() * (1 - delta) / ratio
		p := ratio*q + delta
		m := 1 + r.IntN(50)
		b := choose([]counted{{event{feature: ProbePoints, limit: 1}, m, r.IntN(m)}}, m, ratio, delta)
		factor := func(x, y float64) float64 {
			return math.Exp(b.gain([2]result{value(x), value(y)}, ratio, delta))
		}
		sum := p*q*factor(1, 1) + p*(1-q)*factor(1, 0) + (1-p)*q*factor(0, 1) + (1-p)*(1-q)*factor(0, 0)
		if math.Abs(sum-1) > 1e-9 || factor(0, 1) <= 0 {
			t.Fatalf("epsilon %v, delta %v: mean factor %v", epsilon, delta, sum)
		}
	}
}
