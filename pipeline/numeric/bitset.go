package numeric

import "math/bits"

// A BitSet is a growing set of whole numbers from 0 on. The zero value is the empty set.
type BitSet []uint64

// Has reports whether i, at least 0, is in the set.
func (b BitSet) Has(i int64) bool {
	return i>>6 < int64(len(b)) && b[i>>6]&(1<<(i&63)) != 0
}

// Set adds i.
func (b *BitSet) Set(i int64) {
	for i>>6 >= int64(len(*b)) {
		*b = append(*b, 0)
	}
	(*b)[i>>6] |= 1 << (i & 63)
}

// Clear removes i.
func (b BitSet) Clear(i int64) {
	if i>>6 < int64(len(b)) {
		b[i>>6] &^= 1 << (i & 63)
	}
}

// FirstClear returns the least number from i on that is not in the set.
func (b BitSet) FirstClear(i int64) int64 {
	for w := i >> 6; w < int64(len(b)); w++ {
		free := ^b[w]
		if w == i>>6 {
			free &= ^uint64(0) << (i & 63)
		}
		if free != 0 {
			return w<<6 + int64(bits.TrailingZeros64(free))
		}
	}
	return max(i, int64(len(b))<<6)
}

// FirstSet returns the least number from i on and below end that is in the set, or end.
func (b BitSet) FirstSet(i, end int64) int64 {
	for w := i >> 6; w < int64(len(b)) && w<<6 < end; w++ {
		members := b[w]
		if w == i>>6 {
			members &= ^uint64(0) << (i & 63)
		}
		if members != 0 {
			return min(end, w<<6+int64(bits.TrailingZeros64(members)))
		}
	}
	return end
}
