package compare

import (
	"math"
	"testing"
)

func TestJudge(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		a, b interval
		want string
	}{
		{interval{10, 20, true}, interval{20, 30, true}, Differ}, // n* is above low and at most high
		{interval{10, 21, true}, interval{20, 30, true}, NotToldApart},
		{interval{10, 21, true}, interval{20, 30, false}, Unknown},
		{interval{40, inf, false}, interval{20, 30, true}, Differ},
		{interval{0, 5, true}, interval{5, inf, false}, Differ},
		{interval{-inf, inf, false}, interval{-1, 1, true}, Unknown},
	} {
		if got, swapped := judge(c.a, c.b), judge(c.b, c.a); got != c.want || swapped != c.want {
			t.Errorf("%v and %v: %s, swapped %s, want %s", c.a, c.b, got, swapped, c.want)
		}
	}
}
