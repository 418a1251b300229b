// Package numeric holds the small numerical tools that several packages need: bisection, golden
// section search, products of matrices and vectors, and sets of small integers. Every function has one
// order of operations, so that equal arguments give equal bits on all machines of one float profile.
// It needs only the standard library.
//
// Start at [Bisect], [Golden] and [BitSet].
package numeric

import "math"

// Bisect returns the neighboring floats between which a monotone condition changes. It assumes
// that holds(low) is true and holds(high) is false, and calls neither. It calls holds at most
// about 2,100 times, and about 60 times if low and high have similar magnitudes.
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

// BisectInt returns the least whole number in (low, high] at which a monotone condition holds. It
// assumes that enough(low) is false and enough(high) is true, and calls neither. Both are below
// 2^52.
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

// LeastFrom returns the least whole number from low on at which a monotone condition holds, +Inf
// beyond 2^53. It doubles the number first; low is a whole number, at least 1.
func LeastFrom(low float64, enough func(float64) bool) float64 {
	high := low
	for !enough(high) {
		if high *= 2; high > 1<<53 {
			return math.Inf(1)
		}
	}
	if high == low {
		return low
	}
	return BisectInt(high/2, high, enough)
}

// Golden narrows low..high by the given number of golden section steps around the minimum of a
// function that falls and then rises, and returns the midpoint of the remaining interval. Each
// step multiplies its length by 0.618.
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

// ShareUpTo returns the share of the values that are at most limit.
func ShareUpTo(values []float64, limit float64) float64 {
	count := 0
	for _, v := range values {
		if v <= limit {
			count++
		}
	}
	return float64(count) / float64(len(values))
}
