package coordinator

import (
	"math/bits"

	"github.com/shatterlab/shatter/pipeline/decision"
	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/plan"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// A grid holds the cells of a plan during a run: which are decided, and which may want trials.
type grid struct {
	cells   []*cell // cells in the plan's order
	order   []*cell // cells in the order of work
	first   int     // no cell before this one in the order of work is ready
	ready   int     // number of cells that may want trials
	byKey   map[trial.Key]*cell
	changed []*cell // cells whose new outcomes processChanged has not examined yet
	open    int     // number of cells that are not done
}

func newGrid(p *plan.Plan) (*grid, error) {
	cells, err := decision.New(p.Cells)
	if err != nil {
		return nil, err
	}
	g := &grid{byKey: map[trial.Key]*cell{}, open: len(cells)}
	for i, c := range cells {
		own := &cell{CellState: c, index: i}
		g.cells = append(g.cells, own)
		g.byKey[c.Key] = own
	}
	for rank, i := range spread(len(cells)) {
		g.cells[i].rank = rank
		g.order = append(g.order, g.cells[i])
	}
	return g, nil
}

// spread returns a permutation of the numbers below n: those below a power of two with their bits
// reversed. Every beginning of it is almost evenly distributed over the plan, so over most axes.
func spread(n int) []int {
	order := make([]int, 0, n)
	width := bits.Len(uint(n))
	for i := range uint64(1) << width {
		if x := int(bits.Reverse64(i) >> (64 - width)); x < n {
			order = append(order, x)
		}
	}
	return order
}

// load feeds the cells with the outcomes in the ledger and returns their number.
func (g *grid) load(l *ledger.Ledger) (outcomes int64, err error) {
	for _, c := range g.cells {
		var size *sizing
		err := c.Read(l, func(n, rep int64) {
			if size == nil || size.n != n {
				size = c.size(n)
			}
			size.taken.Set(rep)
			c.trials++
			outcomes++
		})
		if err != nil {
			return 0, err
		}
		g.markChanged(c)
	}
	return outcomes, nil
}

// markChanged queues c, and the other rungs of its ladder, for the next call of processChanged.
func (g *grid) markChanged(c *cell) {
	if c.changed {
		return
	}
	c.changed = true
	g.changed = append(g.changed, c)
	for _, other := range c.Group() {
		g.markChanged(g.byKey[other.Key])
	}
}

// processChanged closes the finished cells among those marked as changed, and queues the others for
// work.
func (g *grid) processChanged() {
	for _, c := range g.changed {
		c.changed = false
		g.update(c)
	}
	g.changed = g.changed[:0]
}

// update closes c if it is finished, and otherwise queues it for work.
func (g *grid) update(c *cell) {
	if g.close(c); c.done {
		return
	}
	if !c.ready {
		c.ready = true
		g.ready++
	}
	g.first = min(g.first, c.rank)
}

// close marks a cell as done if it is finished.
func (g *grid) close(c *cell) {
	c.ApplyRefusals()
	if c.Decided() && !c.done {
		c.done = true
		g.open--
		if c.ready {
			c.ready = false
			g.ready--
		}
	}
}

// wanted returns the next trials that some cell needs and that are not requested yet. whole is the
// number of trials of the block that contains them. Few cells are worked on at a time, so that the
// table fills from the beginning: a cell is started if those before it in the order of work wait
// for outcomes.
func (g *grid) wanted() (_ *cell, _ estimate.Block, whole int, found bool) {
	for ; g.first < len(g.order); g.first++ {
		c := g.order[g.first]
		if !c.ready {
			continue
		}
		if !c.done {
			if b, whole, ok := c.nextFree(c.Want()); ok {
				return c, b, whole, true
			}
		}
		c.ready = false
		g.ready--
	}
	return nil, estimate.Block{}, 0, false
}
