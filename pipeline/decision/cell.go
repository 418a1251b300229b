// Package decision applies the outcomes of a ledger to the deciders of a plan's cells.
//
// The decision on a cell is a function of the outcomes, losses and refusals of its trials,
// independent of the time and order of their arrival. A coordinator feeds cells with each result
// as it arrives; other programs load them from a ledger.
//
// Start with [New], [CellState] and [Load].
package decision

import (
	"fmt"
	"math"
	"slices"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/pipeline/wording"
)

// A CellState is a cell of a plan with its decider.
type CellState struct {
	*trial.Cell
	estimate.Decider
	Refused string // reason of the algorithm for refusing a needed sample size as invalid; "": it does not

	ladder   *ladder            // search that a rung belongs to; nil: the cell is decided alone
	refusals map[int64]*refusal // keys are sample sizes; nil: none
	answered []int64            // sample sizes with outcomes or losses, which the algorithm accepts
}

// A refusal is the answer of an algorithm that does not accept a sample size.
type refusal struct {
	ledger.Refusal
	reported bool // the decider has received the refusal
}

// A ladder is a search over the values of a parameter other than n, with its cells.
//
// The confidence of the search assumes independent trials. Trials of different rungs are
// independent although they have the same n: see [trial.Rung.Sampled].
type ladder struct {
	*estimate.Ladder
	rungs []*CellState // index: position, from 0 on
}

// New returns the cells of a table without any outcomes. They share the probability of a wrong
// table equally; a ladder counts as one cell.
func New(cells []*trial.Cell) ([]*CellState, error) { return begin(cells, countTests(cells)) }

// countTests returns the number of cells without rungs, and of ladders.
func countTests(cells []*trial.Cell) (tests int) {
	ladders := map[*trial.Ladder]bool{}
	for _, c := range cells {
		if c.Rung == nil {
			tests++
		} else {
			ladders[c.Rung.Ladder] = true
		}
	}
	return tests + len(ladders)
}

// begin returns cells of a table of that many tests. The cells must contain all rungs of a ladder
// or none.
func begin(cells []*trial.Cell, tests int) ([]*CellState, error) {
	all, ladders := make([]*CellState, len(cells)), map[*trial.Ladder]*ladder{}
	for i, c := range cells {
		all[i] = &CellState{Cell: c}
		if err := all[i].begin(ladders, tests); err != nil {
			return nil, fmt.Errorf("cell %s: %w", c.Key.Short(), err)
		}
	}
	for _, l := range ladders {
		// If a learner without data passes on the first rung, it passes on all.
		if first := l.rungs[0]; first.Trivial() {
			for _, c := range l.rungs {
				c.Decider = estimate.Trivial(first.DescribePrior())
			}
		}
	}
	return all, nil
}

// begin creates the decider of the cell. The rungs of one ladder share it.
func (c *CellState) begin(ladders map[*trial.Ladder]*ladder, tests int) (err error) {
	switch {
	case c.Rung != nil:
		l := ladders[c.Rung.Ladder]
		if l == nil {
			if l, err = newLadder(c.Cell, tests); err != nil {
				return err
			}
			ladders[c.Rung.Ladder] = l
		}
		l.rungs[c.Rung.Position-1] = c
		c.ladder, c.Decider = l, l.Rung(c.Rung.Position, c.N[0])
	case c.Kind().Decide != nil:
		c.Decider = c.Kind().Decide(c.Claim(tests))
	case c.Find == nil:
		list := estimate.List{Sizes: c.N, Trials: c.Trials, Confidence: estimate.ListConfidence, Cells: tests}
		if c.Beta > 0 {
			list.Target = 1 - c.Beta
		}
		if c.Trivial() {
			list.Trivial = c.DescribePrior()
		}
		c.Decider = estimate.NewSizes(list)
	case c.Trivial():
		c.Decider = estimate.Trivial(c.DescribePrior())
	default:
		c.Decider, err = estimate.NewSearch(estimate.Find{
			From: c.Find.From, To: c.Find.To, Step: c.Find.Step, Within: c.Find.Within, Confidence: c.Find.Confidence,
			Target: 1 - c.Beta, Cells: tests, MaxTrials: c.MaxTrials, Monotone: c.Find.Monotone,
		})
	}
	return err
}

// newLadder starts the search over the positions of a cell's ladder.
func newLadder(c *trial.Cell, tests int) (*ladder, error) {
	of := c.Rung.Ladder
	other, without := trial.Ladder{Rises: !of.Rises}, "search"
	if c.Kind().GoalOptional {
		without = "search and goal"
	}
	remedy := fmt.Sprintf("if it %s instead, write search: {axis: %s, success: %s}; if it does neither, list the values "+
		"without %s", other.Direction(), of.Axis, other.Direction(), without)
	search, err := estimate.NewLadder(estimate.Find{
		From: 1, To: int64(len(of.Values)), Within: 1, Gap: of.Within, Confidence: of.Confidence,
		Target: 1 - c.Beta, Cells: tests, MaxTrials: c.MaxTrials, Monotone: of.Monotone, Ends: true,
	}, estimate.Words{Size: of.Describe, Fall: of.DescribeFall(), Remedy: remedy})
	return &ladder{search, make([]*CellState, len(of.Values))}, err
}

// Of returns a single cell with the given decider.
func Of(c *trial.Cell, d estimate.Decider) *CellState { return &CellState{Cell: c, Decider: d} }

// Group returns the cells that are decided together: the rungs of the cell's ladder, or the cell alone.
func (c *CellState) Group() []*CellState {
	if c.ladder != nil {
		return c.ladder.rungs
	}
	return []*CellState{c}
}

// Has reports whether the cell can have the trials up to a repetition of a sample size.
func (c *CellState) Has(n, last int64) bool {
	if c.Find != nil {
		return c.Find.From <= n && n <= c.Find.To && last < c.MaxTrials
	}
	return slices.Contains(c.N, n) && last < c.Repetitions()
}

// Feed adds the outcome in a row of a batch that the ledger counts.
func (c *CellState) Feed(b *ledger.Batch, row int) {
	d, reads := c.Decider.(estimate.FeatureDecider)
	if !reads {
		c.feed(b.N, b.Repetition[row], b.Status[row], Judged(c.Cell, b, row))
		return
	}
	c.answer(b.N)
	o := estimate.Miss
	if b.Status[row] == ledger.Failed {
		o = estimate.Failed
	}
	d.AddFeatures(b.N, int(b.Repetition[row]), o, func(name string) float64 { return metric(b, name, row) })
}

// feed adds an outcome: its status and the number that determines success.
func (c *CellState) feed(n, rep int64, status uint8, judged float64) {
	c.answer(n)
	o := estimate.Miss
	switch {
	case status == ledger.Failed:
		o = estimate.Failed
	case Success(status, judged, c.Reference, c.Alpha):
		o = estimate.Success
	}
	c.Add(n, int(rep), o)
}

// Lose records that a trial is permanently lost.
func (c *CellState) Lose(n, rep int64, reason string) {
	c.answer(n)
	c.Lost(n, int(rep), reason)
}

// answer records that the algorithm accepts a sample size.
func (c *CellState) answer(n int64) {
	if i, known := slices.BinarySearch(c.answered, n); !known {
		c.answered = slices.Insert(c.answered, i, n)
	}
}

// Refuse records the refusal of a sample size.
func (c *CellState) Refuse(n int64, r ledger.Refusal) {
	if c.refusals == nil {
		c.refusals = map[int64]*refusal{}
	}
	if c.refusals[n] == nil {
		c.refusals[n] = &refusal{Refusal: r}
	}
}

// Refuses reports whether the algorithm has refused a sample size.
func (c *CellState) Refuses(n int64) bool { return c.refusals[n] != nil }

// maxReason is the maximum length of a displayed refusal.
const maxReason = 1000

// ApplyRefusals applies the refusals of the sizes that the decider needs. Other refusals wait
// until their sizes are needed, so that the decision does not depend on the time of their
// arrival. Infeasible sizes are reported to the decider. An invalid size refuses all cells of the
// group, once every needed size was answered.
func (c *CellState) ApplyRefusals() {
	group := c.Group()
	for !c.Decided() {
		if reportInfeasible(group) {
			continue // the decider may need other sizes now
		}
		reason := invalidReason(group)
		for _, x := range group {
			x.Refused = reason
		}
		return
	}
}

// reportInfeasible reports the needed sizes of a group that are infeasible to its decider, each
// once. It returns whether there was one.
func reportInfeasible(group []*CellState) (reported bool) {
	for _, x := range group {
		for _, n := range x.Needs() {
			if r := x.refusals[n]; r != nil && r.Kind != ledger.Invalid && !r.reported {
				r.reported, reported = true, true
				x.Infeasible(n, wording.OneLine(r.Message, maxReason))
			}
		}
	}
	return reported
}

// invalidReason describes the last needed size of a group that is invalid. It returns "" if there
// is none, or if a needed size was not answered yet.
func invalidReason(group []*CellState) (reason string) {
	for _, x := range group {
		for _, n := range x.Needs() {
			if r := x.refusals[n]; r == nil {
				if _, answered := slices.BinarySearch(x.answered, n); !answered {
					return ""
				}
			} else if r.Kind == ledger.Invalid {
				reason = fmt.Sprintf("%s: %s", x.position(n), wording.OneLine(r.Message, maxReason))
			}
		}
	}
	return reason
}

// position names a sample size of the cell, or its value on its ladder.
func (c *CellState) position(n int64) string {
	if c.Rung != nil {
		return c.Rung.Describe(c.Rung.Position)
	}
	return fmt.Sprintf("n = %d", n)
}

// Decided reports whether the cell needs no more trials.
func (c *CellState) Decided() bool { return c.Refused != "" || c.Done() }

// Finished reports whether the result of the cell answers its question: a search has its bracket,
// or a list has all of its trials, with any outcomes.
func (c *CellState) Finished(r estimate.Result) bool {
	switch {
	case r.Status == estimate.StatusFailed:
		return false
	case !c.Searched():
		return c.Done() && !slices.ContainsFunc(r.Points, func(p estimate.Point) bool { return p.Lost > 0 })
	}
	return r.Status != estimate.StatusUndecided && r.Status != estimate.StatusNotMonotone
}

// TrialsLeft predicts the remaining trials of the decision, and for a rung of the whole ladder.
func (c *CellState) TrialsLeft() (trials float64) {
	for _, x := range c.Group() {
		for _, b := range x.Left() {
			trials += float64(b.Count)
		}
	}
	return trials
}

// Found returns the values on the cell's ladder that were shown insufficient and sufficient; NaN:
// none.
func (c *CellState) Found() (insufficient, sufficient float64) {
	insufficient, sufficient = math.NaN(), math.NaN()
	r := c.ladder.Result()
	if r.Low > 0 {
		insufficient = c.Rung.Values[r.Low-1]
	}
	if r.High > 0 {
		sufficient = c.Rung.Values[r.High-1]
	}
	return insufficient, sufficient
}
