package concept

import "math"

// packedTable holds 2^d counts, d >= 2, for a transform that takes one bit of their numbers after the
// other: those of parities and monotone conjunctions. Word i is the sum of the counts 4i to 4i+3,
// times 1, 2^16, 2^32 and 2^48. The transform is linear, so that one addition of words, which may
// wrap around, does four of counts; they come out right as long as all are within 16 bits, with
// their signs. That halves the memory too.
type packedTable []uint64

// packedCounts is the number of examples whose sums fit into a packed table.
const packedCounts = math.MaxInt16

// packedBlock is the number of counts that are unpacked at a time.
const packedBlock = 1 << 10

// add adds gain to count v.
func (p packedTable) add(v int, gain int64) { p[v/4] += uint64(gain) << (v % 4 * 16) }

// unpack returns up to packedBlock counts from number first on, a multiple of packedBlock, in out.
func (p packedTable) unpack(first int, out *[packedBlock]int32) []int32 {
	words := p[first/4 : min(first/4+packedBlock/4, len(p))]
	for i, w := range words {
		four := out[4*i : 4*i+4]
		w += 0x8000_8000_8000_8000 // no count is below 0 then, none has borrowed from the next
		four[0] = int32(uint16(w)) - 1<<15
		four[1] = int32(uint16(w>>16)) - 1<<15
		four[2] = int32(uint16(w>>32)) - 1<<15
		four[3] = int32(w>>48) - 1<<15
	}
	return out[:4*len(words)]
}

// packer is implemented by kinds whose table of counts can be packed.
type packer interface {
	words(table []uint64)        // the transform of all bits but the lowest two, of a packed table
	fours(sums []int32, all int) // the rest of it, for each four; all is the sum of at
}
