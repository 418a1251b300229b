package sheet

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/schemas"
)

// Condition selects the rows with one of the values in a column.
type Condition struct {
	Column string
	Values []string // "none" means null
}

// None represents null in a Condition.
const None = "none"

// ParseConditions parses conditions in command-line syntax: key=value, or several values
// separated by commas.
func ParseConditions(texts []string) ([]Condition, error) {
	var all []Condition
	for _, text := range texts {
		column, values, ok := strings.Cut(text, "=")
		if !ok || column == "" || values == "" {
			return nil, fmt.Errorf("%q: key=value is needed, like epsilon=0.5, or key=value,value", text)
		}
		all = append(all, Condition{column, strings.Split(values, ",")})
	}
	return all, nil
}

// Where returns the sheet with the rows that satisfy all conditions. A condition that no row
// satisfies on its own is an error, and so is a column that the sheet does not have.
func (s *Sheet) Where(conditions ...Condition) (*Sheet, error) {
	kept := s
	for _, c := range conditions {
		i, err := s.Find(c.Column)
		if err != nil {
			return nil, err
		}
		for _, value := range c.Values {
			if strings.Contains(value, "=") {
				return nil, fmt.Errorf("%s=%s: a second condition needs a --where of its own",
					c.Column, strings.Join(c.Values, ","))
			}
			if !slices.ContainsFunc(s.Distinct(i), func(v any) bool { return means(value, v) }) {
				return nil, fmt.Errorf("%s=%s: no row has this value; there %s", c.Column, value, s.valuesOf(i))
			}
		}
		kept = kept.Filter(func(row int) bool {
			v := kept.At(row, i)
			return slices.ContainsFunc(c.Values, func(value string) bool { return means(value, v) })
		})
	}
	if kept.rows == 0 && s.rows > 0 {
		return nil, fmt.Errorf("no row meets all %d conditions: each is met by some, but not together", len(conditions))
	}
	return kept, nil
}

// Find returns the index of the column that the user means by a name: a column's name, or the
// name of a parameter or metric without its prefix.
func (s *Sheet) Find(name string) (int, error) {
	for _, prefix := range []string{"", schemas.ParamPrefix, schemas.MetricPrefix} {
		if i := s.Index(prefix + name); i >= 0 {
			return i, nil
		}
	}
	var names, metrics []string
	for _, c := range s.Columns {
		names = append(names, c.Name)
		if strings.HasPrefix(c.Name, schemas.MetricPrefix) {
			metrics = append(metrics, c.Name)
		}
	}
	near := names
	for _, prefix := range []string{schemas.ParamPrefix, schemas.MetricPrefix} {
		for _, name := range names {
			if short, ok := strings.CutPrefix(name, prefix); ok {
				near = append(near, short)
			}
		}
	}
	switch {
	case !strings.HasPrefix(name, schemas.MetricPrefix):
	case metrics == nil:
		return 0, fmt.Errorf("%s: no such metric; %s has none", name, s.Name)
	default:
		return 0, fmt.Errorf("%s: no such metric; there are %s", name, strings.Join(metrics, ", "))
	}
	if nearest, ok := wording.Nearest(name, near); ok {
		return 0, fmt.Errorf("%s: %s has no such column, did you mean %s?", name, s.Name, nearest)
	}
	return 0, fmt.Errorf("%s: %s has no such column; it has %s", name, s.Name, strings.Join(names, ", "))
}

// means reports whether the text, written by the user, denotes the value. Numbers may have any
// notation.
func means(text string, value any) bool {
	number, err := strconv.ParseFloat(text, 64)
	switch v := value.(type) {
	case nil:
		return text == None
	case int64:
		return err == nil && number == float64(v)
	case float64:
		return err == nil && number == v
	}
	return text == Text(value)
}

// maxValues is the largest number of values in a message.
const maxValues = 12

// valuesOf lists the values of a column for a message.
func (s *Sheet) valuesOf(column int) string {
	var values []string
	for _, value := range s.Distinct(column) {
		v := Text(value)
		if value == nil {
			v = None
		}
		if !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	if len(values) == 1 {
		return "is " + values[0] + " alone"
	}
	return "are " + wording.Few(values, maxValues)
}
