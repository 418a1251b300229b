package coordinator

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/shatterlab/shatter/pipeline/plan"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// searches returns a plan of that many searches.
func searches(t testing.TB, count int) *plan.Plan {
	t.Helper()
	p := &plan.Plan{}
	for i := range count {
		key, err := trial.KeyOf(map[string]any{"i": i})
		if err != nil {
			t.Fatal(err)
		}
		p.Cells = append(p.Cells, &trial.Cell{
			Key: key, As: fmt.Sprintf("plain-%d", i), Beta: 0.05, MaxTrials: 50_000,
			Find: &trial.Find{From: 16, To: 100_000, Within: 1.5, Confidence: 0.95},
		})
	}
	return p
}

// heapOfGrid returns the heap bytes per cell of a coordinator before it requests trials, without
// the plan.
func heapOfGrid(t testing.TB, p *plan.Plan) float64 {
	t.Helper()
	before := testkit.LiveHeap()
	g, err := newGrid(p)
	if err != nil {
		t.Fatal(err)
	}
	held := testkit.LiveHeap() - before
	runtime.KeepAlive(g)
	return float64(held) / float64(len(p.Cells))
}

// A coordinator of 90,000 cells should need at most 300 MB, including its plan, its ledger and its
// requests.
func TestGridIsSmall(t *testing.T) {
	const most = 2000 // bytes; 1,474 were measured
	if held := heapOfGrid(t, searches(t, 9000)); held > most {
		t.Errorf("a cell takes %.0f bytes, at most %d are meant", held, most)
	}
}
