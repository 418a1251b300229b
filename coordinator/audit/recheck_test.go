package audit

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// The trials of the least ranks are chosen, for any order and borders of the points.
func TestChoose(t *testing.T) {
	points := []estimate.Point{{N: 10, Consumed: 100}, {N: 20, Consumed: 3}, {N: 40, Consumed: 500}}
	var all []ranked
	for _, p := range points {
		for rep := range p.Consumed {
			rank, _ := trial.Seed(trial.Key{7}, 9, uint64(p.N), uint32(rep))
			all = append(all, ranked{rank, p.N, int64(rep)})
		}
	}
	slices.SortFunc(all, ranked.compare)
	every := func(ranked) bool { return true }
	for _, count := range []int{1, 2, 8, 100, 602, 603} {
		got := choose(trial.Key{7}, points, every, count, 3)
		if d := cmp.Diff(all[:count], got, cmp.AllowUnexported(ranked{})); d != "" {
			t.Errorf("%d: %s", count, d)
		}
	}
	if slices.Equal(choose(trial.Key{8}, points, every, 8, 3), all[:8]) {
		t.Error("the choice does not depend on the key")
	}
	one := slices.DeleteFunc(slices.Clone(all), func(t ranked) bool { return t.n != all[0].n })
	if d := cmp.Diff(one[:50], choose(trial.Key{7}, points, every, 50, 1), cmp.AllowUnexported(ranked{})); d != "" {
		t.Errorf("at one size: %s", d)
	}
	whole := choose(trial.Key{7}, points, every, 603, 1)
	slices.SortFunc(whole, ranked.compare)
	if !slices.Equal(whole, all) {
		t.Error("all trials, size by size, are not all trials")
	}
	for _, every := range []int64{2, 10} {
		known := func(r ranked) bool { return r.rep%every == 0 }
		want := slices.DeleteFunc(slices.Clone(all), func(r ranked) bool { return !known(r) })
		for _, count := range []int{1, 8, len(want)} {
			got := choose(trial.Key{7}, points, known, count, 3)
			if d := cmp.Diff(want[:count], got, cmp.AllowUnexported(ranked{})); d != "" {
				t.Errorf("%d of those of every %d that have an outcome: %s", count, every, d)
			}
		}
	}
}

// Trials of microseconds share a job by the thousand, slow ones do not.
func TestPerJob(t *testing.T) {
	for _, c := range []struct {
		cost        float64
		interactive bool
		want        int
	}{{0, false, 1024}, {1e-6, false, 1024}, {1e-3, false, 250}, {10, false, 1}, {1e-3, true, 250}, {10, true, 64}} {
		x := &checked{Cell: Cell{
			Cell: &trial.Cell{Task: "learn"}, Seconds: func(int64) float64 { return c.cost / costFactor },
		}}
		if c.interactive {
			x.Task, x.Queries = "predict", 10
		}
		if got := x.perJob(1); got != c.want {
			t.Errorf("trials of %g s, interactive %v: %d a job, want %d", c.cost, c.interactive, got, c.want)
		}
	}
}

// Each cell has at least eight rechecks, unless these would be a tenth of the trials of a large sweep.
func TestMinPerCell(t *testing.T) {
	for _, c := range []struct {
		cells, trials int
		want          int64
	}{{100, 20, 8}, {1000, 1000, 8}, {1000, 60, 6}, {20_000, 8, 2}, {2000, 10, 2}} {
		cells := make([]Cell, c.cells)
		for i := range cells {
			cells[i].Points = []estimate.Point{{N: 1, Consumed: c.trials}}
		}
		if got := minPerCell(0.01, cells); got != c.want {
			t.Errorf("%d cells of %d trials: at least %d rechecks, want %d", c.cells, c.trials, got, c.want)
		}
	}
}
