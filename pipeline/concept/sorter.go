package concept

import (
	"fmt"
	"math/bits"
	"slices"
)

// sorter sorts keys. It reuses its memory.
type sorter struct {
	keys  []uint64
	spare []uint64
}

// sort sorts the keys by their bits from..to-1. Keys that agree there must already be in
// ascending order of the bits below from; the bits from to on are 0. It is a radix sort from the
// lowest digit, with about as many values per digit as there are keys.
func (s *sorter) sort(from, to int) {
	const most = 11 // bits of a digit; the counts of its values fit into the fastest cache
	width := min(max(bits.Len(uint(len(s.keys))), 5), most)
	passes := max(1, (to-from+width-1)/width)
	width = (to - from + passes - 1) / passes
	source, target := s.keys, slices.Grow(s.spare[:0], len(s.keys))[:len(s.keys)]
	var counts [1 << most]int // counts, then the position of the next key with that digit
	next, mask := counts[:1<<width], uint64(1)<<width-1
	for shift := from; shift < to; shift += width {
		clear(next)
		for _, key := range source {
			next[key>>shift&mask]++
		}
		sum := 0
		for d, n := range next {
			next[d], sum = sum, sum+n
		}
		for _, key := range source {
			d := key >> shift & mask
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

// zeroed returns n zeros, in the memory of s if that suffices.
func zeroed[T any](s []T, n int) []T {
	s = slices.Grow(s[:0], n)[:n]
	clear(s)
	return s
}
