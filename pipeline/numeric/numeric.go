// Package numeric holds the small numerical tools that several packages need: bisection, golden
// section search, products of matrices and vectors, and sets of small integers. Every function has one
// order of operations, so that equal arguments give equal bits on all machines of one float profile.
// It needs only the standard library.
//
// Start at [Bisect], [Golden] and [BitSet].
package numeric

import "math"

// Bisect returns the neighbouring floats between which a monotone condition changes: holds(low) is
// taken to be true and holds(high) to be false, and neither is called. It calls holds at most some
// 2,100 times, and some 60 times where low and high are of one magnitude.
func Bisect(low, high float64, holds func(float64) bool) (lastTrue, firstFalse float64) {
	for {
		middle := low + (high-low)/2
		switch {
		case middle <= low || middle >= high:
			return low, high
		case holds(middle):
			low = middle
		default:
			high = middle
		}
	}
}

// BisectInt returns the least whole number in (low, high] at which a monotone condition holds:
// enough(low) is taken to be false and enough(high) to be true, and neither is called. Both are
// below 2^52.
func BisectInt(low, high float64, enough func(float64) bool) float64 {
	for high-low > 1 {
		if middle := math.Floor((low + high) / 2); enough(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// Golden narrows low..high by the given number of golden section steps around the minimum of a
// function that falls and then rises, and returns the middle of what is left. Each step leaves a
// share of 0.618.
func Golden(value func(float64) float64, low, high float64, steps int) float64 {
	for range steps {
		step := float64((high - low) * (math.Phi - 1))
		if a, b := high-step, low+step; value(a) < value(b) {
			high = b
		} else {
			low = a
		}
	}
	return (low + high) / 2
}
