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

// By names a column in which the two cells of a pair may differ.
type By struct {
	Column string
	A, B   string // the values on the one side and on the other; both empty: any
}

// sameValue reports whether a value is the given one; numbers may be written in any way.
func sameValue(value, given string) bool {
	x, err := strconv.ParseFloat(value, 64)
	y, fail := strconv.ParseFloat(given, 64)
	return value == given || err == nil && fail == nil && x == y
}

// A Matching says which rows of two tables are compared with each other.
type Matching struct {
	a, b *Table // the same for pairs inside one result
	by   []By
	keys []string // columns in which the rows of a pair agree
}

// Match determines which rows of a and b are compared: those of equal cells, or, with by, those
// that agree in all columns that say what a cell is but these. Parameters, and what is proved of
// its privacy, go with an algorithm. If b is a, or of the same folder, cells of one result are
// compared with each other.
//
// It returns an [IncomparableError] if the results are of different tasks, or if by names no
// column.
func Match(a, b *Table, by []By) (*Matching, error) {
	if sameFolder(a.dir, b.dir) {
		b = a
	}
	m := &Matching{a: a, b: b, by: by}
	if a.online != b.online {
		return nil, incomparable("%q and %q cannot be compared: the one is of task online, the other is not", a.dir, b.dir)
	}
	columns := m.columns()
	for _, x := range by {
		if !slices.Contains(columns, x.Column) {
			return nil, incomparable("--by %s: no such column%s", x.Column, wording.DidYouMean(x.Column, columns))
		}
	}
	for _, c := range columns {
		if !m.free(c) {
			m.keys = append(m.keys, c)
		}
	}
	return m, nil
}

func sameFolder(a, b string) bool {
	x, err := os.Stat(a)
	y, fail := os.Stat(b)
	return err == nil && fail == nil && os.SameFile(x, y)
}

// columns returns all columns that say what a row of the tables is about.
func (m *Matching) columns() (names []string) {
	for _, c := range trial.KeyColumns() {
		if c.Name != "cell" && c.Name != "sample" {
			names = append(names, c.Name)
		}
	}
	for _, t := range []*Table{m.a, m.b} {
		for _, c := range t.sheet.Columns {
			if trial.IsParam(c.Name) && !slices.Contains(names, c.Name) {
				names = append(names, c.Name)
			}
		}
	}
	if m.a.online {
		names = append(names, "rounds")
	}
	return names
}

// free reports whether the rows of a pair may differ in a column.
func (m *Matching) free(column string) bool {
	ofAlgorithm := column == "privacy" || column == "privacy_standing" || trial.IsParam(column)
	return slices.ContainsFunc(m.by, func(x By) bool {
		return x.Column == column || x.Column == "algorithm" && ofAlgorithm
	})
}

// key returns what the rows of a pair have in common: the cell, or, with by, the values of keys.
func (m *Matching) key(t *Table, row int) string {
	if len(m.by) == 0 {
		return t.text(row, "cell") + " " + t.text(row, "rounds")
	}
	values := make([]string, len(m.keys))
	for i, c := range m.keys {
		values[i] = strconv.Quote(t.text(row, c))
	}
	return strings.Join(values, " ")
}

// wanted reports whether row i of a and row j of b differ as by says.
func (m *Matching) wanted(i, j int) bool {
	differ := len(m.by) == 0 || m.a != m.b
	for _, x := range m.by {
		v, w := m.a.text(i, x.Column), m.b.text(j, x.Column)
		if x.A != "" && !(sameValue(v, x.A) && sameValue(w, x.B)) {
			return false
		}
		differ = differ || v != w
	}
	return differ
}

// symmetric reports whether each pair of rows of one result is compared from one side only.
func (m *Matching) symmetric() bool {
	return m.a == m.b && len(m.by) > 0 && !slices.ContainsFunc(m.by, func(x By) bool { return x.A != "" })
}

// pairs returns the rows of a with the rows of b that they are compared with, in the order of a.
func (m *Matching) pairs() (pairs [][2]int) {
	rows := map[string][]int{}
	for j := range m.b.sheet.Len() {
		key := m.key(m.b, j)
		rows[key] = append(rows[key], j)
	}
	for i := range m.a.sheet.Len() {
		for _, j := range rows[m.key(m.a, i)] {
			if (!m.symmetric() || i < j) && m.wanted(i, j) {
				pairs = append(pairs, [2]int{i, j})
			}
		}
	}
	return pairs
}

// maxSearched limits the rows of each side among which noPairs looks for the nearest two.
const maxSearched = 500

// noPairs returns the error for results without pairs. It names the columns in which those two
// cells differ that differ in the fewest.
func (m *Matching) noPairs() error {
	var fewest []string
	found := false
	for i := range min(m.a.sheet.Len(), maxSearched) {
		for j := range min(m.b.sheet.Len(), maxSearched) {
			if m.symmetric() && i >= j || !m.wanted(i, j) {
				continue
			}
			if d := m.differences(i, j); !found || len(d) < len(fewest) {
				found, fewest = true, d
			}
		}
	}
	switch {
	case !found && len(m.by) > 0:
		return incomparable("no cells to compare: no two have the values that --by asks for; " +
			"shatter table DIR shows those that there are")
	case !found:
		return incomparable("no cells to compare: %q or %q has none", m.a.dir, m.b.dir)
	case len(fewest) == 0:
		return incomparable("no cell in common: those that look alike differ in what the tables do not show, " +
			"such as the content of a data file")
	}
	return incomparable("no cell in common: the two that are nearest differ in %s; "+
		"--by COLUMN compares cells that differ in a column, and --by twice those that differ in two",
		strings.Join(fewest, ", "))
}

// differences lists the keys in which two rows differ, with their values.
func (m *Matching) differences(i, j int) (list []string) {
	for _, c := range m.keys {
		if v, w := m.a.text(i, c), m.b.text(j, c); v != w {
			list = append(list, fmt.Sprintf("%s (%s and %s)", c, v, w))
		}
	}
	return list
}
