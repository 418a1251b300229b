package population

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

// axes returns the rows of the identity matrix with the label +1.
func axes(dim int) *Rows {
	rows := &Rows{X: make([]float64, dim*dim), Y: make([]float64, dim), Dim: dim}
	for k := range dim {
		rows.X[k*dim+k], rows.Y[k] = 1, 1
	}
	return rows
}

// isometry draws an isometry and returns its matrix, whose rows are the images of the axes, and the
// sign of the labels.
func isometry(g *Disguised, r *rand.Rand) (q *mat.Dense, label float64) {
	g.Begin(r)
	x, y := slices.Clone(g.X), slices.Clone(g.Y)
	g.Apply(x, y)
	return mat.NewDense(g.Dim, g.Dim, x), y[0]
}

// A disguise keeps all lengths and angles, and no row leaves the unit ball.
func TestDisguiseIsAnIsometry(t *testing.T) {
	for _, dim := range []int{1, 2, 3, 10, 200} {
		g := NewDisguised(axes(dim))
		for rep := range uint64(5) {
			q, _ := isometry(g, rand.New(rand.NewPCG(1, rep)))
			var product mat.Dense
			product.Mul(q, q.T())
			for i := range dim {
				for j := range dim {
					want := 0.0
					if i == j {
						want = 1
					}
					if v := product.At(i, j); math.Abs(v-want) > 1e-13 || v > 1+1e-15 {
						t.Fatalf("d %d: the images of the axes %d and %d have the product %v", dim, i, j, v)
					}
				}
			}
		}
	}
}

// The isometry is uniform: in R^3 every coordinate of the image of every axis is uniform on [-1,
// 1], determinant and label have fair signs that say nothing of one another, and the even moments
// of the trace are those of Haar's distribution (Diaconis and Shahshahani 1994: those of a standard
// normal number, up to the 2d-th).
func TestDisguiseIsUniform(t *testing.T) {
	const bins, draws = 10, 20_000
	r := rand.New(rand.NewPCG(2, 3))
	for _, dim := range []int{1, 2, 3, 4} {
		g, even := NewDisguised(axes(dim)), slices.Repeat([]float64{1. / bins}, bins)
		entries, signs := make([][]float64, dim*dim), make([]float64, 4)
		for k := range entries {
			entries[k] = make([]float64, bins)
		}
		second, fourth := 0.0, 0.0
		for range draws {
			q, label := isometry(g, r)
			for k := range entries {
				entries[k][min(max(int((q.At(k/dim, k%dim)+1)/2*bins), 0), bins-1)]++
			}
			signs[int(mat.Det(q)+1.5)/2*2+int(label+1)/2]++
			trace := mat.Trace(q)
			second, fourth = second+trace*trace/draws, fourth+math.Pow(trace, 4)/draws
		}
		testkit.CheckCounts(t, signs, []float64{.25, .25, .25, .25})
		if dim == 3 {
			for _, counts := range entries {
				testkit.CheckCounts(t, counts, even)
			}
		}
		if math.Abs(second-1) > 0.05 || dim > 1 && math.Abs(fourth-3) > 0.3 {
			t.Errorf("d %d: the trace has the moments %v and %v, want 1 and 3", dim, second, fourth)
		}
	}
}

// Rows and labels of a trial are disguised alike wherever they appear, by the streams alone, and
// nothing is allocated.
func TestDisguiseIsDeterministic(t *testing.T) {
	rows := openCSV(t, testkit.CSV(50), overData("halfspace", 0))
	g, n := NewDisguised(rows), len(rows.Y)
	draw := func(rep uint64) (x, y []float64) {
		x, y = make([]float64, n*rows.Dim), make([]float64, n)
		g.Begin(rand.New(rand.NewPCG(4, rep)))
		g.Draw(rand.New(rand.NewPCG(5, rep)), x, y)
		return x, y
	}
	x, y := draw(1)
	all, labels := slices.Clone(rows.X), slices.Clone(rows.Y)
	g.Apply(all, labels)
	seen := map[string]bool{}
	for i, label := range labels {
		seen[fmt.Sprint(all[i*rows.Dim:(i+1)*rows.Dim], label)] = true
	}
	for i, label := range y {
		if row := x[i*rows.Dim : (i+1)*rows.Dim]; !seen[fmt.Sprint(row, label)] {
			t.Fatalf("the example %v of label %v is no row of the population", row, label)
		}
	}
	otherX, _ := draw(2)
	againX, againY := draw(1)
	if !slices.Equal(x, againX) || !slices.Equal(y, againY) || slices.Equal(x, otherX) {
		t.Error("a disguise is not a function of its stream")
	}
	r := rand.New(rand.NewPCG(6, 7))
	if allocs := testing.AllocsPerRun(10, func() { g.Begin(r); g.Draw(r, x, y) }); allocs != 0 {
		t.Errorf("%v allocations a trial", allocs)
	}
}
