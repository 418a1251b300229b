package boosting

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/plugins/algo"
)

// TestKernelsHaveOneOrderOfSummation compares the kernels bit for bit with plain loops, with and
// without prefetching.
func TestKernelsHaveOneOrderOfSummation(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, size := range []struct{ n, d int }{
		{1, 1}, {3, 2}, {4, 3}, {7, 1}, {257, 10}, {1000, 13}, {40000, 14}, {1100, 500}, {1100, 513}, {60000, 10},
	} {
		x := make([]float64, size.n*size.d)
		v, w := make([]float64, size.d), make([]float64, size.n)
		for _, s := range [][]float64{x, v, w} {
			for i := range s {
				s[i] = r.NormFloat64()
			}
		}
		rows := min(size.n, 300) // the others are there to be prefetched
		products, squares := make([]float64, rows), make([]float64, rows)
		inner(products, x, v)
		squaredNorms(squares, x, size.d)
		for i := range rows {
			row := x[i*size.d : (i+1)*size.d]
			if want := numeric.Dot(row, v); products[i] != want {
				t.Fatalf("n %d, d %d: inner[%d] = %v, want %v", size.n, size.d, i, products[i], want)
			}
			if want := numeric.Dot(row, row); squares[i] != want {
				t.Fatalf("n %d, d %d: squaredNorms[%d] = %v, want %v", size.n, size.d, i, squares[i], want)
			}
		}
		sum := make([]float64, size.d)
		gather(sum, x, w[:rows])
		for j, got := range sum {
			if want := column(x, w[:rows], size.d, j); got != want {
				t.Fatalf("n %d, d %d: gather[%d] = %v, want %v", size.n, size.d, j, got, want)
			}
		}
	}
}

// column returns coordinate j of what gather adds: whole groups of four rows, then the others.
func column(x, w []float64, d, j int) float64 {
	at := func(i int) float64 { return float64(x[i*d+j] * w[i]) }
	sum, i := 0.0, 0
	for ; i+4 <= len(w); i += 4 {
		sum += (at(i) + at(i+1)) + (at(i+2) + at(i+3))
	}
	for ; i < len(w); i++ {
		sum += at(i)
	}
	return sum
}

func TestSampleOutsideTheUnitBallIsRefused(t *testing.T) {
	const advice = "the privacy of boosting needs at most 1 (scale the data by a public bound)"
	for _, c := range []struct {
		at    int
		value float64
		want  string
	}{
		{0, 1, ""},
		{0, 1 + 1e-10, ""},
		{300, 1.5, "check the sample: row 300 has norm 1.5: " + advice},
		{298, math.NaN(), "check the sample: row 298 has norm NaN: " + advice},
	} {
		x := make([]float64, 301*3)
		x[3*c.at+1] = c.value
		err := checkBall(algo.NewData(x, 3, make([]float64, 301)), "privacy")
		if got := errorText(err); got != c.want {
			t.Errorf("value %v: error %q, want %q", c.value, got, c.want)
		}
	}
}

// errorText returns the text of an error, empty for nil.
func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestRoundsAllocateNothing(t *testing.T) {
	for _, loss := range []string{Linear, Paper, Clip} {
		r := rand.New(rand.NewPCG(1, 1))
		b := newBooster(Params{Rounds: 200, Lambda: 8, Kappa: 0.3, Sigma: 0.1, Weak: Raw, Loss: loss}, benchSample(700, 5))
		if got := testing.AllocsPerRun(100, func() { b.round(r.NormFloat64) }); got != 0 {
			t.Errorf("loss %s: %s allocations in a round", loss, strconv.FormatFloat(got, 'g', -1, 64))
		}
	}
}
