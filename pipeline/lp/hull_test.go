package lp

import (
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func marginOf(t testing.TB, rows []float64, m int) Margin {
	t.Helper()
	r, err := HullMargin(rows, m)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The constants -1, 0 and 1 on one point, and other tables in which a function lies between
// others: no noise that is linear in the values makes its choice stable, for any distance between
// them.
func TestHullMarginZero(t *testing.T) {
	for _, c := range []struct {
		name string
		m    int
		rows []float64
	}{
		{"three constants", 1, []float64{-1, 0, 1}},
		{"middle of a triangle", 2, []float64{0, 0, 3, 0, 0, 3, 1, 1}},
		{"twins", 2, []float64{0, 1, 5, 5, 0, 1}},
		{"all equal", 3, []float64{0.1, 0.2, 0.3, 0.1, 0.2, 0.3, 0.1, 0.2, 0.3}},
		{"far from the origin", 1, []float64{1e9, 1e9 + 1, 1e9 + 2}},
		{"near the origin", 1, []float64{-1e-100, 0, 1e-100}},
	} {
		size := 0.0
		for _, v := range c.rows {
			size = max(size, math.Abs(v))
		}
		if r := marginOf(t, c.rows, c.m); r.Lower != 0 || !(r.Upper >= 0) || r.Upper > 1e-12*size {
			t.Errorf("%s: %v", c.name, r)
		}
	}
}

func TestHullMarginKnown(t *testing.T) {
	for _, c := range []struct {
		name string
		m    int
		rows []float64
		want float64
	}{
		{"two points", 2, []float64{0, 0, 3, 4}, 5},
		{"large", 2, []float64{0, 0, 3e149, 4e149}, 5e149},
		{"small", 2, []float64{0, 0, 3e-200, 4e-200}, 5e-200},
		{"offset", 2, []float64{1e6, 1e6, 1e6 + 3, 1e6 + 4}, 5},
		{"square", 2, []float64{0, 0, 1, 0, 1, 1, 0, 1}, math.Sqrt2 / 2},
		{"square, one corner twice among the others", 2, []float64{0, 0, 2, 0, 2, 2, 0, 2, 1, 2.5}, 0.5},
	} {
		r := marginOf(t, c.rows, c.m)
		if !(r.Lower <= c.want && c.want <= r.Upper) || r.Upper-r.Lower > 1e-9*c.want {
			t.Errorf("%s: %v, want %v", c.name, r, c.want)
		}
	}
}

func TestHullMarginRefuses(t *testing.T) {
	for _, c := range []struct {
		m    int
		rows []float64
		want string
	}{
		{2, []float64{1, 2, 3}, "3 numbers are no rows of 2"},
		{0, nil, "0 numbers are no rows of 0"},
		{2, []float64{1, 2}, "hull margin of 1 rows of 2: use 2 to 500 rows"},
		{1, make([]float64, 501), "hull margin of 501 rows"},
		{1 << 23, make([]float64, 3<<23), "at most 16777216 numbers"},
		{1, []float64{1, math.NaN()}, "value NaN in row 1: use finite numbers"},
		{1, []float64{1, math.Inf(-1)}, "value -Inf in row 1"},
		{1, []float64{1e151, 1}, "value 1e+151 in row 0: use finite numbers up to 1e+150"},
	} {
		if _, err := HullMargin(c.rows, c.m); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d numbers: error %v, want %s", len(c.rows), err, c.want)
		}
	}
}

// exactMargin returns the squared hull margin in rational arithmetic: the nearest point of a hull
// is the nearest point of the affine hull of a set of affinely independent rows, with nonnegative
// weights.
func exactMargin(rows []float64, m int) *big.Rat {
	n := len(rows) / m
	var least *big.Rat
	for f := range n {
		for set := range 1 << n {
			if set == 0 || set>>f&1 == 1 {
				continue
			}
			var others []int
			for g := range n {
				if set>>g&1 == 1 {
					others = append(others, g)
				}
			}
			if d := exactDistance(rows, m, f, others); d != nil && (least == nil || d.Cmp(least) < 0) {
				least = d
			}
		}
	}
	return least
}

// exactDistance returns the squared distance of row f from the affine hull of the others. It
// returns nil if the nearest point is outside of their convex hull or not unique. With x from Q x
// = 1, Q the Gram matrix of the differences plus 1 everywhere, it is 1/sum(x) - 1.
func exactDistance(rows []float64, m, f int, others []int) *big.Rat {
	k := len(others)
	q := make([][]*big.Rat, k) // including the right side
	for i, g := range others {
		for _, h := range others {
			sum := big.NewRat(1, 1)
			for c := range m {
				a := new(big.Rat).Sub(rational(rows[g*m+c]), rational(rows[f*m+c]))
				b := new(big.Rat).Sub(rational(rows[h*m+c]), rational(rows[f*m+c]))
				sum.Add(sum, a.Mul(a, b))
			}
			q[i] = append(q[i], sum)
		}
		q[i] = append(q[i], big.NewRat(1, 1))
	}
	if !eliminate(q) {
		return nil
	}
	sum := new(big.Rat)
	for i := range q {
		if q[i][k].Sign() < 0 {
			return nil
		}
		sum.Add(sum, q[i][k])
	}
	return sum.Sub(sum.Inv(sum), big.NewRat(1, 1))
}

func rational(v float64) *big.Rat { return new(big.Rat).SetFloat64(v) }

// eliminate solves the equations in place; it returns false if they are singular.
func eliminate(q [][]*big.Rat) bool {
	for i := range q {
		pivot := slices.IndexFunc(q[i:], func(row []*big.Rat) bool { return row[i].Sign() != 0 })
		if pivot < 0 {
			return false
		}
		q[i], q[i+pivot] = q[i+pivot], q[i]
		inverse := new(big.Rat).Inv(q[i][i])
		for c := range q[i] {
			q[i][c] = new(big.Rat).Mul(q[i][c], inverse)
		}
		for r := range q {
			if factor := q[r][i]; r != i && factor.Sign() != 0 {
				for c := range q[r] {
					q[r][c] = new(big.Rat).Sub(q[r][c], new(big.Rat).Mul(factor, q[i][c]))
				}
			}
		}
	}
	return true
}

// The distance of two rows is five orders of magnitude smaller than other distances: with the
// mean of all rows as the center a search would end too early.
func TestHullMarginOfNearRows(t *testing.T) {
	rows := []float64{
		-0.5, 1, 1,
		5.500968633517442e-08, 0, 1.2838541170347908e-86,
		-2.4388977979591285e-50, 1, -1.5005084951609277e-24,
		9.401319101901817e-143, -1.1912959588128543e-49, -0.2784927494508927,
		-1.1923675656524274e-05, 5.530473496297874e-146, -2.490978871739699e-10,
	}
	r := marginOf(t, rows, 3)
	if want, _ := exactMargin(rows, 3).Float64(); !(r.Lower*r.Lower <= want && want <= r.Upper*r.Upper) ||
		r.Upper-r.Lower > 1e-6*r.Upper {
		t.Errorf("%v, want %v", r, math.Sqrt(want))
	}
}

// The bounds hold exactly, and are close, for all points: on a small grid many of them coincide
// or are affinely dependent.
func TestHullMarginAgainstExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.IntRange(1, 3).Draw(t, "m")
		n := rapid.IntRange(2, 5).Draw(t, "n")
		entry := rapid.SampledFrom([]*rapid.Generator[float64]{
			rapid.Map(rapid.IntRange(-2, 2), func(v int) float64 { return float64(v) }),
			rapid.Map(rapid.IntRange(-1, 1), func(v int) float64 { return 1e7 + float64(v)/3 }),
			rapid.Float64Range(-1, 1),
		}).Draw(t, "entries")
		rows := rapid.SliceOfN(entry, n*m, n*m).Draw(t, "rows")
		r, err := HullMargin(rows, m)
		if err != nil {
			t.Fatal(err)
		}
		want := exactMargin(rows, m)
		lower, upper := rational(r.Lower), rational(r.Upper)
		if lower.Mul(lower, lower).Cmp(want) > 0 || upper.Mul(upper, upper).Cmp(want) < 0 {
			t.Fatalf("%v, want %s squared", r, want.FloatString(20))
		}
		size := 0.0
		for i := range rows {
			size = max(size, math.Abs(rows[i]-rows[i%m]))
		}
		if r.Upper-r.Lower > 1e-6*size+1e-300 {
			t.Fatalf("%v: wide for numbers that differ by %v", r, size)
		}
	})
}

// floats draws n numbers of either sign and different sizes.
func floats(t *rapid.T, n int) []float64 {
	return rapid.SliceOfN(rapid.Map(rapid.Float64Range(-1, 1), func(v float64) float64 { return v * v * v }), n,
		n).Draw(t, "numbers")
}

// Upper is at least the distance for any convex combination, including one that nearly meets the
// row.
func TestCertifyAgainstExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, k := rapid.IntRange(1, 4).Draw(t, "m"), rapid.IntRange(1, 6).Draw(t, "k")
		h := &hull{n: k + 1, m: m, rows: floats(t, (k+1)*m)}
		weight := make([]float64, k)
		exact, sum := make([]*big.Rat, m), new(big.Rat)
		for c := range exact {
			exact[c] = new(big.Rat)
		}
		var others []int
		for i := range weight {
			weight[i] = rapid.Float64Range(0.01, 1).Draw(t, "weight")
			others = append(others, i+1)
			sum.Add(sum, rational(weight[i]))
			for c, v := range h.row(i + 1) {
				exact[c].Add(exact[c], new(big.Rat).Mul(rational(weight[i]), rational(v)))
			}
		}
		squared, inside := new(big.Rat), rapid.Bool().Draw(t, "inside")
		for c, v := range exact {
			v.Quo(v, sum)
			if inside {
				h.rows[c], _ = v.Float64()
			}
			v.Sub(v, rational(h.rows[c]))
			squared.Add(squared, v.Mul(v, v))
		}
		r := h.certify(0, others, weight)
		if upper := rational(r.Upper); upper.Mul(upper, upper).Cmp(squared) < 0 {
			t.Fatalf("%v, want at least the root of %s", r, squared.FloatString(40))
		}
	})
}
