package plugintest

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// roleVariable makes this test binary the plugin that serves the named faulty algorithm.
const roleVariable = "PLUGINTEST_ROLE"

func TestMain(m *testing.M) {
	switch role := os.Getenv(roleVariable); role {
	case "":
		goleak.VerifyTestMain(m)
	case "faults":
		algo.Serve(planted()...)
	case "bounds":
		algo.Serve(bounded()...)
	case "chance":
		algo.Serve(learning(func(*algo.Trial[params], *algo.Data) (algo.Model, error) {
			if rand.Float64() < 0.05 {
				return constantly(-1), nil
			}
			return constantly(1), nil
		}))
	case "problems":
		algo.Serve(generators()...)
	case "raw":
		serveRaw()
	case printsFirst:
		fmt.Println("hello")
		algo.Serve(majority())
	default:
		a := majority()
		a.Name = role
		algo.Serve(a)
	}
}

// planted returns the algorithms with faults that a process can serve, the i-th under the name
// test/i.
func planted() (plugins []algo.Plugin) {
	for i, f := range faults {
		if f.plugin != nil {
			a := f.plugin.(algo.Algorithm[params])
			a.Name = fmt.Sprintf("test/%d", i)
			plugins = append(plugins, a)
		}
	}
	return plugins
}

type params struct {
	Flip float64 `min:"0" max:"1"`
	Mode string  `choices:"mean,zero"`
}

// majority answers with the mean label of its sample, with a little noise.
func majority() algo.Algorithm[params] {
	return algo.Algorithm[params]{
		Name: "test/majority", Version: "1", Doc: "Answers the mean " +
			"label.", Defaults: params{Mode: "mean"}, Metrics: map[string]string{"mean": "the mean"},
		Learn: func(_ context.Context, t *algo.Trial[params], sample *algo.Data) (algo.Model, error) {
			mean := t.Rand.Float64() * 1e-3
			for i := range sample.Len() {
				mean += sample.Y(i) / float64(sample.Len()) * 0.9
			}
			t.Report("mean", mean)
			if !t.Means {
				mean = math.Copysign(1, mean)
			}
			return answer(func(x []float64) float64 { return mean }), nil
		},
		Bound: func(*algo.Setting[params]) ([]algo.Bound, error) {
			return []algo.Bound{{Name: "b", Source: "Theorem 1", Value: 10}}, nil
		},
	}
}

// twoFaced declares a hypothesis, and answers differently.
type twoFaced struct{ *algo.Declared }

func (twoFaced) Predict(_ context.Context, _ *algo.Data, out []float64) error {
	for i := range out {
		out[i] = -1
	}
	return nil
}

// nothing is a model that does not write its answers.
type nothing struct{}

func (nothing) Predict(context.Context, *algo.Data, []float64) error { return nil }

type answer func(x []float64) float64

func (a answer) Predict(_ context.Context, x *algo.Data, out []float64) error {
	for i := range out {
		out[i] = a(x.X(i))
	}
	return nil
}

// TestRun runs the suite on correct algorithms, like an author.
func TestRun(t *testing.T) {
	t.Parallel()
	long := func(t *testing.T) {
		if os.Getenv(pluginv1.CookieKey) == "" { // else a test that was not left out has started this plugin
			testkit.Long(t)
		}
	}
	t.Run("queries", func(t *testing.T) {
		long(t)
		Run(t, playing(func(_ *[]float64, x []float64) float64 { return x[0] }))
	})
	t.Run("own problems", func(t *testing.T) {
		long(t)
		Run(t, majority())
	})
	t.Run("named settings", func(t *testing.T) {
		Run(t, majority(),
			Setting{
				Problem: algo.Problem{Class: "halfspace", Dim: 3, Margin: 0.2}, N: 10,
				Parameters: map[string]any{"mode": "zero", "flip": 0.5},
			},
			Setting{Problem: algo.Problem{Class: "anything", Dim: 1}})
	})
}

// learning returns majority with another Learn.
func learning(f func(t *algo.Trial[params], sample *algo.Data) (algo.Model, error)) algo.Plugin {
	a := majority()
	a.Metrics = nil
	a.Learn = func(_ context.Context, t *algo.Trial[params], sample *algo.Data) (algo.Model, error) {
		return f(t, sample)
	}
	return a
}

// answerer answers a query with the sign of f of the query minus the mean point of the sample.
type answerer struct {
	f    func(first *[]float64, x []float64) float64
	kept []float64 // state for f
	mean float64
}

func (g *answerer) Answer(_ context.Context, x []float64) (float64, bool, error) {
	v := g.f(&g.kept, x) - g.mean
	return math.Copysign(1, v), math.Abs(v) < 0.1, nil
}

func (g *answerer) Predict(_ context.Context, x *algo.Data, out []float64) error {
	for i := range out {
		out[i] = math.Copysign(1, x.X(i)[0]-g.mean)
	}
	return nil
}

// playing returns an algorithm for the task predict only.
func playing(f func(first *[]float64, x []float64) float64) algo.Plugin {
	return algo.Algorithm[params]{
		Name: "test/playing", Version: "1", Doc: "Answers queries.", Defaults: params{Mode: "mean"},
		Predict: func(_ context.Context, _ *algo.Trial[params], sample *algo.Data) (algo.Answerer, error) {
			g := &answerer{f: f}
			for i := range sample.Len() {
				g.mean += sample.X(i)[0] / float64(sample.Len())
			}
			return g, nil
		},
	}
}

// stating returns an algorithm that answers with a label and states a guarantee.
func stating(g func(*algo.Setting[params]) algo.Guarantee) algo.Plugin {
	a := majority()
	a.Metrics = nil
	a.Learn = func(context.Context, *algo.Trial[params], *algo.Data) (algo.Model, error) {
		return answer(func([]float64) float64 { return 1 }), nil
	}
	a.Guarantee = func(s *algo.Setting[params]) (algo.Guarantee, error) { return g(s), nil }
	return a
}

// State that faulty algorithms keep from trial to trial.
var (
	state int
	hoard [][]float64
	files []*os.File

	shared *rand.Rand
)

func constantly(v float64) algo.Model { return answer(func([]float64) float64 { return v }) }

// ofFirst answers all points of a call with the label of its first one.
type ofFirst struct{}

func (ofFirst) Predict(_ context.Context, x *algo.Data, out []float64) error {
	for i := range out {
		out[i] = math.Copysign(1, math.Mod(x.X(0)[0], 2)-0.5)
	}
	return nil
}

// A fault is a bug that an author may make.
type fault struct {
	check  string      // the check that must find it
	bug    string      // description of the algorithm's behavior; unique
	plugin algo.Plugin // nil: it cannot be served
}

// printsFirst is the bug of a program that prints before Serve.
const printsFirst = "prints before Serve"

// faults lists planted bugs in the order of the checks.
var faults = []fault{
	{"start", "has a name without a family", nil},
	{"start", printsFirst, nil},
	{"description", "reports a regret without the task online", func() algo.Plugin {
		a := majority()
		a.Metrics = map[string]string{"mean": "", "proved_regret": ""}
		return a
	}()},
	{"setting", "breaks every budget below 2", stating(func(s *algo.Setting[params]) algo.Guarantee {
		return algo.Guarantee{Pure: true, Epsilon: 2, Source: "Theorem 1"}
	})},
	{"setting", "is pure, with a delta", stating(func(s *algo.Setting[params]) algo.Guarantee {
		return algo.Guarantee{Pure: true, Epsilon: s.Epsilon, Delta: s.Delta, Source: "Theorem 1"}
	})},
	{"setting", "ends the process", learning(func(*algo.Trial[params], *algo.Data) (algo.Model, error) {
		os.Exit(3)
		return nil, nil
	})},
	{"setting", "accepts no problem", func() algo.Plugin {
		a := majority()
		a.Check = func(s *algo.Setting[params]) error {
			return algo.Invalid("class %q is not mine", s.Problem.Class)
		}
		return a
	}()},
	{"answers", "keeps the borrowed sample", learning(func(_ *algo.Trial[params], s *algo.Data) (algo.Model, error) {
		return answer(func([]float64) float64 { return s.Y(0) }), nil
	})},
	{"answers", "answers with more than 1", learning(func(*algo.Trial[params], *algo.Data) (algo.Model, error) {
		return answer(func([]float64) float64 { return 1.01 }), nil
	})},
	{"answers", "is private, and answers with a mean", func() algo.Plugin {
		a := majority()
		a.Guarantee = func(s *algo.Setting[params]) (algo.Guarantee, error) {
			return algo.Guarantee{Pure: true, Epsilon: s.Epsilon, Source: "Theorem 1"}, nil
		}
		a.Learn = func(context.Context, *algo.Trial[params], *algo.Data) (algo.Model, error) {
			return answer(func([]float64) float64 { return 0.37 }), nil
		}
		return a
	}()},
	{"answers", "writes to its sample", learning(func(_ *algo.Trial[params], s *algo.Data) (algo.Model, error) {
		s.Xs()[0] = 0
		return constantly(0), nil
	})},
	{"answers", "answers with NaN", learning(func(*algo.Trial[params], *algo.Data) (algo.Model, error) {
		return constantly(math.NaN()), nil
	})},
	{"answers", "omits points", learning(func(*algo.Trial[params], *algo.Data) (algo.Model, error) {
		return nothing{}, nil
	})},
	{"answers", "reports a metric that it does not " +
		"declare", learning(func(t *algo.Trial[params], _ *algo.Data) (algo.Model, error) {
		t.Report("loss", 1)
		return constantly(0), nil
	})},
	{"answers", "returns no model", learning(func(*algo.Trial[params], *algo.Data) (algo.Model, error) {
		return nil, nil
	})},
	{"labels", "answers 0 or 1", learning(func(*algo.Trial[params], *algo.Data) (algo.Model, error) {
		return answer(func(x []float64) float64 { return math.Mod(x[0], 2) }), nil
	})},
	{"same-seed-same-answers", "draws from another " +
		"generator", learning(func(*algo.Trial[params], *algo.Data) (algo.Model, error) {
		v := rand.Float64()
		return answer(func([]float64) float64 { return v }), nil
	})},
	{"same-seed-same-answers", "takes its seed from the " +
		"clock", learning(func(*algo.Trial[params], *algo.Data) (algo.Model, error) {
		return constantly(rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0)).Float64()), nil
	})},
	{"same-seed-same-answers", "takes the first key of a " +
		"map", learning(func(_ *algo.Trial[params], s *algo.Data) (algo.Model, error) {
		places := map[int]float64{}
		for i := range s.Len() {
			places[i] = float64(i) / float64(s.Len())
		}
		for _, v := range places {
			return constantly(v), nil
		}
		return nil, nil
	})},
	{"seeds", "uses 32 bits of each seed", nil},
	{"trials-are-alone", "uses a package variable that earlier trials " +
		"wrote", learning(func(_ *algo.Trial[params], s *algo.Data) (algo.Model, error) {
		state = (3*state + int(s.X(0)[0])) % 1000
		v := float64(state) / 1000
		return answer(func([]float64) float64 { return v }), nil
	})},
	{"trials-are-alone", "shares the generator of its first " +
		"trial", learning(func(t *algo.Trial[params], _ *algo.Data) (algo.Model, error) {
		if shared == nil {
			shared = t.Rand
		}
		return constantly(shared.Float64()), nil
	})},
	{"twice-and-in-pieces", "counts its calls", learning(func(*algo.Trial[params], *algo.Data) (algo.Model, error) {
		asked := 0.0
		return answer(func([]float64) float64 { asked++; return 1 / asked }), nil
	})},
	{"twice-and-in-pieces", "draws at each " +
		"answer", learning(func(t *algo.Trial[params], _ *algo.Data) (algo.Model, error) {
		return answer(func([]float64) float64 { return t.Rand.Float64() }), nil
	})},
	{"order-of-points", "answers all points like the first one of the " +
		"call", learning(func(_ *algo.Trial[params], s *algo.Data) (algo.Model, error) {
		return ofFirst{}, nil
	})},
	{"shared-points", "ignores the first row", nil},
	{"declared-hypotheses", "should declare a hypothesis, but answers points", func() algo.Plugin {
		a := majority()
		a.Declares = algo.Always[params]
		return a
	}()},
	{"declared-hypotheses", "answers differently from its declared " +
		"hypothesis", learning(func(*algo.Trial[params], *algo.Data) (algo.Model, error) {
		return twoFaced{algo.Constant(1)}, nil
	})},
	{"queries", "keeps a view of its first query", playing(func(first *[]float64, x []float64) float64 {
		if *first == nil {
			*first = x
		}
		return (*first)[0]
	})},
	{"states", "answers queries differently from " +
		"Predict", playing(func(*[]float64, []float64) float64 { return math.Inf(-1) })},
	{"borrowed-memory", "keeps a view of its " +
		"sample", learning(func(_ *algo.Trial[params], s *algo.Data) (algo.Model, error) {
		kept := s.Xs()
		return answer(func([]float64) float64 { return kept[0] / 1024 }), nil
	})},
	{"small-and-large", "reads a second example if there is only " +
		"one", learning(func(_ *algo.Trial[params], s *algo.Data) (algo.Model, error) {
		v := s.Y(1)
		return answer(func([]float64) float64 { return v }), nil
	})},
	{"parameters", "changes resolved parameters again", func() algo.Plugin {
		a := majority()
		a.Check = func(s *algo.Setting[params]) error { s.Params.Flip = (s.Params.Flip + 1) / 2; return nil }
		return a
	}()},
	{"guarantee", "states an epsilon that is NaN above 2", stating(func(s *algo.Setting[params]) algo.Guarantee {
		return algo.Guarantee{Epsilon: math.Sqrt(2 - s.Epsilon), Source: "Theorem 1"}
	})},
	{"guarantee", "states a guarantee that grows as the budget " +
		"shrinks", stating(func(s *algo.Setting[params]) algo.Guarantee {
		return algo.Guarantee{Pure: true, Epsilon: min(0.1/s.Epsilon, s.Epsilon), Source: "Theorem 1"}
	})},
	{"guarantee", "states a mu that gives another delta", stating(func(s *algo.Setting[params]) algo.Guarantee {
		return algo.Guarantee{Epsilon: s.Epsilon, Delta: s.Delta, Mu: s.Epsilon, Source: "Theorem 1"}
	})},
	{"guarantee", "names no source below epsilon 1", stating(func(s *algo.Setting[params]) algo.Guarantee {
		g := algo.Guarantee{Pure: true, Epsilon: s.Epsilon}
		if s.Epsilon >= 1 {
			g.Source = "Theorem 1"
		}
		return g
	})},
	{"guarantee", "states a delta if the budget has none", stating(func(s *algo.Setting[params]) algo.Guarantee {
		return algo.Guarantee{Epsilon: s.Epsilon, Delta: max(s.Delta, 1e-12), Source: "Theorem 1"}
	})},
	{"data-independent-failures", "is private, and needs both labels", func() algo.Plugin {
		a := stating(func(s *algo.Setting[params]) algo.Guarantee {
			return algo.Guarantee{Pure: true, Epsilon: s.Epsilon, Source: "Theorem 1"}
		}).(algo.Algorithm[params])
		learn := a.Learn
		a.Learn = func(ctx context.Context, t *algo.Trial[params], s *algo.Data) (algo.Model, error) {
			for i := range s.Len() {
				if s.Y(i) != s.Y(0) {
					return learn(ctx, t, s)
				}
			}
			return nil, errors.New("the labels are all equal")
		}
		return a
	}()},
	{"data-independent-failures", "is private, and warns of points at the border", func() algo.Plugin {
		a := stating(func(s *algo.Setting[params]) algo.Guarantee {
			return algo.Guarantee{Pure: true, Epsilon: s.Epsilon, Source: "Theorem 1"}
		}).(algo.Algorithm[params])
		learn := a.Learn
		a.Learn = func(ctx context.Context, t *algo.Trial[params], s *algo.Data) (algo.Model, error) {
			if s.X(0)[0] == 0 {
				algo.Warn("a point is at the border")
			}
			return learn(ctx, t, s)
		}
		return a
	}()},
	{"asked-together", "states a bound that depends on the number of calls", func() algo.Plugin {
		a := majority()
		a.Bound = func(*algo.Setting[params]) ([]algo.Bound, error) {
			state++
			return []algo.Bound{{Name: "b", Source: "Theorem 1", Value: float64(state)}}, nil
		}
		return a
	}()},
	{"resources", "keeps all samples", learning(func(_ *algo.Trial[params], s *algo.Data) (algo.Model, error) {
		time.Sleep(leakTime / 2) // on any machine, a round then has one or two trials
		hoard = append(hoard, slices.Repeat(s.Xs(), 1000))
		return answer(func([]float64) float64 { return 0 }), nil
	})},
	{"resources", "leaves files open", learning(func(*algo.Trial[params], *algo.Data) (algo.Model, error) {
		f, err := os.Open(os.DevNull)
		files = append(files, f)
		return answer(func([]float64) float64 { return 0 }), err
	})},
	{"goroutines", "leaves a goroutine behind", learning(func(*algo.Trial[params], *algo.Data) (algo.Model, error) {
		go func() { select {} }()
		return answer(func([]float64) float64 { return 0 }), nil
	})},
	{"data-races", "writes to a variable in two " +
		"goroutines", learning(func(*algo.Trial[params], *algo.Data) (algo.Model, error) {
		done := make(chan struct{})
		go func() { state = 1; close(done) }()
		state = 2
		<-done
		return constantly(0), nil
	})},
}

// A program without the SDK may use its seeds and shared tables wrongly.
func TestFindsFaultsOfRawPrograms(t *testing.T) {
	t.Parallel()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	failed := map[string]bool{}
	o := Options{Only: regexp.MustCompile("seeds$|shared-points$"), Settings: []Setting{{Problem: problems[0]}}}
	for _, r := range o.Test(t.Context(), host.Command{Path: path, Env: []string{roleVariable + "=raw"}}) {
		failed[r.Algorithm+" "+r.Check] = r.Err != nil
	}
	want := map[string]bool{
		"raw/right seeds": false, "raw/right shared-points": false, "raw/half seeds": true, "raw/half shared-points": false,
		"raw/first seeds": false, "raw/first shared-points": true,
	}
	if d := cmp.Diff(want, failed); d != "" {
		t.Error(d)
	}
}

// Before a cause is named, identical sessions agree ten times: trials whose answers change at random
// are never blamed on other trials or points.
func TestChanceIsNoOtherCause(t *testing.T) {
	t.Parallel()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o := Options{
		Only: regexp.MustCompile("alone$|order-of-points$|borrowed-memory$"), Settings: []Setting{{Problem: problems[0]}},
	}
	found := 0
	for range 8 {
		for _, r := range o.Test(t.Context(), host.Command{Path: path, Env: []string{roleVariable + "=chance"}}) {
			if r.Err == nil {
				continue
			}
			found++
			text := r.Err.Error()
			if !strings.Contains(text, randomness) && !strings.Contains(text, "not determined") {
				t.Errorf("%s: %v", r.Check, r.Err)
			}
		}
	}
	if found == 0 {
		t.Error("no trial changed")
	}
}

// TestFindsFaults checks that each faulty algorithm fails its check, and that a program that cannot
// be started is not tested.
func TestFindsFaults(t *testing.T) {
	t.Parallel()
	testkit.Serial(t)
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range []string{"majority", printsFirst} {
		results := Test(t.Context(), host.Command{Path: path, Env: []string{roleVariable + "=" + role}})
		if len(results) != 1 || results[0].Check != "start" || results[0].Err == nil {
			t.Errorf("%s: %+v", role, results)
		}
	}
	var names []string
	for i, f := range faults {
		names = append(names, fmt.Sprintf("test/%d/%s", i, f.check))
	}
	failed := map[string]bool{}
	o := Options{
		Only:     regexp.MustCompile("^(" + strings.Join(names, "|") + ")$"),
		Settings: []Setting{{Problem: problems[0]}},
	}
	for _, r := range o.Test(t.Context(), host.Command{Path: path, Env: []string{roleVariable + "=faults"}}) {
		if r.Err != nil {
			failed[r.Algorithm+"/"+r.Check] = true
		}
	}
	info, err := buildinfo.ReadFile(path)
	raced := err == nil && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
	for i, f := range faults {
		if f.plugin != nil && (f.check != "data-races" || raced) && !failed[fmt.Sprintf("test/%d/%s", i, f.check)] {
			t.Errorf("%s: the check %s does not fail", f.bug, f.check)
		}
	}
}

// TestPlantedBugs compares the list of planted bugs with the list in the documentation for authors.
func TestPlantedBugs(t *testing.T) {
	found := map[string][]string{}
	for _, f := range faults {
		found[f.check] = append(found[f.check], f.bug)
	}
	for _, f := range generatorFaults {
		found[f.check] = append(found[f.check], f.bug)
	}
	for _, c := range boundCases {
		if c.want != "" && !slices.Contains(found["bounds"], c.name) {
			found["bounds"] = append(found["bounds"], c.name)
		}
	}
	var b strings.Builder
	b.WriteString("| check | bugs planted in its tests, each of which it finds |\n| --- | --- |\n")
	for _, check := range Checks() {
		if found[check] == nil && check == "cancellation" {
			found[check] = []string{"none: the host ends a process that goes on"}
		}
		if found[check] == nil {
			t.Errorf("no bug is planted for the check %q", check)
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", check, strings.Join(found[check], "; "))
	}
	testkit.Golden(t, "planted.md", []byte(b.String()))
}

func TestNoPlugin(t *testing.T) {
	results := Test(t.Context(), host.Command{Path: "/nowhere"})
	if len(results) != 1 || results[0].Check != "start" || results[0].Err == nil {
		t.Error(results)
	}
}

// TestDraw checks that examples belong to the class, and that a shorter table is a prefix of a
// longer one.
func TestDraw(t *testing.T) {
	for _, p := range slices.Concat(problems, endless) {
		const n = 200
		x, y := make([]float64, n*p.Dim), make([]float64, n)
		draw(p, 7, x, y)
		short, labels := make([]float64, n/2*p.Dim), make([]float64, n/2)
		draw(p, 7, short, labels)
		if d := cmp.Diff(x[:len(short)], short); d != "" {
			t.Error(d)
		}
		count := map[float64]int{}
		for _, label := range y {
			count[label]++
		}
		if len(count) != 2 || count[-1]+count[1] != n {
			t.Errorf("%s: labels %v", p.Class, count)
		}
		side, step := float64(p.Domain), 1.0
		switch p.Class {
		case "thresholds-naturals":
			side = 1025
		case "thresholds-dyadics":
			side, step = 1, 1./1024
		}
		if side == 0 {
			side = 2
		}
		for i := range n {
			norm := 0.0
			for _, v := range x[i*p.Dim : (i+1)*p.Dim] {
				norm += v * v
				outside := v < 0 || v >= side || v != step*math.Trunc(v/step)
				if p.Class != "halfspace" && (outside || v == 0 && p.Class == "thresholds-naturals") {
					t.Errorf("%s: number %v", p.Class, v)
				}
			}
			if p.Class == "halfspace" && norm > 1+1e-12 {
				t.Errorf("%s: a point of norm %v", p.Class, norm)
			}
		}
	}
}

func TestShort(t *testing.T) {
	s := Setting{Problem: algo.Problem{Class: "halfspace", Dim: 3}, N: 5, Parameters: map[string]any{"b": 1, "a": "x"}}
	if got := s.short(); got != "halfspace,d=3,n=5,a=x,b=1" {
		t.Error(got)
	}
	if got := exactly("TestA/some case"); got != "^TestA$/^some case$" || strings.Contains(fmt.Sprint(got), "//") {
		t.Error(got)
	}
}

// numpy and Go have different NaNs; zeros have signs.
func TestSameAnswers(t *testing.T) {
	if err := sameAnswers([]float64{math.NaN()}, []float64{math.Float64frombits(0x7ff8 << 48)}); err != nil {
		t.Error(err)
	}
	if sameAnswers([]float64{0}, []float64{math.Copysign(0, -1)}) == nil {
		t.Error("0 and -0 are called equal")
	}
}
