package coordinator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/pipeline/result"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// decider says which trials a cell still needs: the search for n*, or the plain list of sample
// sizes.
type decider interface {
	// Needs returns the sample sizes of which trials are needed now and none was read: what an
	// algorithm refuses counts for these.
	Needs() []int64
	// Want returns the blocks that are needed now.
	Want() []estimate.Block
	// Left returns the blocks that will probably still be read, from repetition 0 on: how many, not
	// which.
	Left() []estimate.Block
	Add(n int64, rep int, o estimate.Outcome)
	Lost(n int64, rep int, reason string)
	Infeasible(n int64, reason string)
	Done() bool
	Result() estimate.Result
}

// cell is a cell of the plan while it is worked on.
type cell struct {
	*trial.Cell
	decider
	index    int                      // in the plan
	refusals map[int64]ledger.Refusal // that are known, by sample size; nil: none
	told     map[int64]bool           // infeasible sizes that the decider knows of; nil: none
	sizes    []*sizing                // ascending in n
	first    sizing                   // the one that was added first
	one      [1]*sizing               // sizes while there are no others
	refused  string                   // why the algorithm refuses the cell at some n, after it was accepted without one
	trials   int64                    // outcomes and repetitions handed out, for the order of work
	place    int                      // in the queue of cells that may want trials; -1: not there
	jobs     []*job                   // handed out
	fed      int64                    // outcomes that the decider was given
	ladder   *ladder                  // of a rung, whose decider is part of it; nil: the cell stands alone

	untold  bool // the decider is one that many cells have while nothing is known of them
	changed bool // queued in grid.changed
	done    bool // decided, or refused
	fresh   bool // this run has brought outcomes of it
}

// sizing is what is known about one sample size of a cell.
type sizing struct {
	n        int64
	taken    numeric.BitSet // repetitions that are in the ledger, handed out or lost
	out      numeric.BitSet // repetitions that are handed out and have not come back
	seconds  float64        // that workers report for trials of this size
	trials   int64          // that took these seconds
	answered bool           // trials were run, so the algorithm does not refuse it
}

func newCell(c *trial.Cell, index, cells int) (*cell, error) {
	own := &cell{Cell: c, index: index, place: -1}
	return own, own.begin(cells)
}

// begin gives the cell a decider that has been told nothing.
func (c *cell) begin(cells int) (err error) {
	c.decider, err = newDecider(c.Cell, cells)
	_, c.untold = c.decider.(*estimate.Search)
	return err
}

func newDecider(c *trial.Cell, cells int) (decider, error) {
	if c.Find == nil {
		return newList(c, cells), nil
	}
	if c.Trivial() {
		return trivial{c.WithoutData()}, nil
	}
	return estimate.Begun(searchOf(c, cells))
}

// tell returns the decider for being told something.
func (c *cell) tell() decider {
	if s, searches := c.decider.(*estimate.Search); searches && c.untold {
		c.decider, c.untold = s.Again(), false
	}
	return c.decider
}

// The methods by which a decider is told something, which has to be the cell's own then.

func (c *cell) Add(n int64, rep int, o estimate.Outcome) { c.tell().Add(n, rep, o) }
func (c *cell) Lost(n int64, rep int, reason string)     { c.tell().Lost(n, rep, reason) }
func (c *cell) Infeasible(n int64, reason string)        { c.tell().Infeasible(n, reason) }

// searchOf returns the search of a cell in a table of that many cells.
func searchOf(c *trial.Cell, cells int) estimate.Find {
	return estimate.Find{
		From: c.Find.From, To: c.Find.To, Step: c.Find.Step, Within: c.Find.Within, Confidence: c.Find.Confidence,
		Target: 1 - c.Beta, Cells: cells, MaxTrials: c.MaxTrials, Monotone: c.Find.Monotone,
	}
}

// has reports whether the cell can have the trials up to a repetition of a sample size.
func (c *cell) has(n, last int64) bool {
	if c.Find != nil {
		return c.Find.From <= n && n <= c.Find.To && last < c.MaxTrials
	}
	return slices.Contains(c.N, n) && last < c.Repetitions()
}

// size returns what is known about a sample size.
func (c *cell) size(n int64) *sizing {
	i, known := c.sizeAt(n)
	switch {
	case known:
	case len(c.sizes) == 0:
		c.first = sizing{n: n}
		c.one[0] = &c.first
		c.sizes = c.one[:]
	default:
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

// feed gives the decider an outcome: its status, and what result.Judged says of it.
func (c *cell) feed(n, rep int64, status uint8, e float64) {
	o := estimate.Miss
	switch {
	case status == ledger.Failed:
		o = estimate.Failed
	case result.Success(status, e, c.Above, c.Alpha):
		o = estimate.Success
	}
	c.fed++
	c.Add(n, int(rep), o)
}

// free cuts a wanted block to its first run of repetitions that nobody has or works on. It reports
// false if there is none.
func (c *cell) free(b estimate.Block) (estimate.Block, bool) {
	if c.refuses(b.N) {
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

// finished reports whether a cell of that status came to its end: a search that is decided one way
// or another, or a list of sample sizes that is complete, whatever it shows.
func (c *cell) finished(status string) bool {
	if l, ok := c.decider.(*list); ok {
		return status != estimate.StatusFailed && l.lost() == 0 && l.Done()
	}
	return status != estimate.StatusFailed && status != estimate.StatusUndecided && status != estimate.StatusNotMonotone
}

// aims returns the least and the best length of a job at n, in seconds. The trials of an interactive
// job share its round trips, so a job should be much longer than these alone.
func (c *cell) aims(n int64) (least, best float64) {
	trips := roundTrip * c.trips(n)
	return leastJob + 2*trips, aimJob + 20*trips
}

// trips returns the number of round trips that the trials of a job at n share.
func (c *cell) trips(n int64) float64 {
	switch {
	case !c.interactive():
		return 0
	case c.Online():
		return float64(n)
	}
	return float64(c.Queries)
}

// at names a sample size of the cell for people.
func (c *cell) at(n int64) string { return fmt.Sprintf("%s, n = %d", c.words(), n) }

// words names the cell for people: its algorithm and what most tells its problem apart.
func (c *cell) words() string {
	p := c.Problem
	parts := []string{c.As + " on " + p.Class}
	for _, x := range []struct {
		name  string
		value any
		given bool
	}{
		{"", p.Distribution, p.Distribution != ""}, {"domain", p.Domain, p.Domain > 0}, {"d", p.Dim, p.Dim > 0},
		{"margin", p.Margin, p.Margin > 0}, {"noise", p.Noise.Rate, p.Noise.Rate > 0}, {"epsilon", c.Epsilon, c.Epsilon > 0},
	} {
		if x.given {
			parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %v", x.name, x.value)))
		}
	}
	return strings.Join(parts, ", ")
}
