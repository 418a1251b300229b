package coordinator

import (
	"fmt"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/plan"
	"github.com/shatterlab/shatter/pipeline/result"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// grid holds the cells of a plan while they are worked on. It knows which cells are decided and
// which may want trials.
type grid struct {
	cells   []*cell // in the order of the plan
	tests   int     // cells and ladders, which have equal shares of the chance of a wrong table
	byKey   map[trial.Key]*cell
	ready   cellQueue // cells that may want trials
	changed []*cell   // cells with outcomes that sort has not looked at yet
	open    int       // number of cells that are not done
}

func newGrid(p *plan.Plan) (*grid, error) {
	g := &grid{byKey: map[trial.Key]*cell{}, open: len(p.Cells), tests: countTests(p.Cells)}
	for i, pc := range p.Cells {
		c, err := newCell(pc, i, g.tests)
		if err != nil {
			return nil, fmt.Errorf("cell %s: %w", pc.Key.Short(), err)
		}
		g.cells = append(g.cells, c)
		g.byKey[pc.Key] = c
	}
	return g, g.climb()
}

// climb puts the rungs on their ladders, whose searches begin.
func (g *grid) climb() error {
	ladders := map[*trial.Ladder]*ladder{}
	for _, c := range g.cells {
		if c.Rung == nil {
			continue
		}
		if err := c.climb(ladders, g.tests); err != nil {
			return fmt.Errorf("cell %s: %w", c.Key.Short(), err)
		}
	}
	for _, l := range ladders {
		l.skipTrivial()
	}
	return nil
}

// load feeds the cells with the outcomes of the ledger and returns how many there are.
func (g *grid) load(l *ledger.Ledger) (outcomes int64, err error) {
	for _, c := range g.cells {
		before := c.trials
		if c.Online() && c.CanSucceed() { // what they are judged by is no error, and is not in memory
			err = l.Each(c.Key, func(b *ledger.Batch) error {
				size := c.size(b.N)
				for i, rep := range b.Repetition {
					c.recall(size, b.N, rep, b.Status[i], result.Judged(c.Cell, b, i))
				}
				return nil
			})
			if err != nil {
				return 0, err
			}
		} else {
			for _, n := range l.Sizes(c.Key) {
				size := c.size(n)
				for o := range l.Outcomes(c.Key, n) {
					c.recall(size, n, o.Repetition, o.Status, o.Error)
				}
			}
		}
		outcomes += c.trials - before
		g.queue(c)
	}
	return outcomes, nil
}

// recall takes in an outcome of an earlier run at a size.
func (c *cell) recall(size *sizing, n, rep int64, status uint8, judged float64) {
	size.answered = true
	size.taken.Set(rep)
	c.feed(n, rep, status, judged)
	c.trials++
}

// queue queues c, and the other rungs of its ladder, for the next call of sort.
func (g *grid) queue(c *cell) {
	if c.changed {
		return
	}
	c.changed = true
	g.changed = append(g.changed, c)
	if c.ladder != nil {
		for _, other := range c.ladder.rungs {
			g.queue(other)
		}
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
	c.settle()
	if (c.Done() || c.refused != "") && !c.done {
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
