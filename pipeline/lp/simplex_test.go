package lp

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var inf = math.Inf(1)

func TestSimplexKnownPrograms(t *testing.T) {
	zero, one, none := []float64{0}, []float64{1}, math.NaN()
	for _, c := range []struct {
		name  string
		p     Program
		value float64 // NaN: infeasible
	}{
		{"nothing", Program{}, 0},
		{"no rows", Program{C: []float64{1, -2, 0}, Low: []float64{-1, -1, -1}, High: []float64{3, 2, 1}}, 5},
		{"zero row", Program{C: one, Low: zero, High: one, A: zero, RowLow: zero, RowHigh: zero}, 1},
		{"zero row, infeasible", Program{C: one, Low: zero, High: one, A: zero, RowLow: one, RowHigh: []float64{inf}}, none},
		{"fixed unknown", Program{C: []float64{1, 1}, Low: []float64{2, 0}, High: []float64{2, 9},
			A: []float64{1, 1}, RowLow: []float64{-inf}, RowHigh: []float64{7}}, 7},
		{"two equations", Program{C: []float64{1, 0}, Low: []float64{-9, -9}, High: []float64{9, 9},
			A: []float64{1, 1, 1, -1}, RowLow: []float64{4, 2}, RowHigh: []float64{4, 2}}, 3},
		{"equations that disagree", Program{C: []float64{1, 0}, Low: []float64{-9, -9}, High: []float64{9, 9},
			A: []float64{1, 1, 2, 2}, RowLow: []float64{4, 9}, RowHigh: []float64{4, 9}}, none},
		{"box too small", Program{C: zero, Low: zero, High: one, A: one, RowLow: []float64{1.5}, RowHigh: []float64{2}},
			none},
		// Beale 1955: the textbook's simplex method cycles here.
		{"Beale", Program{C: []float64{0.75, -150, 0.02, -6}, Low: make([]float64, 4), High: []float64{1e3, 1e3, 1e3, 1e3},
			A: []float64{0.25, -60, -0.04, 9, 0.5, -90, -0.02, 3, 0, 0, 1, 0}, RowLow: []float64{-inf, -inf, -inf},
			RowHigh: []float64{0, 0, 1}}, 0.05},
	} {
		var s Simplex
		o, err := s.Maximize(&c.p)
		if math.IsNaN(c.value) {
			if !errors.Is(err, ErrInfeasible) {
				t.Errorf("%s: %+v, error %v", c.name, o, err)
			}
			continue
		}
		if err != nil || math.Abs(o.Value-c.value) > 1e-12 {
			t.Errorf("%s: value %v, error %v, want %v", c.name, o.Value, err, c.value)
		}
	}
}

func TestSimplexRefuses(t *testing.T) {
	one, two := []float64{1}, []float64{1, 2}
	for _, c := range []struct {
		p    Program
		want string
	}{
		{Program{C: one, Low: one}, "1 costs, 1 lower and 0 upper bounds"},
		{Program{C: one, Low: one, High: two}, "1 costs, 1 lower and 2 upper bounds"},
		{Program{C: one, Low: one, High: one, A: two, RowLow: one, RowHigh: one}, "1 unknowns, 2 numbers in A"},
		{Program{C: one, Low: one, High: one, A: one, RowLow: one, RowHigh: two}, "1 lower and 2 upper bounds of rows"},
		{Program{C: []float64{math.NaN()}, Low: one, High: one}, "unknown 0 costs NaN"},
		{Program{C: one, Low: []float64{2}, High: one}, "unknown 0 costs 1 and has bounds 2 and 1"},
		{Program{C: one, Low: one, High: []float64{inf}}, "unknown 0 costs 1 and has bounds 1 and +Inf"},
		{Program{C: one, Low: one, High: one, A: one, RowLow: two[1:], RowHigh: one}, "row 0 has bounds 2 and 1"},
		{Program{C: one, Low: one, High: one, A: one, RowLow: []float64{inf}, RowHigh: []float64{inf}},
			"row 0 has bounds +Inf and +Inf"},
		{Program{C: one, Low: one, High: one, A: []float64{inf}, RowLow: one, RowHigh: one}, "row 0 of A has +Inf"},
	} {
		var s Simplex
		_, err := s.Maximize(&c.p)
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, ErrInfeasible) ||
			errors.Is(err, ErrNotSolved) {
			t.Errorf("%+v: error %v, want %q", c.p, err, c.want)
		}
	}
}

// drawProgram returns a small degenerate program: small integers; rows that repeat, contradict or
// are 0; equations; fixed unknowns.
func drawProgram(t *rapid.T, maxN, maxM int) Program {
	n, m := rapid.IntRange(1, maxN).Draw(t, "n"), rapid.IntRange(0, maxM).Draw(t, "m")
	whole := func(low, high int) float64 { return float64(rapid.IntRange(low, high).Draw(t, "v")) }
	p := Program{}
	for range n {
		low := whole(-2, 2)
		p.C, p.Low, p.High = append(p.C, whole(-2, 2)), append(p.Low, low), append(p.High, low+whole(0, 4))
	}
	for k := range m {
		if k > 0 && rapid.IntRange(0, 3).Draw(t, "repeat") == 0 {
			f := whole(-2, 2)
			for _, a := range p.row(rapid.IntRange(0, k-1).Draw(t, "of")) {
				p.A = append(p.A, f*a)
			}
		} else {
			for range n {
				p.A = append(p.A, whole(-2, 2))
			}
		}
		low, high := whole(-6, 6), inf
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			high = low
		case 1:
			high = low + whole(0, 5)
		case 2:
			low, high = -inf, low
		}
		p.RowLow, p.RowHigh = append(p.RowLow, low), append(p.RowHigh, high)
	}
	return p
}

// bestVertex returns the largest value at the vertices of p, by Cramer's rule on whole numbers,
// hence exact; it returns false if there is no vertex.
func bestVertex(p *Program) (best float64, found bool) {
	type plane struct {
		a []float64
		b float64
	}
	var planes []plane
	for j := range p.C {
		e := make([]float64, len(p.C))
		e[j] = 1
		planes = append(planes, plane{e, p.Low[j]}, plane{e, p.High[j]})
	}
	for k, low := range p.RowLow {
		for _, b := range []float64{low, p.RowHigh[k]} {
			if !math.IsInf(b, 0) {
				planes = append(planes, plane{p.row(k), b})
			}
		}
	}
	n := len(p.C)
	try := func(chosen []int) {
		d := determinant(n, func(i, j int) float64 { return planes[chosen[i]].a[j] })
		if d == 0 {
			return
		}
		x := make([]float64, n) // x, multiplied by |d|
		for k := range x {
			x[k] = math.Copysign(1, d) * determinant(n, func(i, j int) float64 {
				if j == k {
					return planes[chosen[i]].b
				}
				return planes[chosen[i]].a[j]
			})
		}
		d = math.Abs(d)
		for j := range x {
			if x[j] < d*p.Low[j] || x[j] > d*p.High[j] {
				return
			}
		}
		for k := range p.RowLow {
			if v := inner(p.row(k), x); v < d*p.RowLow[k] || v > d*p.RowHigh[k] {
				return
			}
		}
		if v := inner(p.C, x) / d; !found || v > best {
			best, found = v, true
		}
	}
	subsets(len(planes), n, try)
	return best, found
}

func inner(a, b []float64) (s float64) {
	for i := range a {
		s += float64(a[i] * b[i])
	}
	return s
}

func determinant(n int, at func(i, j int) float64) float64 {
	switch n {
	case 1:
		return at(0, 0)
	case 2:
		return at(0, 0)*at(1, 1) - at(0, 1)*at(1, 0)
	}
	var d float64
	for k := range 3 {
		d += at(0, k) * (at(1, (k+1)%3)*at(2, (k+2)%3) - at(1, (k+2)%3)*at(2, (k+1)%3))
	}
	return d
}

func subsets(n, size int, do func([]int)) {
	chosen := make([]int, size)
	var from func(i, low int)
	from = func(i, low int) {
		if i == size {
			do(chosen)
			return
		}
		for v := low; v < n; v++ {
			chosen[i] = v
			from(i+1, v+1)
		}
	}
	from(0, 0)
}

// A feasible program in a box has an optimal vertex.
func TestSimplexAgainstAllVertices(t *testing.T) {
	var s Simplex
	rapid.Check(t, func(t *rapid.T) {
		p := drawProgram(t, 3, 5)
		want, feasible := bestVertex(&p)
		o, err := s.Maximize(&p)
		switch {
		case !feasible && !errors.Is(err, ErrInfeasible):
			t.Fatalf("%+v: infeasible, but %+v, error %v", p, o, err)
		case feasible && (err != nil || math.Abs(o.Value-want) > 1e-9):
			t.Fatalf("%+v: value %v, error %v, want %v", p, o.Value, err, want)
		}
		audit(t, &p, o, err)
	})
}

// audit checks an answer against the contract of Optimum, with its own arithmetic.
func audit(t interface{ Fatalf(string, ...any) }, p *Program, o Optimum, err error) {
	if err != nil && !errors.Is(err, ErrInfeasible) {
		if !errors.Is(err, ErrNotSolved) {
			t.Fatalf("untyped error %v", err)
		}
		return
	}
	dual, size := dualBound(p, o.Multipliers, err == nil)
	if err != nil {
		if dual >= 0 {
			t.Fatalf("multipliers %v prove nothing: %v", o.Multipliers, dual)
		}
		return
	}
	for j, x := range o.X {
		if !(x >= p.Low[j] && x <= p.High[j]) {
			t.Fatalf("unknown %d is %v", j, x)
		}
	}
	for k := range p.RowLow {
		var reach float64
		for j, a := range p.row(k) {
			reach += math.Abs(a) * max(math.Abs(p.Low[j]), math.Abs(p.High[j]))
		}
		if v := inner(p.row(k), o.X); !(v >= p.RowLow[k]-2*Tolerance*reach && v <= p.RowHigh[k]+2*Tolerance*reach) {
			t.Fatalf("row %d is %v", k, v)
		}
	}
	if v := inner(p.C, o.X); !(math.Abs(v-o.Value) <= 1e-12*size && math.Abs(dual-o.Value) <= 2*Tolerance*size) {
		t.Fatalf("value %v, said to be %v, dual bound %v", v, o.Value, dual)
	}
}

// dualBound returns the bound by the multipliers y on <C, x>, or with costs false on 0 (below 0
// it proves infeasibility), and the sizes of its terms.
func dualBound(p *Program, y []float64, costs bool) (bound, size float64) {
	for j := range p.C {
		var rest float64
		if costs {
			rest = p.C[j]
		}
		reach := max(math.Abs(p.Low[j]), math.Abs(p.High[j]))
		size += math.Abs(rest) * reach
		for k, v := range y {
			rest -= v * p.row(k)[j]
			size += math.Abs(v*p.row(k)[j]) * reach
		}
		bound += max(rest*p.Low[j], rest*p.High[j])
	}
	for k, v := range y {
		if v > 0 {
			bound += v * p.RowHigh[k]
		} else if v < 0 {
			bound += v * p.RowLow[k]
		}
	}
	return bound, size
}

// Every degenerate program of moderate numbers is solved or proved infeasible.
func TestSimplexDegeneratePrograms(t *testing.T) {
	var s Simplex
	rapid.Check(t, func(t *rapid.T) {
		p := drawProgram(t, 12, 40)
		o, err := s.Maximize(&p)
		if errors.Is(err, ErrNotSolved) {
			t.Fatalf("%+v: %v", p, err)
		}
		audit(t, &p, o, err)
	})
}

// Bland's rule alone terminates too, with the same answer.
func TestSimplexByBlandsRule(t *testing.T) {
	var s, other Simplex
	rapid.Check(t, func(t *rapid.T) {
		p := drawProgram(t, 6, 20)
		other.start(&p)
		i := other.leaving(true)
		for pivots := 0; i >= 0 && other.repair(i, true); pivots++ {
			if pivots > 1000 {
				t.Fatalf("%+v: no end", p)
			}
			i = other.leaving(true)
		}
		got, gotErr := other.answer(i)
		want, wantErr := s.Maximize(&p)
		if errors.Is(gotErr, ErrInfeasible) != errors.Is(wantErr, ErrInfeasible) || math.Abs(got.Value-want.Value) > 1e-9 {
			t.Fatalf("%+v: %+v, error %v, want %+v, error %v", p, got, gotErr, want, wantErr)
		}
	})
}

// Numbers of all sizes: a verified answer or a typed error.
func TestSimplexWildNumbers(t *testing.T) {
	var s Simplex
	number := rapid.Custom(func(t *rapid.T) float64 {
		v := rapid.Float64Range(-1, 1).Draw(t, "v") * math.Pow(10, float64(rapid.IntRange(-320, 320).Draw(t, "exponent")))
		return min(max(v, -math.MaxFloat64), math.MaxFloat64)
	})
	rapid.Check(t, func(t *rapid.T) {
		p := drawProgram(t, 6, 10)
		for _, v := range [][]float64{p.C, p.A, p.Low, p.High, p.RowLow, p.RowHigh} {
			for i := range v {
				if !math.IsInf(v[i], 0) && rapid.IntRange(0, 4).Draw(t, "wild") == 0 {
					v[i] = number.Draw(t, "number")
				}
			}
		}
		o, err := s.Maximize(&p)
		if err == nil || errors.Is(err, ErrInfeasible) || errors.Is(err, ErrNotSolved) {
			for _, v := range append(slices.Clone(o.X), o.Value, o.Bound) {
				if err == nil && !finite(v) {
					t.Fatalf("%+v: answer %+v", p, o)
				}
			}
		} else if !strings.HasPrefix(err.Error(), "read linear program: ") {
			t.Fatalf("error %v", err)
		}
	})
}
