package concept

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// Nowhere and everywhere are the texts of the functions that are -1 and +1 at all points, if a
// class has no other text for them.
const (
	Nowhere    = "nowhere"
	everywhere = "everywhere"
)

// parseWhole parses a whole number of least..most from digits, or from a power such as 2^10. word
// names the number in errors.
func parseWhole(word, text string, least, most uint64) (uint64, error) {
	base, exponent, isPower := strings.Cut(text, "^")
	v, err := parseDigits(base)
	if isPower && err == nil {
		var times uint64
		if times, err = parseDigits(exponent); err == nil {
			v, err = power(v, times)
		}
	}
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not %s, a whole number", text, word)
	case v < least || v > most:
		return 0, fmt.Errorf("%s is outside %d..%d, where %s has to be", text, least, most, word)
	}
	return v, nil
}

// parseDigits parses digits without a sign.
func parseDigits(text string) (uint64, error) {
	if strings.HasPrefix(text, "+") {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseUint(text, 10, 64)
}

// power returns base to that power, or an error above 2^64.
func power(base, times uint64) (uint64, error) {
	v := uint64(1)
	for range min(times, 64) { // bases 0 and 1 do not change; all others exceed 2^63 after 64 factors
		hi, lo := bits.Mul64(v, base)
		if hi > 0 {
			return 0, strconv.ErrRange
		}
		v = lo
	}
	return v, nil
}

// writeWhole writes a whole number that float64 represents exactly.
func writeWhole(v float64) string { return strconv.FormatUint(uint64(v), 10) }

// parseInterval parses "16..49", the interval of the numbers from 16 to 49, inside 0..side-1.
func parseInterval(text string, side uint64) (Range, error) {
	from, to, ok := strings.Cut(text, "..")
	if !ok {
		return Range{}, fmt.Errorf("%q is not an interval a..b", text)
	}
	a, err := parseWhole("the first number a of an interval a..b", from, 0, side-1)
	if err != nil {
		return Range{}, err
	}
	b, err := parseWhole("the last number b of an interval a..b", to, a, side-1)
	return Interval(float64(a), float64(b)), err
}

// writeInterval writes an interval inside 0..side-1; the empty interval is "nowhere".
func writeInterval(r Range) string {
	if r.Lo > r.Hi {
		return Nowhere
	}
	return writeWhole(r.Lo) + ".." + writeWhole(r.Hi)
}

// parseMarks parses a text of one character for each of dim bits. Each character must be allowed.
// It returns the set of bits with the first allowed character, and the set with the second.
func parseMarks(text string, dim int, allowed string) (first, second uint64, err error) {
	if len(text) != dim {
		return 0, 0, fmt.Errorf("%q has %d characters, not one for each of the %d bits", text, len(text), dim)
	}
	for j, mark := range text {
		switch strings.IndexRune(allowed, mark) {
		case -1:
			return 0, 0, fmt.Errorf("%q has %q for bit %d, not one of %s",
				text, mark, j+1, strings.Join(strings.Split(allowed, ""), ", "))
		case 0:
			first |= 1 << j
		case 1:
			second |= 1 << j
		}
	}
	return first, second, nil
}

// writeMarks writes a text in the syntax of parseMarks.
func writeMarks(dim int, first, second uint64, allowed string) string {
	text := make([]byte, dim)
	for j := range text {
		switch {
		case first>>j&1 == 1:
			text[j] = allowed[0]
		case second>>j&1 == 1:
			text[j] = allowed[1]
		default:
			text[j] = allowed[len(allowed)-1]
		}
	}
	return string(text)
}
