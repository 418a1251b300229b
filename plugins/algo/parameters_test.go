package algo

import (
	"context"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/shatterlab/shatter/schemas/pluginv1"
)

type preset string

type everything struct {
	Rounds   int     `doc:"boosting rounds" min:"1" max:"1e6"`
	VCDim    int     `param:"vc"`
	Kappa    float64 `min:"-0.5"`
	RawInput bool
	Preset   preset `choices:"paper, calibrated"`
	Label    string
	hidden   []int
}

func intValue(v int64) *pluginv1.Value { return &pluginv1.Value{Kind: &pluginv1.Value_Int{Int: v}} }
func floatValue(v float64) *pluginv1.Value {
	return &pluginv1.Value{Kind: &pluginv1.Value_Float{Float: v}}
}
func boolValue(v bool) *pluginv1.Value { return &pluginv1.Value{Kind: &pluginv1.Value_Bool{Bool: v}} }
func textValue(v string) *pluginv1.Value {
	return &pluginv1.Value{Kind: &pluginv1.Value_String_{String_: v}}
}

func learns[P any](context.Context, *Trial[P], *Data) (Model, error) { return constant(0), nil }

func TestDescribe(t *testing.T) {
	one, million, low := 1.0, 1e6, -0.5
	a := Algorithm[everything]{
		Name: "acme/all-of-it", Version: "2", Doc: "Has everything.", Learn: learns[everything],
		Defaults:  everything{Rounds: 200, Kappa: 0.25, Preset: "paper", hidden: []int{1}},
		Metrics:   map[string]string{"b": "second", "a": "first"},
		Guarantee: func(*Setting[everything]) (Guarantee, error) { return Guarantee{}, nil },
	}
	got, err := a.describe()
	if err != nil {
		t.Fatal(err)
	}
	want := &pluginv1.Algorithm{
		Name: "acme/all-of-it", Version: "2", Doc: "Has everything.",
		Tasks: []pluginv1.Task{pluginv1.Task_TASK_LEARN}, Private: true,
		Parameters: []*pluginv1.Parameter{
			{Name: "rounds", Doc: "boosting rounds", Default: intValue(200), Min: &one, Max: &million},
			{Name: "vc", Default: intValue(0)},
			{Name: "kappa", Default: floatValue(0.25), Min: &low},
			{Name: "raw_input", Default: boolValue(false)},
			{Name: "preset", Default: textValue("paper"), Choices: []string{"paper", "calibrated"}},
			{Name: "label", Default: textValue("")},
		},
		Metrics: []*pluginv1.Metric{{Name: "a", Doc: "first"}, {Name: "b", Doc: "second"}},
	}
	if d := cmp.Diff(want, got, protocmp.Transform()); d != "" {
		t.Error(d)
	}
}

// TestInvalidAlgorithms checks that an author's mistakes are found before anything is served.
func TestInvalidAlgorithms(t *testing.T) {
	tests := []struct {
		plugin Plugin
		want   string
	}{
		{Algorithm[noise]{Name: "Noisy", Version: "1", Learn: learns[noise]}, `the name "Noisy" must be family/name`},
		{Algorithm[noise]{Name: "a/b", Learn: learns[noise]}, `the version "" must have 1 to 100 bytes`},
		{Algorithm[noise]{Name: "a/b", Version: "1"}, "none of Learn, Predict and Online"},
		{Algorithm[int]{Name: "a/b", Version: "1", Learn: learns[int]}, "of type int: a struct is needed"},
		{Algorithm[noise]{Name: "a/b", Version: "1", Learn: learns[noise], Defaults: noise{Scale: -1}},
			`parameter "scale": its default: -1 is below the smallest allowed, 0`},
		{Algorithm[noise]{Name: "a/b", Version: "1", Learn: learns[noise], Metrics: map[string]string{"Bad Name": ""}},
			`metric "Bad Name"`},
		{invalid[struct{ Rounds []int }](),
			"parameter field Rounds: type []int is not supported: use int, float64, bool or string"},
		{invalid[struct{ Rate float32 }](), "parameter field Rate: type float32"},
		{invalid[struct{ *noise }](), "parameter field noise: it is embedded: only a struct can be"},
		{invalid[struct {
			Scale float64
			noise
		}](), `parameter "scale" is described twice`},
		{invalid[struct{ Sub struct{ A int } }](), "parameter field Sub: type struct"},
		{invalid[struct {
			A int `min:"low"`
		}](), `parameter field A: tag min "low"`},
		{invalid[struct {
			A string `max:"3"`
		}](), `parameter field A: tag max "3"`},
		{invalid[struct {
			A int `choices:"1,2"`
		}](), `parameter field A: tag choices "1,2"`},
		{invalid[struct {
			A string `choices:"x,y"`
		}](), `parameter "a": its default: "" is none of x, y`},
		{invalid[struct {
			A int
			B int `param:"a"`
		}](), `parameter "a" is described twice`},
		{invalid[struct {
			A int `param:"Über"`
		}](), `parameter "Über": use at most 100`},
		{invalid[struct{ Use int }](), `parameter "use": it is a word of the sweep file`},
	}
	for _, tt := range tests {
		_, err := newService([]Plugin{tt.plugin}, nil)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want %q", err, tt.want)
		}
	}
	if _, err := newService(nil, nil); err == nil {
		t.Error("nothing is served")
	}
	if _, err := newService([]Plugin{noisy, noisy}, nil); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Error(err)
	}
}

// Names in descriptions are short and printable, also for plugins in other languages.
func TestCheckDescription(t *testing.T) {
	described := func() *pluginv1.Algorithm {
		return &pluginv1.Algorithm{
			Name: "a/b", Version: "1", Tasks: []pluginv1.Task{pluginv1.Task_TASK_LEARN},
			Metrics:    []*pluginv1.Metric{{Name: "m"}},
			Parameters: []*pluginv1.Parameter{{Name: "x", Default: intValue(1)}},
		}
	}
	if err := CheckDescription(described()); err != nil {
		t.Error(err)
	}
	changes := map[string]func(*pluginv1.Algorithm){
		"no task":      func(d *pluginv1.Algorithm) { d.Tasks = nil },
		"17 metrics":   func(d *pluginv1.Algorithm) { d.Metrics = make([]*pluginv1.Metric, 17) },
		"metric twice": func(d *pluginv1.Algorithm) { d.Metrics = append(d.Metrics, d.Metrics[0]) },
		"no default":   func(d *pluginv1.Algorithm) { d.Parameters[0].Default = nil },
		"limit NaN":    func(d *pluginv1.Algorithm) { d.Parameters[0].Max = proto.Float64(math.NaN()) },
	}
	for _, bad := range []string{"", "a\x1b[2Jb", "a\u202eb", "a\xff", "a\nb", strings.Repeat("a", 101)} {
		changes["name "+bad] = func(d *pluginv1.Algorithm) { d.Name = bad }
		changes["version "+bad] = func(d *pluginv1.Algorithm) { d.Version = bad }
		changes["parameter "+bad] = func(d *pluginv1.Algorithm) { d.Parameters[0].Name = bad }
		changes["metric "+bad] = func(d *pluginv1.Algorithm) { d.Metrics[0].Name = bad }
	}
	for name, change := range changes {
		d := described()
		change(d)
		err := CheckDescription(d)
		if err == nil || len(err.Error()) > 500 || strings.ContainsAny(err.Error(), "\x1b\u202e\n") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// The parameters of an embedded struct are those of the struct that embeds it.
func TestEmbeddedParameters(t *testing.T) {
	type outer struct {
		Rounds int
		noise
	}
	ps, err := parametersOf(reflect.TypeFor[outer]())
	if err != nil {
		t.Fatal(err)
	}
	var got outer
	given := map[string]*pluginv1.Value{
		"rounds": {Kind: &pluginv1.Value_Int{Int: 3}}, "scale": {Kind: &pluginv1.Value_Float{Float: 0.5}},
	}
	if err := ps.set(reflect.ValueOf(&got).Elem(), given); err != nil || got.Rounds != 3 || got.Scale != 0.5 {
		t.Errorf("%+v, %v", got, err)
	}
	if d := cmp.Diff(given, ps.values(reflect.ValueOf(got)), protocmp.Transform()); d != "" {
		t.Error(d)
	}
}

func invalid[P any]() Plugin { return Algorithm[P]{Name: "a/b", Version: "1", Learn: learns[P]} }

func TestSet(t *testing.T) {
	tests := []struct {
		name string
		v    *pluginv1.Value
		want string // text of the error; empty: none
	}{
		{"rounds", intValue(3), ""},
		{"rounds", floatValue(3), ""},
		{"rounds", floatValue(3.5), `parameter "rounds": 3.5 where a whole number is needed`},
		{"rounds", floatValue(1e300), "whole number"},
		{"rounds", intValue(0), `parameter "rounds": 0 is below the smallest allowed, 1`},
		{"rounds", intValue(1e6 + 1), `above the largest allowed, 1e+06`},
		{"rounds", textValue("3"), `"3" where a whole number is needed`},
		{"rounds", nil, "nothing where a whole number is needed"},
		{"kappa", intValue(2), ""},
		{"kappa", intValue(1<<53 + 1), "a number is needed"},
		{"kappa", boolValue(true), "true where a number is needed"},
		{"raw_input", boolValue(true), ""},
		{"raw_input", intValue(1), "1 where true or false is needed"},
		{"preset", textValue("calibrated"), ""},
		{"preset", textValue("papper"), `"papper" is none of paper, calibrated`},
		{"rouds", intValue(1), `unknown parameter "rouds"`},
		{"hidden", intValue(1), `unknown parameter "hidden"`},
	}
	ps, err := parametersOf(reflect.TypeFor[everything]())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		v := everything{Rounds: 7, Preset: "paper"}
		err := ps.set(reflect.ValueOf(&v).Elem(), map[string]*pluginv1.Value{tt.name: tt.v})
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s = %v: %v", tt.name, tt.v, err)
		case tt.want != "" && (err == nil || !IsInvalid(err) || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s = %v: got %v, want %q", tt.name, tt.v, err, tt.want)
		}
	}
	var v everything
	err = ps.set(reflect.ValueOf(&v).Elem(), map[string]*pluginv1.Value{
		"rounds": floatValue(3), "vc": intValue(4), "kappa": intValue(2),
		"raw_input": boolValue(true), "preset": textValue("paper"), "label": textValue("x"),
	})
	want := everything{Rounds: 3, VCDim: 4, Kappa: 2, RawInput: true, Preset: "paper", Label: "x"}
	if d := cmp.Diff(want, v, cmp.AllowUnexported(everything{})); d != "" || err != nil {
		t.Error(d, err)
	}
}

// TestCheck checks that the response contains the parameters that an author's Check resolves, and
// that Learn receives the same ones.
func TestCheck(t *testing.T) {
	var seen float64
	a := Algorithm[noise]{
		Name: "a/b", Version: "1",
		Check: func(s *Setting[noise]) error {
			if s.Params.Scale == 0 {
				s.Params.Scale = s.Epsilon / 2
			}
			return nil
		},
		Guarantee: func(s *Setting[noise]) (Guarantee, error) {
			return Guarantee{Epsilon: s.Params.Scale, Delta: s.Delta, Source: "Theorem 1"}, nil
		},
		Learn: func(_ context.Context, t *Trial[noise], _ *Data) (Model, error) {
			seen = t.Params.Scale
			return constant(0), nil
		},
	}
	s := learnSetting("a/b", 1)
	s.Epsilon, s.Delta = 3, 1e-6
	want := &pluginv1.CheckResponse{
		Parameters: map[string]*pluginv1.Value{"scale": floatValue(1.5)},
		Guarantee:  &pluginv1.Guarantee{Epsilon: 1.5, Delta: 1e-6, Source: "Theorem 1"},
	}
	svc := serviceOf(t, a, &memory{})
	got, err := svc.Check(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got, protocmp.Transform()); d != "" {
		t.Error(d)
	}
	g, err := a.open(s, []uint64{1, 2}, &metrics{trials: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.learn(t.Context(), 0, NewData([]float64{0}, 1, []float64{1}), nil); err != nil || seen != 1.5 {
		t.Error(seen, err)
	}
	s.Task = pluginv1.Task_TASK_ONLINE
	r, err := svc.Check(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if r.Refusal.GetKind() != pluginv1.Refusal_KIND_INVALID ||
		!strings.Contains(r.Refusal.GetMessage(), `does not do the task "online"`) {
		t.Error(r)
	}
}
