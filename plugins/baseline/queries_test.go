package baseline

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/plugins/algo"
)

// onlook plays a game of baseline/queries against points from next. It returns the share of fresh
// uniform points on which its final state errs, and the same for the state before any query.
func onlook(t *testing.T, p algo.Problem, seed uint64, queries int, offline bool,
	next func(r *rand.Rand, x []float64), label func(x []float64) float64,
) (first, final float64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 2))
	x := make([]float64, queries*p.Dim)
	for i := range queries {
		next(r, x[i*p.Dim:(i+1)*p.Dim])
	}
	trial := &algo.Trial[struct{}]{
		Setting: algo.Setting[struct{}]{Problem: p, Queries: queries, Offline: offline}, Rand: rand.New(rand.NewPCG(seed, 3)),
	}
	asked := algo.NewData(x, p.Dim, nil)
	if offline {
		trial.Revealed = asked
	}
	a, err := Queries().Predict(context.Background(), trial, nil)
	if err != nil {
		t.Fatal(err)
	}
	test := make([]float64, 2000*p.Dim)
	for i := range test {
		test[i] = r.NormFloat64()
		if p.Domain > 0 {
			test[i] = float64(r.Uint64N(p.Domain))
		}
	}
	points, out := algo.NewData(test, p.Dim, nil), make([]float64, 2000)
	risk := func() (e float64) {
		if err := a.Predict(context.Background(), points, out); err != nil {
			t.Fatal(err)
		}
		for i, y := range out {
			if y != label(points.X(i)) {
				e += 1.0 / 2000
			}
		}
		return e
	}
	first = risk()
	for i := range queries {
		if y, hard, err := a.Answer(context.Background(), asked.X(i)); err != nil || hard || math.Abs(y) != 1 {
			t.Fatalf("answers %v, %v, %v", y, hard, err)
		}
	}
	return first, risk()
}

func sign(plus bool) float64 {
	if plus {
		return 1
	}
	return -1
}

// Queries near the edge of a target reveal it, but not before the first query; uniform queries do
// not.
func TestQueries(t *testing.T) {
	const domain, trials = 1 << 16, 40
	w := []float64{0.6, 0, -0.8}
	uniform := func(r *rand.Rand, x []float64) {
		for j := range x {
			x[j] = float64(r.Uint64N(domain))
		}
	}
	for _, c := range []struct {
		name      string
		p         algo.Problem
		label     func(x []float64) float64
		near, far func(r *rand.Rand, x []float64)
		told      float64 // share of the games that are won near the edge
	}{
		{
			"thresholds", algo.Problem{Class: "thresholds", Domain: domain, Dim: 1},
			func(x []float64) float64 { return sign(x[0] >= 50000) },
			func(r *rand.Rand, x []float64) { x[0] = 49000 + float64(r.IntN(2001)) }, uniform, 1,
		},
		{
			"intervals", algo.Problem{Class: "intervals", Domain: domain, Dim: 1},
			func(x []float64) float64 { return sign(x[0] >= 30000 && x[0] < 62000) },
			func(r *rand.Rand, x []float64) { x[0] = 30000 + 32000*float64(r.IntN(2)) + float64(r.IntN(201)) - 100 },
			uniform, 1,
		},
		{
			"stumps", algo.Problem{Class: "stumps", Domain: domain, Dim: 5},
			func(x []float64) float64 { return sign(x[3] >= 50000) },
			func(r *rand.Rand, x []float64) { uniform(r, x); x[3] = 49000 + float64(r.IntN(2001)) }, uniform, 1,
		},
		{
			"rectangles", algo.Problem{Class: "rectangles", Domain: domain, Dim: 2},
			func(x []float64) float64 { return sign(min(x[0], x[1]) >= 10000 && max(x[0], x[1]) < 50000) },
			func(r *rand.Rand, x []float64) {
				x[0], x[1] = 10000+float64(r.IntN(40000)), 10000+float64(r.IntN(40000))
				x[r.IntN(2)] = 10000 + 40000*float64(r.IntN(2)) + float64(r.IntN(201)) - 100
			},
			uniform, 1,
		},
		{
			"halfspace", algo.Problem{Class: "halfspace", Dim: 3},
			func(x []float64) float64 { return sign(numeric.Dot(x, w) >= 0) },
			func(r *rand.Rand, x []float64) {
				for j := range x {
					x[j] = r.NormFloat64()
				}
				along := numeric.Dot(x, w)
				for j := range x {
					x[j] -= along * w[j]
				}
			},
			func(r *rand.Rand, x []float64) {
				for j := range x {
					x[j] = r.NormFloat64()
				}
			},
			0.5, // the side is a guess
		},
	} {
		told, untold, before, offline := 0, 0, 0, 0
		for seed := range uint64(trials) {
			count := func(e float64, n *int) {
				if e <= 0.1 {
					*n++
				}
			}
			first, final := onlook(t, c.p, seed, 400, false, c.near, c.label)
			count(first, &before)
			count(final, &told)
			first, final = onlook(t, c.p, seed, 400, true, c.near, c.label)
			count(max(first, final), &offline)
			_, final = onlook(t, c.p, seed, 400, false, c.far, c.label)
			count(final, &untold)
		}
		slack := 0.0
		if c.told < 1 {
			slack = 4 * math.Sqrt(c.told*(1-c.told)/trials)
		}
		if math.Abs(float64(told)/trials-c.told) > slack || math.Abs(float64(offline)/trials-c.told) > slack {
			t.Errorf("%s: near the edge %d and offline %d of %d games are won", c.name, told, offline, trials)
		}
		if before > trials/2 || untold > trials/4 {
			t.Errorf("%s: %d of %d games are won before the first query, %d by uniform queries", c.name, before, trials, untold)
		}
	}
	err := Queries().Check(&algo.Setting[struct{}]{Problem: algo.Problem{Class: "parities", Dim: 3}})
	if !algo.IsInvalid(err) || !strings.Contains(err.Error(), `no edge of class "parities"`) {
		t.Errorf("parities: %v", err)
	}
}
