package estimate

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/shatterlab/shatter/pipeline/privacy"
)

// reference holds values computed independently in Python.
type reference struct {
	Tolerance float64 `json:"tol_abs"`
	Binom     []struct {
		K, N   int
		CP     [2]float64
		Wealth float64 `json:"logwealth_90"`
	}
	Pava  struct{ Y, W, Out []float64 }
	NStar struct {
		Size      []int64 `json:"n"`
		Successes []int   `json:"k"`
		Trials    []int   `json:"N"`
		Theta     [2]float64
		Isotonic  float64
		Bracket   [2]int64
	}
	Convert []struct{ Mu, Delta, Eps float64 } `json:"gdp_to_eps"`
	Slope   struct {
		X, Y, SE, Theta []float64
		Model           [2]float64 `json:"se_model"`
		Inflated        [2]float64 `json:"se_inflated"`
		Chi2            float64
	}
}

func TestReferenceValues(t *testing.T) {
	text, err := os.ReadFile("testdata/inference_core.json")
	if err != nil {
		t.Fatal(err)
	}
	var v reference
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if !(math.Abs(got-want) <= v.Tolerance) {
			t.Errorf("%s: got %.17g, want %.17g", what, got, want)
		}
	}
	pair := func(what string, low, high float64, want [2]float64) {
		t.Helper()
		near(what+", low", low, want[0])
		near(what+", high", high, want[1])
	}
	const level = 0.05
	for _, c := range v.Binom {
		low, high := ClopperPearson(c.K, 0, c.N, level)
		pair("ClopperPearson", low, high, c.CP)
		near("LogWealth", LogWealth(c.K, c.N, 0.9), c.Wealth)
	}
	for i, got := range Isotonic(v.Pava.Y, v.Pava.W) {
		near("Isotonic", got, v.Pava.Out[i])
	}
	t.Run("n star", func(t *testing.T) { v.nstar(t, near, pair) })

	for _, c := range v.Convert {
		near("GaussianEpsilon", privacy.GaussianEpsilon(c.Mu, c.Delta), c.Eps)
	}
	s := v.Slope
	var x [][]float64
	var cells []*Observation
	for i := range s.X {
		x, cells = append(x, []float64{1, s.X[i]}), append(cells, &Observation{Y: s.Y[i], Error: s.SE[i]})
	}
	r := Regress(form(t, "sum"), x, 2, cells, s.Y, level)
	a, b := r.Coefficients[0], r.Coefficients[1]
	pair("Regress", a.Value, b.Value, [2]float64(s.Theta))
	pair("Regress, errors", a.Error/r.Inflation, b.Error/r.Inflation, s.Model)
	pair("Regress, inflated", a.Error, b.Error, s.Inflated)
	near("Regress, chi square", r.ChiSquare, s.Chi2)
}

func (v *reference) nstar(
	t *testing.T, near func(what string, got, want float64), pair func(what string, low, high float64, want [2]float64),
) {
	var points []Point
	for i, n := range v.NStar.Size {
		points = append(points, Point{N: n, Consumed: v.NStar.Trials[i], Successes: v.NStar.Successes[i]})
	}
	var counts []count
	for _, p := range points {
		counts = append(counts, count{math.Log(float64(p.N)), float64(p.Successes), float64(p.Consumed)})
	}
	c, ok := logisticLink.fit(counts)
	if !ok {
		t.Fatal("no logistic curve")
	}
	pair("logistic curve", c.a, c.b, v.NStar.Theta)
	near("Crossing", Crossing(points, 0.9), v.NStar.Isotonic)
	if a, b := Bracket(points, 0.9, 0.05); [2]int64{a, b} != v.NStar.Bracket {
		t.Errorf("Bracket: got %d, %d, want %v", a, b, v.NStar.Bracket)
	}
}
