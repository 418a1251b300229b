package plan

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/schemas"
)

// mostNamed is the number of values or cells that a line of a difference names.
const mostNamed = 6

// Diff describes what changed from one plan to another, one change a line; it returns nothing if nothing did. old is
// nil if the earlier plan cannot be read.
func Diff(old, new *Plan) []string {
	if old == nil {
		return []string{"the plan of the earlier run is missing, damaged or of another version of Shatter"}
	}
	if a, err := old.Digest(); err == nil {
		if b, err := new.Digest(); err == nil && a == b {
			return nil
		}
	}
	var lines []string
	changed := func(what string, x, y any) {
		if x != y {
			lines = append(lines, fmt.Sprintf("%s: %v, now %v", what, x, y))
		}
	}
	changed("name", old.Name, new.Name)
	changed("task", old.Cells[0].Task, new.Cells[0].Task)
	changed("seed", old.Seed.Seed, new.Seed.Seed)
	lines = append(lines, diffValues(old.values(), new.values())...)
	lines = append(lines, diffKept(old, new)...)
	lines = append(lines, diffCells(old, new)...)
	if len(lines) == 0 {
		lines = append(lines, "the order of the cells")
	}
	return lines
}

// values returns the values that occur in each column.
func (p *Plan) values() map[string]map[string]bool {
	all := map[string]map[string]bool{}
	for _, c := range p.Cells {
		for name, v := range columns(c) {
			if all[name] == nil {
				all[name] = map[string]bool{}
			}
			all[name][v] = true
		}
	}
	return all
}

// columns returns the cell's columns as the table shows them, without those that do not apply.
func columns(c *trial.Cell) map[string]string {
	out := map[string]string{}
	for _, k := range trial.KeyColumns() {
		if v := k.Value(c); v != nil && !k.Has(trial.Derived) {
			out[k.Name] = show(plainValue(k, c))
		}
	}
	if c.Evaluation.Looks != nil {
		out["evaluation"] = schemas.EvaluationSequential
	}
	p := c.Problem
	if p.Test != 0 {
		out["test"] = show(float64(p.Test))
	}
	if p.Data != nil { // the content has meaning, not the path
		out["data"] = "the dataset " + p.Data.Digest[:min(10, len(p.Data.Digest))]
	}
	if p.Matrix != nil {
		out["file"] = "the class matrix " + p.Matrix.Digest[:min(10, len(p.Matrix.Digest))]
	}
	for name, v := range c.Params {
		out[c.As+"."+name] = show(v)
	}
	return out
}

// diffValues says which values came and went, by column.
func diffValues(a, b map[string]map[string]bool) []string {
	names := slices.Sorted(maps.Keys(a))
	for _, name := range slices.Sorted(maps.Keys(b)) {
		if a[name] == nil {
			names = append(names, name)
		}
	}
	var lines []string
	for _, name := range names {
		if algorithm, _, ok := strings.Cut(name, "."); ok && (!a["algorithm"][algorithm] || !b["algorithm"][algorithm]) {
			continue // all of that algorithm is new or gone
		}
		gone, added := without(a[name], b[name]), without(b[name], a[name])
		switch {
		case len(gone) > 0 && len(added) > 0:
			lines = append(lines, fmt.Sprintf("%s: %s, now %s",
				name, wording.Few(gone, mostNamed), wording.Few(added, mostNamed)))
		case len(gone) > 0:
			lines = append(lines, fmt.Sprintf("%s: %s is gone", name, wording.Few(gone, mostNamed)))
		case len(added) > 0:
			lines = append(lines, fmt.Sprintf("%s: %s is new", name, wording.Few(added, mostNamed)))
		}
	}
	return lines
}

// without returns what a has and b has not, the shortest first.
func without(a, b map[string]bool) []string {
	var out []string
	for v := range a {
		if !b[v] {
			out = append(out, v)
		}
	}
	slices.SortFunc(out, func(x, y string) int { return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y)) })
	return out
}

// diffKept says what changed in how the cells that both plans have are measured and called.
func diffKept(a, b *Plan) []string {
	counts := map[string]int{}
	var order []string
	count := func(line string) {
		if counts[line]++; counts[line] == 1 {
			order = append(order, line)
		}
	}
	for before, c := range common(a, b) {
		if before.As != c.As {
			count(fmt.Sprintf("%s is now called %s", before.As, c.As))
		}
		if m, n := measureOf(before).String(), measureOf(c).String(); m != n {
			count(fmt.Sprintf("n and trials: %s; now %s", m, n))
		}
	}
	for i, line := range order {
		order[i] = fmt.Sprintf("%s (%s)", line, wording.Count(counts[line], "cell"))
	}
	return order
}

// common yields the cells that both plans have, as each has them.
func common(a, b *Plan) iter.Seq2[*trial.Cell, *trial.Cell] {
	return func(yield func(before, now *trial.Cell) bool) {
		old := map[trial.Key]*trial.Cell{}
		for _, c := range a.Cells {
			old[c.Key] = c
		}
		for _, c := range b.Cells {
			if before, ok := old[c.Key]; ok && !yield(before, c) {
				return
			}
		}
	}
}

// Moves explains why brackets of cells that two plans have in common may move from the one to the other; it returns
// "" if none may, or if old is nil.
func Moves(old, new *Plan) string {
	if old == nil {
		return ""
	}
	kept, changed := 0, 0
	for before, c := range common(old, new) {
		if c.Beta > 0 {
			kept++
			if measureOf(before).String() != measureOf(c).String() {
				changed++
			}
		}
	}
	var why []string
	if len(old.Cells) != len(new.Cells) {
		why = append(why, fmt.Sprintf("%s share the confidence of the table, not %d",
			wording.Count(len(new.Cells), "cell"), len(old.Cells)))
	}
	if changed > 0 {
		why = append(why, wording.CountOf(changed, "cell reads", "cells read")+" other trials")
	}
	if kept == 0 || len(why) == 0 {
		return ""
	}
	return fmt.Sprintf("brackets that were there (%s) may move, decided ones too: %s",
		wording.Count(kept, "cell"), strings.Join(why, "; "))
}

// diffCells says how many cells came and went, and names the first of them.
func diffCells(a, b *Plan) []string {
	gone, came := cellsWithout(a, b), cellsWithout(b, a)
	var lines []string
	if len(came) > 0 {
		lines = append(lines, fmt.Sprintf("%s new: %s", wording.Count(len(came), "cell"), wording.Few(came, mostNamed)))
	}
	if len(gone) > 0 {
		lines = append(lines, fmt.Sprintf("%s gone: %s", wording.Count(len(gone), "cell"), wording.Few(gone, mostNamed)))
	}
	if len(came)+len(gone) > 0 {
		lines = append(lines, fmt.Sprintf("%s as before", wording.Count(len(b.Cells)-len(came), "cell")))
	}
	return lines
}

// cellsWithout names the cells that a has and b has not.
func cellsWithout(a, b *Plan) []string {
	have := map[trial.Key]bool{}
	for _, c := range b.Cells {
		have[c.Key] = true
	}
	var names []string
	for _, c := range a.Cells {
		if !have[c.Key] {
			names = append(names, c.Key.Short()+" ("+c.As+")")
		}
	}
	return names
}
