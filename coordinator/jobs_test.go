package coordinator

import (
	"math/rand/v2"
	"testing"

	"github.com/shatterlab/shatter/pipeline/decision"
	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/plan"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// cellOf makes the only cell of a table.
func cellOf(t *testing.T, c *trial.Cell) *cell {
	t.Helper()
	g, err := newGrid(&plan.Plan{Cells: []*trial.Cell{c}})
	if err != nil {
		t.Fatal(err)
	}
	return g.cells[0]
}

// listCell makes a cell with a list of sample sizes.
func listCell(t *testing.T, trials int, n ...int64) *cell {
	t.Helper()
	return cellOf(t, &trial.Cell{N: n, Trials: trials, Beta: 0.1})
}

// Jobs are cut by predicted time, by the session's bounds and by the number of slots.
func TestCut(t *testing.T) {
	for name, test := range map[string]struct {
		seconds float64 // run time of 1000 trials
		slots   int
		block   int
		cells   int // number of cells that want trials
		want    int
	}{
		"unknown cost":        {block: 5000, slots: 2, want: firstJob},
		"aim":                 {seconds: 1, block: 5000, slots: 2, want: 250},
		"session":             {seconds: 1e-9, block: 50000, slots: 1, want: trial.SessionTrials},
		"no time at all":      {seconds: 5e-324, block: 50000, slots: 1, want: trial.SessionTrials},
		"endless":             {seconds: 1e308, block: 50, slots: 1, want: 1},
		"shared by all slots": {seconds: 1, block: 100, slots: 4, want: 25},
		"too short to share":  {seconds: 0.1, block: 12, slots: 4, want: 12},
		"the last cell":       {seconds: 100, block: 500, slots: 2048, cells: 1, want: 1},
		"a large fleet":       {seconds: 100, block: 50000, slots: 2048, cells: 100, want: 80},
		"shared by cells":     {seconds: 100, block: 500, slots: 2048, cells: 100, want: 25},
		"more cells":          {seconds: 100, block: 500, slots: 2048, cells: 10000, want: 32},
		"small blocks":        {seconds: 100, block: 50, slots: 2048, cells: 10000, want: 5},
	} {
		t.Run(name, func(t *testing.T) {
			c := listCell(t, 50000, 10)
			if test.seconds > 0 {
				s := c.size(10)
				s.seconds, s.trials = test.seconds, 1000
				if test.seconds < 1e-300 {
					s.trials = 1
				}
			}
			d := &scheduler{slots: test.slots, state: &state{grid: &grid{ready: test.cells}}}
			if got := d.cut(c, estimate.Block{N: 10, Count: test.block}, test.block); got.Count != test.want {
				t.Errorf("cut to %d, want %d", got.Count, test.want)
			}
		})
	}
}

// Requested blocks never overlap and cover all wanted trials, for any job sizes.
func TestFreeCoversOnce(t *testing.T) {
	for seed := range uint64(20) {
		d := &scheduler{slots: 3, state: &state{grid: &grid{}}}
		c := listCell(t, 500, 10, 20)
		rng := rand.New(rand.NewPCG(seed, 2))
		for range 100 {
			c.size(10).taken.Set(rng.Int64N(600)) // known from an earlier run
		}
		seen := map[[2]int64]bool{}
		for b, whole, ok := c.nextFree(c.Want()); ok; b, whole, ok = c.nextFree(c.Want()) {
			b = d.cut(c, b, whole)
			b.Count = 1 + rng.IntN(b.Count)
			for rep := int64(b.First); rep < int64(b.First+b.Count); rep++ {
				if c.size(b.N).taken.Has(rep) || seen[[2]int64{b.N, rep}] || rep >= 500 {
					t.Fatalf("repetition %d at n = %d is handed out again or not wanted", rep, b.N)
				}
				seen[[2]int64{b.N, rep}] = true
				c.size(b.N).taken.Set(rep)
			}
		}
		for _, n := range []int64{10, 20} {
			if first := c.size(n).taken.FirstClear(0); first < 500 {
				t.Fatalf("repetition %d at n = %d is never handed out", first, n)
			}
		}
	}
}

// A message must be about trials of its cell.
func TestCellHas(t *testing.T) {
	list := listCell(t, 100, 10, 20)
	find := &cell{CellState: decision.Of(&trial.Cell{Find: &trial.Find{From: 8, To: 64}, MaxTrials: 50}, nil)}
	for _, test := range []struct {
		c    *cell
		n    int64
		last int64
		want bool
	}{
		{list, 10, 99, true}, {list, 10, 100, false}, {list, 15, 0, false}, {list, 20, 0, true},
		{find, 8, 49, true}, {find, 64, 0, true}, {find, 64, 50, false}, {find, 7, 0, false}, {find, 65, 0, false},
	} {
		if got := test.c.Has(test.n, test.last); got != test.want {
			t.Errorf("n = %d, repetition %d: %v, want %v", test.n, test.last, got, test.want)
		}
	}
}
