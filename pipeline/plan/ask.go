package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unique"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/sweep"
	"github.com/shatterlab/shatter/pipeline/theory"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

const (
	questionsPerCall   = 64 // settings of one algorithm per call
	maxConcurrentCalls = 4  // calls at the same time, so that a plugin computes while earlier answers are read
)

// A checkedInstance is an instance with the answer of its algorithm.
type checkedInstance struct {
	*instance
	answer *answer
}

// An answer is an algorithm's answer about one setting. Cells with equal settings share it.
type answer struct {
	algorithm Described
	setting   *pluginv1.Setting // nil once it is no longer needed, to save memory

	refusal         *pluginv1.Refusal
	params          trial.Params // with defaults filled in
	canonical       trial.Fragment
	guarantee       *pluginv1.Guarantee
	bounds          trial.Bounds
	declares        bool // every model is a declared hypothesis of the class, whose error has a formula
	needsLeastError bool // premises of bounds depend on the least error of the class and are not yet checked
}

// ask asks the algorithms to check every distinct valid setting and to compute its bounds. It reports refusals as
// mistakes, except for infeasible settings, which are warnings because the table shows them.
func ask(
	ctx context.Context, r *sweep.Reporter, algorithms Algorithms, instances []instance,
) (all []checkedInstance, warnings []string, err error) {
	asks := map[*entry]bool{}
	for _, x := range instances {
		if _, ok := asks[x.entry]; !ok {
			asks[x.entry] = x.entry.known && r.Sound(x.entry.path)
		}
	}
	all = make([]checkedInstance, 0, len(instances))
	var questions []*answer
	known := map[string]*answer{}
	for i := range instances {
		if instances[i].invalid || !asks[instances[i].entry] {
			continue
		}
		a, err := findAnswer(&instances[i], known)
		if err != nil {
			return nil, nil, err
		}
		if len(known) > len(questions) {
			questions = append(questions, a)
		}
		all = append(all, checkedInstance{&instances[i], a})
	}
	if err := askAlgorithms(ctx, algorithms, questions); err != nil {
		return nil, nil, err
	}
	for _, x := range all {
		if x.answer.declares {
			if x.measured, err = x.problem.measure(x.draft, x.reference, true); err != nil {
				return nil, nil, err
			}
		}
	}
	warnings = reportRefusals(all, r)
	reportMeans(all, r)
	reportSequential(all, r)
	return all, warnings, nil
}

// reportMeans reports algorithms that should answer means although their guarantee does not cover them.
func reportMeans(all []checkedInstance, r *sweep.Reporter) {
	for _, x := range all {
		if g := x.answer.guarantee; x.setting.means && g != nil && !g.GetRealValued() {
			r.At(x.entry.grid.Path("goal", "answers"), "the guarantee of %s covers labels only, and a mean reveals more than a "+
				"label: leave answers out, or give %s a grid of its own without it (its author may set "+
				"Guarantee.RealValued if a proof covers means)", x.entry.label(), x.entry.label())
		}
	}
}

// reportSequential reports grids whose trials the sequential rule cannot shorten, and goals for which it is too
// inaccurate.
func reportSequential(all []checkedInstance, r *sweep.Reporter) {
	shortens := map[*sweep.Block]bool{}
	for _, x := range all {
		shortens[x.entry.grid] = shortens[x.entry.grid] || x.measured.evaluation.Looks != nil
		beta := x.setting.beta
		if x.measured.evaluation.Looks != nil && min(beta, 1-beta) < problem.Leeway {
			r.At(x.entry.grid.Path("goal", "beta"), "%v is outside [%v, %v]: with evaluation: sequential, a share %v of "+
				"trials may be misjudged, which must be small compared with beta; leave evaluation out, or change beta",
				beta, problem.Leeway, 1-problem.Leeway, problem.Misjudged)
		}
	}
	for grid, shorter := range shortens {
		if grid.Sequential() && !shorter {
			r.At(grid.Path("goal", "evaluation"), "sequential changes nothing here: no error is measured on at least %d "+
				"independent points of a distribution; leave it out", problem.LeastSequential)
		}
	}
}

// askAlgorithms sends all questions to the algorithms, several calls at a time. It stops at the first error.
func askAlgorithms(ctx context.Context, algorithms Algorithms, questions []*answer) error {
	type asked struct{ plugin, algorithm string }
	questionsOf := map[asked][]*answer{}
	var order []asked
	for _, a := range questions {
		x := asked{a.algorithm.Plugin, a.algorithm.GetName()}
		if questionsOf[x] == nil {
			order = append(order, x)
		}
		questionsOf[x] = append(questionsOf[x], a)
	}
	calls, ctx := errgroup.WithContext(ctx)
	calls.SetLimit(maxConcurrentCalls)
	for _, x := range order {
		for some := range slices.Chunk(questionsOf[x], questionsPerCall) {
			calls.Go(func() error {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				return askAlgorithm(ctx, algorithms, some)
			})
		}
	}
	return calls.Wait()
}

// askAlgorithm sends questions to one algorithm and stores the answers. An error is the plugin's fault.
func askAlgorithm(ctx context.Context, algorithms Algorithms, questions []*answer) error {
	d := questions[0].algorithm
	settings := make([]*pluginv1.Setting, len(questions))
	for i, a := range questions {
		settings[i] = a.setting
	}
	answers, err := algorithms.Ask(ctx, d.Plugin, settings)
	if err == nil && len(answers) != len(settings) {
		err = fmt.Errorf("%d answers about %d settings", len(answers), len(settings))
	}
	for i := 0; i < len(answers) && err == nil; i++ {
		err = questions[i].apply(answers[i])
	}
	if err != nil {
		return fmt.Errorf("check %q: %w", d.GetName(), err)
	}
	return nil
}

// pose returns a problem of a plugin with the facts that the plugin declares: resolved parameters, dimension and class.
// A refusal is a *problem.Error; any other error is the plugin's fault.
func pose(ctx context.Context, algorithms Algorithms, p schemas.Problem) (schemas.Problem, error) {
	answers, err := algorithms.Ask(ctx, p.Plugin.File, []*pluginv1.Setting{trial.ProblemSetting(p.Plugin)})
	if err != nil || len(answers) != 1 {
		return p, fmt.Errorf("check the problem %q: %w", p.Plugin.Name, cmp.Or(err, errors.New("it gave no answer")))
	}
	checked := answers[0].GetCheck()
	switch refusal := checked.GetRefusal(); {
	case refusal.GetKind() == pluginv1.Refusal_KIND_INVALID:
		return p, &problem.Error{Key: "problem", Reason: p.Plugin.Name + " refuses this: " + refusalMessage(refusal)}
	case refusal != nil:
		return p, &problem.Error{Key: "problem", Reason: fmt.Sprintf("%s fails with these parameters: %s; shatter plugin "+
			"test tries it alone", p.Plugin.Name, refusalMessage(refusal))}
	case checked.GetPosed() == nil:
		return p, fmt.Errorf("check the problem %q: it does not declare its points", p.Plugin.Name)
	}
	plugin := *p.Plugin
	plugin.Params = schemas.Params{}
	for name, v := range checked.GetParameters() {
		plugin.Params[name] = v.Plain()
		if f, ok := v.Plain().(float64); v.Plain() == nil || ok && !trial.Finite(f) {
			return p, fmt.Errorf("check the problem %q: it resolves the parameter %q to %v", p.Plugin.Name, name, v.Plain())
		}
	}
	p.Plugin = &plugin
	return problem.Posed(p, checked.GetPosed()), nil
}

// findAnswer returns the answer for the instance's setting, which instances share. A new one has no content yet.
func findAnswer(x *instance, known map[string]*answer) (*answer, error) {
	d, s := x.entry.algorithm, &x.setting
	c := trial.Cell{
		Task: x.entry.grid.File.Task().Name, Public: x.problem.public, Adversary: x.adversary,
		Queries: s.queries, N: []int64{cmp.Or(int64(s.rounds), x.entry.grid.MostRounds())},
		Algorithm: d.GetName(), Params: s.params, Means: s.means,
		Alpha: s.alpha, Beta: s.beta, Reference: x.reference, Epsilon: s.epsilon, Delta: s.delta,
		Evaluation: &x.measured.evaluation,
	}
	setting := c.Setting(0)
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(setting)
	if err != nil {
		return nil, fmt.Errorf("ask %q: %w", d.GetName(), err)
	}
	a, ok := known[string(b)]
	if !ok {
		a = &answer{algorithm: d, setting: setting}
		known[string(b)] = a
	}
	return a, nil
}

// apply sets the fields from the plugin's answer. An error is the plugin's fault.
func (a *answer) apply(got *pluginv1.Answer) error {
	checked := got.GetCheck()
	a.refusal, a.guarantee = checked.GetRefusal(), checked.GetGuarantee()
	if a.declares = checked.GetDeclares() && a.setting.GetProblem().GetFormula(); a.declares {
		a.setting.Test = 0
	}
	if a.guarantee != nil {
		a.guarantee.Source = cleanText(a.guarantee.Source)
	}
	if err := trial.CheckGuarantee(a.guarantee, a.setting); err != nil && a.refusal == nil {
		a.refusal = &pluginv1.Refusal{Kind: pluginv1.Refusal_KIND_ERROR, Message: err.Error()}
	}
	if err := a.resolve(checked.GetParameters()); err != nil || a.refusal != nil {
		return err
	}
	if a.algorithm.GetPrivate() && a.guarantee == nil {
		return errors.New("it is described as private but states no guarantee")
	}
	if refusal := got.GetBound().GetRefusal(); refusal != nil {
		a.refusal = &pluginv1.Refusal{Kind: refusal.GetKind(), Message: "its bounds: " + refusal.GetMessage()}
		return nil
	}
	bounds := got.GetBound().GetBounds()
	if n := len(bounds); n > maxBounds {
		a.refusal = &pluginv1.Refusal{
			Kind:    pluginv1.Refusal_KIND_ERROR,
			Message: fmt.Sprintf("it states %d bounds; at most %d are allowed", n, maxBounds),
		}
		return nil
	}
	for _, b := range bounds {
		b.Name, b.Source, b.Fails = cleanText(b.Name), cleanText(b.Source), cleanText(b.Fails)
		if err := theory.Check(b, a.setting.GetTask()); err != nil {
			a.refusal = &pluginv1.Refusal{Kind: pluginv1.Refusal_KIND_ERROR, Message: "its bounds: " + err.Error()}
			return nil
		}
	}
	if a.bounds = a.withFailures(bounds); !a.needsLeastError {
		a.setting = nil
	}
	return nil
}

// withFailures returns the bounds with their failed premises. If these depend on the problem, which several cells with
// one answer may not share, it sets needsLeastError and returns the bounds unchanged.
func (a *answer) withFailures(bounds []*pluginv1.Bound) trial.Bounds {
	facts := theory.Facts{Setting: a.setting, Least: func() (float64, error) {
		a.needsLeastError = true
		return 0, nil
	}}
	judged := trial.Bounds(bounds).WithFailures(func(b *pluginv1.Bound) string { return theory.Unmet(b, facts) })
	if a.needsLeastError {
		return bounds
	}
	return judged
}

// resolve sets the resolved parameters: those of the answer or, if a refusal has none, those of the file and defaults.
func (a *answer) resolve(resolved map[string]*pluginv1.Value) error {
	a.params = trial.Params{}
	for _, p := range a.algorithm.GetParameters() {
		v, ok := resolved[p.GetName()]
		if !ok && a.refusal == nil {
			return fmt.Errorf("the answer lacks the parameter %q", p.GetName())
		}
		if !ok {
			if v, ok = a.setting.GetParameters()[p.GetName()]; !ok {
				v = p.GetDefault()
			}
		}
		value := v.Plain()
		if f, ok := value.(float64); value == nil || ok && !trial.Finite(f) {
			return fmt.Errorf("it resolves the parameter %q to %v", p.GetName(), value)
		}
		a.params[p.GetName()] = value
	}
	var err error
	a.canonical, err = trial.CanonicalParams(a.params)
	return err
}

// A refusalReason is a reason for which an algorithm refuses settings of an entry.
type refusalReason struct {
	path    string
	kind    pluginv1.Refusal_Kind
	message string // "" if the algorithm is at fault: its messages differ between settings
}

// maxMessage is the number of letters of a refusal that are shown.
const maxMessage = 1000

// maxBounds limits the bounds of a setting, because the plan keeps the bounds of all cells.
const maxBounds = 50

// cleanText returns a plugin's text for use in files: printable and at most maxMessage long. Equal texts share memory.
func cleanText(text string) string {
	if len(text) > maxMessage {
		text = wording.OneLine(text, maxMessage)
	}
	return unique.Make(wording.Printable(text, "")).Value()
}

func refusalMessage(r *pluginv1.Refusal) string { return wording.OneLine(r.GetMessage(), maxMessage) }

// reportRefusals reports refused settings at the line of their algorithm, one mistake per algorithm and reason. It
// returns warnings about infeasible settings.
func reportRefusals(all []checkedInstance, r *sweep.Reporter) (warnings []string) {
	var order []refusalReason
	first, count := map[refusalReason]*checkedInstance{}, map[refusalReason]int{}
	for i := range all {
		x := &all[i]
		refusal := x.answer.refusal
		if refusal == nil {
			continue
		}
		reason := refusalReason{path: x.entry.path, kind: refusal.GetKind(), message: refusalMessage(refusal)}
		if reason.kind == pluginv1.Refusal_KIND_ERROR {
			reason.message = ""
		}
		if count[reason]++; count[reason] == 1 {
			order, first[reason] = append(order, reason), x
		}
	}
	for _, reason := range order {
		x := first[reason]
		where := x.describeOptions()
		if n := count[reason] - 1; n > 0 {
			where += fmt.Sprintf(" and %d more", n)
		}
		if where = strings.TrimSpace(where); where != "" {
			where = " (" + where + ")"
		}
		if x.entry.grid.LacksGoal() {
			reason.message += " (there is no goal: state the parameters that depend on its alpha or beta)"
		}
		name := x.entry.algorithm.GetName()
		switch reason.kind {
		case pluginv1.Refusal_KIND_INFEASIBLE:
			warnings = append(warnings, fmt.Sprintf("%s: %s%s is infeasible at every n: %s",
				reason.path, x.entry.label(), where, reason.message))
		case pluginv1.Refusal_KIND_INVALID:
			r.At(reason.path, "%s refuses this%s: %s; change it, or exclude it", name, where, reason.message)
		default:
			r.At(reason.path, "%s fails here%s: %s", name, where, refusalMessage(x.answer.refusal))
		}
	}
	return warnings
}

// describeOptions names the values that differ between drafts of the entry, such as "d 50, epsilon 1".
func (d *draft) describeOptions() string {
	var parts []string
	options := d.options()
	for i, a := range d.entry.axes {
		if len(a.options) < 2 || a.isAlgorithm() {
			continue
		}
		for j, v := range a.options[options[i]].values {
			if v != nil {
				parts = append(parts, a.names[j]+" "+formatValue(v))
			}
		}
	}
	return strings.Join(slices.Compact(parts), ", ")
}
