package finite

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
)

func TestSpecOf(t *testing.T) {
	got := SpecOf(algo.Problem{Class: "thresholds", Domain: 5, Dim: 1, NoConstant: true, Matrix: "01"})
	want := concept.Spec{Name: "thresholds", Domain: 5, Dim: 1, NoConstant: true, Matrix: "01"}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	want = concept.Spec{Name: "parities", Dim: 3}
	if p := PlaceOf(algo.Problem{Class: "parities", Dim: 3}, "code", 7); p != (Place{want, "code", 7}) {
		t.Errorf("%+v, want the separator of kind code and seed 7 of %+v", p, want)
	}
}

func TestCounted(t *testing.T) {
	for _, c := range []struct {
		problem algo.Problem
		n       int
		want    string // "" where there is no error
	}{
		{algo.Problem{Class: "intervals", Domain: 8}, 100, ""},
		{algo.Problem{Class: "stump", Dim: 2}, 0, `a/b: unknown class "stump"`},
		{algo.Problem{Class: "parities", Dim: 25}, 0, "a/b: parities in 25 dimensions: no exact method"},
		{algo.Problem{Class: "rectangles", Domain: 1 << 20, Dim: 2}, 2048, ""},
		{algo.Problem{Class: "rectangles", Domain: 1 << 20, Dim: 2}, 5000, "a/b: n = 5000: "},
	} {
		class, err := Counted("a/b", c.problem)
		if err == nil {
			err = CheckSample("a/b", class, c.n)
		}
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%+v: %v", c.problem, err)
		case c.want != "" && (!algo.IsInvalid(err) || !strings.HasPrefix(err.Error(), c.want)):
			t.Errorf("%+v: %v, want %s", c.problem, err, c.want)
		}
	}
}

func TestLearn(t *testing.T) {
	learn := Learn(func(t *algo.Trial[float64], errors concept.Profile) concept.Hypothesis {
		return errors.Exponential(t.Params, t.Rand)
	})
	trial := &algo.Trial[float64]{Rand: rand.New(rand.NewPCG(1, 1))}
	trial.Params, trial.Problem = math.Inf(1), algo.Problem{Class: "thresholds", Domain: 3, Dim: 1}
	x, y := []float64{0, 1, 2}, []float64{-1, 1, 1}
	m, err := learn(context.Background(), trial, algo.NewData(x, 1, y))
	if err != nil {
		t.Fatal(err)
	}
	out := make([]float64, 3)
	if err := m.Predict(context.Background(), algo.NewData(x, 1, nil), out); err != nil || !slices.Equal(out, y) {
		t.Errorf("%v, %v, want %v", out, err, y)
	}
	_, err = learn(context.Background(), trial, algo.NewData([]float64{3}, 1, y[:1]))
	if err == nil || !strings.Contains(err.Error(), "point 3 of example 0") {
		t.Errorf("point outside the domain: %v", err)
	}
}

func TestLogOthers(t *testing.T) {
	for _, c := range []struct{ hypotheses, want float64 }{
		{1, math.Inf(-1)}, {2, 0}, {257, math.Log(256)}, {1 << 60, math.Log(1 << 60)},
	} {
		if got := LogOthers(math.Log(c.hypotheses)); got != c.want {
			t.Errorf("%v hypotheses: %v, want %v", c.hypotheses, got, c.want)
		}
	}
}

// A cache builds each value once and keeps those used last.
func TestCache(t *testing.T) {
	var c Cache[int, *int]
	built := map[int]int{}
	build := func(key int) (*int, error) {
		built[key]++
		return &key, nil
	}
	get := func(key int) {
		t.Helper()
		if v, err := c.Get(key, build); err != nil || *v != key {
			t.Errorf("value of %d: %v, %v", key, v, err)
		}
	}
	for _, key := range []int{0, 1, 2, 3, 0, 4, 0, 5, 6, 0, 2, 6} {
		get(key)
		if len(c.entries) > CacheSize {
			t.Errorf("%d values are kept", len(c.entries))
		}
	}
	if built[0] != 1 || built[2] != 2 || built[6] != 1 {
		t.Errorf("built: %v", built)
	}
	broken := errors.New("broken")
	if _, err := c.Get(7, func(int) (*int, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("a build that fails: %v", err)
	}
	get(7)
	if built[7] != 1 {
		t.Error("a failure is kept")
	}
}

// A cache whose values weigh too much keeps fewer of them, but always the one asked for.
func TestCacheWeight(t *testing.T) {
	var c Cache[int, int]
	build := func(key int) (int, error) { return key, nil }
	for _, step := range []struct {
		key  int
		kept []int
	}{
		{5, []int{5}}, {3, []int{5, 3}}, {5, []int{3, 5}}, {2, []int{3, 5, 2}}, {4, []int{2, 4}}, {20, []int{20}},
		{1, []int{1}},
	} {
		if _, err := c.GetWithin(10, step.key, build, func(v int) int { return v }); err != nil {
			t.Fatal(err)
		}
		var kept []int
		weight := 0
		for _, e := range c.entries {
			kept = append(kept, e.key)
			weight += e.value
		}
		if !slices.Equal(kept, step.kept) || weight != c.weight {
			t.Errorf("after %d: %v of weight %d, want %v", step.key, kept, c.weight, step.kept)
		}
	}
}
