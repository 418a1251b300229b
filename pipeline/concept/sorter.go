package concept

import (
	"fmt"
	"math/bits"
	"slices"
)

// sorter sorts keys. It reuses the memory of the last time.
type sorter struct {
	keys  []uint64
	spare []uint64
}

// sort sorts the keys by their bits from..to-1. Keys that agree there must be in ascending order of
// the bits below from already; the bits from to on are 0. A large sample is sorted by counting,
// digit by digit from the lowest.
func (s *sorter) sort(from, to int) {
	const digit = 11 // bits
	if len(s.keys) < 256 {
		slices.Sort(s.keys)
		return
	}
	source, target := s.keys, slices.Grow(s.spare[:0], len(s.keys))[:len(s.keys)]
	for shift := from; shift < to; shift += digit {
		var next [1 << digit]int // where the next key with that digit goes
		for _, key := range source {
			next[key>>shift%(1<<digit)]++
		}
		sum := 0
		for d, n := range next {
			next[d], sum = sum, sum+n
		}
		for _, key := range source {
			d := key >> shift % (1 << digit)
			target[next[d]] = key
			next[d]++
		}
		source, target = target, source
	}
	s.keys, s.spare = source, target
}

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
	s.sort(shift, shift+width)
	return shift, nil
}

// zeroed returns n zeros, in the memory of s where that suffices.
func zeroed[T any](s []T, n int) []T {
	s = slices.Grow(s[:0], n)[:n]
	clear(s)
	return s
}
