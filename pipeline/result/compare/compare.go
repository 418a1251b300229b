// Package compare compares two results cell by cell, or cells of one result with each other.
//
// Two cells differ if their intervals have no value in common: the brackets of n*, or in task
// online the intervals of the regret. If the brackets of both tables hold with their confidences,
// the verdict for two cells with the same n* is never that they differ. The package reads only the
// file table.parquet of a result.
//
// Start at [Read], then [Compare].
package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/schemas"
)

// Verdicts about a pair of cells.
const (
	Differ       = "differ"         // their intervals have no value in common
	Equal        = "equal"          // their rows have the same values in every column
	NotToldApart = "not told apart" // their intervals overlap, which does not prove them equal
	Unknown      = "unknown"        // their intervals overlap, and one of the cells is not decided
)

// A Comparison holds the pairs of rows of two tables, those that differ first.
type Comparison struct {
	a, b  *Table // equal for pairs within one result
	by    []By
	keys  []string // columns in which the rows of a pair agree
	pairs []pair
}

// A pair holds the rows of two cells.
type pair struct {
	a, b    int
	verdict string
}

// Compare compares each row of a with the row of b for the same cell. With by, it compares the rows
// that agree in all columns that describe a cell except these. Parameters and proved privacy belong
// to an algorithm and may differ with it. If a and b have the same folder, cells of one result are
// compared with each other.
//
// It returns an [IncomparableError] if there are no pairs.
func Compare(a, b *Table, by []By) (*Comparison, error) {
	c, err := match(a, b, by)
	if err != nil {
		return nil, err
	}
	if len(c.pairs) == 0 {
		return nil, c.noPairs()
	}
	for i := range c.pairs {
		p := &c.pairs[i]
		if p.verdict = judge(c.a.interval(p.a), c.b.interval(p.b)); c.sameRow(p) {
			p.verdict = Equal
		}
	}
	slices.SortStableFunc(c.pairs, func(p, q pair) int { return cmp.Compare(p.verdict, q.verdict) })
	return c, nil
}

// An interval holds a value above Low and at most High; an unknown end is infinite.
type interval struct {
	low, high float64
	done      bool // more trials would not make it shorter
}

// interval returns the bracket of a row, or the interval of its regret.
func (t *Table) interval(row int) interval {
	if t.online {
		low, high := t.sheet.Number(row, "regret_low"), t.sheet.Number(row, "regret_high")
		if math.IsNaN(low) || math.IsNaN(high) {
			return interval{math.Inf(-1), math.Inf(1), false}
		}
		return interval{low, high, true}
	}
	i := interval{t.sheet.Number(row, "n_low"), t.sheet.Number(row, "n_high"), slices.Contains(
		[]string{estimate.StatusDecided, estimate.StatusAboveRange, estimate.StatusBelowRange, estimate.StatusInfeasible},
		t.text(row, "status"))}
	if math.IsNaN(i.low) {
		i.low = 0
	}
	if math.IsNaN(i.high) {
		i.high = math.Inf(1)
	}
	return i
}

// judge returns the verdict about two cells with these intervals.
func judge(a, b interval) string {
	switch {
	case a.high <= b.low, b.high <= a.low:
		return Differ
	case a.done && b.done:
		return NotToldApart
	}
	return Unknown
}

// sameRow reports whether the rows of a pair have the same columns and values.
func (c *Comparison) sameRow(p *pair) bool {
	a, b := c.a.sheet, c.b.sheet
	if len(a.Columns) != len(b.Columns) {
		return false
	}
	for i := range a.Columns {
		if a.Columns[i].Name != b.Columns[i].Name || a.At(p.a, i) != b.At(p.b, i) {
			return false
		}
	}
	return true
}

// Differ reports whether any two cells differ.
func (c *Comparison) Differ() bool { return c.count(Differ) > 0 }

// count returns the number of pairs with a verdict.
func (c *Comparison) count(verdict string) (n int) {
	for _, p := range c.pairs {
		if p.verdict == verdict {
			n++
		}
	}
	return n
}

// Summary counts the verdicts in one line, and states their confidence.
func (c *Comparison) Summary() string {
	line := fmt.Sprintf("%s compared, %d not told apart, %d differ, %d unknown",
		wording.CountOf(len(c.pairs), "pair of cells", "pairs of cells"),
		c.count(NotToldApart), c.count(Differ), c.count(Unknown))
	if n := c.count(Equal); n > 0 {
		line += fmt.Sprintf(", %d equal", n)
	}
	if len(c.by) == 0 {
		for side, t := range []*Table{c.a, c.b} {
			if n := t.sheet.Len() - len(c.pairs); n > 0 { // each row is in at most one pair
				line += fmt.Sprintf(", %d only in %s", n, []string{"A", "B"}[side])
			}
		}
	}
	a, b := c.a.sheet.Confidence, c.b.sheet.Confidence
	switch {
	case c.a.online:
		return line + "; each interval of the regret has confidence 0.95 on its own"
	case c.a == c.b:
		return line + fmt.Sprintf("; confidence %.4g for all brackets together", a)
	}
	return line + fmt.Sprintf("; confidence %.4g for all brackets together: %.4g in A, %.4g in B", max(0, a+b-1), a, b)
}

// A column is a column of a comparison; its value is computed from a pair.
type column = schemas.ColumnOf[pair]

// Sheet returns the pairs as a table.
func (c *Comparison) Sheet() (*sheet.Sheet, error) {
	columns := []column{{
		Column: schemas.Column{Name: "verdict", Type: schemas.TextColumn}, Value: func(p *pair) any { return p.verdict },
	}}
	both := func(names ...string) {
		for _, name := range names {
			columns = append(columns, c.a.copied(name, name+"_a", func(p *pair) int { return p.a }),
				c.b.copied(name, name+"_b", func(p *pair) int { return p.b }))
		}
	}
	if c.a.online {
		both("regret_mean", "regret_low", "regret_high")
	} else {
		both("n_low", "n_high", "status")
		columns = append(columns, c.ratio("ratio_low", func(a, b interval) float64 { return a.low / b.high }),
			c.ratio("ratio_high", func(a, b interval) float64 { return a.high / b.low }))
	}
	for _, x := range c.by {
		both(x.Column)
	}
	if len(c.by) > 0 {
		both("cell")
	}
	for _, name := range c.keys {
		columns = append(columns, c.a.copied(name, name, func(p *pair) int { return p.a }))
	}
	return sheet.New("comparison", columns, slices.Values(c.pairs))
}

// ratio returns a column with one end of the ratio of the two n*; null if that end is unknown.
func (c *Comparison) ratio(name string, of func(a, b interval) float64) column {
	return column{
		Column: schemas.Column{Name: name, Type: schemas.FloatColumn},
		Value: func(p *pair) any {
			if r := of(c.a.interval(p.a), c.b.interval(p.b)); r > 0 && !math.IsInf(r, 1) {
				return r
			}
			return nil
		},
	}
}
