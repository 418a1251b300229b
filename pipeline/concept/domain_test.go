package concept

import (
	"math"
	"strings"
	"testing"
)

// Check accepts the points of a domain and rejects all others.
func TestDomain(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		x    []float64
		want string // "" for a point of the domain
	}{
		{Spec{Name: Thresholds, Domain: 8}, []float64{7}, ""},
		{Spec{Name: Thresholds, Domain: 8}, []float64{8}, "point [8] is outside the domain"},
		{Spec{Name: Thresholds, Domain: 8}, []float64{-1}, "from 0 to 7"},
		{Spec{Name: Thresholds, Domain: 8}, []float64{0.5}, "from 0 to 7"},
		{Spec{Name: Thresholds, Domain: 8}, []float64{math.NaN()}, "from 0 to 7"},
		{Spec{Name: Thresholds, Domain: 8}, []float64{1, 1}, "has 2 numbers: class \"thresholds\" takes 1"},
		{Spec{Name: Stumps, Domain: 3}, []float64{2}, ""},
		{Spec{Name: Stumps, Domain: 3, Dim: 2}, []float64{2, 0}, ""},
		{Spec{Name: Stumps, Domain: 3, Dim: 2}, []float64{2, 3}, "from 0 to 2"},
		{Spec{Name: Parities, Dim: 2}, []float64{1, 1}, ""},
		{Spec{Name: Parities, Dim: 2}, []float64{1, 2}, "from 0 to 1"},
		{Spec{Name: Naturals}, []float64{1}, ""},
		{Spec{Name: Naturals}, []float64{0}, "not in the domain"},
		{Spec{Name: Naturals}, nil, "has 0 numbers"},
		{Spec{Name: Dyadics}, []float64{0.75}, ""},
		{Spec{Name: Dyadics}, []float64{1}, "not in the domain"},
	} {
		class, err := New(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		switch err := DomainOf(class, c.spec).Check(c.x); {
		case c.want == "" && err != nil:
			t.Errorf("%+v: %v", c.spec, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%+v at %v: %v, want %q", c.spec, c.x, err, c.want)
		}
	}
}
