package finitetest

import (
	"math"
	"testing"
)

func TestNeedleVectors(t *testing.T) {
	var v struct {
		TolAbs float64 `json:"tol_abs"`
		Needle []struct {
			N              int
			A, NL, NR, Eps float64
			EM             float64
		}
		NStar []struct {
			A, NL, NR, Eps, Beta float64
			N                    int
		} `json:"needle_nstar"`
	}
	ReadJSON(t, "testdata/needle.json", &v)
	if len(v.Needle) == 0 || len(v.NStar) == 0 {
		t.Fatal("no vectors")
	}
	for _, c := range v.Needle {
		if got := (Needle{c.A, c.NL, c.NR}).Success(c.N, c.Eps); math.Abs(got-c.EM) > v.TolAbs {
			t.Errorf("%+v: got %v", c, got)
		}
	}
	for _, c := range v.NStar {
		if got, err := (Needle{c.A, c.NL, c.NR}).SampleSize(c.Eps, c.Beta); err != nil || got != c.N {
			t.Errorf("%+v: got %v, %v", c, got, err)
		}
	}
	// A large size, computed independently, and an unreachable one.
	if got, err := (Needle{0.1, 1 << 39, 1<<39 - 1}).SampleSize(0.1, 0.05); err != nil || got != 6262 {
		t.Errorf("2^40 at 0.1: %v, %v", got, err)
	}
	if _, err := (Needle{0.1, 8, 7}).SampleSize(0, 0.05); err == nil {
		t.Error("epsilon 0: no error")
	}
}
