package schemas

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
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
		if err := root.Validate(decode(t, string(src))); err != nil {
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
		err := root.Validate(decode(t, tt.src))
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

func readSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.NewCompiler().Compile("sweep.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
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
