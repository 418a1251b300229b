package pipeline

import (
	"slices"

	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// The tasks that sweeps may have.
const (
	taskLearn   = "learn"
	taskPredict = "predict"
)

// HardQueries and QueryError are the metrics that workers add to those of an algorithm in the task predict: queries marked as hard,
// and the share of the queries whose answer is not the clean label.
const (
	HardQueries = "hard_queries"
	QueryError  = "query_error"
)

// taskMetrics are the metrics of a task itself.
func taskMetrics(task string) []string {
	if task == taskPredict {
		return []string{HardQueries, QueryError}
	}
	return nil
}

// wireTask is the task in the plugin protocol.
func wireTask(task string) pluginv1.Task {
	switch task {
	case taskLearn:
		return pluginv1.Task_TASK_LEARN
	case taskPredict:
		return pluginv1.Task_TASK_PREDICT
	}
	return pluginv1.Task_TASK_UNSPECIFIED
}

// taskAxes are the axes of queries and adversary.
func (g *grid) taskAxes() []axis {
	f := g.file
	axes := []axis{
		simple(f, g.path("queries"), "queries", g.Queries, number, func(d *draft, v int) { d.queries = v }),
		g.adversaryAxis(),
	}
	return slices.DeleteFunc(axes, func(a axis) bool { return len(a.options) == 0 })
}

// adversaryAxis lays all combinations of all items of adversary in one row.
func (g *grid) adversaryAxis() axis {
	path := g.path("adversary")
	a := axis{path: path, names: []string{"adversary", "sees", "offline", "width"}}
	for i, spec := range g.Adversary {
		for _, kind := range spec.Kind {
			for _, sees := range orOne(spec.Sees) {
				for _, offline := range orOne(spec.Offline) {
					for _, width := range orOne(spec.Width) {
						adversary := schemas.Adversary{Kind: kind, Sees: sees, Offline: offline, Width: width}
						a.options = append(a.options, option{path: g.file.item(path, i), values: []any{kind, sees, offline, float64(width)},
							set: func(d *draft) { d.adversary = &adversary }})
					}
				}
			}
		}
	}
	return a
}

// adversaries is the grid's adversaries in words.
func (g *grid) adversaries() (words []string) {
	for _, o := range g.adversaryAxis().options {
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
	if err := problem.ResolveAdversary(&p.problem.resolved, &a); err != nil {
		r.blameProblem(p.entry, options, err)
	}
}
