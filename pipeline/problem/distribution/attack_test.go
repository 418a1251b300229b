package distribution

import (
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/shatterlab/shatter/schemas"
)

// A learner that solves y<w,x> = tau in the least-squares sense determines the target exactly
// from d examples if every margin is tau. With random margins it has no such advantage.
func TestMarginsAreNoEquations(t *testing.T) {
	const dim, tau, alpha, trials = 10, 0.1, 0.1, 400
	rate := func(distribution string, n int) float64 {
		p := resolved(t, schemas.Problem{Class: "halfspace", Distribution: distribution, Dim: dim, Margin: tau})
		good := 0
		for rep := range uint64(trials) {
			s, x, y := sample(t, p, 16, rep, n)
			if w := solve(x, y, tau); errorOf(s, w, rep) <= alpha {
				good++
			}
		}
		return float64(good) / trials
	}
	for _, c := range []struct {
		distribution string
		n            int
		least, most  float64
	}{
		{"iso-fixed", dim, 1, 1},
		{"skew-fixed", dim, 1, 1},
		{"iso", dim + 2, 0, 0.15},
		{"skew", dim + 2, 0, 0.25},
		{"iso", 48, 0, 0.85}, // a perceptron already succeeds in nine of ten trials
		{"iso", 96, 0.9, 1},
	} {
		got := rate(c.distribution, c.n)
		t.Logf("%s, n %d: %v", c.distribution, c.n, got)
		if got < c.least || got > c.most {
			t.Errorf("%s, n %d: it succeeds in a share of %v, want [%v, %v]", c.distribution, c.n, got, c.least, c.most)
		}
	}
}

// solve returns the least-squares solution of y<w,x> = tau.
func solve(x, y []float64, tau float64) []float64 {
	n, d := len(y), len(x)/len(y)
	a, b := mat.NewDense(n, d, nil), mat.NewVecDense(n, nil)
	for i, label := range y {
		for j, v := range x[i*d : (i+1)*d] {
			a.Set(i, j, label*v)
		}
		b.SetVec(i, tau)
	}
	var w mat.VecDense
	if err := w.SolveVec(a, b); err != nil {
		return make([]float64, d)
	}
	return w.RawVector().Data
}

// errorOf estimates the error of the hyperplane with the normal w.
func errorOf(s Sampler, w []float64, rep uint64) float64 {
	const n = 1000
	d := len(w)
	x, y, wrong := make([]float64, n*d), make([]float64, n), 0.0
	s.Draw(stream(16, rep, 3), x, y)
	for i, label := range y {
		if label*dot(w, x[i*d:(i+1)*d]) <= 0 {
			wrong++
		}
	}
	return wrong / n
}
