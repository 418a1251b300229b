package plan

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/schemas"

	"github.com/shatterlab/shatter/pipeline/trial"
)

// resolvedSweep is Plan.Resolved: everything in a sweep file that has meaning for an outcome, nothing else. Limits and the paths of plugins
// and data are not in it, because no result depends on them, nor are fits, which are read off finished cells.
type resolvedSweep struct {
	Format   int                        `json:"format"`
	Name     string                     `json:"name"`
	Task     string                     `json:"task"`
	Seed     uint64                     `json:"seed"`
	Problems map[string]schemas.Problem `json:"problems"` // by the first digits of their keys
	Measures []measure                  `json:"measures"`
	Cells    []resolvedCell             `json:"cells"`
}

// measure is how cells are measured.
type measure struct {
	N      []int64     `json:"n,omitempty"`
	Trials int         `json:"trials,omitempty"`
	Find   *trial.Find `json:"find,omitempty"`
	Max    int64       `json:"max,omitempty"`
}

func measureOf(c *trial.Cell) measure {
	return measure{N: c.N, Trials: c.Trials, Find: c.Find, Max: c.MaxTrials}
}

func (m measure) String() string {
	if m.Find == nil {
		return fmt.Sprintf("n %v with %d trials each", m.N, m.Trials)
	}
	return fmt.Sprintf("find from %d to %d, within %v, confidence %v, at most %d trials", m.Find.From, m.Find.To, m.Find.Within,
		m.Find.Confidence, m.Max)
}

type resolvedCell struct {
	Key       trial.Key    `json:"key"`
	Problem   string       `json:"problem"`
	Algorithm string       `json:"algorithm"`
	As        string       `json:"as"`
	Params    trial.Params `json:"params"`
	Replica   int          `json:"replica"`
	Epsilon   float64      `json:"epsilon"`
	Delta     float64      `json:"delta"`
	Alpha     float64      `json:"alpha"`
	Beta      float64      `json:"beta"`
	Above     float64      `json:"above"`
	Measure   int          `json:"measure"` // index

	Queries   int                `json:"queries,omitempty"` // task predict
	Adversary *schemas.Adversary `json:"adversary,omitempty"`
}

// resolvedJSON writes Plan.Resolved, in the form of a resolvedSweep.
func resolvedJSON(p *Plan) ([]byte, error) {
	problems, measures := map[string]any{}, map[string]int{}
	var list []any
	cells := trial.Fragment("[")
	for i, c := range p.Cells {
		id := c.DataKey.Short()
		if problems[id] == nil {
			problems[id] = c.Problem
		}
		m := measureOf(c)
		how := m.String()
		if _, ok := measures[how]; !ok {
			measures[how] = len(list)
			list = append(list, m)
		}
		if i > 0 {
			cells = append(cells, ',')
		}
		var err error
		cell := map[string]any{"key": c.Key.String(), "problem": id, "algorithm": c.Algorithm, "as": c.As,
			"params": c.Params, "replica": c.Replica, "epsilon": c.Epsilon, "delta": c.Delta, "alpha": c.Alpha, "beta": c.Beta,
			"above": c.Above, "measure": measures[how]}
		if c.Adversary != nil {
			cell["queries"], cell["adversary"] = c.Queries, c.Adversary
		}
		if cells, err = trial.AppendCanonical(cells, cell); err != nil {
			return nil, fmt.Errorf("write the resolved sweep: %w", err)
		}
	}
	b, err := trial.Canonical(map[string]any{"format": trial.Format, "name": p.Name, "task": p.Cells[0].Task, "seed": p.Seed, "problems": problems,
		"measures": list, "cells": append(cells, ']')})
	if err != nil {
		return nil, fmt.Errorf("write the resolved sweep: %w", err)
	}
	return b, nil
}

// Diff says in words what changed from one Plan.Resolved to another: empty where nothing did.
func Diff(old, new []byte) []string {
	if bytes.Equal(old, new) {
		return nil
	}
	var a, b resolvedSweep
	if err := json.Unmarshal(old, &a); err != nil || a.Format != trial.Format {
		return []string{"the earlier run was written by another version of Shatter"}
	}
	if err := json.Unmarshal(new, &b); err != nil {
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
	lines = append(lines, diffKept(&a, &b)...)
	lines = append(lines, diffCells(&a, &b)...)
	if len(lines) == 0 {
		lines = append(lines, "the order of the cells")
	}
	return lines
}

// values gives for every name of a column the values that occur.
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

// columns is a cell as the table shows it, without what does not apply.
func (s *resolvedSweep) columns(c resolvedCell) map[string]string {
	p := s.Problems[c.Problem]
	out := map[string]string{"class": p.Class, "algorithm": c.As, "alpha": show(c.Alpha), "beta": show(c.Beta), "above": show(c.Above),
		"noise": p.Noise.Kind}
	put := func(name string, v float64) {
		if v != 0 {
			out[name] = show(v)
		}
	}
	put("domain", float64(p.Domain))
	put("d", float64(p.Dim))
	put("mass", p.Mass)
	put("minority", p.Minority)
	put("margin", p.Margin)
	put("noise_rate", p.Noise.Rate)
	put("test", float64(p.Test))
	put("epsilon", c.Epsilon)
	put("delta", c.Delta)
	put("replica", float64(c.Replica))
	put("queries", float64(c.Queries))
	if c.Adversary != nil {
		out["adversary"] = c.Adversary.String()
	}
	if p.Distribution != "" {
		out["distribution"] = p.Distribution
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

// diffValues compares the values of the axes.
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
			lines = append(lines, fmt.Sprintf("%s: %s, now %s", name, few(gone), few(added)))
		case len(gone) > 0:
			lines = append(lines, fmt.Sprintf("%s: %s is gone", name, few(gone)))
		case len(added) > 0:
			lines = append(lines, fmt.Sprintf("%s: %s is new", name, few(added)))
		}
	}
	return lines
}

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

// few joins a list and cuts it where it is long.
func few(list []string) string {
	const most = 6
	if len(list) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
	}
	return strings.Join(list, ", ")
}

// diffKept compares how the cells that both plans have are measured and called.
func diffKept(a, b *resolvedSweep) []string {
	old := map[trial.Key]resolvedCell{}
	for _, c := range a.Cells {
		old[c.Key] = c
	}
	counts := map[string]int{}
	var order []string
	say := func(line string) {
		if counts[line]++; counts[line] == 1 {
			order = append(order, line)
		}
	}
	for _, c := range b.Cells {
		before, ok := old[c.Key]
		if !ok {
			continue
		}
		if before.As != c.As {
			say(fmt.Sprintf("%s is now called %s", before.As, c.As))
		}
		if m, n := a.Measures[before.Measure].String(), b.Measures[c.Measure].String(); m != n {
			say(fmt.Sprintf("n and trials: %s; now %s", m, n))
		}
	}
	for i, line := range order {
		order[i] = fmt.Sprintf("%s (%s)", line, plural(counts[line], "cell"))
	}
	return order
}

// diffCells counts the cells that came and went, and names a few.
func diffCells(a, b *resolvedSweep) []string {
	gone, came := cellsWithout(a, b), cellsWithout(b, a)
	var lines []string
	if len(came) > 0 {
		lines = append(lines, fmt.Sprintf("%s new: %s", plural(len(came), "cell"), few(came)))
	}
	if len(gone) > 0 {
		lines = append(lines, fmt.Sprintf("%s gone: %s", plural(len(gone), "cell"), few(gone)))
	}
	if len(came)+len(gone) > 0 {
		lines = append(lines, fmt.Sprintf("%s as before", plural(len(b.Cells)-len(came), "cell")))
	}
	return lines
}

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

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
