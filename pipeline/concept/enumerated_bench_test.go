package concept

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

// A trial allocates the hypothesis that it answers, and nothing else.
func TestEnumeratedTrialAllocations(t *testing.T) {
	for _, s := range []Spec{
		{Name: "parities", Dim: 8}, {Name: "monotone-conjunctions", Dim: 8}, {Name: "conjunctions", Dim: 5},
		{Name: "matrix", Domain: 4, Matrix: "011000111111"},
	} {
		k, r := enumeratedOf(t, s), rand.New(rand.NewPCG(1, 1))
		x, y := enumeratedSample(k, 100)
		p := tableOf(t, k, x, y)
		for name, draw := range map[string]func() Hypothesis{
			"exponential":      func() Hypothesis { return p.Exponential(1, r) },
			"permute-and-flip": func() Hypothesis { return p.PermuteAndFlip(1, r) },
			"normal":           func() Hypothesis { return p.Normal(1, r) },
		} {
			got := testing.AllocsPerRun(100, func() {
				if err := p.Reset(x, y); err != nil {
					t.Fatal(err)
				}
				draw()
			})
			if got > 1 {
				t.Errorf("%+v, %s: %v allocations per trial", s, name, got)
			}
		}
	}
}

// enumeratedSample returns n uniform points, labelled by the middle hypothesis with 10 % flipped.
func enumeratedSample(k *enumerated, n int) (x, y []float64) {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	for range n {
		x = append(x, at(k, r.IntN(k.points))...)
	}
	y = make([]float64, n)
	k.Member(uint64(k.hypotheses/2)).Labels(x, y)
	for i := range y {
		if r.IntN(10) == 0 {
			y[i] = -y[i]
		}
	}
	return x, y
}

// One trial, with the additions that the transform takes, beside as many in a loop over 8 KB: of
// words where four counts lie in one. A trial also unpacks and counts every sum, once, and again
// half of them to find the one drawn: in the tables of parities that takes twice the transform.
func BenchmarkEnumeratedTrial(b *testing.B) {
	const n = 1000
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		Spec
		additions int
	}{
		{Spec{Name: "parities", Dim: 10}, 10 << 10},
		{Spec{Name: "parities", Dim: 20}, 20 << 20},
		{Spec{Name: "parities", Dim: 24}, 24 << 24},
		{Spec{Name: "monotone-conjunctions", Dim: 20}, 10 << 20},
		{Spec{Name: "conjunctions", Dim: 10}, 59049 - 1024}, // 3^d - 2^d
		{Spec{Name: "matrix", Domain: 512, Matrix: lowParities(1024, 512)}, 64 * (255 + 1024)},
	} {
		b.Run(fmt.Sprintf("%s/%d", c.Name, max(c.Dim, int(c.Domain))), func(b *testing.B) {
			k := enumeratedOf(b, c.Spec)
			x, y := enumeratedSample(k, n)
			p := tableOf(b, k, x, y)
			additions := c.additions
			if p.packed != nil {
				additions /= 4
			}
			b.ReportAllocs()
			testkit.Beside(b, func() {
				if err := p.Reset(x, y); err != nil {
					b.Fatal(err)
				}
				p.Normal(1, r)
			}, func() { plainAdditions(additions) })
			b.ReportMetric(float64(c.additions)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "additions/ns")
			b.ReportMetric(float64(4*len(p.sums)+8*len(p.packed))/1e6, "MB-table")
		})
	}
}

// plainAdditions adds and subtracts neighbours, so many times in all.
func plainAdditions(times int) {
	low, high := make([]uint64, 512), make([]uint64, 512)
	for ; times > 0; times -= 2 * len(low) {
		for i, a := range low {
			low[i], high[i] = a+high[i], a-high[i]
		}
	}
}

// lowParities returns the matrix of the first parities and their complements over the points
// 0..points-1.
func lowParities(rows, points int) string {
	var text strings.Builder
	for i := range rows {
		for v := range points {
			text.WriteByte('0' + byte((bits.OnesCount(uint(i/2&v))+i)%2))
		}
	}
	return text.String()
}
