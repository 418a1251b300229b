package concept

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

type vectors struct {
	TolAbs     float64 `json:"tol_abs"`
	Thresholds []struct {
		X               uint64
		Eps             float64
		X1              []float64 `json:"x"`
		Y               []float64
		Tlo, Thi        []uint64
		Err             []int
		Logpmf          []float64
		U               []float64
		GumbelPick      int      `json:"gumbel_pick"`
		PFPick          int      `json:"pf_pick"`
		PointValues     []uint64 `json:"point_values"`
		PointCounts     []uint64 `json:"point_counts"`
		PointErr        []int    `json:"point_err"`
		IntervalLogZ    float64  `json:"interval_logZ"`
		IntervalLogNone float64  `json:"interval_log_none"`
	}
	PF []struct {
		Err   []int
		Eps   float64
		Count []int
		PMF   []float64
	} `json:"pf_pmf"`
}

func readVectors(t *testing.T) vectors {
	t.Helper()
	text, err := os.ReadFile("testdata/sampling.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	if len(v.Thresholds) == 0 || len(v.PF) == 0 {
		t.Fatal("no vectors")
	}
	return v
}

// signed converts labels 0 and 1 to -1 and +1.
func signed(y []float64) []float64 {
	out := make([]float64, len(y))
	for i, v := range y {
		out[i] = 2*v - 1
	}
	return out
}

func profileOf(t testing.TB, name string, domain uint64, noConstant bool, x, y []float64) Profile {
	t.Helper()
	c, err := New(Spec{Name: name, Domain: domain, NoConstant: noConstant})
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.NewProfile()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Reset(x, y); err != nil {
		t.Fatal(err)
	}
	return p
}

func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Errorf("%s: got %.17g, want %.17g", what, got, want)
	}
}
