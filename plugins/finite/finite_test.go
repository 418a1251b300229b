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
		want    string // "" if there is no error
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

// A cache builds each value once while it is not full, does not cache errors, and discards values
// whose total weight is too large.
func TestCache(t *testing.T) {
	var c Cache[int, int]
	built, broken := 0, errors.New("broken")
	build := func(key int) (int, error) {
		if built++; key < 0 {
			return 0, broken
		}
		return key, nil
	}
	for _, step := range []struct{ key, built, kept int }{
		{5, 1, 1}, {3, 2, 2}, {5, 2, 2}, {1, 3, 3}, {0, 4, 4}, {5, 4, 4}, {-1, 5, 4}, {-1, 6, 4}, {2, 7, 1}, {9, 8, 1},
		{20, 9, 1}, {20, 9, 1},
	} {
		v, err := c.GetWithin(10, step.key, build, func(v int) int { return v })
		if step.key >= 0 && (err != nil || v != step.key) || step.key < 0 && !errors.Is(err, broken) {
			t.Errorf("value of %d: %v, %v", step.key, v, err)
		}
		if built != step.built || len(c.values) != step.kept {
			t.Errorf("after %d: %d built, %d kept, want %d, %d", step.key, built, len(c.values), step.built, step.kept)
		}
	}
}
