package concept

import (
	"math"
	"math/bits"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Known representation dimensions, and bounds computed by hand.
func TestRepresentation(t *testing.T) {
	ln := func(n float64) float64 { return math.Log(n) }
	for _, c := range []struct {
		s         Spec
		low, high float64
	}{
		{Spec{Name: Points, Domain: 1}, 0, 0},                                            // one hypothesis
		{Spec{Name: Points, Domain: 2}, ln(2), ln(2)},                                    // two
		{Spec{Name: Thresholds, Domain: 2}, ln(3), ln(3)},                                // three
		{Spec{Name: Matrix, Domain: 2, Matrix: "00" + "01" + "10" + "11"}, ln(3), ln(3)}, // a set of three of the four
		{Spec{Name: Thresholds, Domain: 1 << 40}, ln(3), ln(0.75) + 40*math.Ln2},         // ln 3 is more than 0.0078 Ldim
		{Spec{Name: Points, Domain: 1 << 40}, ln(3), ln(17)},                             // does not grow with X
		{Spec{Name: Parities, Dim: 10}, ln(192), ln(768)},                                // 1024 functions, 4 in a ball
		{Spec{Name: Matrix, Domain: 3, Matrix: allRows(3)}, ln(6), ln(6)},                // 8 functions, 1 in a ball
		{Spec{Name: Matrix, Domain: 5, Matrix: allRows(5)}, ln(6), ln(24)},               // 32 functions, 6 in a ball of 4/32
		{Spec{Name: Naturals}, math.Inf(1), math.Inf(1)},                                 // its Ldim is infinite
		{Spec{Name: Matrix, Domain: 1, Matrix: "01"}, ln(2), ln(2)},                      // both labels of a point
		{Spec{Name: Thresholds, Domain: 1 << 20, NoConstant: true}, ln(3), ln(0.75 * (1 << 20))},
	} {
		d, err := Describe(c.s)
		if err != nil {
			t.Fatal(err)
		}
		near := func(a, b float64) bool { return a == b || math.Abs(a-b) < 1e-9 }
		if got := d.Representation; !near(got.Low, c.low) || !near(got.High, c.high) {
			t.Errorf("%+v: %v to %v, want %v to %v", c.s, got.Low, got.High, c.low, c.high)
		}
	}
}

// allRows returns the matrix of all functions on m points.
func allRows(m int) string {
	var b strings.Builder
	for row := range 1 << m {
		for v := range m {
			b.WriteByte("01"[row>>v&1])
		}
	}
	return b.String()
}

// The lower bounds hold on random classes, whose balls are counted one by one.
func TestRepresentationBalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.IntRange(3, 9).Draw(t, "points")
		rows := rapid.SliceOfNDistinct(rapid.IntRange(0, 1<<m-1), 2, 12, rapid.ID).Draw(t, "rows")
		least, most := m, 0
		for i, f := range rows {
			for _, g := range rows[:i] {
				least = min(least, bits.OnesCount(uint(f^g)))
			}
		}
		for h := range 1 << m {
			inside := 0
			for _, f := range rows {
				if 4*bits.OnesCount(uint(f^h)) <= m {
					inside++
				}
			}
			most = max(most, inside)
		}
		need := math.Log(math.Ceil(0.75 * float64(len(rows)) / float64(most)))
		if got := packed(math.Log(float64(len(rows))), float64(least)/float64(m)); got > need+1e-9 {
			t.Fatalf("%d functions on %d points, at least %d apart, at most %d in a ball: %v is above %v",
				len(rows), m, least, most, got, need)
		}
	})
	for k := 3; k <= 12; k++ {
		inside := 0
		for f := range 1 << k {
			if 4*bits.OnesCount(uint(f)) <= k {
				inside++
			}
		}
		want := math.Log(math.Ceil(0.75 * float64(int(1)<<k) / float64(inside)))
		if got := patterned(k); math.Abs(got-want) > 1e-9 {
			t.Errorf("%d shattered points: %v, want %v", k, got, want)
		}
	}
}
