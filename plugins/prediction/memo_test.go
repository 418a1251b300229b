package prediction

import (
	"fmt"
	"math"
	"testing"
)

// votesOneByOne returns the votes on x, hypothesis after hypothesis and with nothing remembered.
func (g *halfspaces) votesOneByOne(x []float64) (n int) {
	g.lift(x)
	if g.w.distance(g.u) <= redundant {
		return len(g.blocks)
	}
	for i := range g.blocks {
		if innerProduct(g.hypothesis(i), g.u) >= 0 {
			n++
		}
	}
	return n
}

// A point has the votes of the hypotheses that there are, whatever was asked before: points come
// again, come after a hard query, and are more than are remembered.
func TestVotesAreThoseOfThePresentHypotheses(t *testing.T) {
	for _, d := range []int{1, 3} {
		trial := newHalfspaceTrial(d, 45, 3, 0.1, 17)
		g := newHalfspaces(t, trial.blocks, d, true)
		points := [][]float64{make([]float64, d), make([]float64, d), make([]float64, d)}
		points[1][0], points[2][0] = math.Copysign(0, -1), math.NaN()
		check := func(x []float64) {
			t.Helper()
			if got, want := g.votes(x), g.votesOneByOne(x); got != want {
				t.Fatalf("d %d, %d hard queries, %d points remembered: %d votes on %v, want %d", d, g.w.codim(),
					len(g.memo.votes), got, x, want)
			}
		}
		for hards := 0; ; hards++ {
			for range maxRemembered / 3 {
				points = append(points, trial.point())
			}
			for range 2 {
				for _, x := range points {
					check(x)
				}
			}
			if hards == d {
				break
			}
			x := trial.onto(trial.target)
			check(x)
			if err := g.hard(x, 1); err != nil {
				t.Fatal(err)
			}
			check(x)
		}
		if len(points) <= maxRemembered/2 || len(g.memo.votes) > maxRemembered {
			t.Errorf("d %d: %d points, %d remembered", d, len(points), len(g.memo.votes))
		}
	}
}

// BenchmarkVotes measures one query to hypotheses over blocks of 20: one that comes the first time,
// with 2 k D operations, and one that comes again.
func BenchmarkVotes(b *testing.B) {
	for _, c := range []struct{ k, d int }{{300, 2}, {300, 8}, {2379, 6}} {
		trial := newHalfspaceTrial(c.d, c.k, 20, 0, 1)
		g := newHalfspaces(b, trial.blocks, c.d, true)
		var points [][]float64
		for range maxRemembered + 1 {
			points = append(points, trial.point())
		}
		for _, again := range []bool{false, true} {
			b.Run(fmt.Sprintf("k=%d/d=%d/again=%t", c.k, c.d, again), func(b *testing.B) {
				b.ReportAllocs()
				points := points // one more than are remembered: none is found
				if again {
					points = points[:maxRemembered/2]
				}
				for i := 0; b.Loop(); i++ {
					g.votes(points[i%len(points)])
				}
				if !again {
					b.ReportMetric(float64(2*c.k*(c.d+1))*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "flops/ns")
				}
			})
		}
	}
}
