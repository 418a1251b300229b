package concept

import (
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"
)

// plainVC returns the Vapnik-Chervonenkis dimension by recursion on the functions that agree with
// both labels of a point.
func plainVC(rows []string) int {
	best := 0
	for v := 0; v < len(rows[0]); v++ {
		best = max(best, shatteredFrom([][]string{rows}, v))
	}
	return best
}

// shatteredFrom returns the size of the largest set that contains v and points after it and
// divides every part; 0 if v does not divide every part.
func shatteredFrom(parts [][]string, v int) int {
	var halves [][]string
	for _, part := range parts {
		var zero, one []string
		for _, row := range part {
			if row[v] == '1' {
				one = append(one, row)
			} else {
				zero = append(zero, row)
			}
		}
		if len(zero) == 0 || len(one) == 0 {
			return 0
		}
		halves = append(halves, zero, one)
	}
	best := 1
	for next := v + 1; next < len(parts[0][0]); next++ {
		best = max(best, 1+shatteredFrom(halves, next))
	}
	return best
}

// The largest possible matrices, with known dimensions.
func TestVCOfLargeMatrices(t *testing.T) {
	for _, c := range []struct {
		name         string
		rows, points int
		label        func(i, v int) bool
		want         int
	}{
		{"thresholds", 720, 720, func(i, v int) bool { return v >= i }, 1},
		{"points", 720, 720, func(i, v int) bool { return v == i }, 1},
		{"two runs", 1024, 512, func(i, v int) bool { return i%32*16 <= v && v < i/32*16 }, 2},
		{"parities", 512, 512, func(i, v int) bool { return bits.OnesCount(uint(i&v))%2 == 1 }, 9},
		{"monotone conjunctions", 512, 512, func(i, v int) bool { return i&v == i }, 9},
	} {
		if got := vcOf(columnsOf(c.rows, c.points, c.label), c.rows, 1<<30); got != exactly(c.want) {
			t.Errorf("%s: VC %v, want %d", c.name, got, c.want)
		}
	}
}

func columnsOf(rows, points int, label func(i, v int) bool) [][]uint64 {
	m := matrix{points: points}
	var text strings.Builder
	for i := range rows {
		for v := range points {
			if label(i, v) {
				text.WriteByte('1')
			} else {
				text.WriteByte('0')
			}
		}
	}
	m.text = text.String()
	return m.columns(rows)
}

// A large random class has too many sets that are nearly shattered: the search stops and reports
// bounds.
func TestUndecidedVC(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	columns := columnsOf(1024, 256, func(int, int) bool { return r.IntN(2) == 0 })
	if vc := vcOf(columns, 1024, 1<<20); vc != (Dimension{8, 10}) {
		t.Errorf("VC %v, want between 8 and 10", vc)
	}
}
