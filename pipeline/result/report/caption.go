package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/schemas"

	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/pipeline/wording"
)

// caption says what the figure shows: what is the same in all rows that are shown, which of several
// settings were chosen, what the intervals are, and whether the result is all of its sweep.
func (f *Figure) caption(s *Sweep, g *group, m measure, x string) {
	rows := f.shownRows()
	var first []string
	if partial := s.manifest.Partial; partial != "" {
		first = append(first, "Partial: "+partial+".")
	}
	if fixed := g.fixed(rows, f.withChosen(x)); len(fixed) > 0 {
		first = append(first, "Fixed: "+strings.Join(fixed, ", ")+".")
	}
	first = append(first, g.parameters(rows)...)
	if where := s.rowsInWords(g.keys()); where != "" {
		first = append(first, where)
	}
	if chosen := f.chosen(); chosen != "" {
		f.Choices = append(f.Choices, chosen)
	}
	f.Caption = slices.Concat(first, f.Choices, f.Caption, []string{m.intervals(g, rows)})
	if betas := g.distinctOf(rows, "beta"); m.kind == kindCurve && len(betas) == 1 {
		f.Target = round(1 - g.number(rows[0], "beta"))
		f.Caption = append(f.Caption,
			fmt.Sprintf("%s suffices where the rate is at least %s, the dashed line.", plain(m.x), text(f.Target)))
	}
}

// shownRows returns the rows of the measured points that are shown at first.
func (f *Figure) shownRows() (rows []int) {
	for _, s := range f.measured() {
		if !f.shown(s) {
			continue
		}
		for _, p := range s.Points {
			rows = append(rows, p.row)
		}
	}
	slices.Sort(rows)
	return slices.Compact(rows)
}

// distinctOf returns the values that a column has in some rows, without the empty one.
func (f *frame) distinctOf(rows []int, column string) (values []string) {
	for _, row := range rows {
		if v := f.text(row, column); v != "" {
			values = add(values, v)
		}
	}
	return values
}

// all returns the rows of a frame.
func (f *frame) all() (rows []int) {
	for row := range f.Len() {
		rows = append(rows, row)
	}
	return rows
}

// fixed returns the names and values of the keys that have one value in the rows: "alpha 0.1". The
// title names the class and its data, and others are told elsewhere.
func (g *group) fixed(rows []int, told []string) (all []string) {
	told = append(told, "task", algorithmKey, "class", "file", "data", "privacy_standing")
	for _, k := range g.keys() {
		if trial.IsParam(k) || slices.Contains(told, k) {
			continue
		}
		values := g.distinctOf(rows, k)
		if len(values) == 1 && !(k == "replica" && values[0] == "0") {
			all = append(all, k+" "+values[0])
		}
	}
	return all
}

// maxParameters is the largest number of algorithms whose fixed parameters a caption names.
const maxParameters = 4

// parameters returns a sentence on the parameters that have one value in an algorithm's rows.
func (g *group) parameters(rows []int) []string {
	var all []string
	for _, algorithm := range g.distinctOf(rows, algorithmKey) {
		own := slices.DeleteFunc(slices.Clone(rows), func(row int) bool { return g.text(row, algorithmKey) != algorithm })
		var fixed []string
		for _, k := range g.keys() {
			if values := g.distinctOf(own, k); trial.IsParam(k) && len(values) == 1 {
				fixed = append(fixed, plain(k)+" "+values[0])
			}
		}
		if len(fixed) > 0 {
			all = append(all, algorithm+": "+strings.Join(fixed, ", "))
		}
	}
	if len(all) > maxParameters {
		return []string{"The parameters of the algorithms are in the table, in the columns " + schemas.ParamPrefix + "*."}
	}
	if len(all) == 0 {
		return nil
	}
	return []string{strings.Join(all, "; ") + "."}
}

// rowsInWords says which conditions the rows meet, "" where there are none. It leaves out those that
// fix one of the told keys.
func (s *Sweep) rowsInWords(told []string) string {
	var all []string
	for _, c := range s.where {
		isKey := slices.ContainsFunc(told, func(k string) bool { return plain(k) == plain(c.Column) })
		if isKey && len(c.Values) == 1 {
			continue
		}
		all = append(all, plain(c.Column)+"="+strings.Join(c.Values, ","))
	}
	if len(all) == 0 {
		return ""
	}
	return "Only rows with " + wording.And(all) + "."
}

// withChosen returns x and the keys of which one value was chosen.
func (f *Figure) withChosen(x string) []string {
	all := []string{x}
	for _, k := range f.Keys {
		if k.Chosen != "" {
			all = append(all, k.Name)
		}
	}
	return all
}

// chosen says which of several settings are shown and how to see another, or "" where all are.
func (f *Figure) chosen() string {
	var shown []string
	see := ""
	for _, k := range f.Keys {
		if k.Chosen == "" {
			continue
		}
		rest := slices.DeleteFunc(slices.Clone(k.Values), func(v string) bool { return v == k.Chosen })
		shown = append(shown, fmt.Sprintf("%s %s (not %s)", k.Name, k.Chosen, wording.Few(rest, 6)))
		if see == "" && len(rest) > 0 {
			see = wording.ShellWord(k.Name + "=" + rest[len(rest)-1])
		}
	}
	if len(shown) == 0 {
		return ""
	}
	text := "Chosen: " + strings.Join(shown, ", ") + "; others with --where " + see + " and the like"
	if f.hasFaint() {
		text += ", here as faint lines"
	}
	return text + "."
}

// intervals says what the intervals are, and over how many trials.
func (m measure) intervals(g *group, rows []int) string {
	if m.low != "" && len(g.distinctOf(rows, m.low))+len(g.distinctOf(rows, m.high)) == 0 {
		return "No interval is known: the result has no values of " + m.low + "."
	}
	if m.kind != kindError {
		return m.interval
	}
	var counts []float64
	for _, row := range rows {
		counts = append(counts, g.number(row, "ok"))
	}
	low, high, n := span(counts)
	switch {
	case n == 0:
		return m.interval
	case low == high:
		return fmt.Sprintf("%s %s at each point.", m.interval, wording.Count(int(low), "trial"))
	}
	return fmt.Sprintf("%s %.0f to %.0f trials at each point.", m.interval, low, high)
}
