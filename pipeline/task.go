package pipeline

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// The tasks that sweeps may have.
const (
	taskLearn   = "learn"
	taskPredict = "predict"
	taskOnline  = "online"
)

// HardQueries and QueryError are the metrics that workers add to those of an algorithm in the task predict: queries marked as hard,
// and the share of the queries whose answer is not the clean label.
const (
	HardQueries = "hard_queries"
	QueryError  = "query_error"
)

// The metrics that workers add in the task online, over all rounds of a trial. The loss of an answer a to the truth y is (1 - y a)/2.
const (
	Mistakes = "mistakes"  // labels that were not the truth; where the answer was a mean the worker drew the label
	Loss     = "loss"      // of the answers
	BestLoss = "best_loss" // least loss of a hypothesis of the class in hindsight, L*
	Regret   = "regret"    // the difference: negative where the learner did better
)

// ProvedRegret and PrintedRegret are metrics by which a learner says what the theory gives for the sequence that was played.
const (
	ProvedRegret  = "proved_regret"
	PrintedRegret = "printed_regret"
)

// taskMetrics are the metrics of a task itself.
func taskMetrics(task string) []string {
	switch task {
	case taskPredict:
		return []string{HardQueries, QueryError}
	case taskOnline:
		return []string{Mistakes, Loss, BestLoss, Regret}
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
	case taskOnline:
		return pluginv1.Task_TASK_ONLINE
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
	a := axis{path: path, names: []string{"adversary", "sees", "offline", "width", "rate", "from"}}
	for i, spec := range g.Adversary {
		for _, kind := range spec.Kind {
			for _, sees := range orOne(spec.Sees) {
				for _, offline := range orOne(spec.Offline) {
					for _, width := range orOne(spec.Width) {
						for _, rate := range orOne(spec.Rate) {
							for _, from := range orOne(spec.From) {
								adversary := schemas.Adversary{Kind: kind, Sees: sees, Offline: offline, Width: width, Rate: rate, From: uint64(from)}
								a.options = append(a.options, option{path: g.file.item(path, i),
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
	resolve := problem.ResolveAdversary
	if r.file.task() == taskOnline {
		resolve = problem.ResolveOpponent
		if err := r.comparator(p); err != nil {
			r.blameProblem(p.entry, options, err)
			return
		}
	}
	err := resolve(&p.problem.resolved, &a)
	if err == nil {
		err = problem.CheckRounds(&p.problem.resolved, p.entry.grid.rounds())
	}
	if err != nil {
		r.blameProblem(p.entry, options, err)
	}
}

// publicOf is what an algorithm may know of the problem: in an online game the adversary decides whether a hypothesis agrees with all truths.
func publicOf(p *pluginv1.Problem, task string, a *schemas.Adversary) *pluginv1.Problem {
	if task != taskOnline || p.GetRealizable() == (p.GetRealizable() && a.Realizable()) {
		return p
	}
	p = proto.CloneOf(p)
	p.Realizable = false
	return p
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
