package prediction

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/shatterlab/shatter/pipeline/lp"
	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/plugins/finite/finitetest"
)

type depthVectors struct {
	Plane []struct {
		A           [][]float64
		B           []float64 `json:"b"`
		Box         float64
		Points      [][]float64
		Depth       []int
		Cdepth      []int
		MaxDepth    int `json:"max_depth"`
		NumVertices int `json:"n_vertices"`
	}
	Codim1 []struct {
		U          [][]float64
		Q          []float64
		MaxPlus    int `json:"max_depth_plus"`
		MaxMinus   int `json:"max_depth_minus"`
		MaxDepth   int `json:"max_depth"`
		MaxOnHyper int `json:"max_cdepth_on_hyperplane"`
	}
	Cone struct {
		X     [][]float64
		Y     []float64 `json:"y"`
		Q     []float64
		SFree float64 `json:"s_free"`
		SOn   float64 `json:"s_on_hyperplane"`
	} `json:"cone_lp"`
}

func readDepthVectors(t *testing.T) (v depthVectors) {
	t.Helper()
	finitetest.ReadJSON(t, "testdata/cdepth.json", &v)
	if len(v.Plane) == 0 || len(v.Codim1) == 0 || len(v.Cone.X) == 0 {
		t.Fatal("no vectors")
	}
	return v
}

// unitRows scales the vectors to unit length, row-major. It omits zero vectors.
func unitRows(vectors [][]float64) (rows []float64) {
	for _, u := range vectors {
		if u = slices.Clone(u); squaredNorm(u) > 0 {
			normalize(u)
			rows = append(rows, u...)
		}
	}
	return rows
}

func TestConeProgram(t *testing.T) {
	c := readDepthVectors(t).Cone
	var x []float64
	for _, row := range c.X {
		x = append(x, row...)
	}
	made, err := newHalfspaceGenerator([]block{{x, c.Y}}, 2, true)
	if err != nil {
		t.Fatal(err)
	}
	rows := made.(*halfspaces).blocks[0]
	q := unitRows([][]float64{c.Q})
	for _, side := range []struct {
		q    []float64
		want float64
	}{{nil, c.SFree}, {q, c.SOn}} {
		got, err := newFinder(3).centre(rows, 3, side.q)
		if err != nil {
			t.Fatal(err)
		}
		count, margin := depth(rows, got.v)
		if s := margin * math.Sqrt(squaredNorm(got.v)); count != len(c.Y) || math.Abs(s-side.want) > 1e-9 || got.empty {
			t.Errorf("margin %v on %d examples, want %v", s, count, side.want)
		}
	}
}

// A cell is a cell of an arrangement.
type cell struct {
	signs []float64 // sign of each row
	depth int       // number of positive rows
}

// solveCone maximizes s over z_1..z_n in R^d, |z| <= 1, s in 0..1, with <signs[c][i] u_i, z_c> >= s
// for all c and i and sum_c <q, z_c> = 0 for all q. If target is given, the program also requires
// sum_c z_c = target up to a factor of at least 0. solveCone reports whether s > 0.
func solveCone(t *rapid.T, rows []float64, d int, chosen []cell, q []float64, target []float64) bool {
	n := len(chosen)*d + 2 // n counts s and the factor too
	p := lp.Program{C: make([]float64, n), Low: make([]float64, n), High: make([]float64, n)}
	for j := range n {
		p.Low[j], p.High[j] = -1, 1
	}
	p.C[n-2], p.Low[n-2], p.Low[n-1], p.High[n-1] = 1, 0, 0, 1e3
	row := func(low, high float64) []float64 {
		p.A = append(p.A, make([]float64, n)...)
		p.RowLow, p.RowHigh = append(p.RowLow, low), append(p.RowHigh, high)
		return p.A[len(p.A)-n:]
	}
	for c, cell := range chosen {
		for i, sign := range cell.signs {
			r := row(0, math.Inf(1))
			for j := range d {
				r[c*d+j] = sign * rows[i*d+j]
			}
			r[n-2] = -1
		}
	}
	sums := func(v []float64, factor float64) {
		r := row(0, 0)
		for c := range chosen {
			copy(r[c*d:], v)
		}
		r[n-1] = factor
	}
	for i := 0; i < len(q); i += d {
		sums(q[i:i+d], 0)
	}
	for j, x := range target {
		e := make([]float64, d)
		e[j] = 1
		sums(e, -x)
	}
	o, err := new(lp.Simplex).Maximize(&p)
	if err != nil {
		t.Fatal(err)
	}
	return o.Value > 1e-9
}

// allCells lists the open cells of the arrangement.
func allCells(t *rapid.T, rows []float64, d int) (all []cell) {
	m := len(rows) / d
	for bits := range 1 << m {
		c := cell{signs: make([]float64, m)}
		for i := range m {
			c.signs[i] = -1
			if bits>>i&1 == 1 {
				c.signs[i] = 1
				c.depth++
			}
		}
		if solveCone(t, rows, d, []cell{c}, nil, nil) {
			all = append(all, c)
		}
	}
	return all
}

// hullMeets reports whether the hull of the cells with depth y or more meets W and, if v is given,
// contains the direction v. The hull is open: a point in it is a sum of points of all its cells.
func hullMeets(t *rapid.T, rows []float64, all []cell, y int, w *complement, v []float64) bool {
	var level []cell
	for _, c := range all {
		if c.depth >= y {
			level = append(level, c)
		}
	}
	return len(level) > 0 && solveCone(t, rows, w.d, level, w.q, v)
}

// drawRows draws m unit vectors: either Gaussian, or with small integer coordinates, many of which
// repeat, are opposite or are in one plane.
func drawRows(t *rapid.T, m, d int) []float64 {
	var u [][]float64
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	whole := rapid.Bool().Draw(t, "whole")
	for range m {
		v := make([]float64, d)
		for squaredNorm(v) == 0 {
			for j := range v {
				v[j] = r.NormFloat64()
				if whole {
					v[j] = float64(r.IntN(3) - 1)
				}
			}
		}
		u = append(u, v)
	}
	return unitRows(u)
}

func TestDeepestCellAgainstAllCells(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, m := rapid.IntRange(1, 3).Draw(t, "d"), rapid.IntRange(1, 6).Draw(t, "m")
		rows := drawRows(t, m+1, d)
		side := rows[m*d:]
		anywhere, there := 0, 0
		for _, c := range allCells(t, rows, d) {
			count := c.depth
			if c.signs[m] > 0 {
				count--
				there = max(there, count)
			}
			anywhere = max(anywhere, count)
		}
		f := newFinder(d)
		for _, c := range []struct {
			side []float64
			want int
		}{{nil, anywhere}, {side, there}} {
			z, err := f.witness(rows[:m*d], c.side)
			if err != nil || z.depth != c.want || z.most != c.want {
				t.Fatalf("rows %v, side %v: %+v, error %v, want depth %d", rows[:m*d], c.side, z, err, c.want)
			}
			if c.side != nil && !(numeric.Dot(c.side, z.v) > 0) {
				t.Fatalf("rows %v, side %v: %v is on the other side", rows[:m*d], c.side, z.v)
			}
		}
	})
}

// drawComplement draws a W of codimension c in R^d.
func drawComplement(t *rapid.T, d, c int) *complement {
	w := &complement{d: d}
	for w.codim() < c {
		if u := drawRows(t, 1, d); w.distance(u) > 1e-3 {
			w.cut(u)
		}
	}
	return w
}

// The value of best is the largest level whose hull meets W, exactly for d <= 3 and as a lower
// bound for d = 4. Its point is in that hull.
func TestBestAgainstAllHulls(t *testing.T) {
	exact, below := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.IntRange(1, 4).Draw(t, "d")
		m := rapid.IntRange(1, 6).Draw(t, "m")
		w := drawComplement(t, d, rapid.IntRange(0, d-1).Draw(t, "c"))
		rows := drawRows(t, m, d)
		all := allCells(t, rows, d)
		want := m
		for ; want > 0 && !hullMeets(t, rows, all, want, w, nil); want-- {
		}
		got, err := newFinder(d).best(rows, w)
		if err != nil {
			t.Fatal(err)
		}
		context := fmt.Sprintf("d %d, rows %v, q %v: %+v, want value %d", d, rows, w.q, got, want)
		switch {
		case math.Abs(squaredNorm(got.v)-1) > 1e-12 || w.along(got.v) > 1e-12:
			t.Fatalf("%s: not a unit vector of W", context)
		case got.value > want, (d <= 3 || got.exact) && got.value != want, d <= 3 && !got.exact:
			t.Fatal(context)
		case got.value > 0 && !hullMeets(t, rows, all, got.value, &complement{d: d}, got.v):
			t.Fatalf("%s: the point is not in the hull", context)
		}
		// Fact 1 for open depth and cones: d points of the hull's level suffice.
		if count, _ := depth(rows, got.v); count < d*got.value-(d-1)*m {
			t.Fatalf("%s: depth %d", context, count)
		}
		if got.exact {
			exact++
		} else {
			below++
		}
	})
	t.Logf("exact %d, lower bounds %d", exact, below)
}

// For rows that are nearly parallel, and hard queries close to rows, best still returns a unit
// vector of W. Its value is between its depth and the number of rows.
func TestBestOnNearlyDegenerateSamples(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, m := rapid.IntRange(2, 6).Draw(t, "d"), rapid.IntRange(2, 20).Draw(t, "m")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
		rows := drawRows(t, m, d)
		near := func() []float64 {
			v := slices.Clone(rows[d*r.IntN(m):][:d])
			sign, size := float64(1-2*r.IntN(2)), math.Pow(10, -4-11*r.Float64())
			for j := range v {
				v[j] = sign * (v[j] + size*r.NormFloat64())
			}
			normalize(v)
			return v
		}
		for range m / 2 {
			copy(rows[d*r.IntN(m):], near())
		}
		w := &complement{d: d}
		for range rapid.IntRange(0, d-1).Draw(t, "c") {
			w.cut(near())
		}
		got, err := newFinder(d).best(rows, w)
		if err != nil {
			t.Fatal(err)
		}
		own, _ := depth(rows, got.v)
		if math.Abs(squaredNorm(got.v)-1) > 1e-12 || w.along(got.v) > 1e-12 || got.value < own || got.value > m {
			t.Fatalf("rows %v, q %v: %+v of depth %d", rows, w.q, got, own)
		}
	})
}
