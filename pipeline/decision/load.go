package decision

import (
	"iter"
	"maps"
	"math"
	"slices"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// Success reports whether an outcome is a success: error - reference <= alpha, compared by
// numeric.Within. The error is the result of Judged.
func Success(status uint8, err, reference, alpha float64) bool {
	return status == ledger.OK && numeric.Within(err, reference, alpha)
}

// Judged returns the number that determines success in a row of a batch of a cell: the error of
// the trial, or a metric of its task per round.
func Judged(c *trial.Cell, b *ledger.Batch, row int) float64 {
	judged := c.Kind().Judged
	if judged == "" {
		return b.Error[row]
	}
	return metric(b, judged, row) / float64(b.N)
}

// metric returns a metric in a row of a batch; NaN if it is missing.
func metric(b *ledger.Batch, name string, row int) float64 {
	if i := slices.Index(b.Metrics, name); i >= 0 {
		return b.Values[i][row]
	}
	return math.NaN()
}

// Read feeds the cell with the outcomes of a ledger, and calls each for every one.
func (c *CellState) Read(l *ledger.Ledger, each func(n, rep int64)) error {
	_, features := c.Decider.(estimate.FeatureDecider)
	if features || c.Kind().Judged != "" && c.CanSucceed() { // the ledger holds metrics on disk only
		return l.Each(c.Key, func(b *ledger.Batch) error {
			for row, rep := range b.Repetition {
				c.Feed(b, row)
				each(b.N, rep)
			}
			return nil
		})
	}
	for _, n := range slices.Sorted(maps.Keys(l.Counts(c.Key))) {
		for o := range l.Outcomes(c.Key, n) {
			c.feed(n, o.Repetition, o.Status, o.Error)
			each(n, o.Repetition)
		}
	}
	return nil
}

// Load returns the cells of a table, in their order, with the outcomes, losses and refusals of a
// ledger. It does not retain the returned cells, except those of a ladder.
func Load(cells []*trial.Cell, l *ledger.Ledger) iter.Seq2[*CellState, error] {
	tests, rungs := countTests(cells), map[*trial.Ladder][]*trial.Cell{}
	for _, c := range cells {
		if c.Rung != nil {
			rungs[c.Rung.Ladder] = append(rungs[c.Rung.Ladder], c)
		}
	}
	return func(yield func(*CellState, error) bool) {
		loaded := map[*trial.Cell]*CellState{} // rungs
		for _, c := range cells {
			own := loaded[c]
			if own == nil {
				group := []*trial.Cell{c}
				if c.Rung != nil {
					group = rungs[c.Rung.Ladder]
				}
				all, err := begin(group, tests)
				if err == nil {
					err = load(all, l)
				}
				if err != nil {
					yield(nil, err)
					return
				}
				for _, x := range all {
					if loaded[x.Cell] = x; x.Cell == c {
						own = x
					}
				}
			}
			delete(loaded, c)
			if !yield(own, nil) {
				return
			}
		}
	}
}

// load feeds cells with the outcomes, losses and refusals of the ledger.
func load(cells []*CellState, l *ledger.Ledger) error {
	for _, c := range cells {
		if err := c.Read(l, func(int64, int64) {}); err != nil {
			return err
		}
		for _, r := range l.Refusals(c.Key) {
			c.Refuse(r.N, r.Refusal)
		}
	}
	cells[0].ApplyRefusals()
	for _, c := range cells {
		for _, x := range l.Losses(c.Key) {
			if c.Has(x.N, x.Repetition) {
				c.Lose(x.N, x.Repetition, x.Reason)
			}
		}
	}
	cells[0].ApplyRefusals()
	return nil
}
