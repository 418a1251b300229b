package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// group holds the rows of one concept class, or of one file of data or class.
type group struct {
	*frame
	name       string
	rows       []int
	algorithms []string
	codes      map[string][]int // of each key that varies: a small number for each row's value
}

func groups(f *frame) []*group {
	var all []*group
	by := map[string]*group{}
	for row := range f.Len() {
		var parts []string
		for _, column := range []string{"class", "file", "data"} {
			if v := f.text(row, column); v != "" {
				parts = append(parts, v)
			}
		}
		name := strings.Join(parts, ", ")
		if by[name] == nil {
			by[name] = &group{frame: f, name: name}
			all = append(all, by[name])
		}
		by[name].rows = append(by[name].rows, row)
	}
	for _, g := range all {
		g.code()
	}
	return all
}

// code finds the algorithms and the keys that vary.
func (g *group) code() {
	g.algorithms, g.codes = g.distinct("algorithm"), map[string][]int{}
	for _, column := range g.frame.keys() {
		if values := append([]string{""}, g.distinct(column)...); len(values) > 2 || g.gaps(column) {
			index := map[string]int{}
			for i, v := range values {
				index[v] = i
			}
			for _, row := range g.rows {
				g.codes[column] = append(g.codes[column], index[g.text(row, column)])
			}
		}
	}
}

// cells returns the group with the first row of each cell.
func (g *group) cells() *group {
	out := &group{frame: g.frame, name: g.name}
	seen := map[string]bool{}
	for _, row := range g.rows {
		if cell := g.text(row, "cell"); !seen[cell] {
			seen[cell] = true
			out.rows = append(out.rows, row)
		}
	}
	out.code()
	delete(out.codes, curveColumn) // that of a cell's first row
	return out
}

// with returns the group with the rows that have a value in a column.
func (g *group) with(column string) *group {
	out := &group{frame: g.frame, name: g.name}
	for _, row := range g.rows {
		if g.value(row, column) != nil {
			out.rows = append(out.rows, row)
		}
	}
	out.code()
	return out
}

// varies reports whether a column has several numbers.
func (g *group) varies(column string) bool {
	return g.codes[column] != nil && g.numeric(column) && len(g.distinct(column)) > 1
}

// keysFor returns the keys that tell the rows apart that are a line along x, those that somebody has
// chosen among them; and the numbers that change along with x.
func (g *group) keysFor(x string, m measure, chosen []string) (keys, along []string) {
	switch {
	case m.curve && x == curveColumn:
		keys, _ = g.cells().settings()
	case x == "" || m.loose:
		keys, along = g.settings()
	default:
		keys, along = g.settings(x)
	}
	for _, column := range g.keys() {
		if slices.Contains(chosen, plain(column)) && column != algorithmKey {
			keys = add(keys, column)
			along = slices.DeleteFunc(along, func(k string) bool { return k == column })
		}
	}
	if len(chosen) > 0 && !slices.Contains(chosen, algorithmKey) && len(g.algorithms) > 1 {
		keys = append([]string{algorithmKey}, keys...)
	}
	return keys, along
}

// distinct returns the values of a column in the order of the rows, without the empty one.
func (g *group) distinct(column string) (values []string) {
	seen := map[string]bool{"": true}
	for _, row := range g.rows {
		if v := g.text(row, column); !seen[v] {
			seen[v] = true
			values = append(values, v)
		}
	}
	return values
}

// gaps reports whether some rows have a value in the column and others none.
func (g *group) gaps(column string) bool {
	empty := 0
	for _, row := range g.rows {
		if g.value(row, column) == nil {
			empty++
		}
	}
	return empty > 0 && empty < len(g.rows)
}

// settings returns the fewest keys that, with the algorithm and the columns x, tell the rows apart.
// It drops parameters that follow from other keys first, then numbers that change along with x,
// which it returns in along.
func (g *group) settings(x ...string) (keys, along []string) {
	for _, column := range g.keys() {
		if g.codes[column] != nil && column != "algorithm" && !slices.Contains(x, column) {
			keys = append(keys, column)
		}
	}
	fixed := append([]string{"algorithm"}, x...)
	candidates := slices.Clone(keys)
	slices.Reverse(candidates)
	slices.SortStableFunc(candidates, func(a, b string) int { return btoi(trial.IsParam(b)) - btoi(trial.IsParam(a)) })
	for _, c := range candidates {
		others := slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return k == c })
		if (trial.IsParam(c) || g.numeric(c) || strings.HasPrefix(c, "privacy")) && g.unique(append(fixed, others...)) {
			if keys = others; !trial.IsParam(c) && g.numeric(c) && len(g.distinct(c)) > 1 {
				along = append(along, c)
			}
		}
	}
	slices.Reverse(along)
	return keys, along
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (f *frame) numeric(column string) bool {
	t := f.Columns[f.index[column]].Type
	return t == schemas.IntColumn || t == schemas.FloatColumn
}

// unique reports whether no two rows agree in all columns.
func (g *group) unique(columns []string) bool {
	seen := make(map[string]bool, len(g.rows))
	for i := range g.rows {
		var id []byte
		for _, c := range columns {
			if codes := g.codes[c]; codes != nil {
				id = fmt.Appendf(id, "%d ", codes[i])
			}
		}
		if seen[string(id)] {
			return false
		}
		seen[string(id)] = true
	}
	return true
}
