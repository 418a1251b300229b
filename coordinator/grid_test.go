package coordinator

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/shatterlab/shatter/pipeline/plan"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// BenchmarkGrid measures what a coordinator makes of a plan of 90,000 searches before it hands out
// anything, and the memory that it holds for each beside the plan.
func BenchmarkGrid(b *testing.B) {
	p := &plan.Plan{}
	for i := range 90_000 {
		key, err := trial.KeyOf(i)
		if err != nil {
			b.Fatal(err)
		}
		p.Cells = append(p.Cells, &trial.Cell{
			Key: key, As: fmt.Sprintf("plain-%d", i), Beta: 0.05, MaxTrials: 50_000,
			Find: &trial.Find{From: 16, To: 100_000, Within: 1.5, Confidence: 0.95},
		})
	}
	b.ReportAllocs()
	held := uint64(0)
	for b.Loop() {
		before := testkit.LiveHeap()
		g, err := newGrid(p)
		if err != nil {
			b.Fatal(err)
		}
		held = testkit.LiveHeap() - before
		runtime.KeepAlive(g)
	}
	b.ReportMetric(float64(held)/float64(len(p.Cells)), "heap-B/cell")
}
