package coordinator

import (
	"context"
	"fmt"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/plan"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// grid holds the cells of a plan while they are worked on. It asks the algorithms about sample
// sizes and knows which cells are decided and which may want trials.
type grid struct {
	algorithms plan.Algorithms
	cells      []*cell // in the order of the plan
	byKey      map[trial.Key]*cell
	ready      cellQueue // cells that may want trials
	changed    []*cell   // cells with outcomes that sort has not looked at yet
	open       int       // number of cells that are not done
}

func newGrid(p *plan.Plan, algorithms plan.Algorithms) (*grid, error) {
	g := &grid{algorithms: algorithms, byKey: map[trial.Key]*cell{}, open: len(p.Cells)}
	for i, pc := range p.Cells {
		c, err := newCell(pc, i, len(p.Cells))
		if err != nil {
			return nil, fmt.Errorf("cell %s: %w", pc.Key.Short(), err)
		}
		g.cells = append(g.cells, c)
		g.byKey[pc.Key] = c
	}
	return g, nil
}

// load feeds the cells with the outcomes of the ledger and returns how many there are.
func (g *grid) load(l *ledger.Ledger) (outcomes int64) {
	for _, c := range g.cells {
		for _, n := range l.Sizes(c.Key) {
			size := c.size(n)
			for o := range l.Outcomes(c.Key, n) {
				size.taken.Set(o.Repetition)
				c.feed(n, o.Repetition, o.Status, o.Error)
				c.trials++
				outcomes++
			}
		}
		g.queue(c)
	}
	return outcomes
}

// queue queues c for the next call of sort.
func (g *grid) queue(c *cell) {
	if !c.changed {
		c.changed = true
		g.changed = append(g.changed, c)
	}
}

// sort closes the queued cells that have come to their end, as far as is known without asking
// anybody, and lines up the others.
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

// advance brings all cells as far as they come without trials: each is done afterwards, or may want
// some.
func (g *grid) advance(ctx context.Context) error {
	g.sort()
	for _, c := range g.cells {
		if c.done {
			continue
		}
		if err := g.consult(ctx, c); err != nil {
			return err
		}
		g.lineUp(c)
	}
	return nil
}

// consult asks the algorithm about the sample sizes that the cell has come to.
func (g *grid) consult(ctx context.Context, c *cell) error {
	for again := true; again && !c.Done() && c.refused == ""; {
		again = false
		for _, n := range c.Needs() {
			if c.told[n] {
				continue
			}
			a, err := g.ask(ctx, c, n)
			if err != nil {
				return err
			}
			c.told[n], again = true, true
			if a.infeasible != "" {
				c.Infeasible(n, a.infeasible)
			}
			if a.refused != "" {
				c.refused = fmt.Sprintf("n = %d: %s", n, a.refused)
			}
		}
	}
	return nil
}

// close marks a cell as done if it has come to its end.
func (g *grid) close(c *cell) {
	if (c.Done() || c.refused != "") && !c.done {
		c.done = true
		g.open--
	}
}

// ask returns the algorithm's answer about one sample size. It asks once.
func (g *grid) ask(ctx context.Context, c *cell, n int64) (answer, error) {
	if a, ok := c.answers[n]; ok {
		return a, nil
	}
	if ctx.Err() != nil {
		return answer{}, ctx.Err()
	}
	all, err := g.algorithms.Ask(ctx, c.Plugin, []*pluginv1.Setting{c.Setting(n)})
	if err != nil && ctx.Err() != nil {
		return answer{}, ctx.Err()
	}
	if err != nil {
		return answer{}, fmt.Errorf("check %s at n = %d: %w", c.As, n, err)
	}
	var a answer
	res := all[0].GetCheck()
	switch {
	case res.GetRefusal() == nil:
		if err := trial.CheckGuarantee(res.GetGuarantee(), c.Setting(n)); err != nil {
			a.refused = err.Error()
		}
	case res.Refusal.Kind == pluginv1.Refusal_KIND_INFEASIBLE:
		a.infeasible = res.Refusal.Message
	default:
		a.refused = res.Refusal.Message
	}
	c.answers[n] = a
	return a, nil
}

// wanted returns the next block that some cell needs and nobody works on: that of the cell with the
// least progress. Its algorithm is asked about sample sizes only now: a sweep may have many cells,
// and the first trials do not wait for the last cell.
func (g *grid) wanted(ctx context.Context) (*cell, estimate.Block, bool, error) {
	for g.ready.Len() > 0 {
		c := g.ready.cells[0]
		if !c.done {
			if err := g.consult(ctx, c); err != nil {
				return nil, estimate.Block{}, false, err
			}
			g.close(c)
		}
		if !c.done {
			if b, ok := c.nextFree(c.Want()); ok {
				return c, b, true, nil
			}
		}
		g.ready.pop()
	}
	return nil, estimate.Block{}, false, nil
}
