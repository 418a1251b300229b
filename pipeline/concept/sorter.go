package concept

import (
	"fmt"
	"math/bits"
	"slices"
)

// sorter sorts keys. It reuses the memory of the last time.
type sorter struct {
	keys     []uint64
	spare    []uint64
	counters []uint32
}

// sort sorts the keys by their bits from..to-1. Keys that agree there must be in ascending order of
// the bits below from already; the bits from to on are 0. A large sample is sorted by counting,
// digit by digit from the lowest.
func (s *sorter) sort(from, to int) {
	if len(s.keys) < 128 {
		slices.Sort(s.keys)
		return
	}
	source, target := s.keys, slices.Grow(s.spare[:0], len(s.keys))[:len(s.keys)]
	rounds := (to - from + mostDigit - 1) / mostDigit
	if len(s.keys) < 1<<mostDigit { // counters that outnumber the keys cost more than a round
		rounds = (to - from + mostDigit - 3) / (mostDigit - 2)
	}
	digit := (to - from + rounds - 1) / max(rounds, 1)
	for shift := from; shift < to; shift += digit {
		s.countDigit(source, target, shift, digit)
		source, target = target, source
	}
	s.keys, s.spare = source, target
}

// mostDigit is the largest number of bits by which keys are sorted at once.
const mostDigit = 11

// countDigit sorts the keys of source into target by digit bits from shift on. Keys that agree in
// them keep their order.
func (s *sorter) countDigit(source, target []uint64, shift, digit int) {
	s.counters = zeroed(s.counters, 1<<digit)
	next := s.counters // where the next key with that digit goes
	mask := uint64(len(next) - 1)
	for _, key := range source {
		next[key>>shift&mask]++
	}
	sum := uint32(0)
	for d, n := range next {
		next[d], sum = sum, sum+n
	}
	for _, key := range source {
		d := key >> shift & mask
		target[next[d]] = key
		next[d]++
	}
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
