package plan

import (
	"bytes"
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

// Diff says in words what changed from one Plan.Resolved to another, one change a line; it returns
// nothing where nothing did.
func Diff(old, new []byte) []string {
	if bytes.Equal(old, new) {
		return nil
	}
	a, err := readResolved(old)
	if err != nil || a.Format != trial.Format {
		return []string{"the earlier run was written by another version of Shatter"}
	}
	b, err := readResolved(new)
	if err != nil {
		return []string{fmt.Sprintf("the new plan cannot be read: %v", err)}
	}
	var lines []string
	changed := func(what string, x, y any) {
		if x != y {
			lines = append(lines, fmt.Sprintf("%s: %v, now %v", what, x, y))
		}
	}
	changed("name", a.Name, b.Name)
	changed("task", a.Task, b.Task)
	changed("seed", a.Seed, b.Seed)
	lines = append(lines, diffValues(a.values(), b.values())...)
	lines = append(lines, diffKept(a, b)...)
	lines = append(lines, diffCells(a, b)...)
	if len(lines) == 0 {
		lines = append(lines, "the order of the cells")
	}
	return lines
}

// values returns the values that occur in each column.
func (s *resolvedSweep) values() map[string]map[string]bool {
	all := map[string]map[string]bool{}
	for _, c := range s.Cells {
		for name, v := range s.columns(c) {
			if all[name] == nil {
				all[name] = map[string]bool{}
			}
			all[name][v] = true
		}
	}
	return all
}

// columns returns the cell's columns as the table shows them, without what does not apply.
func (s *resolvedSweep) columns(c resolvedCell) map[string]string {
	p := s.Problems[c.Problem]
	cell := &trial.Cell{Task: s.Task, Problem: &p, As: c.As, Params: c.Params, Replica: c.Replica, Epsilon: c.Epsilon,
		Delta: c.Delta, Alpha: c.Alpha, Beta: c.Beta, Above: c.Above, Means: c.Answers == schemas.AnswersMean,
		Queries: c.Queries, Adversary: c.Adversary}
	out := map[string]string{}
	for _, k := range trial.KeyColumns() {
		if v := k.Value(cell); v != nil && !k.Has(trial.Derived) {
			out[k.Name] = show(plainValue(k, cell))
		}
	}
	delete(out, "data") // the names of files are not known here
	delete(out, "file")
	if c.Evaluation != "" {
		out["evaluation"] = c.Evaluation
	}
	if p.Test != 0 {
		out["test"] = show(float64(p.Test))
	}
	if p.Data != nil {
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
func diffKept(a, b *resolvedSweep) []string {
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
		if m, n := a.Measures[before.Measure].String(), b.Measures[c.Measure].String(); m != n {
			count(fmt.Sprintf("n and trials: %s; now %s", m, n))
		}
	}
	for i, line := range order {
		order[i] = fmt.Sprintf("%s (%s)", line, wording.Count(counts[line], "cell"))
	}
	return order
}

// common yields the cells that both plans have, as each has them.
func common(a, b *resolvedSweep) iter.Seq2[resolvedCell, resolvedCell] {
	return func(yield func(resolvedCell, resolvedCell) bool) {
		old := map[trial.Key]resolvedCell{}
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

// Moves says why brackets of cells that two Plan.Resolved have in common may move from the one to
// the other; it returns "" where none may.
func Moves(old, new []byte) string {
	a, err := readResolved(old)
	if err != nil {
		return ""
	}
	b, err := readResolved(new)
	if err != nil {
		return ""
	}
	kept, changed := 0, 0
	for before, c := range common(a, b) {
		if c.Beta > 0 {
			kept++
			if a.Measures[before.Measure].String() != b.Measures[c.Measure].String() {
				changed++
			}
		}
	}
	var why []string
	if len(a.Cells) != len(b.Cells) {
		why = append(why, fmt.Sprintf("%s share the confidence of the table, not %d",
			wording.Count(len(b.Cells), "cell"), len(a.Cells)))
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
func diffCells(a, b *resolvedSweep) []string {
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
func cellsWithout(a, b *resolvedSweep) []string {
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
