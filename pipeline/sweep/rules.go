package sweep

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/shatterlab/shatter/pipeline/wording"
)

// rules are the bounds on a value that stand in its field's jsonschema tag.
type rules struct {
	required                      bool
	enum                          []string
	minimum, exclusiveMinimum     *float64
	maximum, exclusiveMaximum     *float64
	minItems, maxItems, maxLength int
	pattern                       *regexp.Regexp
	reason                        string // of the bounds of a number
}

func readRules(tag string) rules {
	var r rules
	if tag == "" {
		return r
	}
	for _, rule := range strings.Split(tag, ",") {
		name, value, _ := strings.Cut(rule, "=")
		number, _ := strconv.ParseFloat(value, 64)
		switch name {
		case "required":
			r.required = true
		case "enum":
			r.enum = append(r.enum, value)
		case "registry":
			r.enum = names(Vocabulary(value))
		case "minimum":
			r.minimum = &number
		case "exclusiveMinimum":
			r.exclusiveMinimum = &number
		case "maximum":
			r.maximum = &number
		case "exclusiveMaximum":
			r.exclusiveMaximum = &number
		case "minItems":
			r.minItems = int(number)
		case "maxItems":
			r.maxItems = int(number)
		case "maxLength":
			r.maxLength = int(number)
		case "reason":
			r.reason = value
		case "pattern":
			r.pattern = regexp.MustCompile(value)
		case "default": // filled in by those who read the value
		default:
			panic("sweep: no rule " + name)
		}
	}
	return r
}

// InRange returns an error if x, written as text in the file, is below least or above most; nil
// bounds do not count.
func InRange(x float64, text string, least, most *float64) error {
	return rules{minimum: least, maximum: most}.number(x, text)
}

// number returns an error if f, written as text, breaks a bound.
func (r rules) number(f float64, text string) error {
	if math.IsNaN(f) {
		return fmt.Errorf("%s is not a number", Shorten(text))
	}
	if (r.minimum == nil || f >= *r.minimum) && (r.exclusiveMinimum == nil || f > *r.exclusiveMinimum) &&
		(r.maximum == nil || f <= *r.maximum) && (r.exclusiveMaximum == nil || f < *r.exclusiveMaximum) {
		return nil
	}
	if r.reason != "" {
		return fmt.Errorf("%s is outside %s: %s", Shorten(text), r.interval(), r.reason)
	}
	return fmt.Errorf("%s is outside %s", Shorten(text), r.interval())
}

// interval returns what the bounds allow: "(0, 1)", "[1, 1000000]", "[1, inf)".
func (r rules) interval() string {
	show := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	low, high := "(-inf", "inf)"
	switch {
	case r.minimum != nil:
		low = "[" + show(*r.minimum)
	case r.exclusiveMinimum != nil:
		low = "(" + show(*r.exclusiveMinimum)
	}
	switch {
	case r.maximum != nil:
		high = show(*r.maximum) + "]"
	case r.exclusiveMaximum != nil:
		high = show(*r.exclusiveMaximum) + ")"
	}
	return low + ", " + high
}

// text returns an error if s breaks a rule for texts.
func (r rules) text(s string) error {
	switch {
	case len(r.enum) > 0 && !slices.Contains(r.enum, s):
		return fmt.Errorf("unknown value %q%s", Shorten(s), wording.DidYouMean(s, r.enum))
	case r.maxLength > 0 && len(s) > r.maxLength:
		return fmt.Errorf("%q is longer than %d characters", Shorten(s), r.maxLength)
	case r.pattern != nil && !r.pattern.MatchString(s):
		message := fmt.Sprintf("%q is not a name: it begins with a letter or digit and matches %s", Shorten(s), r.pattern)
		if name := r.nameLike(s); name != "" {
			message += fmt.Sprintf(", for example %s", Shorten(name))
		}
		return errors.New(message)
	}
	return nil
}

// nameLike returns s with hyphens for what the pattern does not allow; an empty text where that is
// no name either.
func (r rules) nameLike(s string) string {
	name := strings.Trim(strings.Map(func(c rune) rune {
		if r.pattern.MatchString("x" + string(c)) {
			return c
		}
		return '-'
	}, s), "-")
	if !r.pattern.MatchString(name) {
		return ""
	}
	return name
}
