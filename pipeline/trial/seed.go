package trial

import (
	"encoding/binary"
	"math/bits"
)

// Stream names one use of randomness. No two uses share a stream, so drawing more of one never
// shifts another.
type Stream uint32

// The streams of a trial, all with the trial's n. The first four are drawn under the cell's
// DataKey, so that every algorithm and privacy budget of a sweep meets the same targets and points;
// AlgorithmNoise under its NoiseKey; Queries, the adversary's own, and Labels, drawn from answers
// that are means, under its AdversaryKey. Rechecks, under the NoiseKey, ranks trials for the
// recheck. States is drawn under both the DataKey and the AdversaryKey: under the former the points
// that a state before the final one is asked about, under the latter the queries before which it is
// asked, and the place of the next query among these points.
//
// The trials of a cell share nothing: those of one sample size tell nothing about those of another
// but through n*, and what a search sees at all sizes together counts as independent evidence.
//
// The numbers are part of the meaning of a seed and never change.
const (
	Target         Stream = 1
	Points         Stream = 2
	LabelNoise     Stream = 3
	TestPoints     Stream = 4
	AlgorithmNoise Stream = 5
	Queries        Stream = 6
	Labels         Stream = 7
	Resamples      Stream = 8 // of no trial: the draws of the bootstrap, with its number as repetition
	Rechecks       Stream = 9
	States         Stream = 10

	// Order arranges what a trial is asked about: the order of its evaluation points and its chunks; in a
	// recheck under the NoiseKey. Under the DataKey, with n = 0, it lays out the
	// shared table of real data, and with the repetition Everyone it cuts that table into chunks.
	Order Stream = 11
)

// Everyone stands for the repetition where all trials of one n share a stream: no repetition has
// this number.
const Everyone uint32 = 1 << 31

// Seed gives the two words that seed the math/rand/v2 PCG of one stream: rand.NewPCG(hi, lo). It is
// one block of Philox4x32-10 whose key is the first 8 bytes of k (two little-endian words) and
// whose counter is (rep, stream, low half of n, high half of n). Distinct arguments of one key give
// distinct words.
func Seed(k Key, s Stream, n uint64, rep uint32) (hi, lo uint64) {
	ctr, key := block(&k, s, n, rep)
	return pack(Philox(ctr, key))
}

// Seeds fills words with the seeds of the repetitions from first on: two words for each.
func Seeds(words []uint64, k Key, s Stream, n uint64, first uint32) {
	ctr, key := block(&k, s, n, first)
	for ; len(words) > 0; words = words[2:] {
		words[0], words[1] = pack(Philox(ctr, key))
		ctr[0]++
	}
}

// block returns counter and key of the block that seeds a stream.
func block(k *Key, s Stream, n uint64, rep uint32) (ctr [4]uint32, key [2]uint32) {
	key = [2]uint32{binary.LittleEndian.Uint32(k[0:4]), binary.LittleEndian.Uint32(k[4:8])}
	return [4]uint32{rep, uint32(s), uint32(n), uint32(n >> 32)}, key
}

// pack returns the words of 64 bits that a block makes.
func pack(c [4]uint32) (hi, lo uint64) {
	return uint64(c[0])<<32 | uint64(c[1]), uint64(c[2])<<32 | uint64(c[3])
}

// Philox returns one block of Philox4x32-10: Salmon, Moraes, Dror and Shaw, "Parallel random
// numbers: as easy as 1, 2, 3", SC 2011.
func Philox(ctr [4]uint32, key [2]uint32) [4]uint32 {
	c0, c1, c2, c3 := ctr[0], ctr[1], ctr[2], ctr[3]
	k0, k1 := key[0], key[1]
	for range 10 {
		h0, l0 := bits.Mul32(0xD2511F53, c0)
		h1, l1 := bits.Mul32(0xCD9E8D57, c2)
		c0, c1, c2, c3 = h1^c1^k0, l1, h0^c3^k1, l0
		k0 += 0x9E3779B9
		k1 += 0xBB67AE85
	}
	return [4]uint32{c0, c1, c2, c3}
}
