package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
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
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

const (
	questionsPerCall = 64 // of one algorithm
	askers           = 4  // calls at a time: a plugin computes while the answers before are read
)

// settled is an instance that its algorithm has been asked about.
type settled struct {
	*instance
	answer *answer
}

// answer is what an algorithm says of one setting. Cells with equal settings share it.
type answer struct {
	described Described
	setting   *pluginv1.Setting // nil where it is no longer needed: a plan has many

	refusal   *pluginv1.Refusal
	params    trial.Params // resolved
	canonical trial.Fragment
	guarantee *pluginv1.Guarantee
	bounds    trial.Bounds
	declares  bool // each model is a declared hypothesis of the class, whose error has a formula
	open      bool // what the bounds say depends on the least error of the class; else they have been judged
}

// ask asks the algorithms to check every distinct setting in which nothing is wrong, and to compute
// its bounds. It reports refusals as mistakes, except for settings that are only infeasible, which
// are warnings: the table will say so.
func ask(
	ctx context.Context, r *sweep.Reporter, algorithms Algorithms, instances []instance,
) (all []settled, warnings []string, err error) {
	asks := map[*entry]bool{}
	for _, x := range instances {
		if _, ok := asks[x.entry]; !ok {
			asks[x.entry] = x.entry.known && r.Sound(x.entry.path)
		}
	}
	all = make([]settled, 0, len(instances))
	var questions []*answer
	known := map[string]*answer{}
	for i := range instances {
		if instances[i].wrong || !asks[instances[i].entry] {
			continue
		}
		a, err := question(&instances[i], known)
		if err != nil {
			return nil, nil, err
		}
		if len(known) > len(questions) {
			questions = append(questions, a)
		}
		all = append(all, settled{&instances[i], a})
	}
	if err := askAll(ctx, algorithms, questions); err != nil {
		return nil, nil, err
	}
	if err := share(questions); err != nil {
		return nil, nil, err
	}
	for _, x := range all {
		if x.answer.declares {
			if x.measured, err = x.problem.measureDeclared(x.draft, x.above); err != nil {
				return nil, nil, err
			}
		}
	}
	warnings = reportRefusals(all, r)
	reportMeans(all, r)
	reportSequential(all, r)
	return all, warnings, nil
}

// reportMeans reports algorithms that are asked for means, which their guarantee does not cover.
func reportMeans(all []settled, r *sweep.Reporter) {
	told := map[string]bool{}
	for _, x := range all {
		if g := x.answer.guarantee; !x.setting.means || g == nil || g.GetRealValued() {
			continue
		}
		path := x.entry.grid.Path("goal", "answers")
		key := path + " " + x.entry.label()
		if told[key] {
			continue
		}
		told[key] = true
		r.At(path, "the guarantee of %s does not say that it covers a real-valued function, and a mean tells more than "+
			"the label that it proves private: leave answers out, or give %s a grid of its own without it "+
			"(its author may set Guarantee.RealValued where a proof covers means)", x.entry.label(), x.entry.label())
	}
}

// reportSequential reports grids whose trials the sequential rule cannot shorten, and goals that it
// would move by too much.
func reportSequential(all []settled, r *sweep.Reporter) {
	shortens, told := map[*sweep.Block]bool{}, map[string]bool{}
	at := func(path, format string, args ...any) {
		if !told[path] {
			told[path] = true
			r.At(path, format, args...)
		}
	}
	for _, x := range all {
		shortens[x.entry.grid] = shortens[x.entry.grid] || x.measured.evaluation.Looks != nil
		beta := x.setting.beta
		if x.measured.evaluation.Looks != nil && min(beta, 1-beta) < problem.Leeway {
			at(x.entry.grid.Path("goal", "beta"), "%v is outside [%v, %v]: with evaluation: sequential a success may be "+
				"wrong in %v of trials, which has to be little beside beta; leave evaluation out, or take another beta",
				beta, problem.Leeway, 1-problem.Leeway, problem.Misjudged)
		}
	}
	for _, x := range all {
		if grid := x.entry.grid; grid.Sequential() && !shortens[grid] {
			at(grid.Path("goal", "evaluation"), "sequential changes nothing here: no error is measured on at least %d "+
				"independent points of a law; leave it out", problem.LeastSequential)
		}
	}
}

// askAll puts all questions, several at a time, and stops at the first error.
func askAll(ctx context.Context, algorithms Algorithms, questions []*answer) error {
	type asked struct{ plugin, algorithm string }
	of := map[asked][]*answer{}
	var order []asked
	for _, a := range questions {
		x := asked{a.described.Plugin, a.described.GetName()}
		if of[x] == nil {
			order = append(order, x)
		}
		of[x] = append(of[x], a)
	}
	calls, ctx := errgroup.WithContext(ctx)
	calls.SetLimit(askers)
	for _, x := range order {
		for some := range slices.Chunk(of[x], questionsPerCall) {
			calls.Go(func() error {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				return askSome(ctx, algorithms, some)
			})
		}
	}
	return calls.Wait()
}

// askSome puts questions to one algorithm. The error is that of the plugin.
func askSome(ctx context.Context, algorithms Algorithms, questions []*answer) error {
	d := questions[0].described
	settings := make([]*pluginv1.Setting, len(questions))
	for i, a := range questions {
		settings[i] = a.setting
	}
	answers, err := algorithms.Ask(ctx, d.Plugin, settings)
	if err == nil && len(answers) != len(settings) {
		err = fmt.Errorf("%d answers about %d settings", len(answers), len(settings))
	}
	for i := 0; i < len(answers) && err == nil; i++ {
		err = questions[i].take(answers[i])
	}
	if err != nil {
		return fmt.Errorf("check %q: %w", d.GetName(), err)
	}
	return nil
}

// share makes answers that say the same of parameters or of privacy hold the same values: a plan
// keeps them as long as it lives, and most of its cells agree in them.
func share(answers []*answer) error {
	params, guarantees := map[string]trial.Params{}, map[string]*pluginv1.Guarantee{}
	for _, a := range answers {
		if p, ok := params[string(a.canonical)]; !ok {
			params[string(a.canonical)] = a.params
		} else if maps.Equal(p, a.params) { // canonical JSON does not tell 1.0 from 1
			a.params = p
		}
		if a.guarantee == nil {
			continue
		}
		b, err := proto.MarshalOptions{Deterministic: true}.Marshal(a.guarantee)
		if err != nil {
			return err
		}
		if _, ok := guarantees[string(b)]; !ok {
			guarantees[string(b)] = a.guarantee
		}
		a.guarantee = guarantees[string(b)]
	}
	return nil
}

// question returns the answer that the instance shares with those of the same setting, to be
// filled.
func question(x *instance, known map[string]*answer) (*answer, error) {
	d, s := x.entry.algorithm, &x.setting
	c := trial.Cell{
		Task: x.entry.grid.File.Task().Name, Public: x.problem.public, Adversary: x.adversary,
		Queries: s.queries, N: []int64{cmp.Or(int64(s.rounds), x.entry.grid.MostRounds())},
		Algorithm: d.GetName(), Params: s.params, Means: s.means,
		Alpha: s.alpha, Beta: s.beta, Above: x.above, Epsilon: s.epsilon, Delta: s.delta,
		Evaluation: &x.measured.evaluation,
	}
	setting := c.Setting(0)
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(setting)
	if err != nil {
		return nil, fmt.Errorf("ask %q: %w", d.GetName(), err)
	}
	a, ok := known[string(b)]
	if !ok {
		a = &answer{described: d, setting: setting}
		known[string(b)] = a
	}
	return a, nil
}

// take sets what the plugin answers. The error is that of the plugin.
func (a *answer) take(got *pluginv1.Answer) error {
	checked := got.GetCheck()
	a.refusal, a.guarantee = checked.GetRefusal(), checked.GetGuarantee()
	if a.declares = checked.GetDeclares() && a.setting.GetProblem().GetFormula(); a.declares {
		a.setting.Test = 0
	}
	if a.guarantee != nil {
		a.guarantee.Source = stated(a.guarantee.Source)
	}
	if err := trial.CheckGuarantee(a.guarantee, a.setting); err != nil && a.refusal == nil {
		a.refusal = &pluginv1.Refusal{Kind: pluginv1.Refusal_KIND_ERROR, Message: err.Error()}
	}
	if err := a.resolve(checked.GetParameters()); err != nil || a.refusal != nil {
		return err
	}
	if a.described.GetPrivate() && a.guarantee == nil {
		return errors.New("described as private, it states no guarantee")
	}
	if refusal := got.GetBound().GetRefusal(); refusal != nil {
		a.refusal = &pluginv1.Refusal{Kind: refusal.GetKind(), Message: "its bounds: " + refusal.GetMessage()}
		return nil
	}
	bounds := got.GetBound().GetBounds()
	if n := len(bounds); n > mostBounds {
		a.refusal = &pluginv1.Refusal{
			Kind:    pluginv1.Refusal_KIND_ERROR,
			Message: fmt.Sprintf("it states %d bounds: at most %d are possible", n, mostBounds),
		}
		return nil
	}
	for _, b := range bounds {
		b.Name, b.Source, b.Fails = stated(b.Name), stated(b.Source), stated(b.Fails)
		if err := theory.Check(b, a.setting.GetTask()); err != nil {
			a.refusal = &pluginv1.Refusal{Kind: pluginv1.Refusal_KIND_ERROR, Message: "its bounds: " + err.Error()}
			return nil
		}
	}
	if a.bounds = a.judged(bounds); !a.open {
		a.setting = nil
	}
	return nil
}

// judged returns the bounds, which say why they do not hold of the setting if that can be told
// without the problem: settings of several problems may share the answer.
func (a *answer) judged(bounds []*pluginv1.Bound) trial.Bounds {
	facts := theory.Facts{Setting: a.setting, Least: func() (float64, error) {
		a.open = true
		return 0, nil
	}}
	judged := trial.Bounds(bounds).WithFailures(func(b *pluginv1.Bound) string { return theory.Unmet(b, facts) })
	if a.open {
		return bounds
	}
	return judged
}

// resolve sets the resolved parameters: those of the answer, or, where a refusal has none, those of
// the file over the defaults.
func (a *answer) resolve(resolved map[string]*pluginv1.Value) error {
	a.params = trial.Params{}
	for _, p := range a.described.GetParameters() {
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
	a.canonical, err = trial.Canonical(a.params)
	return err
}

// refused is a reason for which an entry's settings are refused.
type refused struct {
	path string
	kind pluginv1.Refusal_Kind
	text string // "" where the algorithm itself is at fault, whose messages name other values in each setting
}

// longestReason is the number of letters of a refusal that are shown.
const longestReason = 1000

// mostBounds limits the bounds of a setting: the plan keeps those of all cells.
const mostBounds = 50

// stated returns what a plugin states as it stands in files: it moves no cursor and is no longer than
// a refusal. Equal texts share their memory.
func stated(text string) string {
	if len(text) > longestReason {
		text = wording.OneLine(text, longestReason)
	}
	return unique.Make(wording.Printable(text, "")).Value()
}

func shown(r *pluginv1.Refusal) string { return wording.OneLine(r.GetMessage(), longestReason) }

// reportRefusals reports refused settings at the line of their algorithm, one mistake for each
// algorithm and reason, and returns warnings of those that are infeasible.
func reportRefusals(all []settled, r *sweep.Reporter) (warnings []string) {
	var order []refused
	first, count := map[refused]*settled{}, map[refused]int{}
	for i := range all {
		x := &all[i]
		refusal := x.answer.refusal
		if refusal == nil {
			continue
		}
		why := refused{path: x.entry.path, kind: refusal.GetKind(), text: shown(refusal)}
		if why.kind == pluginv1.Refusal_KIND_ERROR {
			why.text = ""
		}
		if count[why]++; count[why] == 1 {
			order, first[why] = append(order, why), x
		}
	}
	for _, why := range order {
		x := first[why]
		where := x.varying()
		if n := count[why] - 1; n > 0 {
			where += fmt.Sprintf(" and %d more", n)
		}
		if where = strings.TrimSpace(where); where != "" {
			where = " (" + where + ")"
		}
		name := x.entry.algorithm.GetName()
		switch why.kind {
		case pluginv1.Refusal_KIND_INFEASIBLE:
			warnings = append(warnings, fmt.Sprintf("%s: %s%s is infeasible at every n: %s",
				why.path, x.entry.label(), where, why.text))
		case pluginv1.Refusal_KIND_INVALID:
			r.At(why.path, "%s refuses this%s: %s; change it, or exclude it", name, where, why.text)
		default:
			r.At(why.path, "%s fails here%s: %s", name, where, shown(x.answer.refusal))
		}
	}
	return warnings
}

// varying names the values that tell the draft from others of its entry: "d 50, epsilon 1".
func (d *draft) varying() string {
	var parts []string
	options := d.options()
	for i, a := range d.entry.axes {
		if len(a.options) < 2 || a.isAlgorithm() {
			continue
		}
		for j, v := range a.options[options[i]].values {
			if v != nil {
				parts = append(parts, a.names[j]+" "+show(v))
			}
		}
	}
	return strings.Join(slices.Compact(parts), ", ")
}
