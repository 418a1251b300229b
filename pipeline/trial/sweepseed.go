package trial

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"strconv"

	"github.com/shatterlab/shatter/schemas"
)

// SweepSeed is the seed of a sweep, and the only source of what is derived from it: the keys of the
// data, the noise and the adversary of a cell, and the draws that a coordinator makes of recorded
// trials. The seed itself goes no further. Workers and plugins get keys and the words of [Seed].
//
// It enters keys as the sweep file states it, a number, or, where it is secret, as the text of its
// 32 hex digits. The streams of trials use 64 bits of a key, so finding them by trial takes some
// 2^64 attempts.
type SweepSeed struct{ schemas.Seed }

// DataKey returns the key of the data of a problem, given in canonical form: targets, points, label
// noise and test points.
func (s SweepSeed) DataKey(problem Fragment) (Key, error) {
	return KeyOf(Object{{"format", Format}, {"problem", problem}, {"seed", s.Seed}})
}

// noiseKey returns the key of the algorithm's own randomness in a cell.
func (s SweepSeed) noiseKey(cell Key) (Key, error) {
	return KeyOf(Object{{"cell", cell}, {"format", Format}, {"seed", s.Seed}})
}

// adversaryKey returns the key of the own randomness of an adversary.
func (s SweepSeed) adversaryKey(problem Fragment, adversary *schemas.Adversary) (Key, error) {
	return KeyOf(Object{{"adversary", adversary}, {"format", Format}, {"problem", problem}, {"seed", s.Seed}})
}

// Draw names a draw that a coordinator makes among recorded trials.
type Draw uint64

// The draws. The numbers are part of the meaning of a seed and never change.
const (
	DrawVerify Draw = 0x766572696679 // trials that verify runs again
	DrawCode   Draw = 0x636f6465     // trials that other code has to give equal bits for
)

// Rand returns the random numbers of a draw.
func (s SweepSeed) Rand(d Draw) *rand.Rand {
	if number, ok := s.Number(); ok {
		return rand.New(rand.NewPCG(number, uint64(d)))
	}
	digest := s.digest("draw " + strconv.FormatUint(uint64(d), 10))
	return rand.New(rand.NewPCG(binary.LittleEndian.Uint64(digest[:8]), binary.LittleEndian.Uint64(digest[8:16])))
}

// Label returns a name for the seed that does not give a secret one away: the number, or "secret-"
// and 16 digits of a digest.
func (s SweepSeed) Label() string {
	if !s.Secret() {
		return s.String()
	}
	digest := s.digest("label")
	return s.String() + "-" + hex.EncodeToString(digest[:8])
}

// digest returns what a secret seed is for one use. The seed cannot be told from it.
func (s SweepSeed) digest(use string) [32]byte { return sha256.Sum256([]byte(use + " " + s.Digits())) }
