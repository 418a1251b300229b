package plan

import (
	"errors"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A term is a product of powers of numbers, and of logarithms of numbers, that a sweep varies.
type term []factor

type factor struct {
	name  string
	ln    bool
	power float64
}

// factorPattern matches a factor at the beginning of a product: ln(name), ln name, or a name or 1,
// and a power.
var factorPattern = regexp.MustCompile(`^[\s*]*(?:ln\s*\(\s*([A-Za-z_]\w*)\s*\)|ln\s+([A-Za-z_]\w*)|` +
	`([A-Za-z_]\w*|1)\b)(?:\^(-?[0-9.]+))?\s*`)

// parseTerm parses a term, such as "ln domain", "1/(epsilon alpha)" or "d^0.5/epsilon". The term 1
// has no factors.
func parseTerm(text string) (t term, err error) {
	over, under, divided := strings.Cut(text, "/")
	sides := []string{over, under}
	if !divided {
		sides = sides[:1]
	}
	for i, side := range sides {
		side = strings.TrimSpace(side)
		whole := i == 1 && strings.HasPrefix(side, "(") && strings.HasSuffix(side, ")")
		if whole {
			side = side[1 : len(side)-1]
		}
		for first := true; first || side != ""; first = false {
			m := factorPattern.FindStringSubmatch(side)
			power, err := 1.0, error(nil)
			if m != nil && m[4] != "" {
				power, err = strconv.ParseFloat(m[4], 64)
			}
			// Two factors below the line need parentheses.
			if m == nil || err != nil || m[3] == "ln" || i == 1 && !first && !whole {
				return nil, errors.New("a term is a product such as epsilon, ln domain, d/(epsilon alpha) or 1/alpha^2")
			}
			ln := m[1] + m[2]
			if m[3] != "1" {
				t = append(t, factor{ln + m[3], ln != "", power * float64(1-2*i)})
			}
			side = side[len(m[0]):]
		}
	}
	return t, nil
}

// names returns the names in the term, each once.
func (t term) names() (names []string) {
	for _, f := range t {
		if !slices.Contains(names, f.name) {
			names = append(names, f.name)
		}
	}
	return names
}

// value returns the value of the term. It is not finite if a factor has no value there.
func (t term) value(of map[string]float64) float64 {
	product := 1.0
	for _, f := range t {
		v := of[f.name]
		if f.ln {
			v = math.Log(v)
		}
		product *= math.Pow(v, f.power)
	}
	return product
}
