package numeric

import "math"

// Multiply returns a*b, or the largest int64 if that is larger; a and b are at least 0.
func Multiply(a, b int64) int64 {
	if a > 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}

// Add returns a+b, or the largest int64 if that is larger; a and b are at least 0.
func Add(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
