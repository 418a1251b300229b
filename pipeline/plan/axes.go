package plan

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/trial"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/pipeline/sweep"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// An axis is a key of the sweep file with its list of values. A key with one value is an axis with one option.
type axis struct {
	path    string   // path of the key
	names   []string // names of its values in zip, exclude and the tables' columns
	param   bool     // the key is a parameter of an algorithm
	options []option
}

// An option is one value of an axis.
type option struct {
	path   string
	values []any          // float64, string, bool or nil (does not apply), one per name of the axis
	set    func(*setting) // nil: the value is the default
}

// hasName reports whether a name in zip or exclude refers to the axis's i-th name. A parameter may have the prefix p_,
// like its column, and needs it if a key of the sweep file has the same name.
func (a *axis) hasName(i int, name string) bool {
	if !a.param {
		return a.names[i] == name
	}
	return name == schemas.ParamPrefix+a.names[i] || name == a.names[i] && !isKey(name)
}

// fileKeys are names of axes that are not columns of the tables.
var fileKeys = []string{"label", "positive", "test", "sees", "offline", "width", "rate", "from"}

// isKey reports whether name refers to a key of the sweep file in zip, exclude and fits.
func isKey(name string) bool { return trial.IsKeyColumn(name) || slices.Contains(fileKeys, name) }

func (a *axis) isAlgorithm() bool { return !a.param && a.names[0] == "algorithm" }

// plain returns the axis of a key with one name.
func plain[T any](f *sweep.File, path, name string, values []T, value func(T) any, set func(*setting, T)) axis {
	a := axis{path: path, names: []string{name}}
	for i, v := range values {
		a.options = append(a.options, option{
			path: f.Item(path, i), values: []any{value(v)}, set: func(s *setting) { set(s, v) },
		})
	}
	return a
}

func number[T int | float64 | schemas.Size](v T) any { return float64(v) }
func text[T ~string](v T) any                        { return string(v) }
func boolean(v bool) any                             { return v }

// given returns the axes that have options.
func given(axes []axis) []axis {
	return slices.DeleteFunc(axes, func(a axis) bool { return len(a.options) == 0 })
}

// sharedAxes holds the axes of a grid that do not depend on the algorithm.
type sharedAxes struct {
	problem    []axis
	algorithms axis
	measure    map[bool][]axis // axes of task, privacy and goal, by whether the algorithm is private
}

func shareAxes(b *sweep.Block, each []string) sharedAxes {
	labels := make([]string, len(b.Algorithms))
	for i, use := range b.Algorithms {
		labels[i] = cmp.Or(use.As, use.Use)
	}
	return sharedAxes{
		problem:    problemAxes(b, each),
		algorithms: plain(b.File, b.Path("algorithms"), "algorithm", labels, text, func(*setting, string) {}),
		measure:    map[bool][]axis{true: measureAxes(b, true), false: measureAxes(b, false)},
	}
}

// problemAxes returns the axes of the grid's problem. The list each replaces the target "each".
func problemAxes(b *sweep.Block, each []string) []axis {
	p := b.Problem
	return given([]axis{
		problemAxis(b, "class", p.Class, text, func(p *schemas.Problem, v string) { p.Class = v }),
		problemAxis(b, "file", p.File, text, func(p *schemas.Problem, v string) { p.Matrix = &schemas.Matrix{File: v} }),
		problemAxis(b, "domain", p.Domain, number, func(p *schemas.Problem, v schemas.Size) { p.Domain = uint64(v) }),
		problemAxis(b, "d", p.D, number, func(p *schemas.Problem, v int) { p.Dim = v }),
		problemAxis(b, "distribution", p.Distribution, text, func(p *schemas.Problem, v string) { p.Distribution = v }),
		problemAxis(b, "mass", p.Mass, number, func(p *schemas.Problem, v float64) { p.Mass = v }),
		problemAxis(b, "best_error", p.BestError, number, func(p *schemas.Problem, v float64) { p.BestError = v }),
		problemAxis(b, "minority", p.Minority, number, func(p *schemas.Problem, v float64) { p.Minority = v }),
		problemAxis(b, "margin", p.Margin, number, func(p *schemas.Problem, v float64) { p.Margin = v }),
		targetAxis(b, each),
		problemAxis(b, "literals", p.Literals, number, func(p *schemas.Problem, v int) { p.Literals = v }),
		noiseAxis(b),
		dataAxis(b),
		problemAxis(b, "disguise", p.Disguise, boolean, func(p *schemas.Problem, v bool) { p.Disguise = v }),
		problemAxis(b, "test", p.Test, number, func(p *schemas.Problem, v int) { p.Test = v }),
	})
}

func problemAxis[T any](
	b *sweep.Block, key string, values []T, value func(T) any, set func(*schemas.Problem, T),
) axis {
	return plain(b.File, b.Path("problem", key), key, values, value, func(s *setting, v T) { set(s.problem, v) })
}

// targetAxis returns the axis of the targets. The list each replaces the target "each".
func targetAxis(b *sweep.Block, each []string) axis {
	path := b.Path("problem", "target")
	a := axis{path: path, names: []string{"target"}}
	for i, v := range b.Problem.Target {
		values := []string{string(v)}
		if string(v) == concept.EachTarget && len(each) > 0 {
			values = each
		}
		for _, target := range values {
			a.options = append(a.options, option{path: b.File.Item(path, i), values: []any{target},
				set: func(s *setting) { s.problem.Target = target }})
		}
	}
	return a
}

// hypothesesOf returns the targets that replace the target "each" of the grid's problem. It returns nil if the grid
// does not use it or the problem has other mistakes, which are reported later. It reports a class without a list of
// hypotheses, or with too long a list.
func hypothesesOf(b *sweep.Block, o Options, r *sweep.Reporter) []string {
	if b.Problem == nil { // reported elsewhere
		return nil
	}
	i := slices.Index(b.Problem.Target, concept.EachTarget)
	if i < 0 || !b.Sound(r, "problem") {
		return nil
	}
	where := b.File.Item(b.Path("problem", "target"), i)
	s := setting{problem: new(schemas.Problem)}
	for _, a := range problemAxes(b, nil) {
		shapes := []string{"class", "file", "domain", "d", "distribution", "data"}
		if slices.Contains(shapes, a.names[0]) && len(a.options) > 1 {
			r.At(where, "%s lists the hypotheses of one class, but %s has %d values: write one grid per value",
				concept.EachTarget, a.names[0], len(a.options))
			return nil
		}
		a.options[0].set(&s)
	}
	file, err := o.fileOf(s.problem)
	if err != nil {
		return nil
	}
	list, err := problem.Hypotheses(s.problem.At(file))
	var wrong *problem.Error
	if errors.As(err, &wrong) && wrong.Key == "problem.target" {
		r.At(where, "%s", wrong.Reason)
	}
	return list
}

// noiseAxis returns one axis with the combinations of kind and rate in all items of problem.noise.
func noiseAxis(b *sweep.Block) axis {
	path := b.Path("problem", "noise")
	a := axis{path: path, names: []string{"noise", "noise_rate"}}
	for i, spec := range b.Problem.Noise {
		item := b.File.Item(path, i)
		for _, kind := range spec.Kind {
			for j, rate := range orOne(spec.Rate) {
				where := item
				if len(spec.Rate) > 1 {
					where = b.File.Item(item+".rate", j)
				}
				a.options = append(a.options, option{path: where, values: []any{kind, rate},
					set: func(s *setting) { s.problem.Noise = schemas.Noise{Kind: kind, Rate: rate} }})
			}
		}
	}
	return a
}

// countDatasets returns the number of options of dataAxis without creating them.
func countDatasets(b *sweep.Block) int64 {
	var n int64
	for _, spec := range b.Problem.Data {
		m := numeric.Multiply(int64(len(spec.File)), int64(len(spec.Label)))
		n = numeric.Add(n, numeric.Multiply(numeric.Multiply(m, int64(len(spec.Positive))), int64(max(1, len(spec.Scale)))))
	}
	return n
}

// dataAxis returns one axis with the combinations in all items of problem.data. It does not resolve the paths of files.
func dataAxis(b *sweep.Block) axis {
	path := b.Path("problem", "data")
	a := axis{path: path, names: []string{"data", "label", "positive"}}
	for i, spec := range b.Problem.Data {
		for data := range datasets(spec) {
			a.options = append(a.options, option{
				path: b.File.Item(path, i), values: []any{data.File, data.Label, data.Positive},
				set: func(s *setting) { s.problem.Data = &data },
			})
		}
	}
	return a
}

// datasets yields all combinations of one item of problem.data.
func datasets(spec schemas.DataSpec) func(yield func(schemas.Data) bool) {
	return func(yield func(schemas.Data) bool) {
		for _, file := range spec.File {
			for _, label := range spec.Label {
				for _, positive := range spec.Positive {
					for _, scale := range orOne(spec.Scale) {
						data := schemas.Data{File: file, Delimiter: spec.Delimiter, Decimal: spec.Decimal, Label: label,
							Positive: string(positive), Features: spec.Features, Categorical: spec.Categorical,
							Missing: strings.TrimPrefix(spec.Missing, "refuse"), Bias: spec.Bias, Scale: scaleOf(scale)}
						if !yield(data) {
							return
						}
					}
				}
			}
		}
	}
}

func scaleOf(s schemas.ScaleSpec) schemas.Scale {
	out := schemas.Scale{Norm: s.Norm}
	for column, r := range s.Ranges {
		if out.Ranges == nil {
			out.Ranges = map[string][2]float64{}
		}
		out.Ranges[column] = [2]float64{r.Low, r.High}
	}
	return out
}

// measureAxes returns the axes of queries, adversary, privacy and goal. The budget does not apply to an algorithm
// that is not private.
func measureAxes(b *sweep.Block, private bool) []axis {
	f, axes := b.File, taskAxes(b)
	if b.Privacy != nil {
		budget := func(v float64) any {
			if !private {
				return nil
			}
			return v
		}
		axes = append(axes,
			plain(f, b.Path("privacy", "epsilon"), "epsilon", b.Privacy.Epsilon, budget,
				func(s *setting, v float64) { s.epsilon = v }),
			plain(f, b.Path("privacy", "delta"), "delta", b.Privacy.Delta, budget,
				func(s *setting, v float64) { s.delta = v }))
	}
	if b.Goal == nil {
		return given(axes)
	}
	t := f.Task()
	if !t.Takes("goal.reference") { // the reference is the best hypothesis in hindsight
		return given(append(axes, goalAxes(b)...))
	}
	if b.Goal.Answers == schemas.AnswersMean {
		axes = append(axes, plain(f, b.Path("goal", "answers"), "answers", []string{schemas.AnswersMean}, text,
			func(s *setting, _ string) { s.means = true }))
	}
	reference := b.Goal.Reference
	if len(reference) == 0 {
		reference = []schemas.Reference{{Best: true}}
	}
	axes = append(append(axes, goalAxes(b)...),
		plain(f, b.Path("goal", "reference"), "reference", reference, referenceValue,
			func(s *setting, v schemas.Reference) { s.reference = v }))
	if t.Takes("goal.states") {
		axes = append(axes, plain(f, b.Path("goal", "states"), "states", statesOf(b), text[string],
			func(s *setting, v string) { s.states = v }))
	}
	return given(axes)
}

// goalAxes returns the axes of alpha and beta.
func goalAxes(b *sweep.Block) []axis {
	return []axis{
		plain(b.File, b.Path("goal", "alpha"), "alpha", b.Goal.Alpha, number, func(s *setting, v float64) { s.alpha = v }),
		plain(b.File, b.Path("goal", "beta"), "beta", b.Goal.Beta, number, func(s *setting, v float64) { s.beta = v }),
	}
}

// statesOf returns the grid's values of goal.states with their default.
func statesOf(b *sweep.Block) []string {
	if len(b.Goal.States) == 0 {
		return []string{schemas.StatesAll}
	}
	return b.Goal.States
}

func referenceValue(a schemas.Reference) any {
	if a.Best {
		return "best"
	}
	return a.Value
}

// taskAxes returns the axes of queries and adversary and, for a search over rounds, the axis of rounds: each number of
// rounds is then a cell.
func taskAxes(b *sweep.Block) []axis {
	axes := []axis{
		plain(b.File, b.Path("queries"), "queries", b.Queries, number, func(s *setting, v int) { s.queries = v }),
		adversaryAxis(b),
	}
	if b.Search != nil {
		axes = append(axes, plain(b.File, b.Path("rounds"), trial.RoundsAxis, b.Rounds, number,
			func(s *setting, v int) { s.rounds = v }))
	}
	return given(axes)
}

// adversaryAxis returns one axis with the combinations in all items of adversary.
func adversaryAxis(b *sweep.Block) axis {
	path := b.Path("adversary")
	a := axis{path: path, names: []string{"adversary", "sees", "offline", "width", "rate", "from"}}
	for i, spec := range b.Adversary {
		for _, v := range adversaries(spec) {
			a.options = append(a.options, option{
				path:   b.File.Item(path, i),
				values: []any{v.Kind, v.Sees, v.Offline, float64(v.Width), v.Rate, float64(v.From)},
				set:    func(s *setting) { s.adversary = &v },
			})
		}
	}
	return a
}

// adversaries returns all combinations of one item of adversary; the last key runs fastest.
func adversaries(spec schemas.AdversarySpec) []schemas.Adversary {
	all := []schemas.Adversary{{}}
	all = vary(all, spec.Kind, func(a *schemas.Adversary, v string) { a.Kind = v })
	all = vary(all, spec.Sees, func(a *schemas.Adversary, v string) { a.Sees = v })
	all = vary(all, spec.Offline, func(a *schemas.Adversary, v bool) { a.Offline = v })
	all = vary(all, spec.Width, func(a *schemas.Adversary, v int) { a.Width = v })
	all = vary(all, spec.Rate, func(a *schemas.Adversary, v float64) { a.Rate = v })
	return vary(all, spec.From, func(a *schemas.Adversary, v schemas.Size) { a.From = uint64(v) })
}

// vary returns every combination of an adversary and a value; the adversaries unchanged without values.
func vary[T any](all []schemas.Adversary, values []T, set func(*schemas.Adversary, T)) []schemas.Adversary {
	if len(values) == 0 {
		return all
	}
	var out []schemas.Adversary
	for _, a := range all {
		for _, v := range values {
			set(&a, v)
			out = append(out, a)
		}
	}
	return out
}

// orOne returns the values of an axis, or one zero value if there are none.
func orOne[T any](axis schemas.Axis[T]) []T {
	if len(axis) == 0 {
		return make([]T, 1)
	}
	return axis
}

// reserved are the keys of an algorithm in the sweep file that are not its parameters.
var reserved = []string{"use", "as", "replica"}

// paramAxes returns the axes of the algorithm's parameters in the order of the file. The defaults of other parameters
// follow, so that exclude can use them. It reports unknown parameters and invalid values.
func (e *entry) paramAxes(r *sweep.Reporter) []axis {
	described := e.algorithm.GetParameters()
	names := append([]string(nil), reserved...)
	for _, p := range described {
		names = append(names, p.GetName())
	}
	var axes []axis
	for _, name := range e.givenParams() {
		where := sweep.JoinPath(e.path, name)
		i := slices.IndexFunc(described, func(p *pluginv1.Parameter) bool { return p.GetName() == name })
		if !r.Sound(where) || e.algorithm.Algorithm == nil {
			continue
		}
		if i < 0 {
			r.AtKey(where, "unknown parameter%s", wording.DidYouMean(name, names))
			continue
		}
		axes = append(axes, e.paramAxis(where, described[i], r))
	}
	for _, p := range described {
		if _, ok := e.use.Params[p.GetName()]; !ok {
			axes = append(axes, axis{path: e.path, names: []string{p.GetName()}, param: true,
				options: []option{{path: e.path, values: []any{asNumber(p.GetDefault().Plain())}}}})
		}
	}
	return axes
}

// givenParams returns the names of the parameters that the file sets, in its order.
func (e *entry) givenParams() []string {
	names := make([]string, 0, len(e.use.Params))
	for name := range e.use.Params {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		p, q := e.grid.File.KeyAt(sweep.JoinPath(e.path, a)), e.grid.File.KeyAt(sweep.JoinPath(e.path, b))
		return cmp.Or(cmp.Compare(p.KeyLine, q.KeyLine), cmp.Compare(p.KeyColumn, q.KeyColumn), strings.Compare(a, b))
	})
	return names
}

// paramAxis returns the axis of the parameter at a path.
func (e *entry) paramAxis(path string, p *pluginv1.Parameter, r *sweep.Reporter) axis {
	a := axis{path: path, names: []string{p.GetName()}, param: true}
	for i, v := range e.use.Params[p.GetName()] {
		item := e.grid.File.Item(path, i)
		typed, err := typedParam(v, p)
		if err != nil {
			r.At(item, "%v", err)
		}
		if last := len(a.options) - 1; err == nil && v.Whole != "" && last >= 0 &&
			a.options[last].values[0] == asNumber(typed) {
			continue // values of a range may round to the same integer
		}
		a.options = append(a.options, option{path: item, values: []any{asNumber(typed)},
			set: func(s *setting) { s.params[p.GetName()] = typed }})
		if err != nil && v.Whole != "" {
			break // the other values of the range have the same position in the file
		}
	}
	return a
}

// typedParam parses a parameter's value according to its description.
func typedParam(v schemas.Value, p *pluginv1.Parameter) (any, error) {
	switch p.GetDefault().GetKind().(type) {
	case *pluginv1.Value_Int:
		n, err := schemas.ParseInt(cmp.Or(v.Whole, v.Text))
		if err != nil || v.Quoted {
			return nil, cmp.Or(err, fmt.Errorf("a whole number was expected, not the text %q", sweep.Shorten(v.Text)))
		}
		return n, sweep.InRange(float64(n), v.Text, p.Min, p.Max)
	case *pluginv1.Value_Float:
		x, err := schemas.ParseFloat(v.Text)
		if err != nil || v.Quoted {
			return nil, cmp.Or(err, fmt.Errorf("a number was expected, not the text %q", sweep.Shorten(v.Text)))
		}
		return x, sweep.InRange(x, v.Text, p.Min, p.Max)
	case *pluginv1.Value_Bool:
		if v.Quoted || v.Text != "true" && v.Text != "false" {
			return nil, fmt.Errorf("true or false was expected, not %q", sweep.Shorten(v.Text))
		}
		return v.Text == "true", nil
	case *pluginv1.Value_String_:
		if len(p.GetChoices()) > 0 && !slices.Contains(p.GetChoices(), v.Text) {
			return nil, fmt.Errorf("unknown value %q%s", sweep.Shorten(v.Text), wording.DidYouMean(v.Text, p.GetChoices()))
		}
		return v.Text, nil
	}
	return nil, fmt.Errorf("the algorithm describes this parameter without a type: its default is missing")
}

// asNumber converts an int64 to a float64, and returns other values unchanged.
func asNumber(v any) any {
	if n, ok := v.(int64); ok {
		return float64(n)
	}
	return v
}

// matchesValue reports whether a value in an exclusion equals the value of an option.
func matchesValue(written schemas.Value, v any) bool {
	switch v := v.(type) {
	case string:
		return written.Text == v
	case bool:
		return !written.Quoted && written.Text == fmt.Sprint(v)
	case float64:
		var s schemas.Size
		if written.Quoted {
			return false
		}
		if x, err := schemas.ParseFloat(written.Text); err == nil {
			return x == v
		}
		return s.UnmarshalText([]byte(written.Text)) == nil && float64(s) == v
	}
	return false
}

// formatValue formats a value as in a sweep file.
func formatValue(v any) string {
	f, ok := v.(float64)
	if !ok {
		return fmt.Sprint(v)
	}
	if f != 0 && math.Abs(f) < 1e-3 {
		return strings.Replace(strconv.FormatFloat(f, 'e', -1, 64), "e-0", "e-", 1)
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}
