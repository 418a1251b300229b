package coordinator

import (
	"github.com/shatterlab/shatter/pipeline/decision"
	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/plan"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// A grid holds the cells of a plan during a run: which are decided, and which may want trials.
type grid struct {
	cells   []*cell // cells in the plan's order
	byKey   map[trial.Key]*cell
	ready   cellQueue // cells that may want trials
	changed []*cell   // cells whose new outcomes processChanged has not examined yet
	open    int       // number of cells that are not done
}

func newGrid(p *plan.Plan) (*grid, error) {
	cells, err := decision.New(p.Cells)
	if err != nil {
		return nil, err
	}
	g := &grid{byKey: map[trial.Key]*cell{}, open: len(cells)}
	for i, c := range cells {
		own := &cell{CellState: c, index: i, heapIndex: -1}
		g.cells = append(g.cells, own)
		g.byKey[c.Key] = own
	}
	return g, nil
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
	if g.close(c); !c.done {
		g.ready.push(c)
	}
}

// close marks a cell as done if it is finished.
func (g *grid) close(c *cell) {
	c.ApplyRefusals()
	if c.Decided() && !c.done {
		c.done = true
		g.open--
	}
}

// wanted returns the next block of trials that some cell needs and that is not requested yet. It
// prefers the cell with the least progress.
func (g *grid) wanted() (*cell, estimate.Block, bool) {
	for g.ready.Len() > 0 {
		c := g.ready.cells[0]
		if !c.done {
			if b, ok := c.nextFree(c.Want()); ok {
				return c, b, true
			}
		}
		g.ready.pop()
	}
	return nil, estimate.Block{}, false
}
