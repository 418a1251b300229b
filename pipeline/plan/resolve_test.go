package plan

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"

	"github.com/shatterlab/shatter/pipeline/sweep"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// base is a valid sweep file to break: more keys can be appended.
const base = `name: x
problem: {class: points, domain: 64, distribution: uniform}
algorithms: [expmech/em]
goal: {alpha: 0.1, beta: 0.1}
n: [100]
`

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A table provides algorithms without plugin processes.
type table struct {
	rows   map[string]row
	broken error                     // error of every call of Ask
	claim  func(*pluginv1.Guarantee) // changes every guarantee; nil: no change
	boast  func(*pluginv1.Bound)     // changes every proved bound; nil: no change
	checks atomic.Int64
	bounds atomic.Int64
}

type row struct {
	plugin string
	*pluginv1.Algorithm
	pure  bool
	real  bool // its guarantee covers means
	check func(s *pluginv1.Setting, params map[string]*pluginv1.Value) *pluginv1.Refusal
}

func (a *table) List(context.Context) ([]Described, error) {
	var all []Described
	for _, r := range a.rows {
		all = append(all, Described{Plugin: r.plugin, Algorithm: r.Algorithm})
	}
	return all, nil
}

func (a *table) Ask(_ context.Context, _ string, settings []*pluginv1.Setting) ([]*pluginv1.Answer, error) {
	var answers []*pluginv1.Answer
	for _, s := range settings {
		checked := a.check(s)
		answer := &pluginv1.Answer{Check: checked}
		if b := pluginv1.BoundSetting(s, checked); b != nil {
			answer.Bound = a.bound(b)
		}
		answers = append(answers, answer)
	}
	return answers, a.broken
}

func (a *table) check(s *pluginv1.Setting) *pluginv1.CheckResponse {
	a.checks.Add(1)
	r := a.rows[s.GetAlgorithm()]
	params := map[string]*pluginv1.Value{}
	for _, p := range r.GetParameters() {
		params[p.GetName()] = p.GetDefault()
	}
	for name, v := range s.GetParameters() {
		params[name] = v
	}
	if r.check != nil {
		if refusal := r.check(s, params); refusal != nil {
			return &pluginv1.CheckResponse{Refusal: refusal}
		}
	}
	out := &pluginv1.CheckResponse{Parameters: params}
	if r.GetPrivate() {
		out.Guarantee = &pluginv1.Guarantee{Pure: r.pure, Epsilon: s.GetEpsilon(), Source: "table", RealValued: r.real}
		if !r.pure {
			out.Guarantee.Delta = s.GetDelta()
		}
		if a.claim != nil {
			a.claim(out.Guarantee)
		}
	}
	return out
}

func (a *table) bound(s *pluginv1.Setting) *pluginv1.BoundResponse {
	a.bounds.Add(1)
	if s.GetEpsilon() == 0 {
		return &pluginv1.BoundResponse{}
	}
	proved := &pluginv1.Bound{
		Name: "proved", Source: "table", Value: 100 / s.GetEpsilon(), Proved: true, With: map[string]float64{"k": 3},
	}
	if a.boast != nil {
		a.boast(proved)
	}
	return &pluginv1.BoundResponse{Bounds: []*pluginv1.Bound{
		proved, {Name: "printed", Source: "table", Value: math.Inf(1)},
	}}
}

func intValue(n int64) *pluginv1.Value { return &pluginv1.Value{Kind: &pluginv1.Value_Int{Int: n}} }
func floatValue(x float64) *pluginv1.Value {
	return &pluginv1.Value{Kind: &pluginv1.Value_Float{Float: x}}
}
func stringValue(s string) *pluginv1.Value {
	return &pluginv1.Value{Kind: &pluginv1.Value_String_{String_: s}}
}

// algorithms returns a table that resembles the built-in algorithms.
func algorithms() *table {
	invalid := func(format string, args ...any) *pluginv1.Refusal {
		return &pluginv1.Refusal{Kind: pluginv1.Refusal_KIND_INVALID, Message: fmt.Sprintf(format, args...)}
	}
	one := 1.0
	a := &table{rows: map[string]row{}}
	learn := []pluginv1.Task{pluginv1.Task_TASK_LEARN}
	parameters := []*pluginv1.Parameter{
		{Name: "preset", Default: stringValue("calibrated"), Choices: []string{"paper", "calibrated"}},
		{Name: "rounds", Default: intValue(0), Min: new(float64)},
		{Name: "lambda", Default: floatValue(8), Min: new(float64)},
		{Name: "kappa", Default: floatValue(0.3), Min: new(float64), Max: &one},
		{Name: "unit", Default: &pluginv1.Value{Kind: &pluginv1.Value_Bool{Bool: false}}},
	}
	a.add(row{Algorithm: &pluginv1.Algorithm{
		Name: "boosting/hs-stl", Tasks: learn, Private: true, Parameters: parameters,
	}, check: func(s *pluginv1.Setting, params map[string]*pluginv1.Value) *pluginv1.Refusal {
		if s.GetProblem().GetClass() != "halfspace" {
			return invalid("needs halfspaces")
		}
		if d := s.GetProblem().GetDim(); d == 50 && params["rounds"].GetInt() == 400 {
			return invalid("400 rounds are too many for d = %d", d)
		}
		if params["rounds"].GetInt() == 0 {
			params["rounds"] = intValue(map[string]int64{"paper": 94436, "calibrated": 50}[params["preset"].GetString_()])
		}
		return nil
	}})
	a.add(row{Algorithm: &pluginv1.Algorithm{Name: "expmech/em", Tasks: learn, Private: true}, pure: true})
	a.add(row{Algorithm: &pluginv1.Algorithm{Name: "expmech/pf", Tasks: learn, Private: true}, pure: true})
	a.add(row{Algorithm: &pluginv1.Algorithm{Name: "baseline/perceptron", Tasks: learn}})
	a.add(row{Algorithm: &pluginv1.Algorithm{
		Name: "baseline/erm", Tasks: learn,
	}, check: func(s *pluginv1.Setting, _ map[string]*pluginv1.Value) *pluginv1.Refusal {
		if s.GetAlpha() == 0.4 {
			return &pluginv1.Refusal{Kind: pluginv1.Refusal_KIND_INFEASIBLE, Message: "not at this alpha"}
		}
		return nil
	}})
	game := []pluginv1.Task{pluginv1.Task_TASK_PREDICT}
	a.add(row{Algorithm: &pluginv1.Algorithm{Name: "test/game", Tasks: game}})
	a.add(row{Algorithm: &pluginv1.Algorithm{
		Name: "test/greedy", Tasks: game, Metrics: []*pluginv1.Metric{{Name: "hard_queries"}},
	}})
	a.add(row{Algorithm: &pluginv1.Algorithm{Name: "online/soa", Tasks: []pluginv1.Task{pluginv1.Task_TASK_ONLINE}}})
	return a
}

func (a *table) add(r row) { a.rows[r.GetName()] = r }

func resolve(t testing.TB, src string, a *table, dir string) (*Plan, error) {
	t.Helper()
	return Resolve(t.Context(), sweep.Read("s", []byte(src)), a, Options{Dir: dir})
}

func mustResolve(t testing.TB, src string, a *table, dir string) *Plan {
	t.Helper()
	p, err := resolve(t, src, a, dir)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// oneLine describes a cell in one line.
func oneLine(c *trial.Cell) string {
	p := c.Problem
	problem := fmt.Sprintf("class %s d %d margin %v noise %s %v domain %d",
		p.Class, p.Dim, p.Margin, p.Noise.Kind, p.Noise.Rate, p.Domain)
	return fmt.Sprintf("%s %s | %v | eps %v delta %v | alpha %v beta %v reference %v | replica %d",
		c.As, problem, c.Params, c.Epsilon, c.Delta, c.Alpha, c.Beta, c.Reference, c.Replica)
}

func listing(p *Plan) []byte {
	var b bytes.Buffer
	for _, c := range p.Cells {
		fmt.Fprintf(&b, "%s data %s noise %s | %s\n", c.Key.Short(), c.DataKey.Short(), c.NoiseKey.Short(), oneLine(c))
	}
	return b.Bytes()
}

// The keys in the golden file may change only together with Format.
func TestResolveExample(t *testing.T) {
	p := mustResolve(t, testkit.ReadFile(t, "../../schemas/testdata/halfspace-margin.yaml"), algorithms(), "")
	testkit.Golden(t, "halfspace-margin.cells", listing(p))
	c := p.Cells[0]
	got, want := *c.Find, trial.Find{From: 64, To: 1e6, Within: 1.5, Confidence: 0.95}
	if got != want || c.MaxTrials != 50000 || c.N != nil || c.Trials != 0 {
		t.Errorf("find %+v, max %d, n %v, trials %d", got, c.MaxTrials, c.N, c.Trials)
	}
	var words bytes.Buffer
	if err := p.Explain(&words, 0); err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "halfspace-margin.explain", words.Bytes())
	if got, want := p.Counts(), (Counts{Cells: 11, Trials: 11 * 8, TrialsMax: 11 * 50000}); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
}

func TestResolveGrids(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "data"), 0o755); err != nil {
		t.Fatal(err)
	}
	csv := "age,hours,sex,income\n30,40,f,>50K\n50,20,m,<=50K\n20,50,f,<=50K\n"
	if err := os.WriteFile(filepath.Join(dir, "data", "adult.csv"), []byte(csv), 0o644); err != nil {
		t.Fatal(err)
	}
	src := testkit.ReadFile(t, "../../schemas/testdata/grids.yaml")
	src = src[:strings.LastIndex(src, "  - problem:")]                                  // no file of the last block exists
	src = strings.Replace(src, "reference: [best, 0, 0.01]", "reference: [0, 0.01]", 1) // no exact best on the dataset
	src = strings.Replace(src, "{use: boosting/hs-stl, preset: calibrated, rounds: [50, 400], lambda: 8, weak: raw",
		"{use: boosting/hs-stl, preset: calibrated, rounds: [50, 100], lambda: 8, unit: true", 1)
	p := mustResolve(t, src, algorithms(), dir)
	testkit.Golden(t, "grids.cells", listing(p))
	var words bytes.Buffer
	if err := p.Explain(&words, 0); err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "grids.explain", words.Bytes())
	c := p.Cells[len(p.Cells)-1]
	file := filepath.Join(dir, "data", "adult.csv")
	if d := c.Problem.Data; d == nil || d.File != file || d.Scale.Ranges["hours"] != [2]float64{-99, 99} {
		t.Errorf("data %+v", c.Problem.Data)
	}
	if got, want := c.N, []int64{100, 1000, 10000}; !cmp.Equal(got, want) || c.Trials != 100 || c.Find != nil {
		t.Errorf("n %v, trials %d, find %v", got, c.Trials, c.Find)
	}
	if c.Limits.Trial.Minutes() != 90 || c.Limits.Memory != 512<<20 {
		t.Errorf("limits %+v", c.Limits)
	}
}

func TestResolvedParameters(t *testing.T) {
	src := `name: x
problem: {class: halfspace, d: 10, margin: 0.1, distribution: skew}
algorithms:
  - {use: boosting/hs-stl, preset: [paper, calibrated]}
  - {use: boosting/hs-stl, as: y, rounds: 1e2, lambda: 4, unit: true}
privacy: {epsilon: 1, delta: 1e-6}
goal: {alpha: 0.1, beta: 0.1}
n: 100
`
	p := mustResolve(t, src, algorithms(), "")
	want := []trial.Params{
		{"preset": "paper", "rounds": int64(94436), "lambda": 8.0, "kappa": 0.3, "unit": false},
		{"preset": "calibrated", "rounds": int64(50), "lambda": 8.0, "kappa": 0.3, "unit": false},
		{"preset": "calibrated", "rounds": int64(100), "lambda": 4.0, "kappa": 0.3, "unit": true},
	}
	for i, c := range p.Cells {
		if diff := cmp.Diff(want[i], c.Params); diff != "" {
			t.Error(diff)
		}
	}
	// the preset written in full is the same cell
	changed := strings.Replace(src, "preset: [paper, calibrated]", "preset: paper, rounds: 94436", 1)
	explicit := mustResolve(t, changed, algorithms(), "")
	if explicit.Cells[0].Key != p.Cells[0].Key {
		t.Error("a default that is written out changes the key")
	}
}

func TestZip(t *testing.T) {
	src := `name: x
problem: {class: halfspace, d: [10, 20, 30], margin: [0.1, 0.2, 0.3], distribution: [iso, skew]}
algorithms:
  - {use: boosting/hs-stl, rounds: [1, 2, 3], lambda: [4, 5]}
  - baseline/perceptron
  - baseline/erm
privacy: {epsilon: 1, delta: 1e-6}
goal: {alpha: 0.1, beta: 0.1}
n: 100
zip: [[d, margin, rounds], [distribution, p_lambda]]
`
	var got []string
	for _, c := range mustResolve(t, src, algorithms(), "").Cells {
		problem := fmt.Sprint(c.Problem.Dim, " ", c.Problem.Margin, " ", c.Problem.Distribution)
		got = append(got, fmt.Sprint(problem, " ", c.As, " ", c.Params["rounds"], " ", c.Params["lambda"]))
	}
	var want []string
	for i, d := range []int{10, 20, 30} {
		for j, distribution := range []string{"iso", "skew"} {
			problem := fmt.Sprint(d, " ", []float64{0.1, 0.2, 0.3}[i], " ", distribution)
			want = append(want,
				fmt.Sprint(problem, " boosting/hs-stl ", i+1, " ", 4+j),
				problem+" baseline/perceptron <nil> <nil>",
				problem+" baseline/erm <nil> <nil>")
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// paired with the algorithms: one d each
	src = strings.Replace(src, "[[d, margin, rounds], [distribution, p_lambda]]", "[[margin, algorithm, d]]", 1)
	got = nil
	for _, c := range mustResolve(t, src, algorithms(), "").Cells {
		rounds := c.Params["rounds"]
		if c.Problem.Distribution == "iso" && (rounds == nil || rounds == int64(2) && c.Params["lambda"] == 5.0) {
			got = append(got, fmt.Sprint(c.Problem.Dim, " ", c.Problem.Margin, " ", c.As))
		}
	}
	if diff := cmp.Diff([]string{"10 0.1 boosting/hs-stl", "20 0.2 baseline/perceptron", "30 0.3 baseline/erm"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestExclude(t *testing.T) {
	src := `name: x
problem: {class: points, domain: [2^6, 128, 1e3], distribution: [uniform, needle], mass: 0.1}
algorithms: [expmech/em, baseline/erm]
privacy: {epsilon: [0.5, 1, 2]}
goal: {alpha: [0.1, 0.2], beta: 0.1}
n: 100
exclude:
  - {distribution: uniform}
  - {algorithm: expmech/em, epsilon: [0.5, 2], domain: [64, 2^7]}
  - {algorithm: baseline/erm, alpha: 0.20, domain: 1000}
`
	var got []string
	for _, c := range mustResolve(t, src, algorithms(), "").Cells {
		got = append(got, fmt.Sprintf("%d %s %v %v", c.Problem.Domain, c.As, c.Epsilon, c.Alpha))
	}
	want := []string{
		"64 expmech/em 1 0.1", "64 expmech/em 1 0.2", "64 baseline/erm 0 0.1", "64 baseline/erm 0 0.2",
		"128 expmech/em 1 0.1", "128 expmech/em 1 0.2", "128 baseline/erm 0 0.1", "128 baseline/erm 0 0.2",
		"1000 expmech/em 0.5 0.1", "1000 expmech/em 0.5 0.2", "1000 expmech/em 1 0.1", "1000 expmech/em 1 0.2",
		"1000 expmech/em 2 0.1", "1000 expmech/em 2 0.2", "1000 baseline/erm 0 0.1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

const predict = `task: predict
name: x
problem: {class: thresholds, domain: 64, distribution: uniform}
algorithms: [test/game]
goal: {alpha: 0.1, beta: 0.1}
n: [100]
queries: 10
adversary: {kind: boundary}
`

// Cells of games: queries and adversary are part of their identity, and all algorithms that play
// against an adversary share its randomness.
func TestResolvePredict(t *testing.T) {
	src := strings.NewReplacer(
		"queries: 10", "queries: [10, 20]",
		"{kind: boundary}", "[{kind: [boundary, repeat], offline: true}, {kind: adaptive}]",
		"[test/game]", "[test/game, {use: test/game, as: again, replica: 1}]",
	).Replace(predict)
	cells := mustResolve(t, src, algorithms(), "").Cells
	keys, adversaries := map[trial.Key]bool{}, map[trial.Key]bool{}
	var got []string
	for _, c := range cells {
		keys[c.Key], adversaries[c.AdversaryKey] = true, true
		s := c.Setting(5)
		if s.Task != pluginv1.Task_TASK_PREDICT || int(s.Queries) != c.Queries || s.Offline != c.Adversary.Offline {
			t.Errorf("setting %v", s)
		}
		if !slices.Equal(c.Metrics, []string{
			"disagreement", "final_error", "hard_queries", "query_error", "states_probed",
		}) {
			t.Errorf("metrics %v", c.Metrics)
		}
		got = append(got, fmt.Sprintf("%s %d %v", c.As, c.Queries, c.Adversary))
	}
	if len(keys) != 12 || len(adversaries) != 3 {
		t.Errorf("%d keys, %d adversaries", len(keys), len(adversaries))
	}
	want := []string{
		"test/game 10 boundary offline", "test/game 10 repeat offline", "test/game 10 adaptive sees labels",
		"test/game 20 boundary offline", "test/game 20 repeat offline", "test/game 20 adaptive sees labels",
	}
	if diff := cmp.Diff(want, got[:6]); diff != "" {
		t.Error(diff)
	}
}

// A plan describes the metrics of its algorithms: once if their descriptions agree, otherwise for
// each algorithm.
func TestResolveMetrics(t *testing.T) {
	declared := func(name, alike, other string) row {
		return row{Algorithm: &pluginv1.Algorithm{
			Name: name, Tasks: []pluginv1.Task{pluginv1.Task_TASK_LEARN},
			Metrics: []*pluginv1.Metric{{Name: "other", Doc: other}, {Name: "alike", Doc: alike}},
		}}
	}
	a := algorithms()
	a.add(declared("test/a", "the same [points]", "one [s]"))
	a.add(declared("test/b", "the same\n[points]", "two\n\x1b[2J"))
	got := mustResolve(t, `name: x
task: learn
problem: {class: thresholds, domain: 64, distribution: uniform}
goal: {alpha: 0.1, beta: 0.1}
algorithms: [test/a, test/b, {use: test/a, as: again, replica: 1}]
n: [10]
trials: 7
`, a, "").Metrics
	want := []schemas.Metric{
		{Name: "alike", Doc: "the same", Unit: "points"}, {Name: "other", Doc: "test/a: one [s]; test/b: two [2J"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Cells of online games: rounds replace n, there is no goal, and checks use the largest number of
// rounds.
func TestResolveOnline(t *testing.T) {
	cells := mustResolve(t, `name: x
task: online
problem: {class: thresholds, domain: 64, distribution: uniform}
algorithms: [online/soa]
rounds: [100, 10]
adversary: [{kind: tree}, {kind: planted, rate: [0, 0.1]}]
trials: 7
`, algorithms(), "").Cells
	var got []string
	for _, c := range cells {
		got = append(got, fmt.Sprintf("%v %v %d", c.Adversary, c.N, c.Trials))
		a, b := c.Setting(0), c.Setting(10)
		if a.Rounds != 100 || b.Rounds != 10 || b.N != 0 || b.Task != pluginv1.Task_TASK_ONLINE {
			t.Errorf("settings %v, %v", a, b)
		}
		if !slices.Equal(c.Metrics, []string{"best_loss", "loss", "mistakes", "regret"}) {
			t.Errorf("metrics %v", c.Metrics)
		}
	}
	if diff := cmp.Diff([]string{"tree sees answers [10 100] 7", "planted [10 100] 7", "planted 0.1 [10 100] 7"}, got); diff != "" {
		t.Error(diff)
	}
}

// The first point of a bisection is part of the adversary and of its keys; without it, the
// adversary's JSON lacks the key.
func TestResolveFirstPoint(t *testing.T) {
	cells := mustResolve(t, `name: x
task: online
problem: {class: thresholds-naturals}
algorithms: [online/soa]
rounds: [10]
adversary: {kind: bisecting, from: [8, 2^20, 2^52]}
exclude: [{from: 2^52}]
`, algorithms(), "").Cells
	if len(cells) != 2 {
		t.Fatalf("%d cells, want 2", len(cells))
	}
	a, b := cells[0], cells[1]
	if a.Key == b.Key || a.AdversaryKey == b.AdversaryKey || a.DataKey != b.DataKey {
		t.Errorf("cells %+v", cells)
	}
	for want, v := range map[string]any{
		`{"from":1048576,"kind":"bisecting"}`:                     cells[1].Adversary,
		`{"kind":"tree","sees":"answers"}`:                        schemas.Adversary{Kind: "tree", Sees: "answers"},
		`{"class":"thresholds-naturals","noise":{"kind":"none"}}`: cells[0].Problem,
	} {
		if got, err := trial.Canonical(v); string(got) != want || err != nil {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
	if got := cells[1].Adversary.String(); got != "bisecting from 1048576" {
		t.Error(got)
	}
}

func TestResolveMistakes(t *testing.T) {
	testkit.Serial(t)
	half := `name: x
problem: {class: halfspace, d: [10, 50], margin: 0.1, distribution: skew}
algorithms:
  - {use: boosting/hs-stl, rounds: 400}
  - baseline/perceptron
privacy: {epsilon: [1, 2], delta: 1e-6}
goal: {alpha: 0.1, beta: 0.1}
n: [100]
`
	private := base + "privacy: {epsilon: 1}\n"
	change := func(src string, pairs ...string) string {
		out := strings.NewReplacer(pairs...).Replace(src)
		if out == src {
			panic("nothing changed: " + pairs[0])
		}
		return out
	}
	for _, tt := range []struct {
		name, src string
		want      []string
	}{
		{"adversary that does not fit", change(predict, "class: thresholds, domain: 64", "class: parities, d: 6"), []string{
			`s:8:19: adversary.kind: "boundary" does not fit the class parities; choose stochastic or repeat`}},
		{"width", change(predict, "kind: boundary", "kind: boundary, width: [3, 64]"), []string{`s:8:36: adversary.width: 64 is outside [0, 64)`}},
		{"metric of the worker", change(predict, "test/game", "test/greedy"), []string{
			`s:4:14: algorithms[0]: "test/greedy" declares the metric "hard_queries", which workers measure themselves: rename it in the plugin`}},
		{"unknown algorithm", change(private, "expmech/em", "expmech/me"), []string{`s:3:14: algorithms[0]: unknown algorithm "expmech/me", did you mean "expmech/em"?`}},
		{"unknown algorithm after use", change(private, "expmech/em", "{use: nothing}"), []string{
			`s:3:20: algorithms[0].use: unknown algorithm "nothing"; there is baseline/erm, baseline/perceptron, boosting/hs-stl, expmech/em, expmech/pf, online/soa, test/game, test/greedy`}},
		{"algorithm of another task", change(private, "expmech/em", "online/soa"), []string{`s:3:14: algorithms[0]: ` +
			`"online/soa" does not support the task learn`}},
		{"unknown parameter near use", change(half, "rounds", "a"), []string{`s:4:28: algorithms[0].a: unknown parameter, did you mean "as"?`}},
		{"types of parameters", change(half, "rounds: 400", "rounds: [1.5, '2', x], lambda: -1, kappa: 1.5, unit: yes, preset: papr"), []string{
			`s:4:37: algorithms[0].rounds[0]: 1.5 is not a whole number`,
			`s:4:42: algorithms[0].rounds[1]: a whole number was expected, not the text "2"`,
			`s:4:47: algorithms[0].rounds[2]: "x" is not a whole number`,
			`s:4:59: algorithms[0].lambda: -1 is outside [0, inf)`,
			`s:4:70: algorithms[0].kappa: 1.5 is outside [0, 1]`,
			`s:4:81: algorithms[0].unit: true or false was expected, not "yes"`,
			`s:4:94: algorithms[0].preset: unknown value "papr", did you mean "paper"?`}},
		{"no budget", base, []string{`s:3:14: algorithms[0]: "expmech/em" is private and needs a budget, next to ` +
			`algorithms: privacy: {epsilon: 1, delta: 1e-6}`}},
		{"names that clash", change(half, "baseline/perceptron", "{use: boosting/hs-stl, rounds: 3}"), []string{
			`s:4:5: algorithms[0]: boosting/hs-stl refuses this (d 50, epsilon 1 and 1 more): 400 rounds are too many for d = 50; change it, or exclude it`,
			`s:5:5: algorithms[1]: the name "boosting/hs-stl" is in use by algorithms[0]: rename one of them with "as"`}},
		{"name of another algorithm", change(half, "rounds: 400", "as: baseline/erm"), []string{
			`s:4:32: algorithms[0].as: "baseline/erm" is the name of another algorithm`}},
		{"refused once for all", change(private, "expmech/em", "boosting/hs-stl"), []string{
			`s:3:14: algorithms[0]: boosting/hs-stl refuses this: needs halfspaces; change it, or exclude it`}},
		{"exclude matches nothing", half + "exclude: [{d: 50}, {d: 60}, {algorithm: baseline/perceptron, epsilon: 1}]", []string{
			`s:9:20: exclude[1]: matches no cell: check the names and values, or remove it`,
			`s:9:29: exclude[2]: matches no cell: check the names and values, or remove it`}},
		{"exclude by a name that is none", half + "exclude: [{algoithm: x}, {p_round: 1}]", []string{
			`s:9:12: exclude[0].algoithm: unknown name, did you mean "algorithm"?`, `s:9:27: exclude[1].p_round: unknown name, did you mean "p_rounds"?`}},
		{"everything excluded", half + "exclude: [{class: halfspace}]", []string{`s:9:10: exclude: every cell is ` +
			`excluded: remove an exclusion`}},
		{"empty exclusion", half + "exclude: [{}]", []string{`s:9:11: exclude[0]: an empty exclusion would match ` +
			`every cell: remove it`}},
		{"zip of unknown names", half + "zip: [[d, margn], [d]]", []string{`s:9:11: zip[0][1]: unknown axis "margn", did you mean "margin"?`,
			`s:9:19: zip[1]: zip must be a list of lists of at least two axes: [[d, margin]]`}},
		{"zip of different lengths", half + "zip: [[d, margin]]", []string{`s:9:7: zip[0]: lengths differ: "d" has 2 values, "margin" has 1`}},
		{"a goal that coins reach", change(half, "alpha: 0.1", "alpha: 0.25, reference: [0.2, 0.25]"), []string{
			`s:4:5: algorithms[0]: boosting/hs-stl refuses this (d 50, epsilon 1, reference 0.2 and 1 more): ` +
				`400 rounds are too many for d = 50; change it, or exclude it`,
			`s:7:32: goal.reference: alpha 0.25 above the reference 0.25 allows an error of 0.5, and random answers reach ` +
				`1/2 without data: ` +
				`their sum must be below 1/2`}},
		{"means of private labels", change(private, "alpha: 0.1", "answers: mean, alpha: 0.1"), []string{
			`s:4:17: goal.answers: the guarantee of expmech/em covers labels only, and a ` +
				`mean reveals more than a label: leave answers out, or give expmech/em a grid of its own ` +
				`without it (its author may set Guarantee.RealValued if a proof covers means)`}},
		{"sequential where errors are exact", change(private, "beta", "evaluation: sequential, beta"), []string{
			`s:4:32: goal.evaluation: sequential changes nothing here: no error is measured on at least 256 independent ` +
				`points of a distribution; leave it out`}},
		{"sequential and a small beta", change(half, "400", "100", "beta: 0.1", "beta: [0.1, 0.005], evaluation: sequential"), []string{
			`s:7:26: goal.beta: 0.005 is outside [0.01, 0.99]: with evaluation: sequential, a share 0.0001 of trials may ` +
				`be misjudged, which must be small compared with beta; leave evaluation out, or change beta`}},
		{"problem at one value of an axis", change(half, "[10, 50]", "[10, 1]"), []string{`s:2:37: problem.d[1]: 1 is outside [2, 1048576]`}},
		{"alpha within adversarial noise", change(half, "skew", "skew, noise: [{kind: random, rate: 0.2}, "+
			"{kind: adversarial, rate: [0.05, 0.1]}]", "[10, 50]", "10", "400", "100", "n: [100]", "n: {from: 16, to: 1e6}",
			"alpha: 0.1", "alpha: [0.04, 0.2], reference: [best, 0.06]"), []string{
			`s:7:16: goal.alpha[0]: an error of at most 0.04 is not above the rate 0.05 of adversarial noise, under ` +
				`which samples of any size may look as if another target at that distance had labeled them: no learner ` +
				`reaches it reliably, so there is no n to find; raise alpha, lower noise.rate, or list sample sizes`,
			`s:7:16: goal.alpha[0]: an error of at most 0.04 is not above the rate 0.1 of adversarial noise, under which ` +
				`samples of any size may look as if another target at that distance had labeled them: no learner reaches it ` +
				`reliably, so there is no n to find; raise alpha, lower noise.rate, or list sample sizes`,
			`s:7:16: goal.alpha[0]: an error of at most 0.1 is not above the rate 0.1 of adversarial noise, under which ` +
				`samples of any size may look as if another target at that distance had labeled them: no learner reaches it ` +
				`reliably, so there is no n to find; raise alpha, lower noise.rate, or list sample sizes`}},
		{"10^12 cells", change(half, "[10, 50]", list(1000), "margin: 0.1", "margin: "+fractions(1000), "[1, 2]", list(1000)) + "seed: 3", []string{
			`s:4:5: algorithms[0]: with this algorithm the sweep has 1000000000 cells; at most 200000 are allowed: ` +
				`shorten an axis, or write several sweeps`}},
		{"10^24 cells", change(half, "[10, 50]", list(10000), "margin: 0.1", "margin: "+fractions(10000), "[1, 2]", list(10000), "alpha: 0.1", "alpha: "+fractions(10000),
			"beta: 0.1", "beta: "+fractions(10000)), []string{
			`s:4:5: algorithms[0]: with this algorithm the sweep has more than 10^18 cells; at most 200000 are allowed: ` +
				`shorten an axis, or write several sweeps`}},
		{"too many trials", change(private, "[100]", list(1000)) + "trials: 1e9", []string{
			`s:3:14: algorithms[0]: with this algorithm the sweep has 1000000000000 trials; at most 10000000000 are allowed`}},
		{"two names for one cell", change(private, "[expmech/em]", "[expmech/em, {use: expmech/em, as: em}]"), []string{
			`s:3:26: algorithms[1]: "em" has a cell that equals one of "expmech/em" (algorithms[0]): remove it, or give ` +
				`it independent noise with "replica: 1"`}},
		{"one cell measured twice", private + "grids: [{n: [100]}, {n: [200]}]", []string{
			`s:7:25: grids[1].n: "expmech/em" has a cell that is also in grids[0], with other n or trials`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := resolve(t, tt.src, algorithms(), t.TempDir())
			var problems sweep.Mistakes
			if !errors.As(err, &problems) {
				t.Fatalf("error %v", err)
			}
			if diff := cmp.Diff(strings.Join(tt.want, "\n"), err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func list(n int) string {
	var parts []string
	for i := range n {
		parts = append(parts, fmt.Sprint(i+2))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func fractions(n int) string {
	var parts []string
	for i := range n {
		parts = append(parts, fmt.Sprint(float64(i+1)/float64(2*n+2)))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// Sweeps that would be too large are refused before they are expanded.
func TestSizesAreCountedFirst(t *testing.T) {
	testkit.Serial(t)
	letters := func(prefix string) string {
		var parts []string
		for i := range 5000 {
			parts = append(parts, fmt.Sprint(prefix, i))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	private := base + "privacy: {epsilon: 1}\n"
	for _, tt := range []struct{ name, src, want string }{
		{"datasets", strings.Replace(private, "distribution: uniform", "data: {file: "+letters("f")+", label: "+letters("l")+", positive: "+letters("p")+"}", 1),
			"problem.data: 125000000000 combinations of datasets"},
		{"algorithms in many blocks", strings.Replace(private, "[expmech/em]", strings.Replace(letters("a/"), "a/0", "expmech/em", 1), 1) +
			"grids: [" + strings.Repeat("{n: [5]}, ", 5000) + "{n: [5]}]", "exceeds 10000 algorithms"},
		{"axes and many algorithms", strings.Replace(strings.Replace(private, "[expmech/em]", "["+func() string {
			var parts []string
			for i := range 5000 {
				parts = append(parts, fmt.Sprintf("{use: expmech/em, as: a%d}", i))
			}
			return strings.Join(parts, ", ")
		}()+"]", 1), "64", list(50_000), 1) + "exclude: [{domain: 5}]", "at most 200000 are allowed"},
	} {
		_, err := resolve(t, tt.src, algorithms(), "")
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %.300q, want %q", tt.name, fmt.Sprint(err), tt.want)
		}
	}
}

// The cells are those of nested loops over the axes, for any zip and exclude.
func TestExpansion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		domains := rapid.IntRange(1, 4).Draw(t, "domains")
		epsilons := rapid.IntRange(1, 4).Draw(t, "epsilons")
		alphas := rapid.IntRange(1, 3).Draw(t, "alphas")
		zipped := domains == alphas && rapid.Bool().Draw(t, "zip")
		out := rapid.IntRange(2, domains+2).Draw(t, "excluded domain")
		src := strings.Replace(base, "64", list(domains), 1)
		src = strings.Replace(src, "alpha: 0.1", "alpha: "+fractions(alphas), 1)
		src = strings.Replace(src, "expmech/em", "expmech/em, baseline/erm", 1)
		src += "privacy: {epsilon: " + list(epsilons) + "}\n"
		if zipped {
			src += "zip: [[alpha, domain]]\n"
		}
		if out < domains+2 {
			src += fmt.Sprintf("exclude: [{algorithm: baseline/erm, domain: %d}]\n", out)
		}
		var want []string
		for d := range domains {
			for _, name := range []string{"expmech/em", "baseline/erm"} {
				for e := range epsilons {
					for a := range alphas {
						if zipped && a != d || name == "baseline/erm" && (d+2 == out || e > 0) {
							continue
						}
						budget := e + 2
						if name == "baseline/erm" {
							budget = 0
						}
						want = append(want, fmt.Sprint(d+2, " ", name, " ", budget, " ", float64(a+1)/float64(2*alphas+2)))
					}
				}
			}
		}
		f, err := sweep.Parse("s", []byte(src))
		if err != nil {
			t.Fatal(err)
		}
		p, err := Resolve(context.Background(), f, algorithms(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range p.Cells {
			got = append(got, fmt.Sprint(c.Problem.Domain, " ", c.As, " ", c.Epsilon, " ", c.Alpha))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s\n%s", src, diff)
		}
	})
}

func TestPluginPaths(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"good": 0o755, "plain": 0o644} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), mode); err != nil {
			t.Fatal(err)
		}
	}
	f, err := sweep.Parse("s", []byte(base+"plugins: [good, ./none, plain, ., ./good]"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.PluginPaths(dir)
	var problems sweep.Mistakes
	if !errors.As(err, &problems) || len(problems) != 4 {
		t.Fatalf("error %v", err)
	}
	for i, want := range []string{"no such file", "not executable", `its file "good" is for none`, "given twice"} {
		if p := problems[i]; p.Path != fmt.Sprintf("plugins[%d]", i+1) || !strings.Contains(p.Message, want) || p.Line != 6 {
			t.Errorf("mistake %+v, want one about %q", p, want)
		}
	}
	if f, err = sweep.Parse("s", []byte(base+"plugins: good")); err != nil {
		t.Fatal(err)
	}
	paths, err := f.PluginPaths(dir)
	if diff := cmp.Diff([]string{filepath.Join(dir, "good")}, paths); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

// In a grid with an algorithm of a plugin, rows of data for halfspaces are disguised by default.
func TestDisguise(t *testing.T) {
	all := algorithms()
	third := all.rows["baseline/erm"]
	third.plugin = "/x/third"
	third.Algorithm = proto.CloneOf(third.Algorithm)
	third.Name = "third/erm"
	all.rows["third/erm"] = third
	const bare = "disguise: false: third/erm gets the rows of d.csv as they are; if it knows this data from elsewhere, " +
		"it needs fewer examples than a learner that does not"
	const half = "class: halfspace, data: {file: d.csv, scale: 1, "
	const stumps = "class: stumps, domain: 9, data: {file: f.csv, "
	for _, c := range []struct {
		algorithms, problem, key string
		disguised                bool
		warning                  string
	}{
		{"baseline/erm", half, "", false, ""},
		{"baseline/erm, third/erm", half, "", true, ""},
		{"baseline/erm, third/erm", half, ", disguise: true", true, ""},
		{"baseline/erm, third/erm", half, ", disguise: false", false, bare},
		{"third/erm", stumps, "", false, ""},
	} {
		p := mustResolve(t, fmt.Sprintf("name: x\nalgorithms: [%s]\nproblem: {%slabel: y, positive: p}%s}\nn: [10]\n"+
			"goal: {alpha: 0.1, beta: 0.1, reference: 0}", c.algorithms, c.problem, c.key), all, dataFiles(t))
		for _, cell := range p.Cells {
			if cell.Problem.Disguise != c.disguised {
				t.Errorf("%s, %s%s: disguise %v", cell.Algorithm, c.problem, c.key, cell.Problem.Disguise)
			}
		}
		said := slices.DeleteFunc(p.Warnings, func(w string) bool { return !strings.Contains(w, "disguise") })
		if strings.Join(said, "; ") != c.warning {
			t.Errorf("%s, %s%s: warnings %q", c.algorithms, c.problem, c.key, said)
		}
	}
}

func TestPluginsMayNotClaimBuiltInNames(t *testing.T) {
	a := algorithms()
	third := clashing{table: a, extra: Described{Plugin: "/x/acme", Algorithm: a.rows["expmech/em"].Algorithm}}
	f, err := sweep.Parse("s", []byte(base+"privacy: {epsilon: 1}\nplugins: [/x/other, /x/acme]"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = Resolve(t.Context(), f, third, Options{})
	want := `s:7:21: plugins[1]: the algorithm name "expmech/em" is built in: rename the plugin's algorithm`
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

type clashing struct {
	*table
	extra Described
}

func (c clashing) List(ctx context.Context) ([]Described, error) {
	all, err := c.table.List(ctx)
	return append([]Described{c.extra}, all...), err
}

func TestErrorsOfPluginsAreNotMistakesOfTheFile(t *testing.T) {
	a := algorithms()
	a.broken = errors.New("the process is gone")
	_, err := resolve(t, base+"privacy: {epsilon: "+list(50)+"}\n", a, "")
	var problems sweep.Mistakes
	if err == nil || errors.As(err, &problems) || !errors.Is(err, a.broken) {
		t.Errorf("error %v", err)
	}
	f, err := sweep.Parse("s", []byte(base+"privacy: {epsilon: 1}\n"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Resolve(ctx, f, algorithms(), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// An inconsistent guarantee is one mistake, at the line of its algorithm.
func TestImpossibleGuarantees(t *testing.T) {
	src := base + "privacy: {epsilon: [0.5, 1]}\n"
	for _, c := range []struct {
		claim func(*pluginv1.Guarantee)
		want  string // "": no mistake
	}{
		{func(g *pluginv1.Guarantee) {}, ""},
		{func(g *pluginv1.Guarantee) { g.Epsilon *= 2 }, "the guarantee has epsilon 1, above the budget 0.5"},
	} {
		a := algorithms()
		a.claim = c.claim
		_, err := resolve(t, src, a, "")
		if c.want == "" && err == nil {
			continue
		}
		if err == nil || strings.Count(err.Error(), "\n") > 0 ||
			!strings.HasPrefix(err.Error(), "s:3:14: algorithms[0]: expmech/em fails here (epsilon 0.5 and 1 more): "+c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// A bound states for each cell why it does not apply, and an invalid bound is a mistake at the line
// of its algorithm.
func TestBoundsOfCells(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "d.csv"), []byte("x,y\n1,a\n1,b\n1,a\n5,b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	data := strings.NewReplacer("points, domain: 64, distribution: uniform",
		"thresholds, domain: 9, data: {file: d.csv, label: y, positive: b}", "beta: 0.1",
		"beta: 0.1, reference: [0, 0.2, best]")
	for _, c := range []struct {
		src   string
		boast func(b *pluginv1.Bound)
		want  []string // for each cell, parts of the failed premise; "": none
	}{
		{base, func(b *pluginv1.Bound) { b.Premises = []string{"target-in-class", "clean-labels"} }, []string{""}},
		{base, func(b *pluginv1.Bound) {}, []string{"has no premise about the labels"}},
		{base, func(b *pluginv1.Bound) { b.Fails = "k is too small" }, []string{"k is too small"}},
		{data.Replace(base), func(b *pluginv1.Bound) { b.Premises = []string{"best-reference"} },
			[]string{"the least error of the class is 0.25, and goal.reference is 0", "is 0.25, and goal.reference is 0.2", ""}},
		{data.Replace(base), func(b *pluginv1.Bound) { b.Premises = []string{"target-in-class"} },
			[]string{"target-in-class fails", "target-in-class fails", "target-in-class fails"}},
	} {
		a := algorithms()
		a.boast = c.boast
		p := mustResolve(t, c.src+"privacy: {epsilon: 1}\n", a, dir)
		if len(p.Cells) != len(c.want) {
			t.Fatalf("%d cells, want %d", len(p.Cells), len(c.want))
		}
		for i, cell := range p.Cells {
			got := cell.Bounds[0].GetFails()
			if (got == "") != (c.want[i] == "") || !strings.Contains(got, c.want[i]) {
				t.Errorf("%v, reference %v: %q, want %q", cell.Problem.Class, cell.Reference, got, c.want[i])
			}
		}
	}
	for want, boast := range map[string]func(b *pluginv1.Bound){
		`bound "proved" has the premise "luck", which does not exist`: func(b *pluginv1.Bound) { b.Premises = []string{"luck"} },
		`bound "proved" is NaN`: func(b *pluginv1.Bound) { b.Value = math.NaN() },
		`a bound has no name`:   func(b *pluginv1.Bound) { b.Name = "" },
	} {
		a := algorithms()
		a.boast = boast
		_, err := resolve(t, base+"privacy: {epsilon: 1}\n", a, "")
		if err == nil || !strings.HasPrefix(err.Error(), "s:3:14: algorithms[0]: expmech/em fails here: its bounds: "+want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestInfeasibleStays(t *testing.T) {
	src := strings.Replace(strings.Replace(base, "expmech/em", "baseline/erm", 1), "alpha: 0.1", "alpha: [0.1, 0.4]", 1)
	p := mustResolve(t, src, algorithms(), "")
	if len(p.Cells) != 2 || len(p.Warnings) != 2 ||
		!strings.Contains(p.Warnings[0], "infeasible at every n: not at this alpha") ||
		!strings.HasPrefix(p.Warnings[1], "every cell is trivial") {
		t.Errorf("%d cells, warnings %q", len(p.Cells), p.Warnings)
	}
}

// Equal settings are sent to an algorithm once, here for two reference errors.
func TestAskedOnce(t *testing.T) {
	a := algorithms()
	src := strings.Replace(strings.Replace(base, "distribution: uniform", "distribution: [uniform, needle], mass: 0.1", 1),
		"[expmech/em]", "[{use: baseline/erm, replica: [0, 1, 2]}, expmech/em]", 1)
	src = strings.Replace(src, "beta: 0.1", "beta: 0.1, reference: [0, 0.1]", 1) +
		"privacy: {epsilon: [1, 2, 3]}\nexclude: [{distribution: uniform}]\n"
	p := mustResolve(t, src, a, "")
	if len(p.Cells) != 3*2+3*2 || a.checks.Load() != 2*(1+3) || a.bounds.Load() != 2*(1+3) {
		t.Errorf("%d cells, %d checks, %d bounds", len(p.Cells), a.checks.Load(), a.bounds.Load())
	}
}

func TestKeysSayWhatMatters(t *testing.T) {
	src := base + "privacy: {epsilon: 1}\nseed: 1\n"
	first := mustResolve(t, src, algorithms(), "").Cells[0]
	for _, tt := range []struct {
		old, new          string
		cell, data, noise bool // differs
	}{
		{"name: x", "name: y", false, false, false},
		{"[expmech/em]", "[{use: expmech/em, as: other}]", false, false, false},
		{"n: [100]", "n: {from: 16, to: 1e6}", false, false, false},
		{"seed: 1", "limits: {trial: 5s}", false, false, false},
		{"seed: 1", "seed: 2", false, true, true},
		{"domain: 64", "domain: 65", true, true, true},
		{"epsilon: 1", "epsilon: 2", true, false, true},
		{"epsilon: 1", "epsilon: 1, delta: 1e-6", false, false, false},
		{"alpha: 0.1", "alpha: 0.2", true, false, true},
		{"beta: 0.1", "beta: 0.2", true, false, true},
		{"beta: 0.1", "beta: 0.1, reference: 0.1", true, false, true},
		{"beta: 0.1", "beta: 0.1, reference: 0", false, false, false},
		{"[expmech/em]", "[expmech/pf]", true, false, true},
		{"[expmech/em]", "[{use: expmech/em, replica: 1}]", true, false, true},
		{"domain: 64", "domain: 64, noise: {kind: none}", false, false, false},
		{"domain: 64", "domain: 64, noise: {kind: random, rate: 0.1}", true, true, true},
	} {
		changed := strings.Replace(src, tt.old, tt.new, 1)
		if changed == src {
			t.Fatalf("%q changes nothing", tt.old)
		}
		c := mustResolve(t, changed, algorithms(), "").Cells[0]
		cell, data, noise := c.Key != first.Key, c.DataKey != first.DataKey, c.NoiseKey != first.NoiseKey
		if cell != tt.cell || data != tt.data || noise != tt.noise {
			t.Errorf("%s -> %s: cell differs %v, data %v, noise %v", tt.old, tt.new, cell, data, noise)
		}
	}
}

func TestDiff(t *testing.T) {
	src := testkit.ReadFile(t, "../../schemas/testdata/halfspace-margin.yaml")
	old := mustResolve(t, src, algorithms(), "")
	for _, tt := range []struct {
		old, new string
		want     []string
	}{
		{"# or a list", "# or else", nil},
		{"seed: 1", "seed: 1\nlimits: {memory: 1 GiB}", nil},
		{"delta: 1e-6", "delta: 0.000001", nil},
		{"seed: 1", "seed: 2", []string{"seed: 1, now 2"}},
		{"name: halfspace-margin", "name: other", []string{"name: halfspace-margin, now other"}},
		{"as: hs-stl-400", "as: hs-stl-x", nil},
		{"epsilon: [0.5, 1, 2]", "epsilon: [0.5, 1, 4]", []string{"epsilon: 2, now 4", "3 cells new", "3 cells gone", "8 cells as before"}},
		{"epsilon: [0.5, 1, 2]", "epsilon: [0.5, 1]", []string{"epsilon: 2 is gone", "3 cells gone", "8 cells as before"}},
		{"  - baseline/perceptron", "  - baseline/perceptron\n  - baseline/erm", []string{"algorithm: baseline/erm is new", "2 cells new", "11 cells as before"}},
		{"rounds: 400", "rounds: 300", []string{"hs-stl-400.rounds: 400, now 300", "3 cells new", "3 cells gone", "8 cells as before"}},
		{"alpha: 0.1", "alpha: 0.2", []string{"alpha: 0.1, now 0.2", "test: 3605, now 1602", "11 cells new", "11 cells gone", "0 cells as before"}},
		{"max: 50000", "max: 60000", []string{"n and trials: search n from 64 to 1000000, within 1.5, confidence 0.95, " +
			"at most 50000 trials; now search n from 64 to " +
			"1000000, within 1.5, confidence 0.95, at most 60000 trials (11 cells)"}},
		{"[0.5, 1, 2]", "[1, 0.5, 2]", []string{"the order of the cells"}},
	} {
		changed := strings.Replace(src, tt.old, tt.new, 1)
		renamed := strings.Contains(tt.new, "hs-stl-x")
		if renamed {
			changed = strings.Replace(changed, "hs-stl-400, d", "hs-stl-x, d", 1)
		}
		got := Diff(old, mustResolve(t, changed, algorithms(), ""))
		if renamed {
			tt.want = []string{"algorithm: hs-stl-400, now hs-stl-x", "hs-stl-400 is now called hs-stl-x (3 cells)"}
		}
		if len(got) != len(tt.want) {
			t.Errorf("%s -> %s: %q, want %q", tt.old, tt.new, got, tt.want)
			continue
		}
		for i := range got {
			if !strings.HasPrefix(got[i], tt.want[i]) {
				t.Errorf("%s -> %s: %q, want %q", tt.old, tt.new, got, tt.want)
				break
			}
		}
	}
	if got := Diff(nil, old); len(got) != 1 || !strings.Contains(got[0], "another version") {
		t.Errorf("%q", got)
	}
}

// Brackets of remaining cells may move if more cells share the confidence or other trials are read,
// but not if a fit or a name changes or all cells are new.
func TestMoves(t *testing.T) {
	src := testkit.ReadFile(t, "../../schemas/testdata/halfspace-margin.yaml")
	old := mustResolve(t, src, algorithms(), "")
	for _, tt := range []struct{ old, new, want string }{
		{"# or a list", "# or else", ""},
		{"alpha: 0.1", "alpha: 0.2", ""},
		{"epsilon: [0.5, 1, 2]", "epsilon: [0.5, 1, 4]", ""},
		{"epsilon: [0.5, 1, 2]", "epsilon: [0.5, 1]", "brackets of 8 cells may move, including decided ones: " +
			"8 cells share the confidence of the table, not 11"},
		{"max: 50000", "max: 60000", "brackets of 11 cells may move, including decided ones: " +
			"11 cells read other trials"},
	} {
		changed := mustResolve(t, strings.Replace(src, tt.old, tt.new, 1), algorithms(), "")
		if got := DescribeMoves(old, changed); got != tt.want {
			t.Errorf("%s -> %s: %q, want %q", tt.old, tt.new, got, tt.want)
		}
	}
	if got := DescribeMoves(nil, old); got != "" {
		t.Errorf("no earlier plan: %q", got)
	}
}

// A plan whose seed is set later equals the plan of a file with that seed.
func TestSetSeed(t *testing.T) {
	const budget = "privacy: {epsilon: [1, 2]}\n"
	want := mustResolve(t, base+budget+"seed: 7\n", algorithms(), "")
	got := mustResolve(t, base+budget+"seed: secret\n", algorithms(), "")
	if got.Seed.Drawn() || got.Digest() == want.Digest() {
		t.Fatal("a secret seed is known without a folder")
	}
	var words bytes.Buffer
	if err := got.Explain(&words, 0); err != nil || !strings.Contains(words.String(),
		"seed secret: drawn when the sweep is first run") {
		t.Errorf("%s, %v", words.String(), err)
	}
	if err := got.SetSeed(trial.SweepSeed{Seed: schemas.NumberSeed(7)}); err != nil {
		t.Fatal(err)
	}
	if got.Digest() != want.Digest() {
		t.Error("a seed that is set later gives another digest than one of the file")
	}
	for i, c := range got.Cells {
		if d := want.Cells[i]; c.Key != d.Key || c.DataKey != d.DataKey || c.NoiseKey != d.NoiseKey ||
			c.AdversaryKey != d.AdversaryKey {
			t.Errorf("cell %d has other keys", i)
		}
	}
	place := got.SeedMistake("wrong").Error()
	if line := fmt.Sprint(strings.Count(base+budget, "\n") + 1); !strings.Contains(place, ":"+line+":7: seed: wrong") {
		t.Errorf("%s, want line %s", place, line)
	}
}

// The sequential rule changes the keys of cells whose errors are measured on independent points,
// but not their data and noise. It leaves all other cells unchanged.
func TestSequential(t *testing.T) {
	full := `name: x
problem: {class: halfspace, d: 10, margin: 0.1, distribution: [iso, skew]}
algorithms: [baseline/perceptron]
goal: {alpha: 0.1, beta: 0.1}
n: [100]
`
	short := strings.Replace(full, "beta: 0.1", "beta: 0.1, evaluation: sequential", 1)
	a, b := mustResolve(t, full, algorithms(), ""), mustResolve(t, short, algorithms(), "")
	explicit := mustResolve(t, strings.Replace(short, "sequential", "full", 1), algorithms(), "")
	for i, c := range b.Cells {
		d := a.Cells[i]
		if c.Key == d.Key || c.DataKey != d.DataKey || c.NoiseKey != d.NoiseKey || explicit.Cells[i].Key != d.Key {
			t.Errorf("cell %d: keys %v and %v", i, c.Key, d.Key)
		}
		metrics := slices.Sorted(slices.Values(append([]string{"first_error", "points_read"}, d.Metrics...)))
		if c.Evaluation.Words != "at most 3605 points (0.0001)" || !slices.Equal(c.Metrics, metrics) {
			t.Errorf("cell %d: %+v, metrics %v", i, c.Evaluation, c.Metrics)
		}
		if got := c.Setting(100).GetTest(); got >= d.Setting(100).GetTest() || got == 0 {
			t.Errorf("cell %d: bounds are asked about %d points", i, got)
		}
	}
	if lines := Diff(a, b); !slices.Contains(lines, "evaluation: sequential is new") {
		t.Errorf("differences %q", lines)
	}
}

// Means are allowed for algorithms that are not private or whose guarantee covers them. They change
// a cell's key; labels do not.
func TestMeans(t *testing.T) {
	covering := algorithms()
	em := covering.rows["expmech/em"]
	em.real = true
	covering.rows["expmech/em"] = em
	mean := strings.Replace(base, "alpha: 0.1", "answers: mean, alpha: 0.1", 1) + "privacy: {epsilon: 1}\n"
	p := mustResolve(t, mean, covering, "")
	c := p.Cells[0]
	if !c.Means || !c.Setting(10).GetMeans() {
		t.Errorf("cell %+v", c)
	}
	labels := mustResolve(t, strings.Replace(mean, "answers: mean", "answers: labels", 1), algorithms(), "")
	left := mustResolve(t, strings.Replace(mean, "answers: mean, ", "", 1), algorithms(), "")
	if labels.Cells[0].Key != left.Cells[0].Key || labels.Cells[0].Key == c.Key ||
		labels.Cells[0].Setting(10).GetMeans() ||
		labels.Cells[0].DataKey != c.DataKey {
		t.Errorf("keys %v, %v, %v", labels.Cells[0].Key, left.Cells[0].Key, c.Key)
	}
	if lines := Diff(left, p); !slices.Contains(lines, "answers: mean is new") {
		t.Errorf("differences %q", lines)
	}
}
