package boosting

// prefetch asks the processor to bring the cache lines of x, which must not be empty, into its
// nearest cache. It changes no value.
//
//go:noescape
func prefetch(x []float64)
