//go:build amd64 || arm64

package boosting

// prefetch asks for the cache lines of x, which must not be empty, to be brought in. It changes no value.
//
//go:noescape
func prefetch(x []float64)
