package numeric

import "sync"

// mostRemembered is the number of results in one generation of Remember.
const mostRemembered = 1024

// Remember returns a function like f, whose results must follow from their argument alone, that
// computes them once for arguments that come back soon. It is safe for concurrent use if f is.
func Remember[K comparable, V any](f func(K) V) func(K) V {
	var mu sync.Mutex
	young, old := map[K]V{}, map[K]V{}
	recall := func(k K) (V, bool) {
		mu.Lock()
		defer mu.Unlock()
		if v, ok := young[k]; ok {
			return v, true
		}
		v, ok := old[k]
		return v, ok
	}
	return func(k K) V {
		v, ok := recall(k)
		if ok {
			return v
		}
		v = f(k)
		mu.Lock()
		defer mu.Unlock()
		if len(young) >= mostRemembered {
			young, old = map[K]V{}, young
		}
		young[k] = v
		return v
	}
}
