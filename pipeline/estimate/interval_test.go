package estimate

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestClopperPearsonFarOut compares limits with values computed with 30 digits.
func TestClopperPearsonFarOut(t *testing.T) {
	for _, c := range []struct {
		k, n         int
		level, lower float64
	}{
		{5, 10, 1e-06, 0.0212556014055906019},
		{13, 20, 2e-09, 0.0946725078376641539},
		{18, 20, 0.025, 0.68301728598091765},
		{329, 336, 1.3160676714724922e-08, 0.901007154959444677},
		{450, 500, 1e-07, 0.814784259536541597},
		{9000, 10000, 1e-06, 0.885072821694504369},
		{50000, 100000, 1e-08, 0.491122368773867763},
		{99990, 100000, 1e-06, 0.999655763204213906},
		{243884, 243892, 7.54769370255479e-08, 0.999859207303084787},
		{1, 1000000, 1e-09, 1.00000000031877128e-15},
		{999999, 1000000, 0.01, 0.999993361666646658},
		{1000000, 1000000, 1e-05, 0.999988487140808502},
	} {
		if got := CPLower(c.k, c.n, c.level); math.Abs(got-c.lower) > 1e-13 {
			t.Errorf("CPLower(%d, %d, %v): got %.17g, want %.17g", c.k, c.n, c.level, got, c.lower)
		}
		if got := CPUpper(c.n-c.k, c.n, c.level); math.Abs(got-(1-c.lower)) > 1e-13 {
			t.Errorf("CPUpper(%d, %d, %v): got %.17g, want %.17g", c.n-c.k, c.n, c.level, got, 1-c.lower)
		}
	}
}

func TestIsotonic(t *testing.T) {
	if got := Isotonic(nil, nil); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		y := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 20).Draw(t, "y")
		w := rapid.SliceOfN(rapid.Float64Range(0.1, 9), len(y), len(y)).Draw(t, "w")
		fit := Isotonic(y, w)
		if len(fit) != len(y) || !slices.IsSorted(fit) {
			t.Fatalf("got %v", fit)
		}
		// The sums of the residuals and of their products with the fit are 0 at the projection.
		sum, cross := 0.0, 0.0
		for i := range y {
			sum += w[i] * (y[i] - fit[i])
			cross += w[i] * (y[i] - fit[i]) * fit[i]
		}
		if math.Abs(sum) > 1e-9 || math.Abs(cross) > 1e-9 {
			t.Fatalf("residuals of %v sum to %v and %v", fit, sum, cross)
		}
	})
}

func TestNothingToReadOff(t *testing.T) {
	at := func(successes ...int) []Point {
		var points []Point
		for i, k := range successes {
			points = append(points, Point{N: 100 << i, Consumed: 50, Successes: k})
		}
		return points
	}
	if got := Crossing(at(10, 20), 0.9); !math.IsNaN(got) {
		t.Errorf("Crossing of rates below the target: %v", got)
	}
	if low, high := Bracket(at(30, 35), 0.65, 0.05); low != 0 || high != 0 {
		t.Errorf("Bracket of rates near the target: %d, %d", low, high)
	}
}

func TestMeanInterval(t *testing.T) {
	// 2.262157 is the 97.5 % quantile of Student's t with 9 degrees of freedom.
	low, high := MeanInterval(5, 3, 10, 0.05)
	if math.Abs(high-5-2.2621571628*3/math.Sqrt(10)) > 1e-9 || math.Abs(low+high-10) > 1e-12 {
		t.Errorf("interval [%v, %v]", low, high)
	}
	if low, high := MeanInterval(5, 0, 10, 0.05); low != 5 || high != 5 {
		t.Errorf("without deviation: [%v, %v]", low, high)
	}
	for _, n := range []int{0, 1} {
		if low, high := MeanInterval(5, math.NaN(), n, 0.05); !math.IsInf(low, -1) || !math.IsInf(high, 1) {
			t.Errorf("%d values: [%v, %v]", n, low, high)
		}
	}
}
