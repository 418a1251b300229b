package algo

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// parameters maps the fields of a struct type to named parameters.
type parameters []parameter

type parameter struct {
	index    []int // index of its field in the struct
	name     string
	kind     reflect.Kind // Int, Float64, Bool or String
	min, max *float64     // inclusive; nil without a limit
	choices  []string     // nil if every string is allowed
	doc      string
}

var (
	parameterName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,99}$`)
	// reservedNames are keys that appear next to parameters of algorithms in a sweep file;
	// reservedOfProblems appear next to parameters of problems.
	reservedNames      = []string{"use", "as", "replica"}
	reservedOfProblems = []string{"use", "noise", "test"}
)

// parametersOf returns the parameters that the exported fields and tags of a struct type describe.
// Its errors name the field.
func parametersOf(t reflect.Type) (parameters, error) {
	d := described(t)
	return d.parameters, d.err
}

// described caches the descriptions of struct types, because each request needs them.
var described = numeric.Remember(func(t reflect.Type) (d struct {
	parameters
	err error
}) {
	d.parameters, d.err = describeParameters(t)
	return d
})

func describeParameters(t reflect.Type) (parameters, error) {
	if t == nil || t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("parameters are of type %v: a struct is needed (struct{} for none)", t)
	}
	var ps parameters
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() && !f.Anonymous {
			continue
		}
		found, err := parametersIn(f)
		if err != nil {
			return nil, err
		}
		for _, p := range found {
			p.index = append([]int{i}, p.index...)
			ps = append(ps, p)
		}
	}
	return ps, nil
}

// parametersIn returns the parameter that a field describes, or those of an embedded struct, with
// their indexes in the field.
func parametersIn(f reflect.StructField) (parameters, error) {
	if f.Anonymous {
		if f.Type.Kind() != reflect.Struct {
			return nil, fmt.Errorf("parameter field %s: it is embedded: only a struct can be", f.Name)
		}
		return describeParameters(f.Type)
	}
	p, err := parameterOf(f)
	if err != nil {
		return nil, fmt.Errorf("parameter field %s: %w", f.Name, err)
	}
	return parameters{p}, nil
}

// parameterOf returns the parameter that a field describes, without its index.
func parameterOf(f reflect.StructField) (parameter, error) {
	p := parameter{name: f.Tag.Get("param"), kind: f.Type.Kind(), doc: f.Tag.Get("doc")}
	if p.name == "" {
		p.name = snake(f.Name)
	}
	switch p.kind {
	case reflect.Int, reflect.Float64, reflect.Bool, reflect.String:
	default:
		return p, fmt.Errorf("type %v is not supported: use int, float64, bool or string", f.Type)
	}
	for _, limit := range []struct {
		tag string
		to  **float64
	}{{"min", &p.min}, {"max", &p.max}} {
		text, ok := f.Tag.Lookup(limit.tag)
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(text, 64)
		if p.kind != reflect.Int && p.kind != reflect.Float64 || err != nil || math.IsNaN(v) {
			return p, fmt.Errorf("tag %s %q: a number, on an int or a float64, is needed", limit.tag, text)
		}
		*limit.to = &v
	}
	if text, ok := f.Tag.Lookup("choices"); ok {
		if p.kind != reflect.String {
			return p, fmt.Errorf("tag choices %q: only a string has choices", text)
		}
		for choice := range strings.SplitSeq(text, ",") {
			p.choices = append(p.choices, strings.TrimSpace(choice))
		}
	}
	return p, nil
}

// snake returns a Go name in lower case with an underscore before each further word: RoundCount
// becomes round_count, VCDim becomes vc_dim.
func snake(name string) string {
	rs := []rune(name)
	var b strings.Builder
	for i, r := range rs {
		if i > 0 && unicode.IsUpper(r) && rs[i-1] != '_' {
			afterWord := !unicode.IsUpper(rs[i-1])
			beforeWord := i+1 < len(rs) && unicode.IsLower(rs[i+1])
			if afterWord || beforeWord {
				b.WriteByte('_')
			}
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// describe encodes the parameters for the protocol.
func (ps parameters) describe(defaults reflect.Value) []*pluginv1.Parameter {
	out := make([]*pluginv1.Parameter, 0, len(ps))
	for _, p := range ps {
		out = append(out, &pluginv1.Parameter{
			Name: p.name, Default: p.value(defaults), Min: p.min, Max: p.max, Choices: p.choices, Doc: text(p.doc),
		})
	}
	return out
}

// values encodes all parameters of a struct as values of the protocol.
func (ps parameters) values(params reflect.Value) map[string]*pluginv1.Value {
	values := make(map[string]*pluginv1.Value, len(ps))
	for _, p := range ps {
		values[p.name] = p.value(params)
	}
	return values
}

func (p *parameter) value(params reflect.Value) *pluginv1.Value {
	f := params.FieldByIndex(p.index)
	switch p.kind {
	case reflect.Int:
		return pluginv1.ValueOf(f.Int())
	case reflect.Float64:
		return pluginv1.ValueOf(f.Float())
	case reflect.Bool:
		return pluginv1.ValueOf(f.Bool())
	}
	return pluginv1.ValueOf(text(f.String()))
}

// set writes the given values into a struct that holds the defaults. Its errors are Invalid and
// name the parameter.
func (ps parameters) set(params reflect.Value, values map[string]*pluginv1.Value) error {
	for name := range values {
		if !slices.ContainsFunc(ps, func(p parameter) bool { return p.name == name }) {
			return Invalid("unknown parameter %q", name)
		}
	}
	for _, p := range ps {
		v, ok := values[p.name]
		if !ok {
			continue
		}
		v, err := p.convert(v)
		if err == nil {
			err = p.allow(v)
		}
		if err != nil {
			return Invalid("parameter %q: %w", p.name, err)
		}
		f := params.FieldByIndex(p.index)
		f.Set(reflect.ValueOf(v.Plain()).Convert(f.Type()))
	}
	return nil
}

// kindOf returns the kind of parameter that a value fits; Invalid if the value has no content.
func kindOf(v *pluginv1.Value) reflect.Kind {
	kind := reflect.ValueOf(v.Plain()).Kind()
	if kind == reflect.Int64 {
		return reflect.Int
	}
	return kind
}

// convert returns v in the kind of the parameter. It accepts an integer for a float, and a float
// without a fraction for an integer.
func (p *parameter) convert(v *pluginv1.Value) (*pluginv1.Value, error) {
	const exact = 1 << 53 // float64 represents every integer up to this one
	i, x := v.GetInt(), v.GetFloat()
	switch kind := kindOf(v); {
	case kind == p.kind:
		return v, nil
	case kind == reflect.Int && p.kind == reflect.Float64 && -exact <= i && i <= exact:
		return pluginv1.ValueOf(float64(i)), nil
	case kind == reflect.Float64 && p.kind == reflect.Int && x == math.Trunc(x) && math.Abs(x) <= exact:
		return pluginv1.ValueOf(int64(x)), nil
	}
	return nil, fmt.Errorf("%s where %s is needed", show(v), article(p.kind))
}

// allow returns an error if v, a value of the parameter's kind, is not finite, or is excluded by
// min, max or choices.
func (p *parameter) allow(v *pluginv1.Value) error {
	x := v.GetFloat()
	if p.kind == reflect.Int {
		x = float64(v.GetInt())
	}
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return fmt.Errorf("%v is no finite number", x)
	case p.min != nil && x < *p.min:
		return fmt.Errorf("%s is below the smallest allowed, %v", show(v), *p.min)
	case p.max != nil && x > *p.max:
		return fmt.Errorf("%s is above the largest allowed, %v", show(v), *p.max)
	case p.choices != nil && !slices.Contains(p.choices, v.GetString_()):
		return fmt.Errorf("%s is none of %s", show(v), strings.Join(p.choices, ", "))
	}
	return nil
}

// show formats a value for a message.
func show(v *pluginv1.Value) string {
	switch v := v.Plain().(type) {
	case nil:
		return "nothing"
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case string:
		return strconv.Quote(v)
	default:
		return fmt.Sprint(v)
	}
}

// article names a kind of parameter for a message.
func article(k reflect.Kind) string {
	switch k {
	case reflect.Int:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Bool:
		return "true or false"
	}
	return "a text"
}
