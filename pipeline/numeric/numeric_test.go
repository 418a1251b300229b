package numeric

import (
	"math"
	"testing"
)

func TestBisect(t *testing.T) {
	low, high := Bisect(0, 2, func(x float64) bool { return x*x < 2 })
	if high != math.Nextafter(low, 3) || low*low >= 2 || high*high < 2 {
		t.Errorf("sqrt(2) lies between %v and %v: want neighbouring floats around it", low, high)
	}
}

func TestBisectInt(t *testing.T) {
	for want := 1.0; want <= 40; want++ {
		if got := BisectInt(0, 40, func(n float64) bool { return n >= want }); got != want {
			t.Errorf("least n of at least %v: %v", want, got)
		}
	}
}

func TestGolden(t *testing.T) {
	got := Golden(func(x float64) float64 { return math.Abs(x - 1.25) }, -3, 20, 100)
	if math.Abs(got-1.25) > 1e-12 {
		t.Errorf("the minimum of |x - 1.25| is found at %v", got)
	}
}
