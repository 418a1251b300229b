//go:build !amd64 && !arm64

package boosting

// prefetch does nothing on this machine.
func prefetch([]float64) {}
