package decision

import (
	"math"
	"slices"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// Success reports whether an outcome is a success: error - above <= alpha, as numeric.Within
// compares. In task online the error is the regret per round: see Judged.
func Success(status uint8, err, above, alpha float64) bool {
	return status == ledger.OK && numeric.Within(err, above, alpha)
}

// Judged returns the number that decides about success in a row of a batch of a cell: the error of the
// trial, or in task online its regret per round, because an outcome's error is the loss per round there.
func Judged(c *trial.Cell, b *ledger.Batch, row int) float64 {
	if !c.Online() {
		return b.Error[row]
	}
	if i := slices.Index(b.Metrics, schemas.Regret); i >= 0 {
		return b.Values[i][row] / float64(b.N)
	}
	return math.NaN()
}

// Read feeds the cell with the outcomes that a ledger has, and calls each for every one.
func (c *Cell) Read(l *ledger.Ledger, each func(n, rep int64)) error {
	if c.Online() && c.CanSucceed() { // the ledger holds their regret on disk only
		return l.Each(c.Key, func(b *ledger.Batch) error {
			for row, rep := range b.Repetition {
				c.Feed(b, row)
				each(b.N, rep)
			}
			return nil
		})
	}
	for _, n := range l.Sizes(c.Key) {
		for o := range l.Outcomes(c.Key, n) {
			c.feed(n, o.Repetition, o.Status, o.Error)
			each(n, o.Repetition)
		}
	}
	return nil
}
