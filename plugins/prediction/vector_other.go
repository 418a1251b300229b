//go:build !amd64

package prediction

// vector tells that none of the functions below is called.
const vector = false

func countAVX2(v, u []float64, stride, n int) int { return 0 }
