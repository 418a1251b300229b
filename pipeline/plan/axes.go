package plan

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
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
func plain[T any](f *sweep.File, path, name string, values []T, set func(*setting, T)) axis {
	a := axis{path: path, names: []string{name}}
	for i, v := range values {
		a.options = append(a.options, option{
			path: f.Item(path, i), values: []any{scalar(v)}, set: func(s *setting) { set(s, v) },
		})
	}
	return a
}

// scalar returns the value of an option for zip, exclude and the tables: a number as a float64.
func scalar(value any) any {
	v, is := value.(reflect.Value)
	if !is {
		v = reflect.ValueOf(value)
	}
	number := reflect.TypeFor[float64]()
	switch reference, ok := v.Interface().(schemas.Reference); {
	case v.CanConvert(number):
		return v.Convert(number).Float()
	case ok && reference.Best:
		return "best"
	case ok:
		return reference.Value
	}
	return v.Interface()
}

// elements returns the elements of the list in a struct's field.
func elements(of reflect.Value, field string) (all []reflect.Value) {
	for _, v := range of.FieldByName(field).Seq2() {
		all = append(all, v)
	}
	return all
}

// setField sets a struct's field.
func setField(to any, field string, v reflect.Value) {
	f := reflect.ValueOf(to).Elem().FieldByName(field)
	f.Set(v.Convert(f.Type()))
}

// combinations returns every combination of the values of a specification's fields, as values of the fields with the
// same names. A field without values stays zero. The last field changes fastest.
func combinations[T any](spec any, fields ...string) []T {
	all := make([]T, 1)
	for _, field := range fields {
		var more []T
		for _, one := range all {
			for _, v := range elements(reflect.ValueOf(spec), field) {
				setField(&one, field, v)
				more = append(more, one)
			}
		}
		if more != nil {
			all = more
		}
	}
	return all
}

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

// problem is the grid's problem of a plugin; nil if the grid has a class.
func shareAxes(b *sweep.Block, each []string, problem *Described, r *sweep.Reporter) sharedAxes {
	labels := make([]string, len(b.Algorithms))
	for i, use := range b.Algorithms {
		labels[i] = cmp.Or(use.As, use.Use)
	}
	shared := sharedAxes{
		algorithms: plain(b.File, b.Path("algorithms"), "algorithm", labels, func(*setting, string) {}),
		measure:    map[bool][]axis{true: measureAxes(b, true), false: measureAxes(b, false)},
	}
	if b.Problem.Plugin == nil {
		shared.problem = problemAxes(b, each)
	} else {
		shared.problem = pluginAxes(b, problem, r)
	}
	return shared
}

// pluginAxes returns the axes of a problem of a plugin.
func pluginAxes(b *sweep.Block, problem *Described, r *sweep.Reporter) []axis {
	use, path := b.Problem.Plugin, b.Path("problem")
	pose := func(s *setting) {
		s.problem.Class = use.Use
		s.problem.Plugin = &schemas.Plugin{File: problem.Plugin, Digest: problem.Digest, Name: use.Use,
			Version: problem.GetVersion(), Params: schemas.Params{}}
	}
	set := func(s *setting, name string, v any) { s.problem.Plugin.Params[name] = v }
	axes := []axis{{path: b.Path("problem", "use"), names: []string{"problem"},
		options: []option{{path: b.Path("problem", "use"), values: []any{use.Use}, set: pose}}}}
	axes = append(axes, paramAxes[schemas.ProblemUse](b.File, problem.Algorithm, path, use.Params, set, r)...)
	return given(append(axes, noiseAxis(b),
		plain(b.File, b.Path("problem", "test"), "test", use.Test, func(s *setting, v int) { s.problem.Test = v })))
}

// problemAxes returns the axes of the grid's problem, one for each key of schemas.ProblemSpec, in this order. Fields of
// schemas.Problem have the same names. The list each replaces the target "each".
func problemAxes(b *sweep.Block, each []string) (axes []axis) {
	spec := reflect.ValueOf(b.Problem).Elem()
	for _, f := range reflect.VisibleFields(spec.Type()) {
		key := f.Tag.Get("yaml")
		switch path := b.Path("problem", key); f.Name {
		case "Plugin": // see pluginAxes
		case "File":
			axes = append(axes, plain(b.File, path, key, b.Problem.File,
				func(s *setting, v string) { s.problem.Matrix = &schemas.Matrix{File: v} }))
		case "Target":
			axes = append(axes, targetAxis(b, each))
		case "Noise":
			axes = append(axes, noiseAxis(b))
		case "Data":
			axes = append(axes, dataAxis(b))
		default:
			axes = append(axes, plain(b.File, path, key, elements(spec, f.Name),
				func(s *setting, v reflect.Value) { setField(s.problem, f.Name, v) }))
		}
	}
	return given(axes)
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
		for k, noise := range combinations[schemas.Noise](spec, "Kind", "Rate") {
			where := b.File.Item(path, i)
			if n := len(spec.Rate); n > 1 {
				where = b.File.Item(where+".rate", k%n)
			}
			a.options = append(a.options, option{path: where, values: []any{noise.Kind, noise.Rate},
				set: func(s *setting) { s.problem.Noise = noise }})
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
		for _, data := range datasets(spec) {
			a.options = append(a.options, option{
				path: b.File.Item(path, i), values: []any{data.File, data.Label, data.Positive},
				set: func(s *setting) { s.problem.Data = &data },
			})
		}
	}
	return a
}

// datasets returns all combinations of one item of problem.data.
func datasets(spec schemas.DataSpec) (all []schemas.Data) {
	for _, data := range combinations[schemas.Data](spec, "File", "Label", "Positive") {
		data.Delimiter, data.Decimal = spec.Delimiter, spec.Decimal
		data.Features, data.Categorical, data.Bias = spec.Features, spec.Categorical, spec.Bias
		data.Missing = strings.TrimPrefix(spec.Missing, "refuse")
		for _, scale := range orOne(spec.Scale) {
			data.Scale = scaleOf(scale)
			all = append(all, data)
		}
	}
	return all
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
	f, t, axes := b.File, b.File.Task(), taskAxes(b)
	if p := b.Privacy; p != nil {
		budget := []axis{
			plain(f, b.Path("privacy", "epsilon"), "epsilon", p.Epsilon, func(s *setting, v float64) { s.epsilon = v }),
			plain(f, b.Path("privacy", "delta"), "delta", p.Delta, func(s *setting, v float64) { s.delta = v }),
		}
		for _, a := range budget {
			for i := 0; i < len(a.options) && !private; i++ {
				a.options[i].values = []any{nil}
			}
		}
		axes = append(axes, budget...)
	}
	g := b.Goal
	if g == nil {
		g = &schemas.Goal{}
	}
	if t.Takes("goal.answers") && g.Answers == schemas.AnswersMean {
		axes = append(axes, plain(f, b.Path("goal", "answers"), "answers", []string{g.Answers},
			func(s *setting, _ string) { s.means = true }))
	}
	axes = append(axes,
		plain(f, b.Path("goal", "alpha"), "alpha", g.Alpha, func(s *setting, v float64) { s.alpha = v }),
		plain(f, b.Path("goal", "beta"), "beta", g.Beta, func(s *setting, v float64) { s.beta = v }))
	if b.Goal != nil && t.Takes("goal.reference") { // otherwise the reference is the best hypothesis in hindsight
		reference := g.Reference
		if len(reference) == 0 {
			reference = []schemas.Reference{{Best: true}}
		}
		axes = append(axes, plain(f, b.Path("goal", "reference"), "reference", reference,
			func(s *setting, v schemas.Reference) { s.reference = v }))
	}
	if t.Takes("goal.states") {
		states := g.States
		if len(states) == 0 {
			states = []string{schemas.StatesAll}
		}
		axes = append(axes, plain(f, b.Path("goal", "states"), "states", states,
			func(s *setting, v string) { s.states = v }))
	}
	return given(axes)
}

// taskAxes returns the axes of queries and adversary and, for a search over rounds, the axis of rounds: each number of
// rounds is then a cell.
func taskAxes(b *sweep.Block) []axis {
	axes := []axis{
		plain(b.File, b.Path("queries"), "queries", b.Queries, func(s *setting, v int) { s.queries = v }),
		adversaryAxis(b),
	}
	if b.Search != nil {
		axes = append(axes, plain(b.File, b.Path("rounds"), trial.RoundsAxis, b.Rounds,
			func(s *setting, v int) { s.rounds = v }))
	}
	return given(axes)
}

// adversaryAxis returns one axis with the combinations in all items of adversary.
func adversaryAxis(b *sweep.Block) axis {
	path := b.Path("adversary")
	a := axis{path: path, names: []string{"adversary", "sees", "offline", "width", "rate", "from"}}
	for i, spec := range b.Adversary {
		for _, v := range combinations[schemas.Adversary](spec, "Kind", "Sees", "Offline", "Width", "Rate", "From") {
			a.options = append(a.options, option{
				path:   b.File.Item(path, i),
				values: []any{v.Kind, v.Sees, v.Offline, float64(v.Width), v.Rate, float64(v.From)},
				set:    func(s *setting) { s.adversary = &v },
			})
		}
	}
	return a
}

// orOne returns the values of an axis, or one zero value if there are none.
func orOne[T any](axis schemas.Axis[T]) []T {
	if len(axis) == 0 {
		return make([]T, 1)
	}
	return axis
}

// paramAxes returns the axes of the entry's parameters.
func (e *entry) paramAxes(r *sweep.Reporter) []axis {
	set := func(s *setting, name string, v any) { s.params[name] = v }
	return paramAxes[schemas.AlgorithmUse](e.grid.File, e.algorithm.Algorithm, e.path, e.use.Params, set, r)
}

// paramAxes returns the axes of the parameters of an algorithm or problem (nil: unknown) in the order of the file. The
// defaults of other parameters follow, so that exclude can use them. It reports unknown parameters and invalid values.
// path is the mapping with the given parameters and the other keys of Use; set sets a parameter.
func paramAxes[Use any](f *sweep.File, of *pluginv1.Algorithm, path string,
	given map[string]schemas.Axis[schemas.Value], set func(*setting, string, any), r *sweep.Reporter) []axis {
	described := of.GetParameters()
	var names []string
	for _, key := range sweep.KeysOf(reflect.TypeFor[Use]()) {
		if !key.Rest {
			names = append(names, key.Name)
		}
	}
	for _, p := range described {
		names = append(names, p.GetName())
	}
	var axes []axis
	for _, name := range inOrder(f, path, given) {
		where := sweep.JoinPath(path, name)
		i := slices.IndexFunc(described, func(p *pluginv1.Parameter) bool { return p.GetName() == name })
		if !r.Sound(where) || of == nil {
			continue
		}
		if i < 0 {
			r.AtKey(where, "unknown parameter%s", wording.DidYouMean(name, names))
			continue
		}
		axes = append(axes, paramAxis(f, where, described[i], given[name], set, r))
	}
	for _, p := range described {
		if _, ok := given[p.GetName()]; !ok {
			axes = append(axes, axis{path: path, names: []string{p.GetName()}, param: true,
				options: []option{{path: path, values: []any{asNumber(p.GetDefault().Plain())}}}})
		}
	}
	return axes
}

// inOrder returns the names of the parameters that the mapping at path sets, in the order of the file.
func inOrder(f *sweep.File, path string, given map[string]schemas.Axis[schemas.Value]) []string {
	names := slices.Collect(maps.Keys(given))
	slices.SortFunc(names, func(a, b string) int {
		p, q := f.KeyAt(sweep.JoinPath(path, a)), f.KeyAt(sweep.JoinPath(path, b))
		return cmp.Or(cmp.Compare(p.KeyLine, q.KeyLine), cmp.Compare(p.KeyColumn, q.KeyColumn), strings.Compare(a, b))
	})
	return names
}

// paramAxis returns the axis of the parameter at a path with its given values.
func paramAxis(f *sweep.File, path string, p *pluginv1.Parameter, given schemas.Axis[schemas.Value],
	set func(*setting, string, any), r *sweep.Reporter) axis {
	a := axis{path: path, names: []string{p.GetName()}, param: true}
	for i, v := range given {
		item := f.Item(path, i)
		typed, err := typedParam(v, p)
		if err != nil {
			r.At(item, "%v", err)
		}
		if last := len(a.options) - 1; err == nil && v.Whole != "" && last >= 0 &&
			a.options[last].values[0] == asNumber(typed) {
			continue // values of a range may round to the same integer
		}
		a.options = append(a.options, option{path: item, values: []any{asNumber(typed)},
			set: func(s *setting) { set(s, p.GetName(), typed) }})
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
			return nil, cmp.Or(err, fmt.Errorf("a whole number was expected, not the text %q", wording.Shorten(v.Text)))
		}
		return n, sweep.InRange(float64(n), v.Text, p.Min, p.Max)
	case *pluginv1.Value_Float:
		x, err := schemas.ParseFloat(v.Text)
		if err != nil || v.Quoted {
			return nil, cmp.Or(err, fmt.Errorf("a number was expected, not the text %q", wording.Shorten(v.Text)))
		}
		return x, sweep.InRange(x, v.Text, p.Min, p.Max)
	case *pluginv1.Value_Bool:
		if v.Quoted || v.Text != "true" && v.Text != "false" {
			return nil, fmt.Errorf("true or false was expected, not %q", wording.Shorten(v.Text))
		}
		return v.Text == "true", nil
	case *pluginv1.Value_String_:
		if len(p.GetChoices()) > 0 && !slices.Contains(p.GetChoices(), v.Text) {
			return nil, fmt.Errorf("unknown value %q%s", wording.Shorten(v.Text), wording.DidYouMean(v.Text, p.GetChoices()))
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
