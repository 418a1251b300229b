package trial

import (
	"encoding/binary"
	"math/bits"
)

// A Stream identifies one use of randomness. No two uses share a stream, so drawing more numbers from one never changes
// another.
type Stream uint32

// The streams of a trial, all with the trial's n. The first four use the cell's DataKey, so that every algorithm and
// privacy budget of a sweep gets the same targets and points. AlgorithmNoise uses the NoiseKey. Queries (the
// adversary's randomness) and Labels (drawn from answers that are means) use the AdversaryKey. Rechecks uses the
// NoiseKey and ranks trials for the recheck. States uses two keys: the DataKey for the points that states before the
// final one are asked about; the AdversaryKey for the queries before which they are asked, and for the place of the
// next query among the points.
//
// Trials of a cell share no randomness, so a search may treat its observations at all sizes as independent evidence.
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
	Resamples      Stream = 8 // no trial: draws of the bootstrap, with its number as repetition
	Rechecks       Stream = 9
	States         Stream = 10

	// Order determines the order and the chunks of a trial's evaluation points, under the DataKey or, in a recheck,
	// under the NoiseKey. Under the DataKey it also orders the rows of the shared table of real data (n = 0), and
	// divides that table into chunks (repetition AllRepetitions).
	Order Stream = 11

	// Coins determines, under the DataKey, the order in which two trials of an audit get two samples.
	Coins Stream = 12
)

// AllRepetitions replaces the repetition if all trials of one n share a stream. No repetition has this number.
const AllRepetitions uint32 = 1 << 31

// Seed returns the seed of one stream, for rand.NewPCG(hi, lo) of math/rand/v2. It is one block of Philox4x32-10. The
// key of the block is the first 8 bytes of k (two little-endian words), and its counter is (rep, stream, low half of n,
// high half of n). Distinct arguments with one key give distinct seeds.
func Seed(k Key, s Stream, n uint64, rep uint32) (hi, lo uint64) {
	key := [2]uint32{binary.LittleEndian.Uint32(k[0:4]), binary.LittleEndian.Uint32(k[4:8])}
	c := Philox([4]uint32{rep, uint32(s), uint32(n), uint32(n >> 32)}, key)
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
