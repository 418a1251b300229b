package prediction

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// wildNoise draws noise that is not Laplace noise.
type wildNoise struct{ *rand.Rand }

func (w wildNoise) threshold() float64 { return (w.Float64() - 0.5) * 10 }
func (w wildNoise) query() float64     { return (w.Float64() - 0.5) * 10 }
func (w wildNoise) coin() float64      { return float64(2*w.IntN(2) - 1) }

// For all queries and all noise, no more than V instances start, an instance ends with its first
// hard query, all answers after the last instance are public, and no answer depends on later
// queries.
func TestBudgetIsHard(t *testing.T) {
	for _, c := range append(smallClasses(), smallHalfspaces()) {
		t.Run(c.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				k, budget := rapid.IntRange(1, 4).Draw(t, "k"), rapid.IntRange(1, 5).Draw(t, "V")
				blocks := make([]block, k)
				m := rapid.IntRange(1, 4).Draw(t, "m")
				for i := range blocks {
					blocks[i] = c.block(t, m)
				}
				seed, shrink := rapid.Uint64().Draw(t, "seed"), rapid.Bool().Draw(t, "shrink")
				var queries [][]float64
				for range rapid.IntRange(1, 30).Draw(t, "queries") {
					queries = append(queries, c.point(t, "query"))
				}
				play := func(queries [][]float64) ([]float64, []verdict) {
					kind := frozen
					if shrink {
						kind = shrinking
					}
					metrics := map[string]float64{}
					p := newPredictor(kind(c.make(blocks)), wildNoise{rand.New(rand.NewPCG(seed, 1))}, k, budget, 1,
						func(name string, value float64) { metrics[name] = value })
					var labels []float64
					var verdicts []verdict
					hards := 0
					for _, x := range queries {
						label, v, err := p.next(x)
						if err != nil || label != 1 && label != -1 {
							t.Fatalf("label %v, %v", label, err)
						}
						if (v == public) != (hards == budget) {
							t.Fatalf("verdict %d after %d hard queries of %d", v, hards, budget)
						}
						if v == hard {
							hards++
						}
						labels, verdicts = append(labels, label), append(verdicts, v)
						if p.started > budget || p.started > hards+1 || p.started < hards {
							t.Fatalf("%d instances after %d hard queries, the budget is %d", p.started, hards, budget)
						}
					}
					if metrics["instances"] != float64(p.started) || (metrics["budget_exhausted"] == 1) != (hards == budget) {
						t.Fatalf("metrics %v after %d hard queries", metrics, hards)
					}
					return labels, verdicts
				}
				labels, verdicts := play(queries)
				cut := rapid.IntRange(0, len(queries)-1).Draw(t, "cut")
				other := append(slices.Clone(queries[:cut]), c.point(t, "query"), c.point(t, "query"))
				labels2, verdicts2 := play(other)
				if !slices.Equal(labels[:cut], labels2[:cut]) || !slices.Equal(verdicts[:cut], verdicts2[:cut]) {
					t.Fatalf("answers changed with later queries: %v, %v", labels, labels2)
				}
			})
		})
	}
}

// Public answers depend only on the queries and on released labels: any two samples give the same
// answers.
func TestPublicAnswersIgnoreTheSample(t *testing.T) {
	for _, c := range append(smallClasses(), smallHalfspaces()) {
		rapid.Check(t, func(t *rapid.T) {
			a, b := c.make([]block{c.block(t, 3)}), c.make([]block{c.block(t, 5)})
			for range rapid.IntRange(0, 8).Draw(t, "queries") {
				x, label := c.point(t, "query"), rapid.SampledFrom([]float64{-1, 1}).Draw(t, "label")
				if rapid.Bool().Draw(t, "ordinary") {
					a.released(x, label)
					b.released(x, label)
				} else if a.hard(x, label) != nil || b.hard(x, label) != nil {
					t.Fatal("shrinking failed")
				}
			}
			for _, x := range c.points() {
				if a.public(x) != b.public(x) {
					t.Fatalf("%s: public answers at %v differ", c.name, x)
				}
			}
		})
	}
}

// exactly returns seeded noise, which does not mislead if eps0 is large enough, and the random
// numbers that it draws from.
func exactly(seed uint64) (noise, *rand.Rand) {
	r := rand.New(rand.NewPCG(seed, 5))
	return seeded{r}, r
}

// Predictors answer for every sample: one label only, all points equal, one block, one example, a
// budget of one, both labels at one point.
func TestDegenerateSamples(t *testing.T) {
	for _, c := range smallClasses() {
		for _, labels := range [][]float64{{1}, {-1}, {1, 1}, {-1, -1}, {1, -1}, {-1, 1, 1}} {
			var b block
			for _, y := range labels {
				b.x, b.y = append(b.x, make([]float64, c.dim)...), append(b.y, y)
			}
			noise, _ := exactly(3)
			p := newPredictor(c.make([]block{b}), noise, 1, 1, 1, unreported)
			for _, x := range append(c.points(), c.points()...) {
				if label, _, err := p.next(x); err != nil || math.Abs(label) != 1 {
					t.Errorf("%s, labels %v: %v, %v", c.name, labels, label, err)
				}
			}
		}
	}
}
