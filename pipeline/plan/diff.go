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

// maxNamed is the maximal number of values or cells that a line names.
const maxNamed = 6

// Diff describes the changes between two plans, one per line; nil if there are none. old is nil if the earlier plan
// cannot be read.
func Diff(old, new *Plan) []string {
	if old == nil {
		return []string{"the plan of the earlier run is missing, damaged or of another version of Shatter"}
	}
	if old.Digest() == new.Digest() {
		return nil
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
	lines = append(lines, diffCommonCells(old, new)...)
	lines = append(lines, diffCells(old, new)...)
	if len(lines) == 0 {
		lines = append(lines, "the order of the cells")
	}
	return lines
}

// values returns the distinct values by column.
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

// columns returns the cell's values by column, as the table shows them, without null.
func columns(c *trial.Cell) map[string]string {
	out := map[string]string{}
	for _, k := range trial.KeyColumns() {
		if v := k.Value(c); v != nil && !k.Has(trial.Derived) {
			out[k.Name] = formatValue(plainValue(k, c))
		}
	}
	if c.Evaluation.Looks != nil {
		out["evaluation"] = schemas.EvaluationSequential
	}
	p := c.Problem
	if p.Test != 0 {
		out["test"] = formatValue(float64(p.Test))
	}
	if p.Data != nil { // the content matters, not the path
		out["data"] = "the dataset " + p.Data.Digest[:min(10, len(p.Data.Digest))]
	}
	if p.Matrix != nil {
		out["file"] = "the class matrix " + p.Matrix.Digest[:min(10, len(p.Matrix.Digest))]
	}
	if drawn := p.Plugin; drawn != nil {
		for name, v := range drawn.Params {
			out[p.Class+"."+name] = formatValue(v)
		}
	}
	for name, v := range c.Params {
		out[c.As+"."+name] = formatValue(v)
	}
	return out
}

// diffValues describes added and removed values by column.
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
			continue // the algorithm itself is added or removed
		}
		gone, added := difference(a[name], b[name]), difference(b[name], a[name])
		switch {
		case len(gone) > 0 && len(added) > 0:
			lines = append(lines, fmt.Sprintf("%s: %s, now %s",
				name, wording.Few(gone, maxNamed), wording.Few(added, maxNamed)))
		case len(gone) > 0:
			lines = append(lines, fmt.Sprintf("%s: %s is gone", name, wording.Few(gone, maxNamed)))
		case len(added) > 0:
			lines = append(lines, fmt.Sprintf("%s: %s is new", name, wording.Few(added, maxNamed)))
		}
	}
	return lines
}

// difference returns the elements of a that are not in b, the shortest first.
func difference(a, b map[string]bool) []string {
	var out []string
	for v := range a {
		if !b[v] {
			out = append(out, v)
		}
	}
	slices.SortFunc(out, func(x, y string) int { return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y)) })
	return out
}

// diffCommonCells describes changes of name, sample sizes and trials of the cells in both plans.
func diffCommonCells(a, b *Plan) []string {
	changes := tally{counts: map[string]int{}}
	for before, c := range commonCells(a, b) {
		if before.As != c.As {
			changes.add(fmt.Sprintf("%s is now called %s", before.As, c.As))
		}
		if m, n := describeSampling(before), describeSampling(c); m != n {
			changes.add(fmt.Sprintf("n and trials: %s; now %s", m, n))
		}
	}
	return changes.counted()
}

// commonCells yields both versions of the cells in both plans.
func commonCells(a, b *Plan) iter.Seq2[*trial.Cell, *trial.Cell] {
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

// DescribeMoves explains why brackets of cells in both plans may move; "" if none may, or if old is nil.
func DescribeMoves(old, new *Plan) string {
	if old == nil {
		return ""
	}
	kept, changed := 0, 0
	for before, c := range commonCells(old, new) {
		if c.Beta > 0 {
			kept++
			if describeSampling(before) != describeSampling(c) {
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
	return fmt.Sprintf("brackets of %s may move, including decided ones: %s",
		wording.Count(kept, "cell"), strings.Join(why, "; "))
}

// diffCells counts added and removed cells, and names the first of them.
func diffCells(a, b *Plan) []string {
	gone, came := cellsWithout(a, b), cellsWithout(b, a)
	var lines []string
	if len(came) > 0 {
		lines = append(lines, fmt.Sprintf("%s new: %s", wording.Count(len(came), "cell"), wording.Few(came, maxNamed)))
	}
	if len(gone) > 0 {
		lines = append(lines, fmt.Sprintf("%s gone: %s", wording.Count(len(gone), "cell"), wording.Few(gone, maxNamed)))
	}
	if len(came)+len(gone) > 0 {
		lines = append(lines, fmt.Sprintf("%s as before", wording.Count(len(b.Cells)-len(came), "cell")))
	}
	return lines
}

// cellsWithout names the cells in a that are not in b.
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
