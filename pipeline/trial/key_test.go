package trial

import (
	"encoding/json"
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestCanonical(t *testing.T) {
	type inner struct {
		B float64 `json:"b"`
		A string  `json:"a,omitempty"`
	}
	for _, tt := range []struct {
		v    any
		want string
	}{
		{nil, `null`},
		{true, `true`},
		{0, `0`},
		{1.0, `1`},
		{1e6, `1000000`},
		{1e21, `1e+21`},
		{1e-6, `0.000001`},
		{1e-7, `1e-7`},
		{0.1, `0.1`},
		{1.0 / 3, `0.3333333333333333`},
		{5e-324, `5e-324`},
		{math.MaxFloat64, `1.7976931348623157e+308`},
		{uint64(math.MaxUint64), `18446744073709551615`},
		{int64(math.MinInt64), `-9223372036854775808`},
		{"a<b>&\"\n\u2028é", `"a<b>&\"\n\u2028é"`},
		{[]any{}, `[]`},
		{map[string]any{"b": 1, "a": []any{2.5, "x"}, "B": nil}, `{"B":null,"a":[2.5,"x"],"b":1}`},
		{inner{B: 2}, `{"b":2}`},
		{[]inner{{B: -0.5, A: "z"}}, `[{"a":"z","b":-0.5}]`},
		{map[string]uint64{"x": 1 << 63}, `{"x":9223372036854775808}`},
	} {
		got, err := Canonical(tt.v)
		if err != nil || string(got) != tt.want {
			t.Errorf("Canonical(%#v) = %s, %v, want %s", tt.v, got, err, tt.want)
		}
	}
}

func TestCanonicalRefusesWhatIsNotANumber(t *testing.T) {
	for _, v := range []any{math.NaN(), math.Inf(1), math.Inf(-1), map[string]any{"x": math.NaN()}, []float64{math.Inf(1)},
		struct{ X float64 }{math.NaN()}, make(chan int)} {
		if got, err := Canonical(v); err == nil {
			t.Errorf("Canonical(%v) = %s, want an error", v, got)
		}
	}
}

func TestCanonicalIsAFixedPoint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawJSON(t, 3)
		first, err := Canonical(v)
		if err != nil {
			t.Fatal(err)
		}
		second, err := Canonical(first)
		if err != nil || string(second) != string(first) {
			t.Fatalf("canonical form of %s is %s, %v", first, second, err)
		}
		var back any
		if err := json.Unmarshal(first, &back); err != nil {
			t.Fatalf("%s is not JSON: %v", first, err)
		}
	})
}

// drawJSON draws a value in the Go types that callers use.
func drawJSON(t *rapid.T, depth int) any {
	kinds := 8
	if depth == 0 {
		kinds = 6
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return rapid.Float64().Draw(t, "float")
	case 3:
		return rapid.Int64().Draw(t, "int")
	case 4:
		return rapid.Uint64().Draw(t, "uint")
	case 5:
		return rapid.String().Draw(t, "string")
	case 6:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "len") {
			list = append(list, drawJSON(t, depth-1))
		}
		return list
	}
	object := map[string]any{}
	for range rapid.IntRange(0, 3).Draw(t, "len") {
		object[rapid.String().Draw(t, "key")] = drawJSON(t, depth-1)
	}
	return object
}

func TestKey(t *testing.T) {
	k, err := KeyOf(map[string]any{"b": 1.0, "a": "x"})
	if err != nil {
		t.Fatal(err)
	}
	// sha256 of {"a":"x","b":1}
	const want = "cdab067e9f3beb32d1252cfd63e492592fecbf591b0d08cadb24bb17f3864246"
	if got := k.Short(); got != "mdab067e9f" {
		t.Errorf("Short %s of %s", got, k)
	}
	text, err := k.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	var back Key
	if err := back.UnmarshalText(text); err != nil || back != k {
		t.Errorf("key %s reads back as %s, %v", k, back, err)
	}
	if k.String() != want {
		t.Errorf("key %s, want %s", k, want)
	}
	for _, bad := range []string{"", "12", k.String() + "00", "zz" + k.String()[2:]} {
		if err := back.UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("key %q was read", bad)
		}
	}
}
