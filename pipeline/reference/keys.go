package reference

import (
	_ "embed" // the examples
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/problem/adversary"
	"github.com/shatterlab/shatter/pipeline/problem/law"
	"github.com/shatterlab/shatter/pipeline/problem/noise"
	"github.com/shatterlab/shatter/pipeline/sweep"
	"github.com/shatterlab/shatter/schemas"
)

// Field is what the type and the tags of a field of schemas.Sweep say of its key.
type Field struct {
	Words    string // the values that it takes, with names as code
	Axis     bool
	Range    bool // a range may take the place of a list
	Required bool
	Default  string
	Registry string // that knows the names; empty: none
	Choices  []string
}

// FieldOf reads the type and the tags of a field.
func FieldOf(f reflect.StructField) Field {
	field := Field{Range: sweep.TakesRange(f.Type)}
	of := f.Type
	if of.Kind() == reflect.Slice && of.Implements(reflect.TypeFor[interface{ IsAxis() }]()) {
		of, field.Axis = of.Elem(), true
	}
	field.Words = kindOf(of)
	var limits []string
	for _, rule := range strings.Split(f.Tag.Get("jsonschema"), ",") {
		name, value, _ := strings.Cut(rule, "=")
		switch name {
		case "required":
			field.Required = true
		case "default":
			field.Default = value
		case "enum":
			field.Choices = append(field.Choices, value)
		case "registry":
			field.Registry = value
			for _, w := range sweep.Vocabulary(value) {
				field.Choices = append(field.Choices, w.Name)
			}
		case "minimum":
			limits = append(limits, "at least "+value)
		case "exclusiveMinimum":
			limits = append(limits, "above "+value)
		case "maximum":
			limits = append(limits, "at most "+value)
		case "exclusiveMaximum":
			limits = append(limits, "below "+value)
		}
	}
	if n := len(field.Choices); n > 0 && n < 5 {
		field.Words = "`" + strings.Join(field.Choices, "`, `") + "`"
	}
	if len(limits) > 0 {
		field.Words += " " + strings.Join(limits, ", ")
	}
	return field
}

// kindOf says what values of a type are.
func kindOf(of reflect.Type) string {
	switch of {
	case reflect.TypeFor[schemas.Size]():
		return "whole number or power"
	case reflect.TypeFor[schemas.Number]():
		return "number or power"
	case reflect.TypeFor[schemas.Text](), reflect.TypeFor[schemas.Value]():
		return "text, number or boolean"
	case reflect.TypeFor[schemas.Above]():
		return "`best` or a number"
	case reflect.TypeFor[schemas.Seed]():
		return "whole number at least 0, or `secret`"
	case reflect.TypeFor[schemas.Duration]():
		return "time"
	case reflect.TypeFor[schemas.Bytes]():
		return "memory"
	case reflect.TypeFor[schemas.Range]():
		return "bound or [low, high]"
	}
	switch of.Kind() {
	case reflect.Pointer:
		return kindOf(of.Elem())
	case reflect.Slice:
		return "list of " + plural(kindOf(of.Elem()))
	case reflect.Map:
		return "mapping"
	case reflect.Struct:
		for i := range of.NumField() {
			if _, option, _ := strings.Cut(of.Field(i).Tag.Get("yaml"), ","); option == "short" {
				return kindOf(of.Field(i).Type) + " or mapping"
			}
		}
		return "mapping"
	case reflect.Bool:
		return "`true` or `false`"
	case reflect.String:
		return "text"
	case reflect.Float64:
		return "number"
	}
	return "whole number"
}

// plural returns the plural of what kindOf says.
func plural(kind string) string {
	if of, ok := strings.CutPrefix(kind, "list of "); ok {
		return "lists of " + of
	}
	return kind + "s"
}

// keys returns the keys of the sweep file in the order of its types.
func keys() []Entry {
	w := walker{docs: documented()}
	w.walk(reflect.TypeFor[schemas.Sweep](), "Sweep", "", "")
	w.walk(reflect.TypeFor[schemas.AxisRange](), "AxisRange", "range", "n")
	return w.all
}

// walker collects the keys of a type and of those below it.
type walker struct {
	docs map[string]map[string]string // by type and key
	all  []Entry
}

// walk adds the keys of a struct, which is documented as the type of that name and stands at path,
// in the examples at place.
func (w *walker) walk(t reflect.Type, name, path, place string) {
	for i := range t.NumField() {
		f := t.Field(i)
		key, option, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if option == "inline" {
			w.walk(f.Type, f.Type.Name(), path, place)
			continue
		}
		if key == "" {
			continue
		}
		inner := sweep.JoinPath(place, key)
		e := entryOf(FieldOf(f), sweep.JoinPath(path, key))
		e.Doc, e.Example = w.docs[name][key], exampleOf(inner)
		at := len(w.all)
		w.all = append(w.all, e)
		below := f.Type
		for below.Kind() == reflect.Pointer || below.Kind() == reflect.Slice {
			below = below.Elem()
		}
		if below.Kind() != reflect.Struct || below == reflect.TypeFor[schemas.Grid]() || w.docs[below.Name()] == nil {
			continue
		}
		w.walk(below, below.Name(), e.Name, inner)
		for _, one := range w.all[at+1:] {
			if rest := one.Name[len(e.Name)+1:]; !strings.Contains(rest, ".") {
				w.all[at].Values = append(w.all[at].Values, Value{rest, one.Doc})
			}
		}
	}
}

// entryOf returns what the field of a key says, without its documentation.
func entryOf(f Field, path string) Entry {
	e := Entry{Kind: "key", Name: path}
	value := strings.ReplaceAll(f.Words, "`", "")
	switch {
	case f.Axis && f.Range:
		value += "; a list or a range of them is an axis"
	case f.Axis:
		value += "; a list of them is an axis"
	case f.Range:
		value += ", or a range"
	}
	e.add("value", value)
	if f.Required {
		e.add("required", "yes")
	}
	e.add("default", f.Default)
	e.add("taken by", strings.Join(takers(path), ", "))
	switch {
	case f.Registry != "":
		for _, word := range sweep.Vocabulary(f.Registry) {
			e.Values = append(e.Values, Value(word))
		}
	case path == "problem.target":
		e.words = []string{concept.RandomTarget, concept.UniformTarget, concept.MiddleTarget, concept.EachTarget}
	default:
		e.words = f.Choices
	}
	return e
}

// takers lists the classes, laws, noises or adversaries that take a key; none where every one does.
func takers(path string) (names []string) {
	problem, isProblem := strings.CutPrefix(path, "problem.")
	kind, isAdversary := strings.CutPrefix(path, "adversary.")
	switch {
	case path == "problem.noise.rate":
		for _, n := range noise.All() {
			if n.Rate {
				names = append(names, n.Name)
			}
		}
	case isProblem:
		for _, k := range law.Keys() {
			if k.Name == problem {
				return k.Laws()
			}
		}
		for _, name := range concept.Names() {
			if strings.Contains(PointsOf(name), "`"+problem+"`") {
				names = append(names, name)
			}
		}
	case isAdversary:
		for _, a := range adversary.All() {
			for _, key := range a.Keys() {
				if key == kind {
					names = append(names, a.Name)
				}
			}
		}
	}
	return names
}

// documented returns the descriptions in the JSON Schema of the sweep file, by type and key.
func documented() map[string]map[string]string {
	type definition struct {
		Properties map[string]struct{ Description string }
		AnyOf      []struct {
			Properties map[string]struct{ Description string }
		}
	}
	var schema struct {
		Definitions map[string]definition `json:"$defs"`
	}
	if err := json.Unmarshal(schemas.SweepSchema, &schema); err != nil {
		panic("reference: the JSON Schema of the sweep file: " + err.Error())
	}
	docs := map[string]map[string]string{}
	for name, d := range schema.Definitions {
		docs[name] = map[string]string{}
		for _, option := range d.AnyOf { // a value, or a mapping
			for key, p := range option.Properties {
				docs[name][key] = p.Description
			}
		}
		for key, p := range d.Properties {
			docs[name][key] = p.Description
		}
	}
	return docs
}

//go:embed examples.yaml
var exampleSource string

// examples are sweep files in which every key stands.
var examples = sync.OnceValue(func() (files []*sweep.File) {
	for _, source := range strings.Split(exampleSource, "---\n") {
		f, err := sweep.Parse("examples.yaml", []byte(source))
		if err != nil {
			panic("reference: " + err.Error())
		}
		files = append(files, f)
	}
	return files
})

// exampleOf returns a line of an example in which the key at path stands.
func exampleOf(path string) string {
	first, rest, _ := strings.Cut(path, ".")
	for _, f := range examples() {
		for _, where := range []string{
			path, first + "[0]." + rest, first + "[1]." + rest, "grids[0]." + path, "grids[1]." + path,
		} {
			if at := f.KeyAt(where); at.KeyLine > 0 {
				return strings.TrimSpace(strings.Split(string(f.Source), "\n")[at.KeyLine-1])
			}
		}
	}
	return ""
}
