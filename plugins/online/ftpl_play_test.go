package online

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/shatterlab/shatter/plugins/algo"
)

// planted draws the rounds of a game of parities: uniform points, labeled by a fixed parity, with
// labels flipped with probability rate.
func planted(d, rounds int, rate float64, r *rand.Rand) (x, y []float64) {
	target := r.Uint64N(1 << d)
	for range rounds {
		v := r.Uint64N(1 << d)
		odd := uint64(0)
		for j := range d {
			x = append(x, float64(v>>j&1))
			odd ^= v & target >> j & 1
		}
		if r.Float64() < rate {
			odd ^= 1
		}
		y = append(y, float64(2*int(odd)-1))
	}
	return x, y
}

// play runs a learner on a fixed sequence and returns its expected loss.
func play(t testing.TB, l algo.Learner, dim int, x, y []float64) (loss float64) {
	t.Helper()
	out := make([]float64, 1)
	ctx := context.Background()
	for i := range y {
		point := algo.NewData(x[i*dim:(i+1)*dim], dim, nil)
		if err := l.Predict(ctx, point, out); err != nil {
			t.Fatal(err)
		}
		loss += (1 - y[i]*out[0]) / 2
		if err := l.Observe(ctx, point, y[i:i+1]); err != nil {
			t.Fatal(err)
		}
	}
	return loss
}

// setting returns a setting of a with its default parameters.
func setting[P any](a algo.Algorithm[P], p algo.Problem, rounds int) algo.Setting[P] {
	p.Dim = max(1, p.Dim)
	if p.Noise == "" {
		p.Noise = "none"
	}
	return algo.Setting[P]{Params: a.Defaults, Task: algo.Online, Problem: p, Rounds: rounds, Alpha: 0.1, Beta: 0.05}
}
