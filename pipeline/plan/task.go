package plan

import (
	"fmt"
	"slices"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/schemas"

	"github.com/shatterlab/shatter/pipeline/sweep"
)

// taskMetrics are the metrics of a task itself.
func taskMetrics(task string) []string {
	switch task {
	case schemas.TaskPredict:
		return []string{schemas.HardQueries, schemas.QueryError}
	case schemas.TaskOnline:
		return []string{schemas.Mistakes, schemas.Loss, schemas.BestLoss, schemas.Regret}
	}
	return nil
}

// taskAxes are the axes of queries and adversary.
func taskAxes(g *sweep.Block) []axis {
	f := g.File
	axes := []axis{
		simple(f, g.Path("queries"), "queries", g.Queries, number, func(d *draft, v int) { d.queries = v }),
		adversaryAxis(g),
	}
	return slices.DeleteFunc(axes, func(a axis) bool { return len(a.options) == 0 })
}

// adversaryAxis lays all combinations of all items of adversary in one row.
func adversaryAxis(g *sweep.Block) axis {
	path := g.Path("adversary")
	a := axis{path: path, names: []string{"adversary", "sees", "offline", "width", "rate", "from"}}
	for i, spec := range g.Adversary {
		for _, kind := range spec.Kind {
			for _, sees := range orOne(spec.Sees) {
				for _, offline := range orOne(spec.Offline) {
					for _, width := range orOne(spec.Width) {
						for _, rate := range orOne(spec.Rate) {
							for _, from := range orOne(spec.From) {
								adversary := schemas.Adversary{Kind: kind, Sees: sees, Offline: offline, Width: width, Rate: rate, From: uint64(from)}
								a.options = append(a.options, option{path: g.File.Item(path, i),
									values: []any{kind, sees, offline, float64(width), rate, float64(from)}, set: func(d *draft) { d.adversary = &adversary }})
							}
						}
					}
				}
			}
		}
	}
	return a
}

// adversaries is the grid's adversaries in words.
func adversariesInWords(g *sweep.Block) (words []string) {
	for _, o := range adversaryAxis(g).options {
		var d draft
		o.set(&d)
		words = append(words, d.adversary.String())
	}
	return words
}

// orOne is the values of an axis, or the one that stands for none.
func orOne[T any](axis schemas.Axis[T]) []T {
	if len(axis) == 0 {
		return make([]T, 1)
	}
	return axis
}

// adversary resolves the adversary of a draft for its problem.
func (r *resolver) adversary(p *pending, options []int) {
	if p.draft.adversary == nil || p.problem.err != nil {
		return
	}
	a := *p.draft.adversary
	p.draft.adversary = &a
	resolve := problem.ResolveAdversary
	if r.file.Task() == schemas.TaskOnline {
		resolve = problem.ResolveOpponent
		if err := r.comparator(p); err != nil {
			r.blameProblem(p.entry, options, err)
			return
		}
	}
	err := resolve(&p.problem.resolved, &a)
	if err == nil {
		err = problem.CheckRounds(&p.problem.resolved, p.entry.grid.MostRounds())
	}
	if err != nil {
		r.blameProblem(p.entry, options, err)
	}
}

// comparator refuses a class whose least loss in hindsight has no exact method.
func (r *resolver) comparator(p *pending) error {
	if noise := p.problem.resolved.Noise; noise.Rate > 0 {
		return &problem.Error{Key: "problem.noise", Reason: "does not apply to task online, where the adversary says the truths; leave it out, or set adversary: {kind: planted, rate: ...}"}
	}
	public := p.problem.public
	class, err := concept.New(concept.Spec{
		Name: public.GetClass(), Domain: public.GetDomain(), Dim: int(public.GetDim()), NoConstant: public.GetNoConstant(), Matrix: public.GetMatrix(),
	})
	if err == nil && !concept.InfiniteThresholds(class.Name()) { // of these the best one is known, though there is no profile
		_, err = class.NewProfile()
	}
	if err != nil {
		return &problem.Error{Key: "problem.class", Reason: fmt.Sprintf("regret needs the least loss of the class in hindsight, and there is: %v; choose another class", err)}
	}
	return nil
}
