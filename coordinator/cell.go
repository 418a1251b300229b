package coordinator

import (
	"cmp"
	"slices"

	"github.com/shatterlab/shatter/coordinator/pool"
	"github.com/shatterlab/shatter/pipeline/decision"
	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/numeric"
)

// cell is a cell of the plan while it is worked on.
type cell struct {
	*decision.Cell
	index  int             // in the plan
	sizes  []*sizing       // ascending in n
	trials int64           // outcomes and repetitions handed out, for the order of work
	place  int             // in the queue of cells that may want trials; -1: not there
	jobs   []*pool.Request // requests with missing trials

	changed bool // queued in grid.changed
	done    bool // decided, or refused
	fresh   bool // this run has brought outcomes of it
}

// sizing is what is known about one sample size of a cell.
type sizing struct {
	n       int64
	taken   numeric.BitSet // repetitions that are in the ledger, handed out or lost
	seconds float64        // that workers report for trials of this size
	trials  int64          // that took these seconds
}

// size returns what is known about a sample size.
func (c *cell) size(n int64) *sizing {
	i, known := c.sizeAt(n)
	if !known {
		c.sizes = slices.Insert(c.sizes, i, &sizing{n: n})
	}
	return c.sizes[i]
}

// sizeAt returns the place of a sample size in sizes, and whether it is there.
func (c *cell) sizeAt(n int64) (place int, known bool) {
	return slices.BinarySearchFunc(c.sizes, n, func(s *sizing, n int64) int { return cmp.Compare(s.n, n) })
}

// secondsPerTrial predicts the cost of a trial at n: measured there, or else scaled from the
// nearest sample size that was measured. It is 0 while nothing is known.
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

// free cuts a wanted block to its first run of repetitions that nobody has or works on. It reports
// false if there is none.
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

// nextFree returns the first free block among those given.
func (c *cell) nextFree(blocks []estimate.Block) (estimate.Block, bool) {
	for _, b := range blocks {
		if free, ok := c.free(b); ok {
			return free, true
		}
	}
	return estimate.Block{}, false
}

// aims returns the least and the best length of a job at n, in seconds. The trials of an interactive
// job share its round trips, so a job should be much longer than these alone.
func (c *cell) aims(n int64) (least, best float64) {
	trips := roundTrip * float64(c.RoundTrips(n))
	return leastJob + 2*trips, aimJob + 20*trips
}
