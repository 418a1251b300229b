package numeric

import "sync"

// maxRemembered is the number of results in one generation of Remember.
const maxRemembered = 1024

// Remember returns a cached version of f, whose results must depend only on its argument. It
// caches the results of recent arguments. It is safe for concurrent use if f is.
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
		if len(young) >= maxRemembered {
			young, old = map[K]V{}, young
		}
		young[k] = v
		return v
	}
}
