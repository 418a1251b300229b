package finite

import (
	"slices"
	"sync"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
)

// Place names a class and a separator of it: points at which any two of its hypotheses differ.
type Place struct {
	Spec concept.Spec
	Kind string // kind of the separator, one of concept.SeparatorKinds; "" for none
	Seed int    // seed of a separator that has one, otherwise 0
}

// PlaceOf returns the place of a problem's class and the separator of that kind and seed.
func PlaceOf(p algo.Problem, kind string, seed int) Place { return Place{SpecOf(p), kind, seed} }

// Check returns an Invalid error, which starts with prefix, if p has a seed that its kind of
// separator does not use.
func (p Place) Check(prefix string) error {
	if p.Seed != 0 && !concept.SeededSeparator(p.Kind) {
		return algo.Invalid("%s: code_seed %d has no meaning with separator %q: "+
			"leave it out, or take separator code, drawn or drawn-printed", prefix, p.Seed, p.Kind)
	}
	return nil
}

// CacheSize is the number of values that a [Cache] keeps.
const CacheSize = 4

// Cache keeps the values used last, up to [CacheSize] of them, each under its key. It is for what
// trials of one class share, such as its label table or its separator, which can take hundreds of
// megabytes. The zero value is empty and ready for use, by several goroutines at once.
type Cache[K comparable, V any] struct {
	mu      sync.Mutex
	entries []entry[K, V] // the one used last comes last
	weight  int           // of all entries
}

type entry[K comparable, V any] struct {
	key    K
	value  V
	weight int
}

// Get returns the value of key. It calls build, which must not use the cache, if the cache does not
// hold one. The error is that of build, and is not kept.
func (c *Cache[K, V]) Get(key K, build func(K) (V, error)) (V, error) {
	return c.GetWithin(0, key, build, func(V) int { return 0 })
}

// GetWithin returns the value of key, as Get does, for values that are also limited by their total
// weight: a value that it builds makes the cache forget those used longest ago until what it keeps
// weighs at most limit, or is that value alone.
func (c *Cache[K, V]) GetWithin(limit int, key K, build func(K) (V, error), weigh func(V) int) (V, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, known := range c.entries {
		if known.key == key {
			c.entries = append(slices.Delete(c.entries, i, i+1), known)
			return known.value, nil
		}
	}
	value, err := build(key)
	if err != nil {
		var none V
		return none, err
	}
	added := entry[K, V]{key, value, weigh(value)}
	c.entries = append(c.entries, added)
	c.weight += added.weight
	for len(c.entries) > CacheSize || len(c.entries) > 1 && c.weight > limit {
		c.weight -= c.entries[0].weight
		c.entries = slices.Delete(c.entries, 0, 1)
	}
	return value, nil
}
