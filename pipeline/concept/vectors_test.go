package concept

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shatterlab/shatter/pipeline/concept/concepttest"
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

// signed turns labels 0 and 1 into -1 and +1.
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

func TestSegmentVectors(t *testing.T) {
	v := readVectors(t)
	for _, c := range v.Thresholds {
		y := signed(c.Y)
		th := profileOf(t, "thresholds", c.X, false, c.X1, y).(*segments)
		var want []segment
		for i, lo := range c.Tlo {
			want = append(want, segment{c.Err[i], c.Thi[i] - lo + 1, lo})
		}
		if diff := cmp.Diff(want, th.list, cmp.AllowUnexported(segment{})); diff != "" {
			t.Errorf("X=%d: segments (-want +got):\n%s", c.X, diff)
		}
		total := 0.0
		for _, s := range th.list {
			total += float64(s.count) * math.Exp(-c.Eps/2*float64(s.err-th.min))
		}
		for i, s := range th.list {
			near(t, "logpmf", math.Log(float64(s.count))-penalty(c.Eps, s.err-th.min)-math.Log(total), c.Logpmf[i], v.TolAbs)
		}
		if got := gumbel(th.list, th.min, c.Eps, c.U); got != c.GumbelPick {
			t.Errorf("X=%d: gumbel picks %d, want %d", c.X, got, c.GumbelPick)
		}
		if got := flip(th.list, th.min, c.Eps, c.U); got != c.PFPick {
			t.Errorf("X=%d: flip picks %d, want %d", c.X, got, c.PFPick)
		}
		pt := profileOf(t, "points", c.X, false, c.X1, y).(*segments)
		want = want[:0]
		for i, count := range c.PointCounts {
			s := segment{c.PointErr[i], count, 0}
			if i < len(c.PointValues) {
				s.first = c.PointValues[i]
			}
			want = append(want, s)
		}
		if diff := cmp.Diff(want, pt.list, cmp.AllowUnexported(segment{})); diff != "" {
			t.Errorf("X=%d: points (-want +got):\n%s", c.X, diff)
		}
	}
}

func TestIntervalVectors(t *testing.T) {
	v := readVectors(t)
	for _, c := range v.Thresholds {
		p := profileOf(t, "intervals", c.X, false, c.X1, signed(c.Y)).(*intervalProfile)
		p.weigh(c.Eps)
		tol := v.TolAbs
		if c.X == MaxDomain {
			tol = 1e-9 * c.IntervalLogZ // the vector's own accuracy there
		}
		near(t, "logZ", math.Log(p.total())-c.Eps/2*float64(p.Min()), c.IntervalLogZ, tol)
		near(t, "log of none", math.Log(p.none)-c.Eps/2*float64(p.positives), c.IntervalLogNone, tol)
	}
}

func TestPermuteAndFlipLawVectors(t *testing.T) {
	v := readVectors(t)
	for _, c := range v.PF {
		var levels []concepttest.Level
		for i, e := range c.Err {
			levels = append(levels, concepttest.Level{Err: e, Count: c.Count[i]})
		}
		for i, got := range concepttest.PermuteAndFlipLaw(levels, c.Eps) {
			near(t, "pmf", got, c.PMF[i], v.TolAbs)
		}
	}
}
