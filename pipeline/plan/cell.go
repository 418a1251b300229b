package plan

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/pipeline/sweep"
	"github.com/shatterlab/shatter/pipeline/theory"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// assemble makes the plan: the cells of all settled drafts, of which equal ones are merged, and the
// fits through them. It returns nil where it has reported a mistake.
func assemble(l *layout, all []settled, r *sweep.Reporter) (*Plan, error) {
	if len(all) == 0 {
		r.At("exclude", "nothing is left: every cell is excluded")
		return nil, nil
	}
	p := &Plan{Name: l.file.Sweep.Name, Seed: seedOf(l.file), Source: l.file.Source, seedAt: l.file.Mistake("seed")}
	cells, from, err := cellsOf(l.file, all)
	if err != nil {
		return nil, err
	}
	makeLadders(cells, from, r)
	var origins []*settled // of each cell, the first draft that made it
	index := map[trial.Key]int{}
	for i, c := range cells {
		x := from[i]
		if first, ok := index[c.Key]; ok {
			checkEqual(r, x.entry, c, origins[first].entry, p.Cells[first])
			continue
		}
		index[c.Key] = len(p.Cells)
		p.Cells, origins = append(p.Cells, c), append(origins, x)
	}
	p.Warnings = append(uncertified(p.Cells), constantSuffices(p.Cells)...)
	p.Metrics = l.metrics(p.Cells)
	p.words = l.explain(p.Cells, origins)
	f := fitter{layout: l, cells: p.Cells, origins: origins}
	if p.Fits, err = f.fits(r); err != nil || r.Count() > 0 {
		return nil, err
	}
	return p, nil
}

// cellsOf makes the cells of all drafts, with the draft of each. Where a number is searched, a draft
// makes a cell for each n, and in task online one for its rounds.
func cellsOf(f *sweep.File, all []settled) (cells []*trial.Cell, from []*settled, err error) {
	for i := range all {
		x := &all[i]
		sizes := [][]int64{nil}
		switch {
		case x.entry.find != nil && x.setting.rounds > 0:
			sizes = [][]int64{{int64(x.setting.rounds)}}
		case x.entry.find != nil:
			sizes = slices.Collect(slices.Chunk(x.entry.grid.Sizes, 1))
		}
		for _, n := range sizes {
			c, err := x.cell(f, n)
			if err != nil {
				return nil, nil, err
			}
			cells, from = append(cells, c), append(from, x)
		}
	}
	return cells, from, nil
}

// cell makes the cell of a draft, with its keys. n is the size of a rung, and nil for other cells.
func (x *settled) cell(f *sweep.File, n []int64) (*trial.Cell, error) {
	e, s, p, a := x.entry, &x.setting, x.problem, x.answer
	c := &trial.Cell{
		Task:       f.Task().Name,
		Problem:    &x.measured.resolved,
		Public:     p.public,
		DataKey:    p.dataKey,
		Algorithm:  e.algorithm.GetName(),
		Version:    e.algorithm.GetVersion(),
		As:         e.label(),
		Plugin:     e.algorithm.Plugin,
		Params:     a.params,
		Replica:    s.replica,
		Private:    e.algorithm.GetPrivate(),
		Pure:       a.guarantee.GetPure(),
		Epsilon:    s.epsilon,
		Delta:      s.delta,
		Alpha:      s.alpha,
		Beta:       s.beta,
		Above:      x.above,
		Means:      s.means,
		States:     s.states,
		Limits:     limitsOf(e.grid),
		Queries:    s.queries,
		Adversary:  x.adversary,
		Metrics:    e.metricNames(x.measured.evaluation.Looks != nil || s.states == schemas.StatesHard),
		Bounds:     x.bounds(),
		Guarantee:  a.guarantee,
		Evaluation: &x.measured.evaluation,
		Prior:      x.prior(),
		Population: p.population,
	}
	if c.Pure {
		c.Delta = 0
	}
	sampled := p.sampled
	if c.Find = e.search(p.resolved.Noise); c.Find != nil {
		c.MaxTrials = maxTrialsOf(e.grid)
	} else if n != nil {
		c.N, c.MaxTrials, c.Rung = n, maxTrialsOf(e.grid), x.rung()
		var err error
		if sampled, err = c.Sampled(sampled); err != nil {
			return nil, err
		}
		if c.DataKey, err = seedOf(f).DataKey(sampled); err != nil {
			return nil, err
		}
	} else {
		c.N, c.Trials = e.grid.Sizes, int(trialsOf(e.grid))
	}
	if err := c.SetKeys(seedOf(f), x.measured.canonical, sampled, a.canonical); err != nil {
		return nil, fmt.Errorf("compute the key of a cell of %q: %w", c.As, err)
	}
	return c, nil
}

// bounds returns the algorithm's bounds. Those that do not hold of the draft say why.
func (x *settled) bounds() trial.Bounds {
	if !x.answer.open {
		return x.answer.bounds
	}
	facts := theory.Facts{Setting: x.answer.setting, Least: x.problem.least}
	return x.answer.bounds.WithFailures(func(b *pluginv1.Bound) string { return theory.Unmet(b, facts) })
}

// maxDoc is the largest number of letters of what a metric means.
const maxDoc = 500

// metrics describes the metrics of all algorithms and of the task, by name. Where algorithms mean
// different things by one name, the doc says what each of them means.
func (l *layout) metrics(cells []*trial.Cell) []schemas.Metric {
	type declared struct {
		schemas.Metric
		by string // the first algorithm
	}
	said := map[string][]declared{} // by name, those with different meanings
	more := slices.ContainsFunc(l.entries, func(e *entry) bool { return e.grid.Sequential() }) ||
		slices.ContainsFunc(cells, func(c *trial.Cell) bool { return c.States == schemas.StatesHard })
	for _, m := range l.file.Task().Measured(more) {
		said[m.Name] = []declared{{Metric: m}}
	}
	for _, e := range l.entries {
		for _, w := range e.algorithm.GetMetrics() {
			m := schemas.DeclaredMetric(w.GetName(), wording.OneLine(w.GetDoc(), maxDoc))
			if !slices.ContainsFunc(said[m.Name], func(d declared) bool { return d.Metric == m }) {
				said[m.Name] = append(said[m.Name], declared{m, e.algorithm.GetName()})
			}
		}
	}
	var all []schemas.Metric
	for _, name := range slices.Sorted(maps.Keys(said)) {
		m := said[name][0].Metric
		if len(said[name]) > 1 {
			var docs []string
			for _, d := range said[name] {
				docs = append(docs, d.by+": "+d.Meaning())
			}
			m = schemas.Metric{Name: name, Doc: strings.Join(docs, "; ")}
		}
		all = append(all, m)
	}
	return all
}

// metricNames returns the declared metrics and those of workers, ascending.
func (e *entry) metricNames(more bool) []string {
	names := e.grid.File.Task().MetricNames(more)
	for _, m := range e.algorithm.GetMetrics() {
		names = append(names, m.GetName())
	}
	slices.Sort(names)
	return names
}

// search returns the search for n* under that noise, nil where n is a list.
func (e *entry) search(n schemas.Noise) *trial.Find {
	f := searchOf(e.grid)
	if f != nil {
		f.Step = stepOf(f, n)
	}
	return f
}

// checkEqual looks at two equal cells. They are one cell where they are to be measured alike under
// one name; otherwise one of them would vanish silently, and that is reported.
func checkEqual(r *sweep.Reporter, e *entry, c *trial.Cell, first *entry, d *trial.Cell) {
	home := cmp.Or(first.grid.Home(), "the file")
	switch {
	case c.As != d.As:
		r.At(e.path, "%q has a cell that is the same as one of %q (%s): remove it, or give it independent noise with "+
			"\"replica: 1\"", c.As, d.As, first.path)
	case !measuredAlike(c, d):
		r.At(e.grid.Path("n"), "%q has a cell that stands in %s too, with other n or trials", c.As, home)
	case c.Limits != d.Limits:
		r.At(e.grid.Path("limits"), "%q has a cell that stands in %s too, with other limits", c.As, home)
	}
}

// measuredAlike reports whether two cells are measured at the same sizes, or by the same search.
func measuredAlike(c, d *trial.Cell) bool {
	return slices.Equal(c.N, d.N) && c.Trials == d.Trials && c.MaxTrials == d.MaxTrials &&
		(c.Find == nil) == (d.Find == nil) && (c.Find == nil || *c.Find == *d.Find) && sameLadder(c.Rung, d.Rung)
}

// constantSuffices warns of goals over data that a constant reaches, which looks at no example.
func constantSuffices(cells []*trial.Cell) []string {
	counts := map[string]int{}
	var order []string
	for _, c := range cells {
		if c.Population == nil || !c.CanSucceed() || !numeric.Within(c.Population.ConstantError(), c.Above, c.Alpha) {
			continue
		}
		warning := fmt.Sprintf("%s: a constant, which looks at no example, errs on %s of the rows: a success at alpha %v "+
			"above %.4g", filepath.Base(c.Problem.Data.File), wording.Percent(c.Population.ConstantError()), c.Alpha, c.Above)
		if counts[warning]++; counts[warning] == 1 {
			order = append(order, warning)
		}
	}
	for i, warning := range order {
		order[i] = fmt.Sprintf("%s (%s)", warning, wording.Count(counts[warning], "cell"))
	}
	return order
}

// uncertified warns of algorithms whose privacy is only aimed at.
func uncertified(cells []*trial.Cell) []string {
	var warnings []string
	warned := map[string]bool{}
	for _, c := range cells {
		if g := c.Guarantee; g.GetUncertified() && !warned[c.As] {
			warned[c.As] = true
			warnings = append(warnings, fmt.Sprintf("%s: its privacy is not certified: %s", c.As, g.GetSource()))
		}
	}
	return warnings
}
