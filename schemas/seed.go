package schemas

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// SecretSeed is the word in the sweep file for a seed that is drawn at the first run of the sweep.
const SecretSeed = "secret"

// Seed is the seed of all randomness of a sweep: a number, which the sweep file states, or a secret
// seed of 128 bits of the system's randomness. The zero Seed is the number 0.
//
// With the seed, anyone can draw every sample, target and test point of the sweep. A number can be
// found by trial: a plugin need only import pipeline/trial and compare with its sample. Secret bits
// are drawn when an output folder is created, and are stored in its ledger and its manifest.
type Seed struct {
	number uint64
	secret bool
	bits   [16]byte // bits of a secret seed; all zero: not drawn yet
}

// NumberSeed returns a seed that is a number.
func NumberSeed(number uint64) Seed { return Seed{number: number} }

// DrawSeed draws a secret seed.
func DrawSeed() (Seed, error) {
	s := Seed{secret: true}
	if _, err := rand.Read(s.bits[:]); err != nil {
		return s, fmt.Errorf("draw a secret seed: %w", err)
	}
	return s, nil
}

// Secret reports whether the seed is secret instead of a number in the sweep file.
func (s Seed) Secret() bool { return s.secret }

// Drawn reports whether the seed has a value: a secret seed has none before the first run of its
// sweep.
func (s Seed) Drawn() bool { return !s.secret || s.bits != [16]byte{} }

// Number returns the number that the sweep file states; ok is false for a secret seed.
func (s Seed) Number() (number uint64, ok bool) { return s.number, !s.secret }

// String returns the seed for messages: a number, or the word secret instead of the bits.
func (s Seed) String() string {
	if s.secret {
		return SecretSeed
	}
	return strconv.FormatUint(s.number, 10)
}

// Digits returns the seed itself: the number, or the bits in 32 hex digits. It must not be used in
// messages.
func (s Seed) Digits() string {
	if s.secret {
		return hex.EncodeToString(s.bits[:])
	}
	return s.String()
}

// UnmarshalText reads a seed from a sweep file: an integer or the word secret.
func (s *Seed) UnmarshalText(text []byte) error {
	if string(text) == SecretSeed {
		*s = Seed{secret: true}
		return nil
	}
	if digits.Match(text) { // all 64 bits
		number, err := strconv.ParseUint(strings.TrimPrefix(string(text), "+"), 10, 64)
		switch {
		case text[0] == '-':
			return fmt.Errorf("%s is outside [0, inf)", text)
		case err != nil:
			return fmt.Errorf("%s is too large", text)
		}
		*s = Seed{number: number}
		return nil
	}
	n, err := ParseInt(string(text))
	switch {
	case err != nil:
		return fmt.Errorf("%w, nor the word %s", err, SecretSeed)
	case n < 0:
		return fmt.Errorf("%s is outside [0, inf)", text)
	}
	*s = Seed{number: uint64(n)}
	return nil
}

// MarshalJSON writes the number, or the bits as a text of 32 hex digits, or "secret" if they are
// not drawn yet.
func (s Seed) MarshalJSON() ([]byte, error) {
	switch {
	case !s.secret:
		return strconv.AppendUint(nil, s.number, 10), nil
	case !s.Drawn():
		return json.Marshal(SecretSeed)
	}
	return json.Marshal(s.Digits())
}

// UnmarshalJSON reads the output of MarshalJSON.
func (s *Seed) UnmarshalJSON(raw []byte) error {
	if len(raw) == 0 || raw[0] != '"' {
		*s = Seed{}
		return json.Unmarshal(raw, &s.number)
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return err
	}
	secret := Seed{secret: true}
	if text != SecretSeed {
		if n, err := hex.Decode(secret.bits[:], []byte(text[:min(len(text), 2*len(secret.bits))])); err != nil ||
			n != len(secret.bits) || len(text) != 2*n || !secret.Drawn() {
			return fmt.Errorf("read a secret seed: %q are not 32 hex digits", text)
		}
	}
	*s = secret
	return nil
}
