package sweep

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/pipeline/wording"
)

// Key describes a field of a type of package schemas: a key of a mapping of the sweep file, with the rules in
// its tags.
type Key struct {
	Name  string // empty: the field is a short form, holds all other keys, or the whole mapping
	Type  reflect.Type
	Short bool   // the field receives a value that is not a mapping
	Rest  bool   // the field holds all other keys
	With  string // the field receives the whole mapping if it has this key
	Rules

	index []int
}

// Rules restrict a value.
type Rules struct {
	Required bool
	Default  string   // value of a missing key, which users of the key fill in; empty: none
	Registry string   // registry of the Choices; empty: none
	Choices  []string // allowed texts; nil: any

	minimum, exclusiveMinimum     *float64
	maximum, exclusiveMaximum     *float64
	minItems, maxItems, maxLength int
	pattern                       *regexp.Regexp
	reason                        string // reason for the bounds of a number
}

// Axis reports whether a list of values is an axis of the grid.
func (k Key) Axis() bool { return k.Type.Kind() == reflect.Slice && k.Type.Implements(axisType) }

// fieldsOf returns the result of KeysOf for a struct, and nil for other types.
var fieldsOf = numeric.Remember(func(t reflect.Type) []Key {
	if t.Kind() != reflect.Struct {
		return nil
	}
	return KeysOf(t)
})

// KeysOf returns the keys of a struct, including those of embedded structs.
func KeysOf(t reflect.Type) (keys []Key) {
	for i := range t.NumField() {
		f := t.Field(i)
		if _, option, _ := strings.Cut(f.Tag.Get("yaml"), ","); option != "inline" {
			keys = append(keys, KeyOf(f))
			continue
		}
		for _, k := range KeysOf(f.Type) {
			k.index = append([]int{i}, k.index...)
			keys = append(keys, k)
		}
	}
	return keys
}

// KeyOf reads the tags of a field. It panics if they have an unknown rule.
func KeyOf(f reflect.StructField) Key {
	name, option, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	k := Key{Name: name, Type: f.Type, Short: option == "short", Rest: option == "rest", index: f.Index}
	if with, ok := strings.CutPrefix(option, "with="); ok {
		k.With = with
	}
	for _, rule := range strings.Split(f.Tag.Get("jsonschema"), ",") {
		name, value, _ := strings.Cut(rule, "=")
		number, _ := strconv.ParseFloat(value, 64)
		switch name {
		case "":
		case "required":
			k.Required = true
		case "enum":
			k.Choices = append(k.Choices, value)
		case "registry":
			k.Registry = value
			for _, w := range Vocabulary(value) {
				k.Choices = append(k.Choices, w.Name)
			}
		case "minimum":
			k.minimum = &number
		case "exclusiveMinimum":
			k.exclusiveMinimum = &number
		case "maximum":
			k.maximum = &number
		case "exclusiveMaximum":
			k.exclusiveMaximum = &number
		case "minItems":
			k.minItems = int(number)
		case "maxItems":
			k.maxItems = int(number)
		case "maxLength":
			k.maxLength = int(number)
		case "reason":
			k.reason = value
		case "pattern":
			k.pattern = regexp.MustCompile(value)
		case "default":
			k.Default = value
		default:
			panic("sweep: no rule " + name)
		}
	}
	return k
}

// Limits describes the bounds of a number in words: "at least 1, below 2"; empty: none.
func (r Rules) Limits() string {
	var limits []string
	for _, limit := range []struct {
		words string
		bound *float64
	}{
		{"at least", r.minimum}, {"above", r.exclusiveMinimum}, {"at most", r.maximum}, {"below", r.exclusiveMaximum},
	} {
		if limit.bound != nil {
			limits = append(limits, limit.words+" "+strconv.FormatFloat(*limit.bound, 'f', -1, 64))
		}
	}
	return strings.Join(limits, ", ")
}

// InRange returns an error if x, written as text in the file, is outside the bounds. A nil bound is ignored.
func InRange(x float64, text string, least, most *float64) error {
	return Rules{minimum: least, maximum: most}.number(x, text)
}

// number returns an error if f, written as text, violates a bound.
func (r Rules) number(f float64, text string) error {
	if math.IsNaN(f) {
		return fmt.Errorf("%s is not a number", wording.Shorten(text))
	}
	if (r.minimum == nil || f >= *r.minimum) && (r.exclusiveMinimum == nil || f > *r.exclusiveMinimum) &&
		(r.maximum == nil || f <= *r.maximum) && (r.exclusiveMaximum == nil || f < *r.exclusiveMaximum) {
		return nil
	}
	if r.reason != "" {
		return fmt.Errorf("%s is outside %s: %s", wording.Shorten(text), r.interval(), r.reason)
	}
	return fmt.Errorf("%s is outside %s", wording.Shorten(text), r.interval())
}

// interval formats the bounds, such as "(0, 1)", "[1, 1000000]" or "[1, inf)".
func (r Rules) interval() string {
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

// text returns an error if s violates a rule for texts.
func (r Rules) text(s string) error {
	switch {
	case len(r.Choices) > 0 && !slices.Contains(r.Choices, s):
		return fmt.Errorf("unknown value %q%s", wording.Shorten(s), wording.DidYouMean(s, r.Choices))
	case r.maxLength > 0 && len(s) > r.maxLength:
		return fmt.Errorf("%q is longer than %d characters", wording.Shorten(s), r.maxLength)
	case r.pattern != nil && !r.pattern.MatchString(s):
		message := fmt.Sprintf("%q is not a name: it begins with a letter or digit and matches %s",
			wording.Shorten(s), r.pattern)
		if name := r.nameLike(s); name != "" {
			message += fmt.Sprintf(", for example %s", wording.Shorten(name))
		}
		return errors.New(message)
	}
	return nil
}

// nameLike replaces the characters of s that the pattern does not allow by hyphens. It returns "" if the result is
// not a name either.
func (r Rules) nameLike(s string) string {
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
