package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/shatterlab/shatter/schemas/pluginv1"

	"github.com/shatterlab/shatter/pipeline/trial"
)

// plan makes the cells of the drafts and merges those that came out equal.
func (r *resolver) plan() (*Plan, error) {
	p := &Plan{Name: r.file.Sweep.Name, Seed: r.file.Seed(), Source: r.file.Source, Warnings: r.warned}
	if len(r.problems) > 0 {
		return p, nil
	}
	if len(r.drafts) == 0 {
		r.blame("exclude", "nothing is left: every cell is excluded")
		return p, nil
	}
	cells := map[trial.Key]*trial.Cell{}
	from := map[trial.Key]*entry{}
	drafts := map[trial.Key]*pending{}
	for i := range r.drafts {
		d := &r.drafts[i]
		c, err := r.cell(d)
		if err != nil {
			return nil, err
		}
		if first, ok := cells[c.Key]; ok {
			r.same(d.entry, c, from[c.Key], first)
			continue
		}
		cells[c.Key], from[c.Key], drafts[c.Key] = c, d.entry, d
		p.Cells = append(p.Cells, c)
	}
	p.Warnings = append(p.Warnings, overBudget(p.Cells)...)
	p.words = r.words(p.Cells, from)
	if err := r.fits(p, drafts); err != nil {
		return nil, err
	}
	var err error
	p.Resolved, err = resolvedJSON(p)
	return p, err
}

// cell gives a draft its keys.
func (r *resolver) cell(d *pending) (*trial.Cell, error) {
	e, o, a := d.entry, d.problem, d.answer
	at := r.file.At(e.path)
	c := &trial.Cell{
		Task:       r.file.Task(),
		Problem:    o.resolved,
		Public:     o.public,
		DataKey:    o.dataKey,
		Algorithm:  e.algorithm.GetName(),
		As:         e.as(),
		Plugin:     e.algorithm.Plugin,
		Params:     a.params,
		Replica:    d.draft.replica,
		Private:    e.algorithm.GetPrivate(),
		Pure:       a.guarantee.GetPure(),
		Epsilon:    d.draft.epsilon,
		Delta:      d.draft.delta,
		Alpha:      d.draft.alpha,
		Beta:       d.draft.beta,
		Above:      d.above,
		Limits:     limitsOf(e.grid),
		Queries:    d.draft.queries,
		Adversary:  d.draft.adversary,
		Metrics:    metricNames(e.algorithm.GetMetrics(), taskMetrics(r.file.Task())),
		Bounds:     a.bounds,
		Guarantee:  a.guarantee,
		Evaluation: o.evaluation,
		Line:       at.Line,
		Column:     at.Column,
	}
	if c.Pure {
		c.Delta = 0
	}
	if c.Find = searchOf(e.grid); c.Find != nil {
		c.MaxTrials = maxTrialsOf(e.grid)
	} else {
		c.N = e.grid.Sizes
		c.Trials = int(trialsOf(e.grid))
	}
	var err error
	if c.Key, err = trial.KeyOf(c.Identity(o.canonical, a.canonical)); err != nil {
		return nil, fmt.Errorf("compute the key of a cell of %q: %w", c.As, err)
	}
	if c.NoiseKey, err = trial.KeyOf(map[string]any{"format": trial.Format, "seed": r.file.Seed(), "cell": c.Key.String()}); err != nil || c.Adversary == nil {
		return c, err
	}
	c.AdversaryKey, err = trial.KeyOf(map[string]any{"format": trial.Format, "seed": r.file.Seed(), "problem": o.canonical, "adversary": c.Adversary})
	return c, err
}

func metricNames(metrics []*pluginv1.Metric, names []string) []string {
	for _, m := range metrics {
		names = append(names, m.GetName())
	}
	slices.Sort(names)
	return names
}

// same looks at two equal cells. They are one cell where they are to be measured alike under one name; else one of them would
// vanish silently.
func (r *resolver) same(e *entry, c *trial.Cell, first *entry, d *trial.Cell) {
	switch {
	case c.As != d.As:
		r.blame(e.path, "%q has a cell that is the same as one of %q (%s): remove it, or give it independent noise with \"replica: 1\"",
			c.As, d.As, first.path)
	case !slices.Equal(c.N, d.N) || c.Trials != d.Trials || c.MaxTrials != d.MaxTrials || (c.Find == nil) != (d.Find == nil) ||
		c.Find != nil && *c.Find != *d.Find:
		r.blame(e.grid.Path("n"), "%q has a cell that stands in %s too, with other n or trials", c.As, cmp.Or(first.grid.Home(), "the file"))
	case c.Limits != d.Limits:
		r.blame(e.grid.Path("limits"), "%q has a cell that stands in %s too, with other limits", c.As, cmp.Or(first.grid.Home(), "the file"))
	}
}

// overBudget warns of algorithms whose own guarantee is weaker than the budget that their rows are printed under, or not proved.
func overBudget(cells []*trial.Cell) []string {
	var warnings []string
	seen := map[string]bool{}
	for _, c := range cells {
		g := c.Guarantee
		if g.GetUncertified() && !seen[c.As] {
			seen[c.As] = true
			warnings = append(warnings, fmt.Sprintf("%s: its privacy is not certified: %s", c.As, g.GetSource()))
		}
		if g == nil || seen[c.As] || g.GetEpsilon() <= c.Epsilon*(1+1e-9) && (c.Pure || g.GetDelta() <= c.Delta*(1+1e-9)) {
			continue
		}
		seen[c.As] = true
		warnings = append(warnings, fmt.Sprintf("%s: at the budget (%v, %v) it states only (%v, %v): %s", c.As, c.Epsilon, c.Delta,
			g.GetEpsilon(), g.GetDelta(), g.GetSource()))
	}
	return warnings
}
