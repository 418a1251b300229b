package sweep

import (
	"cmp"
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/shatterlab/shatter/schemas"

	"github.com/shatterlab/shatter/pipeline/wording"
)

// A checker fills Go values from YAML nodes according to the Go types and their tags (see schemas.Sweep). It continues
// after a mistake, so that all are reported at once. The types limit its recursion.
type checker struct{ *Reporter }

// fail reports a mistake at p about the value at path.
func (c *checker) fail(p Place, path, format string, args ...any) {
	c.report(p, path, path, format, args)
}

var (
	textType  = reflect.TypeFor[encoding.TextUnmarshaler]()
	axisType  = reflect.TypeFor[interface{ IsAxis() }]()
	valueType = reflect.TypeFor[schemas.Value]()
	rangeType = reflect.TypeFor[schemas.Range]()
)

// value fills v from the node n at path.
func (c *checker) value(n *yaml.Node, v reflect.Value, path string, r Rules) {
	p := c.File.places[path]
	p.Line, p.Column = n.Line, n.Column
	c.File.places[path] = p
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		c.fail(p, path, "anchors and aliases (& and *) are not used in sweep files: write the value out, or use grids")
		return
	case n.Style&yaml.TaggedStyle != 0:
		c.fail(p, path, "tags (%s) are not used in sweep files", wording.Shorten(n.Tag))
		return
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
		c.fail(p, path, "no value: give one, or remove the key")
		return
	}
	t := v.Type()
	switch {
	case t == valueType:
		if c.isScalar(n, p, path, "a single value") {
			v.Set(reflect.ValueOf(schemas.Value{Text: n.Value, Quoted: quoted(n)}))
		}
	case t == rangeType:
		c.columnRange(n, v, p, path)
	case reflect.PointerTo(t).Implements(textType):
		c.text(n, v, p, path)
	case t.Kind() == reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		c.value(n, v.Elem(), path, r)
	case t.Kind() == reflect.Slice:
		c.list(n, v, p, path, r)
	case t.Kind() == reflect.Struct, t.Kind() == reflect.Map:
		c.mapping(n, v, p, path)
	default:
		c.scalar(n, v, p, path, r)
	}
}

// list fills a slice. A single value may replace an axis or a list of plain values, and a range a list of numbers.
func (c *checker) list(n *yaml.Node, v reflect.Value, p Place, path string, r Rules) {
	t := v.Type()
	axis := t.Implements(axisType)
	if n.Kind == yaml.MappingNode && TakesRange(t) {
		c.axisRange(n, v, p, path, r)
		return
	}
	if n.Kind != yaml.SequenceNode {
		plain := axis || t.Elem() == valueType
		if kind := t.Elem().Kind(); !plain && (kind == reflect.Slice || kind == reflect.Struct || kind == reflect.Map) {
			c.fail(p, path, "a list was expected, not %s", describe(n))
			return
		}
		v.Set(reflect.MakeSlice(t, 1, 1))
		c.value(n, v.Index(0), path, r)
		return
	}
	least := r.minItems
	if axis {
		least = max(least, 1)
	}
	if len(n.Content) < least {
		c.fail(p, path, "the list is empty: give at least one value")
		return
	}
	if r.maxItems > 0 && len(n.Content) > r.maxItems {
		c.fail(p, path, "the list has %d items; at most %d are allowed", len(n.Content), r.maxItems)
		return
	}
	v.Set(reflect.MakeSlice(t, len(n.Content), len(n.Content)))
	seen := map[string]int{}
	for i, item := range n.Content {
		mistakes := len(c.mistakes)
		c.value(item, v.Index(i), path+"["+strconv.Itoa(i)+"]", r)
		repeats := !axis && t.Elem().Kind() == reflect.Float64 // a list with a place for each number
		if item.Kind != yaml.ScalarNode || len(c.mistakes) > mistakes || repeats {
			continue
		}
		text := fmt.Sprint(v.Index(i).Interface())
		if first, ok := seen[text]; ok {
			c.report(Place{Line: item.Line, Column: item.Column}, path, path+"["+strconv.Itoa(i)+"]",
				"%s is given twice, as item %d and as item %d", []any{wording.Shorten(item.Value), first + 1, i + 1})
		}
		seen[text] = i
	}
}

// mapping fills a struct or a map from a mapping, or a struct's short form from any other node.
func (c *checker) mapping(n *yaml.Node, v reflect.Value, p Place, path string) {
	fields := fieldsOf(v.Type())
	short := slices.IndexFunc(fields, func(f Key) bool { return f.Short })
	if short >= 0 && (n.Kind != yaml.MappingNode || isRange(n) && TakesRange(fields[short].Type)) {
		c.value(n, v.FieldByIndex(fields[short].index), path, fields[short].Rules)
		c.addKeys(n, fields)
		return
	}
	if n.Kind != yaml.MappingNode {
		c.fail(p, path, "a mapping (%s) was expected, not %s", cmp.Or(listKeys(fields), "key: value"), describe(n))
		return
	}
	for _, f := range fields {
		if f.With != "" && entryOf(n, f.With) != nil {
			c.value(n, v.FieldByIndex(f.index), path, f.Rules)
			return
		}
	}
	given := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, item := n.Content[i], n.Content[i+1]
		at := Place{KeyLine: key.Line, KeyColumn: key.Column, Line: key.Line, Column: key.Column}
		if key.Kind != yaml.ScalarNode || key.Anchor != "" || key.Style&yaml.TaggedStyle != 0 {
			c.fail(at, path, "a key must be a plain word")
			continue
		}
		where := JoinPath(path, key.Value)
		if first, ok := given[key.Value]; ok {
			c.fail(at, where, "the key is given twice: it is already at line %d", first.Line)
			continue
		}
		given[key.Value] = key
		c.File.places[where] = at
		c.entry(key, item, v, fields, where)
	}
	for _, f := range fields {
		where := JoinPath(path, f.Name)
		if f.Required && f.Name != "" && given[f.Name] == nil && !c.wrongs.here[where] {
			c.report(p, path, where, "%q is needed%s", []any{f.Name, neededAs(v.Type())})
		}
	}
}

// mostKeys is the maximal number of keys that a message lists.
const mostKeys = 8

// listKeys lists the keys of a mapping; "" if there are none or too many.
func listKeys(fields []Key) string {
	var keys []string
	for _, f := range fields {
		if f.Name != "" {
			keys = append(keys, f.Name)
		}
	}
	if len(keys) > mostKeys {
		return ""
	}
	return strings.Join(keys, ", ")
}

// addKeys adds to a mistake about a word instead of a number that a mapping is allowed too.
func (c *checker) addKeys(n *yaml.Node, fields []Key) {
	if len(c.mistakes) == 0 || n.Kind != yaml.ScalarNode {
		return
	}
	last := &c.mistakes[len(c.mistakes)-1]
	if strings.HasSuffix(last.Message, "is not a whole number") && last.Line == n.Line && last.Column == n.Column {
		last.Message += ", nor a mapping (" + listKeys(fields) + ")"
	}
}

// neededAs returns an example for a message about a missing key, for mappings where users often omit it.
func neededAs(t reflect.Type) string {
	if t == reflect.TypeFor[schemas.AlgorithmUse]() {
		return ": the algorithm's name, next to its parameters, {use: boosting/hs-stl, rounds: 50}"
	}
	return ""
}

// entry fills the field or the map entry that key names.
func (c *checker) entry(key, item *yaml.Node, v reflect.Value, fields []Key, where string) {
	if v.Kind() == reflect.Map {
		c.mapEntry(key, item, v, where)
		return
	}
	rest := -1
	for i, f := range fields {
		switch {
		case f.Rest:
			rest = i
		case f.Name != "" && f.Name == key.Value:
			c.value(item, v.FieldByIndex(f.index), where, f.Rules)
			return
		}
	}
	if rest >= 0 {
		c.mapEntry(key, item, v.FieldByIndex(fields[rest].index), where)
		return
	}
	block := blockOf(where)
	if now, ok := renamed[strings.TrimPrefix(where, block)]; ok {
		c.wrongs.add(block + now.path)
		c.fail(c.File.places[where], where, "unknown key: %s", now.remedy)
		return
	}
	c.fail(c.File.places[where], where, "unknown key%s", c.suggest(key.Value, where, fields))
}

// renamed holds the former spellings of keys: the path of the present key, and what to write.
var renamed = map[string]struct{ path, remedy string }{
	"find":       {"search", `it is called "search" now`},
	"n.find":     {"n", `remove it: {from, to, within} is a search`},
	"goal.above": {"goal.reference", `it is called "reference" now`},
}

// mapEntry fills the entry of m that key names.
func (c *checker) mapEntry(key, item *yaml.Node, m reflect.Value, where string) {
	if m.IsNil() {
		m.Set(reflect.MakeMap(m.Type()))
	}
	v := reflect.New(m.Type().Elem()).Elem()
	c.value(item, v, where, Rules{})
	m.SetMapIndex(reflect.ValueOf(key.Value), v)
}

// suggest returns the end of a message about an unknown key: similar keys of the mapping, and keys of the same name
// elsewhere in the file. It records mistakes at these keys, so that they are not reported as missing.
func (c *checker) suggest(word, where string, fields []Key) string {
	if len(c.mistakes) >= maxShown {
		return ""
	}
	var keys []string
	for _, f := range fields {
		if f.Name != "" {
			keys = append(keys, f.Name)
		}
	}
	var meant []string
	s, near := wording.Nearest(word, keys)
	if near {
		c.wrongs.add(JoinPath(parent(where), s))
		if len(word) > 1 {
			meant = append(meant, s)
		}
	}
	other := c.elsewhere(reflect.TypeFor[schemas.Sweep](), "", word)
	if slices.Contains(other, word) {
		return ": it belongs to the top level of the file"
	}
	meant = append(meant, other...)
	for _, path := range other {
		c.wrongs.add(blockOf(where) + path)
	}
	if len(meant) == 0 {
		return wording.DidYouMean(word, keys)
	}
	for i := range meant {
		meant[i] = strconv.Quote(meant[i])
	}
	hint := ", did you mean " + strings.Join(meant, " or ") + "?"
	if here := listKeys(fields); !near && here != "" {
		hint += " Here there is " + here
	}
	return hint
}

// blockOf returns the prefix of the block that contains a path, such as "grids[1]."; "" at the top level.
func blockOf(path string) string {
	if block, _, ok := strings.Cut(path, "]."); ok && strings.HasPrefix(block, "grids[") {
		return block + "]."
	}
	return ""
}

// elsewhere returns the paths of the keys with exactly this name.
func (c *checker) elsewhere(t reflect.Type, path, word string) []string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t == rangeType || t == valueType || t == reflect.TypeFor[schemas.Grid]() {
		return nil
	}
	var found []string
	for _, f := range fieldsOf(t) {
		if f.Name == "" {
			continue
		}
		if f.Name == word {
			found = append(found, JoinPath(path, f.Name))
		}
		found = append(found, c.elsewhere(f.Type, JoinPath(path, f.Name), word)...)
	}
	return found
}

// scalar fills a string, boolean or number.
func (c *checker) scalar(n *yaml.Node, v reflect.Value, p Place, path string, r Rules) {
	var err error
	switch v.Kind() {
	case reflect.String:
		if !c.isScalar(n, p, path, "text") {
			return
		}
		if tag := n.ShortTag(); tag != "!!str" && tag != "!!timestamp" {
			c.fail(p, path, "text was expected, not %s: put it in quotes", describe(n))
			return
		}
		v.SetString(n.Value)
		err = r.text(n.Value)
	case reflect.Bool:
		if !c.isScalar(n, p, path, "true or false") {
			return
		}
		if n.Value != "true" && n.Value != "false" || n.ShortTag() != "!!bool" {
			c.fail(p, path, "true or false was expected, not %s", describe(n))
			return
		}
		v.SetBool(n.Value == "true")
	case reflect.Int, reflect.Int64, reflect.Uint64:
		if c.isNumber(n, p, path, "a whole number") {
			err = integer(n.Value, v, r)
		}
	case reflect.Float64:
		if c.isNumber(n, p, path, "a number") {
			var f float64
			if f, err = schemas.ParseFloat(n.Value); err == nil {
				v.SetFloat(f)
				err = r.number(f, n.Value)
			}
		}
	default:
		panic("sweep: no rule for the type " + v.Type().String())
	}
	if err != nil {
		c.fail(p, path, "%v", err)
	}
}

// integer fills a whole number. It returns an error if text is not a whole number or violates a bound.
func integer(text string, v reflect.Value, r Rules) error {
	i, err := schemas.ParseInt(text)
	f := float64(i)
	switch {
	case v.Kind() != reflect.Uint64:
		v.SetInt(i)
	case err == nil && i >= 0:
		v.SetUint(uint64(i))
	case err != nil && !strings.HasPrefix(text, "0"):
		if u, wide := strconv.ParseUint(text, 10, 64); wide == nil { // above the largest int64
			v.SetUint(u)
			f, err = float64(u), nil
		}
	}
	if err != nil {
		return err
	}
	return r.number(f, text)
}

// text fills a value whose type implements encoding.TextUnmarshaler.
func (c *checker) text(n *yaml.Node, v reflect.Value, p Place, path string) {
	if !c.isScalar(n, p, path, "a single value") {
		return
	}
	if err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(n.Value)); err != nil {
		c.fail(p, path, "%v", err)
	}
}

// columnRange fills a schemas.Range from [low, high], or from b for [-b, b].
func (c *checker) columnRange(n *yaml.Node, v reflect.Value, p Place, path string) {
	var out schemas.Range
	if n.Kind == yaml.SequenceNode {
		var ends []float64
		c.value(n, reflect.ValueOf(&ends).Elem(), path, Rules{})
		if len(ends) != 2 || ends[0] >= ends[1] {
			c.fail(p, path, "a range is [low, high] with low below high")
			return
		}
		out = schemas.Range{Low: ends[0], High: ends[1]}
	} else {
		above := 0.0
		bound := reflect.New(reflect.TypeFor[float64]()).Elem()
		c.value(n, bound, path, Rules{exclusiveMinimum: &above})
		out = schemas.Range{Low: -bound.Float(), High: bound.Float()}
	}
	v.Set(reflect.ValueOf(out))
}

// isScalar reports a mistake unless the node is a single value.
func (c *checker) isScalar(n *yaml.Node, p Place, path, want string) bool {
	if n.Kind != yaml.ScalarNode {
		remedy := ""
		if path == "seed" && n.Kind == yaml.SequenceNode {
			remedy = "; for another seed run the sweep again: shatter run FILE seed=2 --out DIR"
		}
		c.fail(p, path, "%s was expected, not %s%s", want, describe(n), remedy)
		return false
	}
	return true
}

// isNumber reports a mistake unless the node is a single value without quotes.
func (c *checker) isNumber(n *yaml.Node, p Place, path, want string) bool {
	if !c.isScalar(n, p, path, want) {
		return false
	}
	if quoted(n) {
		c.fail(p, path, "%s was expected, not %s", want, describe(n))
		return false
	}
	return true
}

func quoted(n *yaml.Node) bool {
	return n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0
}

// describe names a node in messages.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.ScalarNode:
		switch n.ShortTag() {
		case "!!int", "!!float":
			return "the number " + wording.Shorten(n.Value)
		case "!!bool":
			return wording.Shorten(n.Value)
		}
		return "the text " + strconv.Quote(wording.Shorten(n.Value))
	}
	return "this"
}
