package numeric

// Dot returns the inner product of a and the first len(a) numbers of b, summed from the first to
// the last and without fused additions, so that it has the same bits on all machines.
func Dot(a, b []float64) (sum float64) {
	for i, v := range a {
		sum += float64(v * b[i])
	}
	return sum
}
