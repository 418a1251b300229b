package testkit

import (
	"math"
	"testing"
)

// CheckCounts compares counts with the probabilities want by Pearson's statistic, and fails the
// test where that is more than some five standard deviations too large.
func CheckCounts(t testing.TB, counts, want []float64) {
	t.Helper()
	n, chi := 0.0, 0.0
	for _, c := range counts {
		n += c
	}
	for k, w := range want {
		chi += (counts[k] - n*w) * (counts[k] - n*w) / (n * w)
	}
	freedom := float64(len(want) - 1)
	if chi > freedom+5*math.Sqrt(2*max(freedom, 1))+5 {
		t.Errorf("chi-square %.1f with %v degrees of freedom: counts %v, want shares %v", chi, freedom, counts, want)
	}
}
