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
	trial.NameAxes(p.Cells)
	p.Warnings = warnings(p.Cells)
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
	more := slices.ContainsFunc(l.entries(), func(e *entry) bool { return e.grid.Sequential() }) ||
		slices.ContainsFunc(cells, func(c *trial.Cell) bool { return c.States == schemas.StatesHard })
	for _, m := range l.file.Task().Measured(more) {
		said[m.Name] = []declared{{Metric: m}}
	}
	for _, e := range l.entries() {
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

// warnings returns warnings about the cells, each once.
func warnings(cells []*trial.Cell) []string {
	each := func(warning func(*trial.Cell) string) *tally {
		t := &tally{counts: map[string]int{}}
		for _, c := range cells {
			t.add(warning(c))
		}
		return t
	}
	controlled := map[trial.Key]bool{} // adversaries whose queries are measured alone
	for _, c := range cells {
		controlled[c.AdversaryKey] = controlled[c.AdversaryKey] || c.Algorithm == schemas.BaselineQueries
	}
	revealing := func(c *trial.Cell) string {
		if c.Adversary == nil || controlled[c.AdversaryKey] {
			return ""
		}
		return warnRevealing(adversary.Lookup(c.Adversary.Kind))
	}
	told := map[string]bool{} // algorithms
	unproved := func(c *trial.Cell) string {
		if !c.Guarantee.GetUnproved() || told[c.As] {
			return ""
		}
		told[c.As] = true
		return fmt.Sprintf("%s: its privacy is unproved: %s", c.As, c.Guarantee.GetSource())
	}
	few := func(c *trial.Cell) string { return warnFew(c, len(cells)) }
	return slices.Concat(warnTrivial(cells), each(unproved).lines, each(warnConstant).counted(),
		each(revealing).lines, each(warnClean).lines, each(few).lines, each(warnDelta).lines)
}

// warnTrivial warns about a sweep of trivial cells only.
func warnTrivial(cells []*trial.Cell) []string {
	if len(cells) == 0 || slices.ContainsFunc(cells, func(c *trial.Cell) bool { return !c.Trivial() }) {
		return nil
	}
	return []string{"every cell is trivial: a learner without data reaches the goal, so that there is no n* to find; " +
		"lower goal.alpha, or take a larger class"}
}

// warnConstant warns about a goal on data that a constant hypothesis reaches without examples.
func warnConstant(c *trial.Cell) string {
	if c.Population == nil || !c.CanSucceed() ||
		!numeric.Within(c.Population.ConstantError(), c.Reference, c.Alpha) {
		return ""
	}
	return fmt.Sprintf("%s: a constant hypothesis, which needs no example, errs on %s of the rows: "+
		"a success at alpha %v above %.4g", filepath.Base(c.Problem.Data.File),
		wording.Percent(c.Population.ConstantError()), c.Alpha, c.Reference)
}

// warnRevealing warns about queries that reveal the target, in a sweep that does not measure how
// much they reveal.
func warnRevealing(a *adversary.Adversary) string {
	if !a.RevealsTarget() {
		return ""
	}
	return fmt.Sprintf("adversary %s reveals %s; add %s to the algorithms, to measure whether the "+
		"queries alone are enough", a.Name, a.Reveals, schemas.BaselineQueries)
}

// warnClean warns about a listed sample size at which the noise turns no label.
func warnClean(c *trial.Cell) string {
	first := noise.FirstWrong(c.Problem.Noise)
	if len(c.N) == 0 || slices.Min(c.N) >= first || c.Kind().Rounds() {
		return ""
	}
	return fmt.Sprintf("n = %d: %s noise of rate %v turns no label below n = %d",
		slices.Min(c.N), c.Problem.Noise.Kind, c.Problem.Noise.Rate, first)
}

// warnFew warns about an audit, in a table with that many cells, that can refute nothing.
func warnFew(c *trial.Cell, cells int) string {
	if c.Kind().Least == nil || c.Kind().Least(c.Claim(cells)) <= c.Trials {
		return ""
	}
	return fmt.Sprintf("trials: %d do not refute epsilon %v even of an algorithm without any privacy: "+
		"take more, or a smaller epsilon", c.Trials, c.Guarantee.GetEpsilon())
}

// warnDelta warns about a guarantee that permits to publish an example.
func warnDelta(c *trial.Cell) string {
	delta := c.Guarantee.GetDelta()
	if len(c.N) == 0 || float64(float64(slices.Max(c.N))*delta) < 1 {
		return ""
	}
	return fmt.Sprintf("%s: with delta %v it may publish a random one of %d examples; delta is meant to be "+
		"far below 1/n", c.As, delta, slices.Max(c.N))
}

// A tally counts texts in the order of their first appearance.
type tally struct {
	lines  []string
	counts map[string]int
}

// add counts a text that is not empty.
func (t *tally) add(line string) {
	if t.counts[line]++; t.counts[line] == 1 && line != "" {
		t.lines = append(t.lines, line)
	}
}

// counted returns the texts, each with its number of cells.
func (t *tally) counted() (lines []string) {
	for _, line := range t.lines {
		lines = append(lines, fmt.Sprintf("%s (%s)", line, wording.Count(t.counts[line], "cell")))
	}
	return lines
}
