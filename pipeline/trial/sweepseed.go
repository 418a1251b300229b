package trial

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"strconv"

	"github.com/shatterlab/shatter/schemas"
)

// A SweepSeed is the seed of a sweep. It derives the keys for data, noise and adversary of a cell, and the
// coordinator's random choices among recorded trials. Workers and plugins never get the seed itself, only keys and
// results of [Seed].
//
// It enters keys as a number or, if it is secret, as the text of its 32 hex digits. Streams use 64 bits of a key, so
// guessing them takes about 2^64 attempts.
type SweepSeed struct{ schemas.Seed }

// DataKey returns the key for targets, points, label noise and test points of a problem in canonical form.
func (s SweepSeed) DataKey(problem Fragment) (Key, error) {
	return KeyOf(map[string]any{"format": Format, "problem": problem, "seed": s.Seed})
}

// noiseKey returns the key for the algorithm's randomness in a cell.
func (s SweepSeed) noiseKey(cell Key) (Key, error) {
	return KeyOf(map[string]any{"cell": cell, "format": Format, "seed": s.Seed})
}

// adversaryKey returns the key for the randomness of an adversary.
func (s SweepSeed) adversaryKey(problem, adversary Fragment) (Key, error) {
	return KeyOf(map[string]any{"adversary": adversary, "format": Format, "problem": problem, "seed": s.Seed})
}

// A Draw identifies a random choice among recorded trials.
type Draw uint64

// The draws. The numbers are part of the meaning of a seed and never change.
const (
	DrawVerify Draw = 0x766572696679 // trials that shatter verify runs again
	DrawCode   Draw = 0x636f6465     // trials that must give equal bits with other code
)

// Rand returns the source of one of the sweep's draws.
func (s SweepSeed) Rand(d Draw) *rand.Rand {
	if number, ok := s.Number(); ok {
		return rand.New(rand.NewPCG(number, uint64(d)))
	}
	digest := s.derive("draw " + strconv.FormatUint(uint64(d), 10))
	return rand.New(rand.NewPCG(binary.LittleEndian.Uint64(digest[:8]), binary.LittleEndian.Uint64(digest[8:16])))
}

// Label returns a public name of the seed: the number or, for a secret seed, "secret-" and 16 digits of a digest.
func (s SweepSeed) Label() string {
	if !s.Secret() {
		return s.String()
	}
	digest := s.derive("label")
	return s.String() + "-" + hex.EncodeToString(digest[:8])
}

// derive returns a hash of a secret seed for one use. It does not reveal the seed.
func (s SweepSeed) derive(use string) [32]byte { return sha256.Sum256([]byte(use + " " + s.Digits())) }
