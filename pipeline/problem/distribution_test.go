package problem

import (
	"math"
	"slices"
	"testing"

	"github.com/shatterlab/shatter/schemas"
)

// open opens a problem that must be valid.
func open(t testing.TB, p schemas.Problem) *Problem {
	t.Helper()
	o, err := Open(p, "")
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// sample draws one sample of n for one trial.
func sample(p *Problem, seed, rep uint64, n int) (d *Drawer, x, y []float64) {
	d = p.Drawer(p.Test(0, 0))
	d.Begin(new(seeded).trial(seed, rep))
	x, y = make([]float64, n*p.Dim()), make([]float64, n)
	d.Sample(n, x, y)
	return d, x, y
}

// evaluation reads all evaluation points of the drawer's trial.
func evaluation(d *Drawer) (x, y, w []float64) {
	n := d.TestLen()
	x, y, w = make([]float64, n*d.p.Dim()), make([]float64, n), make([]float64, n)
	d.Test(x, y, w)
	return x, y, w
}

func near(a, b []float64, most float64) bool {
	return slices.EqualFunc(a, b, func(p, q float64) bool { return math.Abs(p-q) <= most })
}
