//go:build !amd64 && !arm64

package boosting

func prefetch([]float64) {}
