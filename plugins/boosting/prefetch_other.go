//go:build !arm64

package boosting

// prefetch does nothing: on amd64 the functions of avx2_amd64.s prefetch by themselves.
func prefetch([]float64) {}
