package finite

import (
	"sync"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
)

// A Place is a class and a separator of it: points at which any two of its hypotheses differ.
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
		return algo.Invalid("%s: code_seed %d is not used by separator %q: "+
			"omit it, or use separator code, drawn or drawn-printed", prefix, p.Seed, p.Kind)
	}
	return nil
}

// SeparatorParams holds the parameters that choose a separator, to be embedded in those of an
// algorithm.
type SeparatorParams struct {
	Separator string `doc:"points that carry the noise: standard (basis of the parities, all points of an ordered domain), cube (all points of the domain), code (parities: columns of a random code), greedy (few points, small classes), drawn (from the uniform distribution on the domain, as many as are proved to preserve half of its rho^2 with probability 0.99), drawn-printed (as many as in Lemma 7 of Block and Shetty 2025)" choices:"standard,cube,code,greedy,drawn,drawn-printed"`
	CodeSeed  int    `doc:"seed of the random code of separator code, and of the points of drawn and drawn-printed" min:"0"`
}

// PlaceOf returns the place of a problem's class and this separator.
func (s SeparatorParams) PlaceOf(p algo.Problem) Place { return PlaceOf(p, s.Separator, s.CodeSeed) }

// CacheSize is the number of values that a [Cache] keeps.
const CacheSize = 4

// Cache holds up to [CacheSize] values, each under its key; when it is full it discards all of
// them. It is for data that trials of one class share, such as its label table or its separator,
// which can take hundreds of megabytes. The zero value is empty and ready for use. A Cache is safe
// for concurrent use.
type Cache[K comparable, V any] struct {
	mu     sync.Mutex
	values map[K]V
	weight int // total weight of the values
}

// Get returns the value of key. If the cache does not hold one, it calls build, which must not use
// the cache. The error is that of build, and is not cached.
func (c *Cache[K, V]) Get(key K, build func(K) (V, error)) (V, error) {
	return c.GetWithin(0, key, build, func(V) int { return 0 })
}

// GetWithin is Get for values with a limited total weight: the cached values together weigh at most
// limit, or there is only one.
func (c *Cache[K, V]) GetWithin(limit int, key K, build func(K) (V, error), weigh func(V) int) (V, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v, ok := c.values[key]; ok {
		return v, nil
	}
	v, err := build(key)
	if err != nil {
		return v, err
	}
	added := weigh(v)
	if len(c.values) == CacheSize || c.weight+added > limit {
		clear(c.values)
		c.weight = 0
	}
	if c.values == nil {
		c.values = map[K]V{}
	}
	c.values[key] = v
	c.weight += added
	return v, nil
}
