package baseline

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite/finitetest"
)

// run learns from one sample and returns the predictions on points.
func run[P any](
	t testing.TB, a algo.Algorithm[P], s algo.Setting[P], seed uint64, sample *algo.Data, points []float64,
) []float64 {
	t.Helper()
	m, err := a.Learn(context.Background(), &algo.Trial[P]{Setting: s, Rand: rand.New(rand.NewPCG(seed, 1))}, sample)
	if err != nil {
		t.Fatal(err)
	}
	x := algo.NewData(points, sample.Dim(), nil)
	out := make([]float64, x.Len())
	if err := m.Predict(context.Background(), x, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// values returns the values of bounds by name. Each must have a source.
func values(t testing.TB, list []algo.Bound, err error) map[string]float64 {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	n := map[string]float64{}
	for _, b := range list {
		if b.Source == "" {
			t.Errorf("bound %+v has no source", b)
		}
		n[b.Name] = b.Value
	}
	return n
}

func domain(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(i)
	}
	return x
}

// All minimizers are chosen, with equal frequency.
func TestERMTies(t *testing.T) {
	s := algo.Setting[struct{}]{Problem: algo.Problem{Class: "thresholds", Domain: 8, Dim: 1}}
	sample := algo.NewData([]float64{1, 5}, 1, []float64{-1, 1}) // thresholds 2..5 make no error
	const draws = 8000
	count := map[int]int{}
	a := ERM()
	for seed := range uint64(draws) {
		t0 := 0
		for _, label := range run(t, a, s, seed, sample, domain(8)) {
			if label < 0 {
				t0++
			}
		}
		count[t0]++
	}
	for t0 := 2; t0 <= 5; t0++ {
		if math.Abs(float64(count[t0])-draws/4) > 5*math.Sqrt(draws*3.0/16) {
			t.Errorf("threshold %d drawn %d times of %d", t0, count[t0], draws)
		}
	}
	if len(count) != 4 {
		t.Errorf("drawn: %v", count)
	}
}

func TestERMBounds(t *testing.T) {
	s := algo.Setting[struct{}]{
		Problem: algo.Problem{Class: "thresholds", Domain: 256, Dim: 1, Noise: "none", Realizable: true},
		Alpha:   0.1, Beta: 0.05,
	}
	list, err := ERM().Bound(&s)
	n := values(t, list, err)
	lnH := math.Log(257)
	want := map[string]float64{
		"hoeffding":     math.Ceil(200 * (lnH + math.Log(2/0.05))),
		"finite-class":  math.Ceil(10 * (lnH + math.Log(1/0.05))),
		"vc-realizable": math.Ceil(80 * math.Log2(130)),
	}
	for name, v := range want {
		if n[name] != v {
			t.Errorf("%s: %v, want %v", name, n[name], v)
		}
	}
	for _, c := range []struct {
		noise string
		rate  float64
		want  float64
	}{
		{"random", 0.25, math.Ceil(800 * (lnH + math.Log(2/0.05)))},
		{"adversarial", 0.05, math.Inf(1)},
	} {
		s.Problem.Noise, s.Problem.NoiseRate = c.noise, c.rate
		list, err := ERM().Bound(&s)
		if b := finitetest.BoundNamed(t, list, err, "hoeffding"); b.Value != c.want {
			t.Errorf("%+v: %+v", c, b)
		}
	}
}

// The bounds of both algorithms that apply, by the properties of a cell.
func TestPremises(t *testing.T) {
	clean, noisy, attacked := algo.Problem{}, algo.Problem{Noise: "random", NoiseRate: 0.1},
		algo.Problem{Noise: "adversarial", NoiseRate: 0.01}
	in := func(p algo.Problem) algo.Problem {
		p.Realizable = true
		return p
	}
	for _, c := range []struct {
		p                algo.Problem
		least, reference float64
		erm              string
		perceptron       string
	}{
		{in(clean), 0, 0, "sharp-agnostic sharp-realizable hoeffding finite-class vc-realizable",
			"mistake-bound leave-one-out vc-realizable"},
		{in(noisy), 0, 0, "sharp-agnostic sharp-realizable hoeffding", ""},
		{in(attacked), 0, 0, "sharp-agnostic sharp-realizable hoeffding", ""},
		{clean, 0.2, 0.2, "sharp-agnostic hoeffding", ""},
		{noisy, 0.2, 0.3, "sharp-agnostic hoeffding", ""},
		{attacked, 0.2, 0.2, "sharp-agnostic hoeffding", ""},
		{clean, 0.2, 0.1, "", ""},
		{clean, 0.2, 0, "", ""},
	} {
		if c.p.Noise == "" {
			c.p.Noise = "none"
		}
		names := func(list []algo.Bound, err error) string {
			if err != nil {
				t.Fatal(err)
			}
			return finitetest.Names(finitetest.Holding(list, c.p, c.least, c.reference))
		}
		s := algo.Setting[struct{}]{Problem: c.p, Alpha: 0.1, Reference: c.reference, Beta: 0.05}
		s.Problem.Class, s.Problem.Domain, s.Problem.Dim = "thresholds", 256, 1
		if got := names(ERM().Bound(&s)); got != c.erm {
			t.Errorf("%+v: erm %q, want %q", c, got, c.erm)
		}
		h := algo.Setting[PerceptronParams]{
			Params: Perceptron().Defaults, Problem: c.p, Alpha: 0.1, Reference: c.reference, Beta: 0.05,
		}
		h.Problem.Class, h.Problem.Dim, h.Problem.Margin = "halfspace", 10, 0.1
		if got := names(Perceptron().Bound(&h)); got != c.perceptron {
			t.Errorf("%+v: perceptron %q, want %q", c, got, c.perceptron)
		}
	}
}

func TestChecks(t *testing.T) {
	for _, c := range []struct {
		p    algo.Problem
		n    int
		want string
	}{
		{algo.Problem{Class: "halfspace", Dim: 2}, 0,
			"no exact method finds the best halfspace of a sample: use baseline/perceptron"},
		{algo.Problem{Class: "stump", Dim: 2}, 0, `unknown class "stump"`},
		{algo.Problem{Class: "rectangles", Domain: 4, Dim: 3}, 0, "rectangles in 3 dimensions: no exact method"},
		{algo.Problem{Class: "parities", Dim: 25}, 0, "parities in 25 dimensions: no exact method"},
		{algo.Problem{Class: "rectangles", Domain: 1 << 20, Dim: 2}, 5000, "n = 5000: "},
	} {
		err := ERM().Check(&algo.Setting[struct{}]{Problem: c.p, N: c.n})
		if !algo.IsInvalid(err) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("erm on %+v: %v", c.p, err)
		}
	}
	rectangles := algo.Problem{Class: "rectangles", Domain: 1 << 20, Dim: 2}
	if err := ERM().Check(&algo.Setting[struct{}]{Problem: rectangles, N: 2048}); err != nil {
		t.Errorf("erm on rectangles: %v", err)
	}
	err := Perceptron().Check(&algo.Setting[PerceptronParams]{Problem: algo.Problem{Class: "points", Domain: 4, Dim: 1}})
	if !algo.IsInvalid(err) || !strings.Contains(err.Error(), `class "points": it learns halfspaces only`) {
		t.Errorf("perceptron on points: %v", err)
	}
	if ERM().Guarantee != nil || Perceptron().Guarantee != nil {
		t.Error("a baseline states a guarantee")
	}
}

type perceptronVectors struct {
	X          [][]float64
	Y          []float64
	Tolerance  float64
	Perceptron struct {
		Passes, Mistakes int
		W                []float64
	}
}

func readVectors(t *testing.T) (v perceptronVectors, sample *algo.Data) {
	t.Helper()
	finitetest.ReadJSON(t, "testdata/perceptron.json", &v)
	var x []float64
	for _, row := range v.X {
		x = append(x, row...)
	}
	return v, algo.NewData(x, len(v.X[0]), v.Y)
}

func TestPerceptronVectors(t *testing.T) {
	v, sample := readVectors(t)
	p := perceptron{w: make([]float64, sample.Dim())}
	passes := 0
	for clean := false; !clean && passes < v.Perceptron.Passes; passes++ {
		clean = p.pass(sample)
	}
	if p.mistakes != v.Perceptron.Mistakes {
		t.Errorf("%d mistakes, want %d", p.mistakes, v.Perceptron.Mistakes)
	}
	for i, w := range p.weights() {
		if math.Abs(w-v.Perceptron.W[i]) > v.Tolerance {
			t.Errorf("weight %d: %v, want %v", i, w, v.Perceptron.W[i])
		}
	}
}

// The average is over the weights after every example of every pass.
func TestPerceptronAveraged(t *testing.T) {
	v, sample := readVectors(t)
	w, sum, steps := make([]float64, sample.Dim()), make([]float64, sample.Dim()), 0
	p := perceptron{w: make([]float64, sample.Dim()), sum: make([]float64, sample.Dim())}
	for range 3 {
		p.pass(sample)
		for i, x := range v.X {
			inner := 0.0
			for j := range x {
				inner += w[j] * x[j]
			}
			for j := range x {
				if v.Y[i]*inner <= 0 {
					w[j] += v.Y[i] * x[j]
				}
				sum[j] += w[j]
			}
			steps++
		}
	}
	for j, got := range p.weights() {
		if math.Abs(got-sum[j]) > 1e-9*float64(steps) {
			t.Errorf("sum %d: %v, want %v", j, got, sum[j])
		}
	}
}

func TestPerceptron(t *testing.T) {
	_, sample := readVectors(t)
	a := Perceptron()
	s := algo.Setting[PerceptronParams]{Params: a.Defaults, Problem: algo.Problem{Class: "halfspace", Dim: 4}}
	for i, label := range run(t, a, s, 1, sample, sample.Xs()) {
		if label != sample.Y(i) {
			t.Errorf("example %d: answer %v, label %v", i, label, sample.Y(i))
		}
	}
	// A tie is +1, and a sample that is not separable ends after the allowed number of passes.
	s.Params = PerceptronParams{Passes: 4}
	if out := run(t, a, s, 1, algo.NewData([]float64{1, 1}, 1, []float64{1, -1}), []float64{0, 1, -1}); out[0] != 1 {
		t.Errorf("answers %v", out)
	}
	s.Params.Averaged = true
	if out := run(t, a, s, 1, sample, sample.Xs()); len(out) != sample.Len() {
		t.Errorf("answers %v", out)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := a.Learn(ctx, &algo.Trial[PerceptronParams]{Setting: s}, sample); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestPerceptronBounds(t *testing.T) {
	s := algo.Setting[PerceptronParams]{
		Params:  Perceptron().Defaults,
		Problem: algo.Problem{Class: "halfspace", Dim: 10, Margin: 0.1, Noise: "none", Realizable: true},
		Alpha:   0.1, Beta: 0.1,
	}
	list, err := Perceptron().Bound(&s)
	n := values(t, list, err)
	for name, want := range map[string]float64{
		"mistake-bound": 101 * math.Ceil(math.Log(101/0.1)/0.1),
		"leave-one-out": 9999,
		"vc-realizable": math.Ceil(800 * math.Log2(130)),
	} {
		if n[name] != want {
			t.Errorf("%s: %v, want %v", name, n[name], want)
		}
	}
	for _, b := range list {
		if b.Proved != (b.Name != "mistake-bound") {
			t.Errorf("%s: proved %v", b.Name, b.Proved)
		}
	}
	for _, c := range []struct {
		params PerceptronParams
		margin float64
		want   [3]string // reasons why the three bounds fail
	}{
		{PerceptronParams{Passes: 101}, 0.1, [3]string{}},
		{PerceptronParams{Passes: 100}, 0.1, [3]string{"", "passes 100, and the proof requires 101", "passes 100, and"}},
		{PerceptronParams{Passes: 101, Averaged: true}, 0.1, [3]string{"", "averaged weights", "averaged weights"}},
		{PerceptronParams{Passes: 1000000}, 0, [3]string{"no guaranteed margin", "no guaranteed margin", "no " +
			"guaranteed margin"}},
	} {
		s.Params, s.Problem.Margin = c.params, c.margin
		list, err := Perceptron().Bound(&s)
		if err != nil || len(list) != 3 {
			t.Fatalf("%+v: %+v, %v", c, list, err)
		}
		for i, b := range list {
			if !strings.Contains(b.Fails, c.want[i]) || (b.Fails == "") != (c.want[i] == "") {
				t.Errorf("%+v, %s: fails %q", c, b.Name, b.Fails)
			}
		}
	}
}
