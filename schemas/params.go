package schemas

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Params holds the resolved parameters of an algorithm: int64, float64, bool or string. In JSON a float64 always has a
// point or an exponent, so that decoding restores the types.
type Params map[string]any

// MarshalJSON sorts keys, and returns an error for NaN and infinities.
func (p Params) MarshalJSON() ([]byte, error) {
	plain := make(map[string]json.RawMessage, len(p))
	for name, v := range p {
		raw, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("write parameter %q: %w", name, err)
		}
		if _, ok := v.(float64); ok && !bytes.ContainsAny(raw, ".e") {
			raw = append(raw, ".0"...)
		}
		plain[name] = raw
	}
	return json.Marshal(plain)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (p *Params) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var plain map[string]any
	if err := d.Decode(&plain); err != nil {
		return fmt.Errorf("read parameters: %w", err)
	}
	for name, v := range plain {
		switch v := v.(type) {
		case bool, string:
		case json.Number:
			number, err := parseNumber(v)
			if err != nil {
				return fmt.Errorf("read parameter %q: %w", name, err)
			}
			plain[name] = number
		default:
			return fmt.Errorf("read parameter %q: %T is neither number, bool nor string", name, v)
		}
	}
	*p = plain
	return nil
}

func parseNumber(n json.Number) (any, error) {
	if strings.ContainsAny(string(n), ".eE") {
		return n.Float64()
	}
	return n.Int64()
}
