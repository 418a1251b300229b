package compare

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/pipeline/wording"
)

// A By names a column in which the two cells of a pair may differ.
type By struct {
	Column string
	A, B   string // values on the two sides; both empty: any
}

// sameValue reports whether two texts denote the same value; numbers may be written in any way.
func sameValue(value, given string) bool {
	x, err := strconv.ParseFloat(value, 64)
	y, fail := strconv.ParseFloat(given, 64)
	return value == given || err == nil && fail == nil && x == y
}

// match returns the comparison of two tables with its pairs, in the order of a, without verdicts.
func match(a, b *Table, by []By) (*Comparison, error) {
	if sameFolder(a.dir, b.dir) {
		b = a
	}
	c := &Comparison{a: a, b: b, by: by}
	if a.online != b.online {
		return nil, incomparable(0, "%q and %q cannot be compared: the one is of task online, the other is not", a.dir, b.dir)
	}
	columns := c.columns()
	for _, x := range by {
		if !slices.Contains(columns, x.Column) {
			return nil, incomparable(0, "%s: no such column%s", x.Column, wording.DidYouMean(x.Column, columns))
		}
	}
	c.keys = slices.DeleteFunc(columns, c.free)
	rows := map[string][]int{}
	for j := range b.sheet.Len() {
		key := c.key(b, j)
		rows[key] = append(rows[key], j)
	}
	for i := range a.sheet.Len() {
		for _, j := range rows[c.key(a, i)] {
			if c.wanted(i, j) {
				c.pairs = append(c.pairs, pair{a: i, b: j})
			}
		}
	}
	return c, nil
}

func sameFolder(a, b string) bool {
	x, err := os.Stat(a)
	y, fail := os.Stat(b)
	return err == nil && fail == nil && os.SameFile(x, y)
}

// columns returns all columns that describe a row's cell.
func (c *Comparison) columns() (names []string) {
	for _, column := range trial.KeyColumns() {
		if column.Name != "cell" && column.Name != "sample" {
			names = append(names, column.Name)
		}
	}
	for _, t := range []*Table{c.a, c.b} {
		for _, column := range t.sheet.Columns {
			if trial.IsParam(column.Name) && !slices.Contains(names, column.Name) {
				names = append(names, column.Name)
			}
		}
	}
	if c.a.online {
		names = append(names, "rounds")
	}
	return names
}

// free reports whether the rows of a pair may differ in a column.
func (c *Comparison) free(column string) bool {
	ofAlgorithm := column == "privacy" || column == "privacy_standing" || trial.IsParam(column)
	return slices.ContainsFunc(c.by, func(x By) bool {
		return x.Column == column || x.Column == "algorithm" && ofAlgorithm
	})
}

// key returns the common key of the rows of a pair: the cell or, with by, the values of keys.
func (c *Comparison) key(t *Table, row int) string {
	if len(c.by) == 0 {
		return t.text(row, "cell") + " " + t.text(row, "rounds")
	}
	values := make([]string, len(c.keys))
	for i, k := range c.keys {
		values[i] = strconv.Quote(t.text(row, k))
	}
	return strings.Join(values, " ")
}

// wanted reports whether row i of a and row j of b differ as by requests. Two rows of one result
// are compared once.
func (c *Comparison) wanted(i, j int) bool {
	differ, ordered := len(c.by) == 0 || c.a != c.b, false
	for _, x := range c.by {
		v, w := c.a.text(i, x.Column), c.b.text(j, x.Column)
		if x.A != "" && !(sameValue(v, x.A) && sameValue(w, x.B)) {
			return false
		}
		differ, ordered = differ || v != w, ordered || x.A != ""
	}
	return differ && (len(c.by) == 0 || c.a != c.b || ordered || i < j)
}

// maxSearched is the maximum number of rows of each side in which noPairs searches for the nearest
// two.
const maxSearched = 500

// noPairs returns the error for results without pairs. It names the columns in which the two most
// similar cells differ.
func (c *Comparison) noPairs() error {
	var fewest []string
	found := false
	for i := range min(c.a.sheet.Len(), maxSearched) {
		for j := range min(c.b.sheet.Len(), maxSearched) {
			if !c.wanted(i, j) {
				continue
			}
			if d := c.differences(i, j); !found || len(d) < len(fewest) {
				found, fewest = true, d
			}
		}
	}
	switch {
	case !found && len(c.by) > 0:
		return incomparable(NoValues, "no cells to compare: no two have the values that are asked for")
	case !found:
		return incomparable(0, "no cells to compare: %q or %q has none", c.a.dir, c.b.dir)
	case len(fewest) == 0:
		return incomparable(0, "no cell in common: those that look alike differ in what the tables do not show, "+
			"such as the content of a data file")
	}
	return incomparable(NoPair, "no cell in common: the two that are nearest differ in %s", strings.Join(fewest, ", "))
}

// differences lists the keys in which two rows differ, with their values.
func (c *Comparison) differences(i, j int) (list []string) {
	for _, k := range c.keys {
		if v, w := c.a.text(i, k), c.b.text(j, k); v != w {
			list = append(list, fmt.Sprintf("%s (%s and %s)", k, v, w))
		}
	}
	return list
}
