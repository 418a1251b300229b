package concept

import (
	"fmt"
	"math/bits"
	"slices"
)

// sorter sorts keys. It reuses its memory.
type sorter struct{ keys []uint64 }

// order sorts points of dim numbers each, all below domain, by coordinate number axis and then by
// their own number. The keys are value << shift | number.
func (s *sorter) order(x []float64, dim, axis int, domain uint64) (shift int, err error) {
	n, width := len(x)/dim, bits.Len64(domain-1)
	if shift = bits.Len(uint(max(n-1, 0))); shift+width > 64 {
		return 0, fmt.Errorf("sort %d points of a domain of %d values: use at most 2^%d points", n, domain, 64-width)
	}
	s.keys = s.keys[:0]
	for i := range n {
		s.keys = append(s.keys, uint64(x[i*dim+axis])<<shift|uint64(i))
	}
	slices.Sort(s.keys)
	return shift, nil
}

// zeroed returns n zeros, in the memory of s if that suffices.
func zeroed[T any](s []T, n int) []T {
	s = slices.Grow(s[:0], n)[:n]
	clear(s)
	return s
}
