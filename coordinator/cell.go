package coordinator

import (
	"cmp"
	"slices"

	"github.com/shatterlab/shatter/coordinator/pool"
	"github.com/shatterlab/shatter/pipeline/decision"
	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/numeric"
)

// A cell is the state of a cell of the plan during a run.
type cell struct {
	*decision.CellState
	index  int             // position in the plan
	rank   int             // position in the order of work
	sizes  []*sizing       // ascending in n
	trials int64           // outcomes and requested repetitions
	ready  bool            // it may want trials
	jobs   []*pool.Request // requests with missing trials

	changed bool // queued in grid.changed
	done    bool // decided, or refused
	fresh   bool // this run has received outcomes of the cell
}

// A sizing holds the state of one sample size of a cell.
type sizing struct {
	n       int64
	taken   numeric.BitSet // repetitions that are in the ledger, requested or lost
	seconds float64        // run time that workers report for trials of this size
	trials  int64          // number of trials that this run time covers
}

// size returns the state of a sample size, which it creates if necessary.
func (c *cell) size(n int64) *sizing {
	i, known := c.sizeAt(n)
	if !known {
		c.sizes = slices.Insert(c.sizes, i, &sizing{n: n})
	}
	return c.sizes[i]
}

// sizeAt returns the index of a sample size in sizes, or the index at which to insert it.
func (c *cell) sizeAt(n int64) (place int, known bool) {
	return slices.BinarySearchFunc(c.sizes, n, func(s *sizing, n int64) int { return cmp.Compare(s.n, n) })
}

// secondsPerTrial predicts the run time of a trial at n: the mean measured there or, if there is
// none, the mean at the nearest measured sample size, scaled by n. It is 0 if nothing was measured.
func (c *cell) secondsPerTrial(n int64) float64 {
	if i, known := c.sizeAt(n); known && c.sizes[i].trials > 0 {
		return c.sizes[i].seconds / float64(c.sizes[i].trials)
	}
	best, ratio := 0.0, 0.0
	for _, s := range c.sizes {
		if s.trials == 0 {
			continue
		}
		r := float64(max(s.n, n)) / float64(min(s.n, n))
		if ratio == 0 || r < ratio || (r == ratio && s.n > n) {
			best, ratio = s.seconds/float64(s.trials)*float64(n)/float64(s.n), r
		}
	}
	return best
}

// free cuts a wanted block to its first run of repetitions that are neither known nor requested. It
// reports false if there is none.
func (c *cell) free(b estimate.Block) (estimate.Block, bool) {
	if c.Refuses(b.N) {
		return b, false
	}
	taken := c.size(b.N).taken
	end := int64(b.First) + int64(b.Count)
	first := taken.FirstClear(int64(b.First))
	if first >= end {
		return b, false
	}
	return estimate.Block{N: b.N, First: int(first), Count: int(taken.FirstSet(first, end) - first)}, true
}

// nextFree returns the first free part of the given blocks. whole is the number of trials of the
// block that contains it.
func (c *cell) nextFree(blocks []estimate.Block) (_ estimate.Block, whole int, ok bool) {
	for _, b := range blocks {
		if free, ok := c.free(b); ok {
			return free, b.Count, true
		}
	}
	return estimate.Block{}, 0, false
}

// jobSeconds returns the smallest and the best length of a job at n, in seconds. The trials of an
// interactive job share its round trips, so a job should take much longer than its round trips.
func (c *cell) jobSeconds(n int64) (least, best float64) {
	trips := roundTrip * float64(c.RoundTrips(n))
	return minJob + 2*trips, targetJob + 20*trips
}
