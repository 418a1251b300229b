package coordinator

import (
	"github.com/shatterlab/shatter/pipeline/decision"
	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/plan"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// grid holds the cells of a plan while they are worked on. It knows which cells are decided and
// which may want trials.
type grid struct {
	cells   []*cell // in the order of the plan
	byKey   map[trial.Key]*cell
	ready   cellQueue // cells that may want trials
	changed []*cell   // cells with outcomes that sort has not looked at yet
	open    int       // number of cells that are not done
}

func newGrid(p *plan.Plan) (*grid, error) {
	cells, err := decision.New(p.Cells)
	if err != nil {
		return nil, err
	}
	g := &grid{byKey: map[trial.Key]*cell{}, open: len(cells)}
	for i, c := range cells {
		own := &cell{Cell: c, index: i, place: -1}
		g.cells = append(g.cells, own)
		g.byKey[c.Key] = own
	}
	return g, nil
}

// load feeds the cells with the outcomes of the ledger and returns how many there are.
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
		g.queue(c)
	}
	return outcomes, nil
}

// queue queues c, and the other rungs of its ladder, for the next call of sort.
func (g *grid) queue(c *cell) {
	if c.changed {
		return
	}
	c.changed = true
	g.changed = append(g.changed, c)
	for _, other := range c.Group() {
		g.queue(g.byKey[other.Key])
	}
}

// sort closes the queued cells that have come to their end, and lines up the others.
func (g *grid) sort() {
	for _, c := range g.changed {
		c.changed = false
		g.lineUp(c)
	}
	g.changed = g.changed[:0]
}

// lineUp closes a cell that has come to its end; another one may want trials.
func (g *grid) lineUp(c *cell) {
	if g.close(c); !c.done {
		g.ready.push(c)
	}
}

// close marks a cell as done if it has come to its end.
func (g *grid) close(c *cell) {
	c.Settle()
	if c.Decided() && !c.done {
		c.done = true
		g.open--
	}
}

// wanted returns the next block that some cell needs and nobody works on: that of the cell with the
// least progress.
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
