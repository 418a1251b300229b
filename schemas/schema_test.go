package schemas_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"

	"github.com/shatterlab/shatter/pipeline/sweep"
	"github.com/shatterlab/shatter/schemas"
)

const schemaFile = "sweep.schema.json"

// axisRange is the type that may replace every list of numbers.
var axisRange = reflect.TypeFor[schemas.AxisRange]()

func TestSchemaIsUpToDate(t *testing.T) {
	checkPromised(t, schemaFile, generate(t))
}

// generate writes the JSON Schema of Sweep: its tags and comments, with axes as "one or a list" and
// short forms as alternatives.
func generate(t *testing.T) []byte {
	t.Helper()
	comments := new(jsonschema.Reflector)
	if err := comments.AddGoComments("schemas", "./", jsonschema.WithFullComment()); err != nil {
		t.Fatal(err)
	}
	p := plainTypes{}
	r := &jsonschema.Reflector{
		FieldNameTag:               "yaml",
		RequiredFromJSONSchemaTags: true,
		Anonymous:                  true,
		Mapper:                     scalars,
		Namer:                      func(t reflect.Type) string { return p.original(t).Name() },
		LookupComment: func(t reflect.Type, field string) string {
			of := p.original(t)
			if field == "" {
				return withoutName(comments.CommentMap["schemas."+of.Name()], of.Name(), "")
			}
			doc := comments.CommentMap["schemas."+of.Name()+"."+field]
			if doc == "" { // the fields of the embedded type are among its own
				doc = comments.CommentMap["schemas.Grid."+field]
			}
			f, _ := of.FieldByName(field)
			key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			return withoutName(doc, field, cmp.Or(key, strings.ToLower(field)))
		},
	}
	s := r.ReflectFromType(p.plain(reflect.TypeFor[schemas.Sweep]()))
	s.Title = "Shatter sweep file"
	s.Definitions[axisRange.Name()] = r.ReflectFromType(p.plain(axisRange)).Definitions[axisRange.Name()]
	finish(s, reflect.TypeFor[schemas.Sweep](), map[reflect.Type]bool{})
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(s); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// plainTypes maps copies of the types, in which axes are slices without a name and embedded fields
// are flat, to the types. The reflector represents a named type by a reference, to which it cannot
// apply the tags of a field.
type plainTypes map[reflect.Type]reflect.Type

func (p plainTypes) original(t reflect.Type) reflect.Type {
	if original, ok := p[t]; ok {
		return original
	}
	return t
}

func (p plainTypes) plain(t reflect.Type) reflect.Type {
	if scalars(t) != nil {
		return t
	}
	switch t.Kind() {
	case reflect.Pointer:
		return reflect.PointerTo(p.plain(t.Elem()))
	case reflect.Slice:
		return reflect.SliceOf(p.plain(t.Elem()))
	case reflect.Map:
		return reflect.MapOf(t.Key(), p.plain(t.Elem()))
	case reflect.Struct:
		copied := reflect.StructOf(p.fields(t))
		p[copied] = t
		return copied
	}
	return t
}

func (p plainTypes) fields(t reflect.Type) []reflect.StructField {
	var fields []reflect.StructField
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			fields = append(fields, p.fields(f.Type)...)
			continue
		}
		f.Type, f.Tag = p.plain(f.Type), spellOut(f.Tag)
		fields = append(fields, f)
	}
	return fields
}

// spellOut returns a tag with its registries replaced by lists of their names, without the default,
// which finishField puts next to the alternatives of an axis.
func spellOut(tag reflect.StructTag) reflect.StructTag {
	tag = reflect.StructTag(defaultRule.ReplaceAllString(string(tag), ""))
	return reflect.StructTag(registryRule.ReplaceAllStringFunc(string(tag), func(rule string) string {
		var list []string
		for _, w := range sweep.Vocabulary(strings.TrimPrefix(rule, "registry=")) {
			list = append(list, "enum="+w.Name)
		}
		return strings.Join(list, ",")
	}))
}

var (
	registryRule = regexp.MustCompile(`registry=\w+`)
	defaultRule  = regexp.MustCompile(`,?default=([^,"]+)`)
)

// defaultOf returns the default in a tag, as decoded from JSON, or nil if there is none.
func defaultOf(tag reflect.StructTag) any {
	m := defaultRule.FindStringSubmatch(tag.Get("jsonschema"))
	if m == nil {
		return nil
	}
	var value any
	if json.Unmarshal([]byte(m[1]), &value) != nil {
		value = m[1]
	}
	return value
}

// withoutName returns the first paragraph of a comment without "Name is", or with the key in place of the Go name.
func withoutName(comment, name, key string) string {
	text := firstParagraph(comment)
	for _, verb := range []string{" is ", " are ", " describes "} {
		if rest, ok := strings.CutPrefix(text, name+verb); ok {
			return rest
		}
	}
	if rest, ok := strings.CutPrefix(text, name+" "); ok {
		return strings.TrimSpace(key + " " + rest)
	}
	return text
}

// firstParagraph returns the first paragraph of a comment as one line.
func firstParagraph(comment string) string {
	text, _, _ := strings.Cut(comment, "\n\n")
	return strings.Join(strings.Fields(text), " ")
}

// scalars returns the schema of a type that decodes itself, or nil for other types.
func scalars(t reflect.Type) *jsonschema.Schema {
	number, least := &jsonschema.Schema{Type: "number"}, json.Number("1")
	switch t {
	case reflect.TypeFor[schemas.Size]():
		return either(
			&jsonschema.Schema{Type: "integer", Minimum: least},
			&jsonschema.Schema{Type: "string", Pattern: schemas.SizePattern},
		)
	case reflect.TypeFor[schemas.Number]():
		return either(number, &jsonschema.Schema{Type: "string", Pattern: schemas.SizePattern})
	case reflect.TypeFor[schemas.Text](), reflect.TypeFor[schemas.Value]():
		return either(&jsonschema.Schema{Type: "string"}, number, &jsonschema.Schema{Type: "boolean"})
	case reflect.TypeFor[schemas.Reference]():
		return either(&jsonschema.Schema{Const: "best"}, &jsonschema.Schema{Type: "number", Minimum: "0", Maximum: "1"})
	case reflect.TypeFor[schemas.Seed]():
		return either(&jsonschema.Schema{Const: schemas.SecretSeed}, &jsonschema.Schema{Type: "integer", Minimum: "0"})
	case reflect.TypeFor[schemas.Duration]():
		return &jsonschema.Schema{Type: "string"}
	case reflect.TypeFor[schemas.Bytes]():
		return either(&jsonschema.Schema{Type: "string"}, &jsonschema.Schema{Type: "integer", Minimum: least})
	case reflect.TypeFor[schemas.Range]():
		two := uint64(2)
		return either(&jsonschema.Schema{Type: "number", ExclusiveMinimum: "0"},
			&jsonschema.Schema{Type: "array", Items: number, MinItems: &two, MaxItems: &two})
	}
	return nil
}

func either(options ...*jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: options}
}

// finish converts the reflector's schema of t's definition, and of those below it, to the schema
// that the checker applies.
func finish(root *jsonschema.Schema, t reflect.Type, done map[reflect.Type]bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || done[t] || scalars(t) != nil {
		return
	}
	done[t] = true
	definition := root.Definitions[t.Name()]
	var short, rest *jsonschema.Schema
	for i := range t.NumField() {
		f := t.Field(i)
		key, option, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if option == "inline" { // its fields are included here instead of a reference to its definition
			finishFields(root, definition, f.Type, done)
			continue
		}
		property, s := finishField(root, definition, f, key, done)
		switch {
		case option == "short", strings.HasPrefix(option, "with="):
			short = s
		case option == "rest":
			rest = s
		}
		if key == "" {
			definition.Properties.Delete(property)
		}
	}
	if rest != nil {
		definition.AdditionalProperties = rest.AdditionalProperties
	}
	if short != nil {
		object := *definition
		*definition = jsonschema.Schema{AnyOf: []*jsonschema.Schema{short, &object}, Description: definition.Description}
		object.Description = ""
	}
}

func finishFields(root, definition *jsonschema.Schema, t reflect.Type, done map[reflect.Type]bool) {
	for i := range t.NumField() {
		key, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
		finishField(root, definition, t.Field(i), key, done)
	}
}

// finishField accepts one value for an axis and for a list of plain values, and a range for a list
// of numbers.
func finishField(
	root, definition *jsonschema.Schema, f reflect.StructField, key string, done map[reflect.Type]bool,
) (string, *jsonschema.Schema) {
	property := key
	if property == "" {
		property = f.Name
	}
	finish(root, f.Type, done)
	s, ok := definition.Properties.Get(property)
	if !ok {
		return property, nil
	}
	switch {
	case f.Type.Kind() == reflect.Slice:
		s = oneOrMore(s, f.Type)
	case f.Type.Kind() == reflect.Map:
		s.AdditionalProperties = oneOrMore(s.AdditionalProperties, f.Type.Elem())
	}
	if f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Map { // exclude
		s.Items.AdditionalProperties = oneOrMore(s.Items.AdditionalProperties, f.Type.Elem().Elem())
	}
	s.Default = defaultOf(f.Tag)
	definition.Properties.Set(property, s)
	return property, s
}

func oneOrMore(list *jsonschema.Schema, t reflect.Type) *jsonschema.Schema {
	if t.Kind() != reflect.Slice {
		return list
	}
	axis := t.Implements(reflect.TypeFor[interface{ IsAxis() }]())
	if kind := t.Elem().Kind(); !axis && (kind == reflect.Slice || kind == reflect.Struct || kind == reflect.Map) {
		return list
	}
	one, description := list.Items, list.Description
	if axis {
		least := uint64(1)
		list.MinItems = &least
	}
	list.Description = ""
	options := []*jsonschema.Schema{one, list}
	if sweep.TakesRange(t) {
		options = append(options, &jsonschema.Schema{Ref: "#/$defs/" + axisRange.Name()})
	}
	return &jsonschema.Schema{AnyOf: options, Description: description}
}
