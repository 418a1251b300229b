package trial

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"

	"github.com/shatterlab/shatter/schemas"
)

// Format is the version of the contents of keys. It changes only when equal sweep files no longer give equal bits.
const Format = 4

// A Key identifies a value by its content: it is the SHA-256 of the value's canonical JSON.
type Key [32]byte

// String returns the key in 64 hex digits.
func (k Key) String() string { return hex.EncodeToString(k[:]) }

// Short returns 10 characters that identify the key and begin trial IDs: its first hex digit as a letter from a to p,
// because spreadsheets read 4013e85331 as a number, and the next nine.
func (k Key) Short() string { return string('a'+k[0]>>4) + hex.EncodeToString(k[:5])[1:] }

// MarshalText implements [encoding.TextMarshaler].
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (k *Key) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(k)) {
		return fmt.Errorf("read key %q: %d characters instead of %d", text, len(text), hex.EncodedLen(len(k)))
	}
	if _, err := hex.Decode(k[:], text); err != nil {
		return fmt.Errorf("read key %q: %w", text, err)
	}
	return nil
}

// KeyOf returns the SHA-256 of the canonical JSON of an object, whose members are scalars, keys and fragments.
func KeyOf(members map[string]any) (Key, error) {
	b, err := compactJSON(members)
	return sha256.Sum256(b), err
}

// A Fragment is canonical JSON, which a larger value contains unchanged.
type Fragment = json.RawMessage

// Canonical returns the canonical JSON of v: the text of encoding/json without white space and HTML escapes, with the
// keys of objects sorted by their bytes. It returns an error for NaN and infinities.
func Canonical(v any) (Fragment, error) {
	b, err := compactJSON(v)
	if err != nil {
		return nil, fmt.Errorf("write canonical JSON: %w", err)
	}
	var plain any // objects are maps, whose keys compactJSON sorts
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(&plain); err != nil {
		return nil, fmt.Errorf("write canonical JSON: %w", err)
	}
	return compactJSON(plain)
}

// Params holds the resolved parameters of an algorithm.
type Params = schemas.Params

// CanonicalParams returns parameters as a part of a key, in which 1 equals 1.0.
func CanonicalParams(p Params) (Fragment, error) { return Canonical(map[string]any(p)) }

// Finite reports whether f is neither NaN nor infinite: keys hold finite numbers only.
func Finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// compactJSON returns the JSON of v without white space and HTML escapes.
func compactJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
