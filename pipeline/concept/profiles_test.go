package concept

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
)

// The result of a draw depends only on its class, its sample and its random numbers, not on
// previous or concurrent draws.
func TestProfilesAreIndependent(t *testing.T) {
	var profiles Profiles
	draw := func(s Spec, seed uint64) string {
		r := rand.New(rand.NewPCG(seed, 0))
		x, y := make([]float64, 0, 8), make([]float64, 4)
		for i := range y {
			for range max(1, s.Dim) {
				x = append(x, float64(r.IntN(2)))
			}
			y[i] = float64(2*r.IntN(2) - 1)
		}
		h, err := profiles.Draw(s, x, y, func(p Profile) Hypothesis { return p.PermuteAndFlip(1, r) })
		if err != nil {
			t.Error(err)
		}
		return fmt.Sprint(h)
	}
	specs := []Spec{
		{Name: "thresholds", Domain: 9}, {Name: "intervals", Domain: 9}, {Name: "stumps", Domain: 4, Dim: 2},
		{Name: "rectangles", Domain: 4, Dim: 2},
		{Name: "parities", Dim: 2}, {Name: "conjunctions", Dim: 2}, {Name: "matrix", Domain: 3, Matrix: "010110"},
		{Name: "matrix", Domain: 3, Matrix: "010111"},
	}
	first := map[string]string{}
	for seed := range uint64(20) {
		for i, s := range specs {
			first[fmt.Sprint(i, seed)] = draw(s, seed)
		}
	}
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for i, s := range specs {
				for seed := range uint64(20) {
					if got, want := draw(s, seed), first[fmt.Sprint(i, seed)]; got != want {
						t.Errorf("%+v, seed %d: %s, and %s before", s, seed, got, want)
					}
				}
			}
		})
	}
	wait.Wait()
}

func TestProfilesRefuse(t *testing.T) {
	var profiles Profiles
	for _, c := range []struct {
		s    Spec
		x    float64
		want string
	}{
		{Spec{Name: "points"}, 0, "domain 0"},
		{Spec{Name: "parities", Dim: 25}, 0, "no exact method"},
		{Spec{Name: "points", Domain: 4}, 4, "point 4 of example 0"},
	} {
		h, err := profiles.Draw(c.s, []float64{c.x}, []float64{1}, func(Profile) Hypothesis { return Empty() })
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, %v, want %s", c.s, h, err, c.want)
		}
	}
}

// Rectangles around too many different coordinates are rejected before the search starts, and
// CheckSample returns the same error.
func TestRectanglesRefuseLargeSamples(t *testing.T) {
	c := newFinite(t, Spec{Name: "rectangles", Domain: 1 << 20, Dim: 2})
	const n = 2049
	x, y := make([]float64, 2*n), make([]float64, n)
	for i := range y {
		x[2*i], x[2*i+1], y[i] = float64(i), float64(n-i), 1
	}
	p, err := c.NewProfile()
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.NewMinimizer(x[:2])
	if err != nil {
		t.Fatal(err)
	}
	_, _, least := m.Minimize(x, y, nil, []float64{1})
	for _, err := range []error{CheckSample(c, n), p.Reset(x, y), least} {
		if !errors.Is(err, ErrNoExactMethod) || !strings.Contains(err.Error(), "use a sample of at most 2048 points") {
			t.Errorf("%d points: %v", n, err)
		}
	}
	for i := range y { // as many points, in few columns and rows
		x[2*i], x[2*i+1] = float64(i%10), float64(i%7)
	}
	if err := p.Reset(x, y); err != nil {
		t.Error(err)
	}
	small := newFinite(t, Spec{Name: "rectangles", Domain: 2048, Dim: 2})
	stumps := newFinite(t, Spec{Name: "stumps", Domain: 1 << 20, Dim: 2})
	for _, err := range []error{
		CheckSample(c, n-1), CheckSample(c, 0), CheckSample(small, 1e6), CheckSample(stumps, 1e6),
	} {
		if err != nil {
			t.Error(err)
		}
	}
}
