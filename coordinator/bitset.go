package coordinator

import "math/bits"

// bitset is a growing set of small integers.
type bitset []uint64

func (b bitset) has(i int64) bool {
	return i>>6 < int64(len(b)) && b[i>>6]&(1<<(i&63)) != 0
}

func (b *bitset) set(i int64) {
	for i>>6 >= int64(len(*b)) {
		*b = append(*b, 0)
	}
	(*b)[i>>6] |= 1 << (i & 63)
}

func (b bitset) clear(i int64) {
	if i>>6 < int64(len(b)) {
		b[i>>6] &^= 1 << (i & 63)
	}
}

// firstClear is the least integer from i on that is not in the set.
func (b bitset) firstClear(i int64) int64 {
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

// firstSet is the least integer from i on, below end, that is in the set, or end.
func (b bitset) firstSet(i, end int64) int64 {
	for w := i >> 6; w < int64(len(b)) && w<<6 < end; w++ {
		taken := b[w]
		if w == i>>6 {
			taken &= ^uint64(0) << (i & 63)
		}
		if taken != 0 {
			return min(end, w<<6+int64(bits.TrailingZeros64(taken)))
		}
	}
	return end
}
