package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// A group holds the rows of one concept class, or of one data or class file.
type group struct {
	*frame
	name string
}

func groups(f *frame) (all []group) {
	rows := map[string][]int{}
	var names []string
	for row := range f.Len() {
		var parts []string
		for _, column := range []string{"class", "file", "data"} {
			if v := f.text(row, column); v != "" {
				parts = append(parts, v)
			}
		}
		name := strings.Join(parts, ", ")
		names = add(names, name)
		rows[name] = append(rows[name], row)
	}
	for _, name := range names {
		all = append(all, group{newFrame(f.Take(rows[name])), name})
	}
	return all
}

// varies reports whether a column has several numbers.
func (g group) varies(column string) bool {
	return g.numeric(column) && len(g.distinctOf(g.all(), column)) > 1
}

// settings returns the keys that distinguish the lines of a measure along the column x, and the
// rows of each line: the algorithm, the chosen keys, and the other necessary keys, parameters last.
// The numbers in along change along a line together with x.
func (g group) settings(x string, m measure, chosen []string) (keys, along []string, lines sheet.Partition) {
	lines = g.Whole()
	points := lines
	if !m.curve || x != curveColumn { // the cells of a curve may have any sizes
		points = g.Refine(points, x)
	}
	candidates := slices.DeleteFunc(g.keys(), func(k string) bool { return k == x })
	rank := func(k string) int {
		switch {
		case k == algorithmKey:
			return 0
		case trial.IsParam(k):
			return 3
		case strings.HasPrefix(k, "privacy"):
			return 2
		}
		return 1
	}
	slices.SortStableFunc(candidates, func(a, b string) int { return rank(a) - rank(b) })
	for _, k := range candidates {
		finer := g.Refine(points, k)
		if finer.Sets > points.Sets || k == algorithmKey || slices.Contains(chosen, plain(k)) {
			keys, points, lines = append(keys, k), finer, g.Refine(lines, k)
		}
	}
	for _, k := range candidates {
		if !slices.Contains(keys, k) && g.numeric(k) && !trial.IsParam(k) && g.Refine(lines, k).Sets > lines.Sets {
			along = append(along, k)
		}
	}
	return keys, along, lines
}

// algorithmKey is the key that always distinguishes lines.
const algorithmKey = "algorithm"

// maxLines is the maximum number of lines for which a figure shows all of them.
const maxLines = 12

// A setting is a candidate line of a figure: its values of the keys, and its rows.
type setting struct {
	keys  []string
	level bool // the rows have no value along x
	rows  []int
}

// settingsOf returns the lines of a partition in the order of their first rows.
func (g group) settingsOf(lines sheet.Partition, keys []string, x string) (all []*setting) {
	type id struct {
		line  int
		level bool
	}
	by := map[id]*setting{}
	for row, line := range lines.Of {
		i := id{line, x != algorithmKey && g.Value(row, x) == nil}
		if by[i] == nil {
			by[i] = &setting{level: i.level}
			for _, k := range keys {
				by[i].keys = append(by[i].keys, g.text(row, k))
			}
			all = append(all, by[i])
		}
		by[i].rows = append(by[i].rows, row)
	}
	return all
}

// choose returns the lines that a figure shows. If there are more than maxLines, it fixes one key
// after the other to its value with the most points; the algorithm and the keys by keep all values.
// If by is not empty, it fixes all other keys. fixed holds the chosen value of each fixed key.
func choose(all []*setting, keys, by []string) (shown []*setting, fixed map[string]string) {
	fixed = map[string]string{}
	for i, k := range keys {
		if slices.Contains(by, plain(k)) || len(by) == 0 && (k == algorithmKey || len(all) <= maxLines) {
			continue
		}
		count, best := map[string]int{}, ""
		for _, s := range all {
			if v := s.keys[i]; v != "" && !s.level {
				count[v] += len(s.rows)
			}
		}
		for _, s := range all {
			if count[s.keys[i]] > count[best] {
				best = s.keys[i]
			}
		}
		if len(count) > 1 {
			fixed[k] = best
			all = slices.DeleteFunc(slices.Clone(all), func(s *setting) bool { return s.keys[i] != "" && s.keys[i] != best })
		}
	}
	return all, fixed
}

// nameSettings returns the name of each line: its values of the keys in which the lines differ, or
// of the keys by.
func nameSettings(all []*setting, keys, by []string) (names []string) {
	differ := make([]bool, len(keys))
	for i, k := range keys {
		differ[i] = len(by) > 0 && slices.Contains(by, plain(k))
		for _, s := range all {
			differ[i] = differ[i] || len(by) == 0 && s.keys[i] != all[0].keys[i]
		}
	}
	for _, s := range all {
		var parts []string
		for i, k := range keys {
			switch {
			case !differ[i] || s.keys[i] == "":
			case k == algorithmKey:
				parts = append(parts, s.keys[i])
			default:
				parts = append(parts, plain(k)+" "+valueLabel(s.keys[i]))
			}
		}
		if len(parts) == 0 && len(by) > 0 {
			parts = []string{"no " + strings.Join(by, ", ")}
		} else if len(parts) == 0 && len(keys) > 0 {
			parts = s.keys[:1]
		}
		names = append(names, strings.Join(parts, ", "))
	}
	return names
}

// distinctOf returns the distinct nonempty values of a column in some rows.
func (f *frame) distinctOf(rows []int, column string) (values []string) {
	seen := map[string]bool{"": true}
	for _, row := range rows {
		if v := f.text(row, column); !seen[v] {
			seen[v] = true
			values = append(values, v)
		}
	}
	return values
}

// all returns the indices of all rows.
func (f *frame) all() []int {
	rows := make([]int, f.Len())
	for row := range rows {
		rows[row] = row
	}
	return rows
}

func (f *frame) numeric(column string) bool {
	i := f.Index(column)
	return i >= 0 && (f.Columns[i].Type == schemas.IntColumn || f.Columns[i].Type == schemas.FloatColumn)
}

// theory returns the mark of the bound of a row: Proved or Declared.
func (f *frame) theory(row int) string {
	if f.text(row, "theory_standing") == trial.Declared {
		return Declared
	}
	return Proved
}

// line returns the line of a setting. missing is the number of its rows without a value.
func (g group) line(s *setting, m measure, x string) (l Line, missing int) {
	l = Line{Level: s.level, Bounds: map[string][]Point{}, rows: s.rows}
	algorithms := g.distinctOf(g.all(), algorithmKey)
	for _, row := range s.rows {
		at := g.Number(row, x)
		if x == algorithmKey {
			at = float64(slices.Index(algorithms, g.text(row, x)))
		}
		if p, ok := m.point(g.frame, row); ok {
			p.X = at
			l.Points = append(l.Points, p)
		} else {
			missing++
		}
		for mark, column := range map[string]string{g.theory(row): m.proved, Printed: m.printed} {
			if y := g.Number(row, column); !math.IsNaN(y) {
				l.Bounds[mark] = append(l.Bounds[mark], Point{X: at, Y: y, Low: math.NaN(), High: math.NaN(),
					Cell: g.text(row, "cell")})
			}
		}
	}
	byX(l.Points)
	for _, mark := range marks {
		byX(l.Bounds[mark])
	}
	return l, missing
}

// fixedKeys returns the names and values of the keys that have one value in the rows: "alpha 0.1".
// It omits the class and its data, which the title names, and the keys in told, which other texts
// name.
func (g group) fixedKeys(rows []int, told ...string) (all []string) {
	told = append(told, "task", algorithmKey, "class", "file", "data", "privacy_standing")
	for _, k := range g.keys() {
		if trial.IsParam(k) || slices.Contains(told, k) {
			continue
		}
		values := g.distinctOf(rows, k)
		if len(values) == 1 && !(k == "replica" && values[0] == "0") {
			all = append(all, fmt.Sprint(k, " ", values[0]))
		}
	}
	return all
}
