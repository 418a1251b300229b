package plan

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/pipeline/problem/adversary"
	"github.com/shatterlab/shatter/pipeline/problem/noise"
	"github.com/shatterlab/shatter/pipeline/sweep"
	"github.com/shatterlab/shatter/pipeline/theory"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// assemble returns the plan: the cells of all instances, without duplicates, and the fits through them. It returns
// nil if it has reported a mistake.
func assemble(l *layout, all []checkedInstance, r *sweep.Reporter) (*Plan, error) {
	if len(all) == 0 {
		r.At("exclude", "every cell is excluded: remove an exclusion")
		return nil, nil
	}
	p := &Plan{Name: l.file.Sweep.Name, Seed: seedOf(l.file), Source: l.file.Source, seedAt: l.file.Mistake("seed")}
	cells, from, err := cellsOf(l.file, all)
	if err != nil {
		return nil, err
	}
	makeLadders(cells, from, r)
	var origins []*checkedInstance // first instance of each cell
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
	p.Warnings = slices.Concat(warnTrivial(p.Cells), warnUnproved(p.Cells), warnConstants(p.Cells),
		warnQueries(p.Cells), warnClean(p.Cells))
	p.Metrics = l.metrics(p.Cells)
	p.description, p.notes = l.explain(p.Cells, origins)
	f := fitter{layout: l, cells: p.Cells, origins: origins}
	if p.Fits, err = f.fits(r); err != nil || r.Count() > 0 {
		return nil, err
	}
	return p, nil
}

// cellsOf returns the cells of all instances, and the instance of each. In a search over another number than n, an
// instance has one cell per n or, in task online, one for its number of rounds.
func cellsOf(f *sweep.File, all []checkedInstance) (cells []*trial.Cell, from []*checkedInstance, err error) {
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

// cell returns a cell of the instance, with its keys. n holds the size of a rung, and is nil for other cells.
func (x *checkedInstance) cell(f *sweep.File, n []int64) (*trial.Cell, error) {
	e, s, p, a := x.entry, &x.setting, x.problem, x.answer
	c := &trial.Cell{
		Task:       f.Task().Name,
		Problem:    &x.measured.resolved,
		Public:     p.public,
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
		Reference:  x.reference,
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
	if c.Find = searchOf(e.grid); c.Find != nil {
		setNoisySizes(c.Find, p.resolved.Noise)
		c.MaxTrials = maxTrialsOf(e.grid)
	} else if n != nil {
		c.N, c.MaxTrials, c.Rung = n, maxTrialsOf(e.grid), x.rung()
	} else {
		c.N, c.Trials = e.grid.Sizes, int(trialsOf(e.grid))
	}
	if err := c.SetKeys(seedOf(f), x.measured.canonical, p.sampled, a.canonical); err != nil {
		return nil, fmt.Errorf("compute the key of a cell of %q: %w", c.As, err)
	}
	return c, nil
}

// bounds returns the algorithm's bounds with their failed premises.
func (x *checkedInstance) bounds() trial.Bounds {
	if !x.answer.needsLeastError {
		return x.answer.bounds
	}
	facts := theory.Facts{Setting: x.answer.setting, Least: x.problem.least}
	return x.answer.bounds.WithFailures(func(b *pluginv1.Bound) string { return theory.Unmet(b, facts) })
}

// maxDoc is the maximal number of letters in the description of a metric.
const maxDoc = 500

// metrics describes the metrics of all algorithms and of the task, ordered by name. If algorithms give different
// meanings to one name, the doc lists them.
func (l *layout) metrics(cells []*trial.Cell) []schemas.Metric {
	type declared struct {
		schemas.Metric
		by string // the first algorithm
	}
	said := map[string][]declared{} // distinct meanings by name
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

// metricNames returns the names of the declared metrics and of the workers' metrics, ascending.
func (e *entry) metricNames(more bool) []string {
	names := e.grid.File.Task().MetricNames(more)
	for _, m := range e.algorithm.GetMetrics() {
		names = append(names, m.GetName())
	}
	slices.Sort(names)
	return names
}

// checkEqual reports two cells with equal keys, unless name and measurement agree too: otherwise the second one would
// disappear silently.
func checkEqual(r *sweep.Reporter, e *entry, c *trial.Cell, first *entry, d *trial.Cell) {
	home := cmp.Or(first.grid.Home(), "the file")
	switch {
	case c.As != d.As:
		r.At(e.path, "%q has a cell that equals one of %q (%s): remove it, or give it independent noise with "+
			"\"replica: 1\"", c.As, d.As, first.path)
	case !measuredAlike(c, d):
		r.At(e.grid.Path("n"), "%q has a cell that is also in %s, with other n or trials", c.As, home)
	case c.Limits != d.Limits:
		r.At(e.grid.Path("limits"), "%q has a cell that is also in %s, with other limits", c.As, home)
	}
}

// measuredAlike reports whether two cells are measured at the same sizes, or by the same search.
func measuredAlike(c, d *trial.Cell) bool {
	return slices.Equal(c.N, d.N) && c.Trials == d.Trials && c.MaxTrials == d.MaxTrials &&
		(c.Find == nil) == (d.Find == nil) && (c.Find == nil || *c.Find == *d.Find) && sameLadder(c.Rung, d.Rung)
}

// warnConstants warns about goals on data that a constant hypothesis reaches without examples.
func warnConstants(cells []*trial.Cell) []string {
	counts := map[string]int{}
	var order []string
	for _, c := range cells {
		if c.Population == nil || !c.CanSucceed() || !numeric.Within(c.Population.ConstantError(), c.Reference, c.Alpha) {
			continue
		}
		warning := fmt.Sprintf("%s: a constant hypothesis, which needs no example, errs on %s of the rows: a success at "+
			"alpha %v above %.4g",
			filepath.Base(c.Problem.Data.File), wording.Percent(c.Population.ConstantError()), c.Alpha, c.Reference)
		if counts[warning]++; counts[warning] == 1 {
			order = append(order, warning)
		}
	}
	for i, warning := range order {
		order[i] = fmt.Sprintf("%s (%s)", warning, wording.Count(counts[warning], "cell"))
	}
	return order
}

// warnTrivial warns about a sweep of trivial cells only.
func warnTrivial(cells []*trial.Cell) []string {
	if len(cells) == 0 || slices.ContainsFunc(cells, func(c *trial.Cell) bool { return !c.Trivial() }) {
		return nil
	}
	return []string{"every cell is trivial: a learner without data reaches the goal, so that there is no n* to find; " +
		"lower goal.alpha, or take a larger class"}
}

// warnQueries warns about queries that reveal the target, in sweeps that do not measure how much they reveal.
func warnQueries(cells []*trial.Cell) (warnings []string) {
	controlled, warned := map[trial.Key]bool{}, map[string]bool{}
	for _, c := range cells {
		if c.Algorithm == schemas.BaselineQueries {
			controlled[c.AdversaryKey] = true
		}
	}
	for _, c := range cells {
		if c.Adversary == nil || controlled[c.AdversaryKey] || warned[c.Adversary.Kind] {
			continue
		}
		if k := adversary.Lookup(c.Adversary.Kind); k.RevealsTarget() {
			warned[k.Name] = true
			warnings = append(warnings, fmt.Sprintf("adversary %s reveals %s; add %s to the algorithms, to measure whether the "+
				"queries alone are enough", k.Name, k.Reveals, schemas.BaselineQueries))
		}
	}
	return warnings
}

// warnClean warns about listed sample sizes at which the noise turns no label.
func warnClean(cells []*trial.Cell) []string {
	warnings := distinct(cells, func(c *trial.Cell) string {
		first := noise.FirstWrong(c.Problem.Noise)
		if len(c.N) == 0 || slices.Min(c.N) >= first || c.Kind().Rounds() {
			return ""
		}
		return fmt.Sprintf("n = %d: %s noise of rate %v turns no label below n = %d",
			slices.Min(c.N), c.Problem.Noise.Kind, c.Problem.Noise.Rate, first)
	})
	return slices.DeleteFunc(warnings, func(w string) bool { return w == "" })
}

// warnUnproved warns about algorithms whose privacy is not proved.
func warnUnproved(cells []*trial.Cell) []string {
	var warnings []string
	warned := map[string]bool{}
	for _, c := range cells {
		if g := c.Guarantee; g.GetUnproved() && !warned[c.As] {
			warned[c.As] = true
			warnings = append(warnings, fmt.Sprintf("%s: its privacy is unproved: %s", c.As, g.GetSource()))
		}
	}
	return warnings
}
