package trial

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

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

// KeyOf returns the SHA-256 of Canonical(v).
func KeyOf(v any) (Key, error) {
	b, err := Canonical(v)
	return sha256.Sum256(b), err
}

// Canonical returns the canonical JSON of v: the text of encoding/json without white space and HTML escapes, with keys
// sorted by their bytes, exact integers, and other numbers in the shortest form that reads back to the same float64 (an
// integral one below 1e21 looks like an integer), -0 as 0. It returns an error for NaN and infinities.
func Canonical(v any) ([]byte, error) {
	return AppendCanonical(nil, v)
}

// A Fragment is canonical JSON, which a larger value contains unchanged.
type Fragment []byte

// An Object is a JSON object as a list of members, which Canonical sorts in place. It is faster than a map.
type Object []member

type member struct {
	name  string
	value any
}

// With returns the object with one more member.
func (o Object) With(name string, value any) Object { return append(o, member{name, value}) }

// AppendCanonical appends Canonical(v) to dst.
func AppendCanonical(dst []byte, v any) ([]byte, error) {
	var err error
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case int:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case int64:
		return strconv.AppendInt(dst, v, 10), nil
	case uint64:
		return strconv.AppendUint(dst, v, 10), nil
	case float64:
		return appendNumber(dst, v)
	case json.Number:
		return appendJSONNumber(dst, v)
	case string:
		return appendString(dst, v)
	case Fragment:
		return append(dst, v...), nil
	case Key:
		dst = hex.AppendEncode(append(dst, '"'), v[:])
		return append(dst, '"'), nil
	case schemas.Seed:
		raw, err := v.MarshalJSON() // already canonical
		return append(dst, raw...), err
	case []any:
		dst = append(dst, '[')
		for i, item := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = AppendCanonical(dst, item); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	case Object:
		return appendObject(dst, v)
	case map[string]any:
		return appendObject(dst, objectOf(v))
	case Params:
		return appendObject(dst, objectOf(v))
	}
	plain, err := plainJSON(v)
	if err != nil {
		return nil, err
	}
	return AppendCanonical(dst, plain)
}

func objectOf(v map[string]any) Object {
	o := make(Object, 0, len(v))
	for name, value := range v {
		o = append(o, member{name, value})
	}
	return o
}

func appendObject(dst []byte, o Object) ([]byte, error) {
	slices.SortFunc(o, func(a, b member) int { return strings.Compare(a.name, b.name) })
	var err error
	dst = append(dst, '{')
	for i, m := range o {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendString(dst, m.name); err != nil {
			return nil, err
		}
		dst = append(dst, ':')
		if dst, err = AppendCanonical(dst, m.value); err != nil {
			return nil, fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return append(dst, '}'), nil
}

// plainJSON converts v by way of encoding/json to maps, slices, strings, booleans and json.Numbers.
func plainJSON(v any) (any, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("write canonical JSON: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var plain any
	if err := d.Decode(&plain); err != nil {
		return nil, fmt.Errorf("write canonical JSON: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("write canonical JSON of %T: more than one value", v)
	}
	return plain, nil
}

func appendJSONNumber(dst []byte, n json.Number) ([]byte, error) {
	s := string(n)
	if !strings.ContainsAny(s, ".eE") {
		if s == "-0" {
			s = "0"
		}
		return append(dst, s...), nil
	}
	f, err := n.Float64()
	if err != nil {
		return nil, fmt.Errorf("write canonical JSON: number %q: %w", s, err)
	}
	return appendNumber(dst, f)
}

func appendNumber(dst []byte, f float64) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("write canonical JSON: %v is not a number that a key can hold", f)
	}
	if f == 0 {
		return append(dst, '0'), nil // -0 too
	}
	if size := math.Abs(f); size >= 1e-6 && size < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64), nil
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	if n := len(dst); dst[n-4] == 'e' && dst[n-2] == '0' { // 1e-07 is 1e-7
		dst = append(dst[:n-2], dst[n-1])
	}
	return dst, nil
}

func appendString(dst []byte, s string) ([]byte, error) {
	if isPlain(s) {
		return append(append(append(dst, '"'), s...), '"'), nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return nil, fmt.Errorf("write canonical JSON: %w", err)
	}
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...), nil
}

// isPlain reports whether s needs no escapes in JSON.
func isPlain(s string) bool {
	for i := range len(s) {
		if b := s[i]; b < ' ' || b > '~' || b == '"' || b == '\\' {
			return false
		}
	}
	return true
}
