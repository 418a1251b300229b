package reference

import (
	_ "embed" // the examples
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/problem/adversary"
	"github.com/shatterlab/shatter/pipeline/problem/distribution"
	"github.com/shatterlab/shatter/pipeline/problem/noise"
	"github.com/shatterlab/shatter/pipeline/sweep"
	"github.com/shatterlab/shatter/schemas"
)

// WordsOf describes the permitted values of a key, with names formatted as code.
func WordsOf(k sweep.Key) string {
	of := k.Type
	if k.Axis() {
		of = of.Elem()
	}
	words := kindOf(of)
	if n := len(k.Choices); n > 0 && n < 5 {
		words = "`" + strings.Join(k.Choices, "`, `") + "`"
	}
	return strings.TrimSpace(words + " " + k.Limits())
}

// kindOf describes the values of a type.
func kindOf(of reflect.Type) string {
	switch of {
	case reflect.TypeFor[schemas.Size]():
		return "whole number or power"
	case reflect.TypeFor[schemas.Number]():
		return "number or power"
	case reflect.TypeFor[schemas.Text](), reflect.TypeFor[schemas.Value]():
		return "text, number or boolean"
	case reflect.TypeFor[schemas.Reference]():
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
		for _, k := range sweep.KeysOf(of) {
			if k.Short {
				return kindOf(k.Type) + " or mapping"
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

// plural returns the plural of a description by kindOf.
func plural(kind string) string {
	if of, ok := strings.CutPrefix(kind, "list of "); ok {
		return "lists of " + of
	}
	return kind + "s"
}

// keys returns the keys of the sweep file in the order of its types.
func keys() []Entry {
	docs := documented()
	return append(keysOf(docs, reflect.TypeFor[schemas.Sweep](), "", ""),
		keysOf(docs, reflect.TypeFor[schemas.AxisRange](), "range", "n")...)
}

// alternatives returns the keys of another form of a mapping that are not among known ones.
func alternatives(keys, known []Entry) []Entry {
	return slices.DeleteFunc(keys, func(e Entry) bool {
		return slices.ContainsFunc(known, func(k Entry) bool { return k.Name == e.Name })
	})
}

// keysOf returns the keys of a struct at path and of the structs inside it. place is its path in
// the examples.
func keysOf(docs map[string]map[string]string, t reflect.Type, path, place string) (all []Entry) {
	for _, k := range sweep.KeysOf(t) {
		if k.With != "" {
			all = append(all, alternatives(keysOf(docs, k.Type.Elem(), path, place), all)...)
		}
		if k.Name == "" {
			continue
		}
		where := sweep.JoinPath(place, k.Name)
		e := entryOf(k, sweep.JoinPath(path, k.Name))
		e.Doc, e.Example = docs[t.Name()][k.Name], exampleOf(where)
		var inner []Entry
		below := k.Type
		for below.Kind() == reflect.Pointer || below.Kind() == reflect.Slice {
			below = below.Elem()
		}
		if below.Kind() == reflect.Struct && below != reflect.TypeFor[schemas.Grid]() && docs[below.Name()] != nil {
			inner = keysOf(docs, below, e.Name, where)
		}
		for _, one := range inner {
			if rest := one.Name[len(e.Name)+1:]; !strings.Contains(rest, ".") {
				e.Values = append(e.Values, Value{rest, one.Doc})
			}
		}
		all = append(append(all, e), inner...)
	}
	return all
}

// entryOf returns the entry of a key without its documentation.
func entryOf(k sweep.Key, path string) Entry {
	e := Entry{Kind: "key", Name: path}
	value, takesRange := strings.ReplaceAll(WordsOf(k), "`", ""), sweep.TakesRange(k.Type)
	switch {
	case k.Axis() && takesRange:
		value += "; a list or a range of them is an axis"
	case k.Axis():
		value += "; a list of them is an axis"
	case takesRange:
		value += ", or a range"
	}
	e.add("value", value)
	if k.Required {
		e.add("required", "yes")
	}
	e.add("default", k.Default)
	e.add("taken by", strings.Join(takers(path), ", "))
	switch {
	case k.Registry != "":
		for _, word := range sweep.Vocabulary(k.Registry) {
			e.Values = append(e.Values, Value(word))
		}
	case path == "problem.target":
		e.words = []string{concept.RandomTarget, concept.UniformTarget, concept.MiddleTarget, concept.EachTarget}
	default:
		e.words = k.Choices
	}
	return e
}

// takers lists the classes, distributions, noises or adversaries that accept a key; none if all
// do.
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
		for _, k := range distribution.Keys() {
			if k.Name == problem {
				return k.Distributions()
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

// examples are sweep files that contain every key.
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

// exampleOf returns a line of an example that contains the key at path.
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
