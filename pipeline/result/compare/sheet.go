package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/schemas"
)

// column is a column of a comparison, whose value is read from the index of a pair.
type column = schemas.ColumnOf[int]

// Types of columns.
const (
	text   = schemas.TextColumn
	whole  = schemas.IntColumn
	number = schemas.FloatColumn
)

func newColumn(of schemas.ColumnType, name string, value func(k int) any) column {
	return column{
		Column: schemas.Column{Name: name, Type: of},
		Value:  func(k *int) any { return value(*k) },
	}
}

// copied returns a column of the one table (side 0) or the other, under a name of its own. A
// parameter's may be in one of them only.
func (c *Comparison) copied(side int, from, name string) column {
	t := []*Table{c.a, c.b}[side]
	typ := text
	if i, ok := t.column[from]; ok {
		typ = t.sheet.Columns[i].Type
	}
	return newColumn(typ, name, func(k int) any { return t.value(c.pairs[k][side], from) })
}

// both returns a column of both tables.
func (c *Comparison) both(name string) []column {
	return []column{c.copied(0, name, name+"_a"), c.copied(1, name, name+"_b")}
}

// cellColumns returns the columns that say which cells a pair is of.
func (c *Comparison) cellColumns() (columns []column) {
	if len(c.by) == 0 {
		columns = append(columns, c.copied(0, "cell", "cell"))
	} else {
		columns = append(columns, c.both("cell")...)
	}
	for _, x := range c.by {
		columns = append(columns, c.both(x.Column)...)
	}
	for _, name := range c.keys {
		columns = append(columns, c.copied(0, name, name))
	}
	return columns
}

func (c *Comparison) verdictColumns() []column {
	return []column{
		newColumn(text, "verdict", func(k int) any { return c.judgements[k].Verdict }),
		newColumn(text, "differs_in", func(k int) any { return orNil(strings.Join(c.judgements[k].By, ", ")) }),
	}
}

// Sheet returns all pairs with everything that is known about them.
func (c *Comparison) Sheet() (*sheet.Sheet, error) {
	columns := append(c.verdictColumns(), c.cellColumns()...)
	measured := []string{"status", "reason", "n_low", "n_high"}
	if c.a.online {
		measured = []string{"regret_mean", "regret_low", "regret_high"}
	}
	for _, name := range measured {
		columns = append(columns, c.both(name)...)
	}
	columns = append(columns, newColumn(text, "compared", func(k int) any { return c.evidence[k].String() }))
	columns = append(columns, c.countColumns()...)
	for _, of := range []string{"successes", "errors", "regret"} {
		if of == "regret" == c.a.online {
			columns = append(columns, newColumn(number, "p_"+of, func(k int) any { return c.evidence[k].pValue(of) }))
		}
	}
	columns = append(columns, newColumn(number, "p_adjusted", c.adjusted))
	return c.sheet(columns, func(int) bool { return true })
}

// countColumns returns the columns of what was counted.
func (c *Comparison) countColumns() (columns []column) {
	add := func(name string, count func(e *evidence) (n int, known bool)) {
		columns = append(columns, newColumn(whole, name, func(k int) any {
			if n, known := count(c.evidence[k]); known {
				return int64(n)
			}
			return nil
		}))
	}
	add("trials_a", func(e *evidence) (int, bool) { return e.trialsA, true })
	add("trials_b", func(e *evidence) (int, bool) { return e.trialsB, true })
	if c.a.online {
		return append(columns, newColumn(number, "difference", func(k int) any { return mean(c.evidence[k].regret) }))
	}
	add("successes_a", func(e *evidence) (int, bool) { return e.successesA, true })
	add("successes_b", func(e *evidence) (int, bool) { return e.successesB, true })
	add("only_a", func(e *evidence) (int, bool) { return e.onlyA, e.paired() })
	add("only_b", func(e *evidence) (int, bool) { return e.onlyB, e.paired() })
	add("less_error_a", func(e *evidence) (int, bool) { return e.lessA, e.ranked() })
	add("less_error_b", func(e *evidence) (int, bool) { return e.lessB, e.ranked() })
	return columns
}

// Brief returns the pairs that differ, or of which that is not known, with what people ask about them.
func (c *Comparison) Brief() (*sheet.Sheet, error) {
	columns := append(c.verdictColumns(), c.cellColumns()...)
	for side, t := range []*Table{c.a, c.b} {
		name := []string{"a", "b"}[side]
		columns = append(columns, newColumn(text, name, func(k int) any { return t.measured(c.pairs[k][side]) }))
	}
	if !c.a.online {
		columns = append(columns, newColumn(text, "successes", func(k int) any {
			e := c.evidence[k]
			return fmt.Sprintf("%d : %d", e.successesA, e.successesB)
		}), newColumn(text, "less_error", func(k int) any {
			e := c.evidence[k]
			if !e.ranked() {
				return nil
			}
			return fmt.Sprintf("%d : %d", e.lessA, e.lessB)
		}))
	}
	columns = append(columns, newColumn(number, "p", c.adjusted),
		newColumn(text, "compared", func(k int) any { return c.evidence[k].String() }))
	return c.sheet(columns, func(k int) bool { return c.judgements[k].Verdict != estimate.NotToldApart })
}

// adjusted returns the smallest of a pair's adjusted p-values, and nil where there is none.
func (c *Comparison) adjusted(k int) any {
	p := c.judgements[k].Adjusted
	if len(p) == 0 {
		return nil
	}
	return slices.MinFunc(p, cmp.Compare)
}

// sheet returns the pairs that are wanted.
func (c *Comparison) sheet(columns []column, wanted func(k int) bool) (*sheet.Sheet, error) {
	var rows []int
	for k := range c.pairs {
		if wanted(k) {
			rows = append(rows, k)
		}
	}
	return sheet.New("comparison", columns, slices.Values(rows))
}

func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func mean(v []float64) any {
	if len(v) == 0 {
		return nil
	}
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}
