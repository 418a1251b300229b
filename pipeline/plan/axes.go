package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"

	"github.com/shatterlab/shatter/pipeline/sweep"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// axis is one key with the values that it runs through; a key with one value is an axis of length 1.
type axis struct {
	path    string // of the key
	names   []string
	param   bool // names an algorithm's parameter
	options []option
}

// option is one value of an axis.
type option struct {
	path   string
	values []any // float64, string, bool or nil (does not apply), beside the axis's names
	set    func(*draft)
}

// draft is a cell in the making: one combination of options.
type draft struct {
	problem *schemas.Problem
	params  trial.Params // those that the file sets

	queries   int
	adversary *schemas.Adversary

	replica int
	epsilon float64
	delta   float64
	alpha   float64
	beta    float64
	above   schemas.Above
}

// fixed are the names by which zip and exclude know everything but parameters: those of the columns of the tables.
var fixed = []string{"class", "file", "domain", "d", "distribution", "mass", "minority", "margin", "noise", "noise_rate", "data", "label",
	"positive", "test", "queries", "adversary", "sees", "offline", "width", "rate", "from", "algorithm", "replica", "epsilon", "delta", "alpha", "beta", "above"}

// knows reports whether a name written in zip or exclude means the axis's i-th name. A parameter is known by its own name, or
// as p_<name> like its column, and only so where a key of the sweep file has the same name.
func (a *axis) knows(i int, name string) bool {
	if !a.param {
		return a.names[i] == name
	}
	return name == "p_"+a.names[i] || name == a.names[i] && !slices.Contains(fixed, name)
}

// simple makes the axis of a key with plain values.
func simple[T any](f *sweep.File, path, name string, values []T, value func(T) any, set func(*draft, T)) axis {
	a := axis{path: path, names: []string{name}}
	for i, v := range values {
		a.options = append(a.options, option{path: f.Item(path, i), values: []any{value(v)}, set: func(d *draft) { set(d, v) }})
	}
	return a
}

func number[T int | float64 | schemas.Size](v T) any { return float64(v) }
func text[T ~string](v T) any                        { return string(v) }

// problemAxes are the axes of the grid's problem.
func problemAxes(g *sweep.Block) []axis {
	p, f := g.Problem, g.File
	path := func(key string) string { return g.Path("problem", key) }
	axes := []axis{
		simple(f, path("class"), "class", p.Class, text, func(d *draft, v string) { d.problem.Class = v }),
		simple(f, path("file"), "file", p.File, text, func(d *draft, v string) { d.problem.Matrix = &schemas.Matrix{File: v} }),
		simple(f, path("domain"), "domain", p.Domain, number, func(d *draft, v schemas.Size) { d.problem.Domain = uint64(v) }),
		simple(f, path("d"), "d", p.D, number, func(d *draft, v int) { d.problem.Dim = v }),
		simple(f, path("distribution"), "distribution", p.Distribution, text, func(d *draft, v string) { d.problem.Distribution = v }),
		simple(f, path("mass"), "mass", p.Mass, number, func(d *draft, v float64) { d.problem.Mass = v }),
		simple(f, path("minority"), "minority", p.Minority, number, func(d *draft, v float64) { d.problem.Minority = v }),
		simple(f, path("margin"), "margin", p.Margin, number, func(d *draft, v float64) { d.problem.Margin = v }),
		noiseAxis(g),
		dataAxis(g),
		simple(f, path("test"), "test", p.Test, number, func(d *draft, v int) { d.problem.Test = v }),
	}
	return slices.DeleteFunc(axes, func(a axis) bool { return len(a.options) == 0 })
}

// noiseAxis lays the kinds and rates of all items of problem.noise in one row.
func noiseAxis(g *sweep.Block) axis {
	path := g.Path("problem", "noise")
	a := axis{path: path, names: []string{"noise", "noise_rate"}}
	for i, spec := range g.Problem.Noise {
		for _, kind := range spec.Kind {
			rates, where := []float64(spec.Rate), g.File.Item(path, i)
			if len(rates) == 0 {
				rates = []float64{0}
			}
			for j, rate := range rates {
				at := where
				if len(rates) > 1 {
					at = g.File.Item(where+".rate", j)
				}
				a.options = append(a.options, option{path: at, values: []any{kind, rate},
					set: func(d *draft) { d.problem.Noise = schemas.Noise{Kind: kind, Rate: rate} }})
			}
		}
	}
	return a
}

// datasets is the number of options of dataAxis.
func countDatasets(g *sweep.Block) int64 {
	var n int64
	for _, spec := range g.Problem.Data {
		m := numeric.Multiply(int64(len(spec.File)), int64(len(spec.Label)))
		n = numeric.Add(n, numeric.Multiply(numeric.Multiply(m, int64(len(spec.Positive))), int64(max(1, len(spec.Scale)))))
	}
	return n
}

// dataAxis lays all combinations of all items of problem.data in one row. The file's path stays as it is written.
func dataAxis(g *sweep.Block) axis {
	path := g.Path("problem", "data")
	a := axis{path: path, names: []string{"data", "label", "positive"}}
	for i, spec := range g.Problem.Data {
		scales := []schemas.ScaleSpec(spec.Scale)
		if len(scales) == 0 {
			scales = []schemas.ScaleSpec{{}}
		}
		for _, file := range spec.File {
			for _, label := range spec.Label {
				for _, positive := range spec.Positive {
					for _, scale := range scales {
						data := schemas.Data{File: file, Label: label, Positive: string(positive), Features: spec.Features,
							Categorical: spec.Categorical, Scale: resolvedScale(scale)}
						a.options = append(a.options, option{path: g.File.Item(path, i), values: []any{file, label, string(positive)},
							set: func(d *draft) { d.problem.Data = &data }})
					}
				}
			}
		}
	}
	return a
}

func resolvedScale(s schemas.ScaleSpec) schemas.Scale {
	out := schemas.Scale{Norm: s.Norm}
	for column, r := range s.Ranges {
		if out.Ranges == nil {
			out.Ranges = map[string][2]float64{}
		}
		out.Ranges[column] = [2]float64{r.Low, r.High}
	}
	return out
}

// settingAxes are the axes of privacy and goal. To an algorithm that is not private the budget means nothing.
func settingAxes(g *sweep.Block, private bool) []axis {
	f, axes := g.File, taskAxes(g)
	if g.Privacy != nil {
		budget := func(v float64) any {
			if !private {
				return nil
			}
			return v
		}
		axes = append(axes,
			simple(f, g.Path("privacy", "epsilon"), "epsilon", g.Privacy.Epsilon, budget, func(d *draft, v float64) { d.epsilon = v }),
			simple(f, g.Path("privacy", "delta"), "delta", g.Privacy.Delta, budget, func(d *draft, v float64) { d.delta = v }))
	}
	if g.Goal == nil { // task online
		return slices.DeleteFunc(axes, func(a axis) bool { return len(a.options) == 0 })
	}
	above := g.Goal.Above
	if len(above) == 0 {
		above = []schemas.Above{{Best: true}}
	}
	axes = append(axes,
		simple(f, g.Path("goal", "alpha"), "alpha", g.Goal.Alpha, number, func(d *draft, v float64) { d.alpha = v }),
		simple(f, g.Path("goal", "beta"), "beta", g.Goal.Beta, number, func(d *draft, v float64) { d.beta = v }),
		simple(f, g.Path("goal", "above"), "above", above, aboveValue, func(d *draft, v schemas.Above) { d.above = v }))
	return slices.DeleteFunc(axes, func(a axis) bool { return len(a.options) == 0 })
}

func aboveValue(a schemas.Above) any {
	if a.Best {
		return "best"
	}
	return a.Value
}

// reserved are the keys of an algorithm in the sweep file that are not its parameters.
var reserved = []string{"use", "as", "replica"}

// paramAxes are the axes of an algorithm's parameters in the order of the file, and then, for exclude alone, the defaults of
// those that the file does not set. Values that the algorithm does not describe are mistakes.
func paramAxes(f *sweep.File, use schemas.AlgorithmUse, path string, described []*pluginv1.Parameter) ([]axis, sweep.Mistakes) {
	var problems sweep.Mistakes
	names := append([]string(nil), reserved...)
	for _, p := range described {
		names = append(names, p.GetName())
	}
	given := make([]string, 0, len(use.Params))
	for name := range use.Params {
		given = append(given, name)
	}
	slices.SortFunc(given, func(a, b string) int {
		p, q := f.Places[sweep.JoinPath(path, a)], f.Places[sweep.JoinPath(path, b)]
		return cmp.Or(cmp.Compare(p.KeyLine, q.KeyLine), cmp.Compare(p.KeyColumn, q.KeyColumn), strings.Compare(a, b))
	})
	var axes []axis
	for _, name := range given {
		where := sweep.JoinPath(path, name)
		i := slices.IndexFunc(described, func(p *pluginv1.Parameter) bool { return p.GetName() == name })
		if i < 0 {
			problems = append(problems, f.MistakeAtKey(where, "unknown parameter%s", wording.DidYouMean(name, names)))
			continue
		}
		a, wrong := paramAxis(f, use.Params[name], where, described[i])
		axes, problems = append(axes, a), append(problems, wrong...)
	}
	for _, p := range described {
		if _, ok := use.Params[p.GetName()]; !ok {
			axes = append(axes, axis{path: path, names: []string{p.GetName()}, param: true,
				options: []option{{path: path, values: []any{asNumber(valueOf(p.GetDefault()))}}}})
		}
	}
	return axes, problems
}

// paramAxis is the axis of one parameter.
func paramAxis(f *sweep.File, values []schemas.Value, path string, p *pluginv1.Parameter) (axis, sweep.Mistakes) {
	a := axis{path: path, names: []string{p.GetName()}, param: true}
	var problems sweep.Mistakes
	for i, v := range values {
		typed, err := typedParam(v, p)
		if err != nil {
			problems = append(problems, f.Mistake(f.Item(path, i), "%v", err))
			continue
		}
		a.options = append(a.options, option{path: f.Item(path, i), values: []any{asNumber(typed)},
			set: func(d *draft) { d.params[p.GetName()] = typed }})
	}
	return a, problems
}

// typedParam reads a parameter's value as its description says.
func typedParam(v schemas.Value, p *pluginv1.Parameter) (any, error) {
	switch p.GetDefault().GetKind().(type) {
	case *pluginv1.Value_Int:
		n, err := schemas.ParseInt(v.Text)
		if err != nil || v.Quoted {
			return nil, cmp.Or(err, fmt.Errorf("a whole number was expected, not the text %q", sweep.Shorten(v.Text)))
		}
		return n, inRange(float64(n), v.Text, p)
	case *pluginv1.Value_Float:
		x, err := schemas.ParseFloat(v.Text)
		if err != nil || v.Quoted {
			return nil, cmp.Or(err, fmt.Errorf("a number was expected, not the text %q", sweep.Shorten(v.Text)))
		}
		return x, inRange(x, v.Text, p)
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

func inRange(x float64, text string, p *pluginv1.Parameter) error {
	return sweep.Rules{Minimum: p.Min, Maximum: p.Max}.Number(x, text)
}

// valueOf is a protocol value as int64, float64, bool or string; nil where it has no kind.
func valueOf(v *pluginv1.Value) any {
	switch v := v.GetKind().(type) {
	case *pluginv1.Value_Int:
		return v.Int
	case *pluginv1.Value_Float:
		return v.Float
	case *pluginv1.Value_Bool:
		return v.Bool
	case *pluginv1.Value_String_:
		return v.String_
	}
	return nil
}

// asNumber makes every number a float64.
func asNumber(v any) any {
	if n, ok := v.(int64); ok {
		return float64(n)
	}
	return v
}

// means reports whether a value written in an exclusion is the value of an option.
func means(written schemas.Value, v any) bool {
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
