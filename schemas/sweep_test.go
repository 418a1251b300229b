package schemas

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
	"pgregory.net/rapid"
)

func TestExamplesFitTheSchema(t *testing.T) {
	root := readSchema(t)
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := fits(root, root, decode(t, string(src)), ""); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestMistakesDoNotFitTheSchema(t *testing.T) {
	root := readSchema(t)
	for _, tt := range []struct{ src, want string }{
		{"task: learn", "name"},
		{"name: a b", "name"},
		{"name: x\nsede: 1", "sede"},
		{"name: x\ntask: lern", "task"},
		{"name: x\nproblem: {class: halfspce}", "class"},
		{"name: x\nproblem: {class: points, d: 0}", "d"},
		{"name: x\nproblem: {class: points, d: []}", "d"},
		{"name: x\nproblem: {class: points, domain: 2^x}", "domain"},
		{"name: x\ngoal: {alpha: 1}", "alpha"},
		{"name: x\ngoal: {reference: worst}", "reference"},
		{"name: x\nn: [0]", "n"},
		{"name: x\nn: {find: true}", "n"},
		{"name: x\nn: {from: 5, to: 9, steps: 1}", "n"},
		{"name: x\nproblem: {class: points, d: {from: 5, to: 9, steps: 3, scale: lgo}}", "d"},
		{"name: x\nalgorithms: [{rounds: 5}]", "algorithms"},
		{"name: x\nalgorithms: [{use: a, rounds: {}}]", "algorithms"},
		{"name: x\ngrids: []", "grids"},
	} {
		err := fits(root, root, decode(t, tt.src), "")
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: error %v, want one about %s", tt.src, err, tt.want)
		}
	}
}

func decode(t *testing.T, src string) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(src), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func readSchema(t *testing.T) map[string]any {
	t.Helper()
	b, err := os.ReadFile("sweep.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var root map[string]any
	if err := json.Unmarshal(b, &root); err != nil {
		t.Fatal(err)
	}
	return root
}

// fits validates v against a schema with the keywords that this schema uses.
func fits(root, schema map[string]any, v any, path string) error {
	for keyword, rule := range schema {
		if err := keep(root, schema, keyword, rule, v, path); err != nil {
			return err
		}
	}
	return nil
}

func keep(root, schema map[string]any, keyword string, rule, v any, path string) error {
	number, isNumber := asFloat(v)
	list, isList := v.([]any)
	object, isObject := v.(map[string]any)
	text, isText := v.(string)
	limit, _ := rule.(float64)
	bad := func(broken bool) error {
		if broken {
			return fmt.Errorf("%s: %v breaks %s %v", path, v, keyword, rule)
		}
		return nil
	}
	switch keyword {
	case "$ref":
		name := strings.TrimPrefix(rule.(string), "#/$defs/")
		return fits(root, root["$defs"].(map[string]any)[name].(map[string]any), v, path)
	case "anyOf":
		for _, option := range rule.([]any) {
			if fits(root, option.(map[string]any), v, path) == nil {
				return nil
			}
		}
		return bad(true)
	case "type":
		_, isBool := v.(bool)
		is := map[any]bool{"string": isText, "number": isNumber, "integer": isNumber && number == math.Trunc(number), "boolean": isBool,
			"array": isList, "object": isObject}
		return bad(!is[rule])
	case "const":
		return bad(!reflect.DeepEqual(v, rule))
	case "enum":
		for _, option := range rule.([]any) {
			if option == v {
				return nil
			}
		}
		return bad(true)
	case "minimum":
		return bad(isNumber && number < limit)
	case "exclusiveMinimum":
		return bad(isNumber && number <= limit)
	case "maximum":
		return bad(isNumber && number > limit)
	case "exclusiveMaximum":
		return bad(isNumber && number >= limit)
	case "minItems":
		return bad(isList && len(list) < int(limit))
	case "maxItems":
		return bad(isList && len(list) > int(limit))
	case "maxLength":
		return bad(isText && len(text) > int(limit))
	case "pattern":
		return bad(isText && !regexp.MustCompile(rule.(string)).MatchString(text))
	case "items":
		for i, item := range list {
			if err := fits(root, rule.(map[string]any), item, fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
	case "required":
		for _, key := range rule.([]any) {
			if _, ok := object[key.(string)]; isObject && !ok {
				return fmt.Errorf("%s: %v is missing", path, key)
			}
		}
	case "properties", "additionalProperties":
		return keepObject(root, schema, keyword, rule, object, path)
	case "$schema", "$defs", "title", "description", "default":
	default:
		return fmt.Errorf("the test knows no keyword %q", keyword)
	}
	return nil
}

func keepObject(root, schema map[string]any, keyword string, rule any, object map[string]any, path string) error {
	properties, _ := schema["properties"].(map[string]any)
	for key, v := range object {
		inner, known := properties[key]
		if known == (keyword == "additionalProperties") {
			continue
		}
		if keyword == "additionalProperties" {
			if rule == false {
				return fmt.Errorf("%s: unknown key %q", path, key)
			}
			inner = rule
		}
		if err := fits(root, inner.(map[string]any), v, path+"."+key); err != nil {
			return err
		}
	}
	return nil
}

func asFloat(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case uint64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

func TestWholeNumbers(t *testing.T) {
	for _, tt := range []struct {
		text string
		want int64 // 0: an error
	}{
		{"1", 1}, {"+7", 7}, {"1e6", 1e6}, {"1E6", 1e6}, {"1.5e1", 15}, {"65536", 65536}, {"-3", -3}, {"9223372036854775807", math.MaxInt64},
		{"9223372036854775808", 0}, {"1e18", 0}, {"1.5", 0}, {"1e-3", 0}, {"010", 0}, {"0x10", 0}, {"1_000", 0}, {"", 0}, {"x", 0},
		{".inf", 0}, {"1e999999999", 0}, {"2^3", 0},
	} {
		got, err := ParseInt(tt.text)
		if (err != nil) != (tt.want == 0) || err == nil && got != tt.want {
			t.Errorf("ParseInt(%q) = %d, %v, want %d", tt.text, got, err, tt.want)
		}
	}
}

func TestScalars(t *testing.T) {
	for _, tt := range []struct {
		into interface{ UnmarshalText([]byte) error }
		text string
		want any // nil: an error
	}{
		{new(Size), "2^16", Size(65536)},
		{new(Size), "10^3", Size(1000)},
		{new(Size), "1e6", Size(1e6)},
		{new(Size), "2^40", Size(1 << 40)},
		{new(Size), "2^0", Size(1)},
		{new(Size), "2^63", nil},
		{new(Size), "2^999", nil},
		{new(Size), "9999999999^999", nil},
		{new(Size), "0^2", nil},
		{new(Size), "0", nil},
		{new(Size), "-2", nil},
		{new(Size), "2^-1", nil},
		{new(Reference), "best", Reference{Best: true}},
		{new(Reference), "0", Reference{}},
		{new(Reference), "0.25", Reference{Value: 0.25}},
		{new(Reference), "2", nil},
		{new(Reference), "bets", nil},
		{new(Seed), "7", NumberSeed(7)},
		{new(Seed), "18446744073709551615", NumberSeed(1<<64 - 1)},
		{new(Seed), "1e6", NumberSeed(1e6)},
		{new(Seed), "secret", Seed{secret: true}},
		{new(Seed), "18446744073709551616", nil},
		{new(Seed), "-1", nil},
		{new(Seed), "01", nil},
		{new(Seed), "secret ", nil},
		{new(Seed), "00112233445566778899aabbccddeeff", nil},
		{new(Duration), "10m", DefaultTrialTime},
		{new(Duration), "1h30m", 9 * DefaultTrialTime},
		{new(Duration), "10", nil},
		{new(Duration), "-1s", nil},
		{new(Bytes), "2 GiB", DefaultMemory},
		{new(Bytes), "2GiB", DefaultMemory},
		{new(Bytes), "2147483648", DefaultMemory},
		{new(Bytes), "0.5 GiB", Bytes(512 << 20)},
		{new(Bytes), "3 MB", Bytes(3000000)},
		{new(Bytes), "1 GB", Bytes(1e9)},
		{new(Bytes), "1e7", Bytes(1e7)},
		{new(Bytes), "7000000 B", Bytes(7000000)},
		{new(Bytes), "0", nil},
		{new(Bytes), "2", nil},
		{new(Bytes), "2 Gigs", nil},
		{new(Bytes), "1..2 MiB", nil},
		{new(Bytes), "9e99", nil},
		{new(Bytes), "99999999999 TiB", nil},
	} {
		err := tt.into.UnmarshalText([]byte(tt.text))
		if (err != nil) != (tt.want == nil) {
			t.Errorf("%T %q: error %v, want value %v", tt.into, tt.text, err, tt.want)
			continue
		}
		if got := reflect.ValueOf(tt.into).Elem().Interface(); err == nil && got != tt.want {
			t.Errorf("%T %q: %v, want %v", tt.into, tt.text, got, tt.want)
		}
	}
}

func TestNumbersReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		i := rapid.Int64().Draw(t, "i")
		if got, err := ParseInt(fmt.Sprint(i)); err != nil || got != i {
			t.Fatalf("ParseInt(%d) = %d, %v", i, got, err)
		}
		f := rapid.Float64().Draw(t, "f")
		if got, err := ParseFloat(fmt.Sprint(f)); err != nil || got != f {
			t.Fatalf("ParseFloat(%v) = %v, %v", f, got, err)
		}
	})
}
