package dataset

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Numbers begin at multiples of 64, and those of points and labels do not overlap.
func TestLayout(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, dim := rapid.IntRange(0, 40).Draw(t, "rows"), rapid.IntRange(1, 9).Draw(t, "dim")
		labelled := rapid.Bool().Draw(t, "labelled")
		l, err := NewLayout(rows, dim, labelled)
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, l.Size)
		x, y := l.X(b), l.Y(b)
		for i := range x {
			x[i] = 1
		}
		if l.XAt == 0 || l.XAt%64 != 0 || l.YAt%64 != 0 || (l.YAt > 0) != labelled || (y != nil) != labelled ||
			len(x) != rows*dim || labelled && len(y) != rows || slices.Contains(y, 1) {
			t.Errorf("%+v: %d and %d numbers", l, len(x), len(y))
		}
	})
}

func TestNewLayoutRefuses(t *testing.T) {
	for _, c := range []struct {
		rows, dim int
		want      string
	}{
		{-1, 1, "-1 rows"}, {1, 0, "dimension 0"}, {1, 1 << 31, "at least 0 and 1 are needed"},
		{1 << 42, 16, "more than 70368744177664 bytes"}, {1 << 62, 1, "more than"},
	} {
		if _, err := NewLayout(c.rows, c.dim, true); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d rows of dimension %d: %v, want %q", c.rows, c.dim, err, c.want)
		}
	}
}
