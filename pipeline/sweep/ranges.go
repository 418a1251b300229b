package sweep

import (
	"fmt"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v4"

	"github.com/shatterlab/shatter/schemas"
)

// TakesRange reports whether a range may replace a list: a list of numbers, or of values of an algorithm's parameter,
// which may be numbers.
func TakesRange(list reflect.Type) bool {
	if list.Kind() != reflect.Slice {
		return false
	}
	switch list.Elem() {
	case valueType, reflect.TypeFor[schemas.Size](), reflect.TypeFor[schemas.Reference]():
		return true
	}
	switch list.Elem().Kind() {
	case reflect.Int, reflect.Int64, reflect.Float64:
		return true
	}
	return false
}

// isRange reports whether a mapping is a range, not a search for n*.
func isRange(n *yaml.Node) bool {
	return n.Kind == yaml.MappingNode && (entryOf(n, "steps") != nil || entryOf(n, "scale") != nil)
}

// entryOf returns the value of a key of a mapping; nil if it is missing.
func entryOf(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// axisRange fills a slice of numbers with the values of a range. All values have the place of the range.
func (c *checker) axisRange(n *yaml.Node, v reflect.Value, p Place, path string, r Rules) {
	var written schemas.AxisRange
	keys := fieldsOf(reflect.TypeOf(written))
	if !slices.ContainsFunc(keys, func(f Key) bool { return entryOf(n, f.Name) != nil }) {
		c.fail(p, path, "a number was expected, or a range (%s), not %s", listKeys(keys), describe(n))
		return
	}
	if step := entryOf(n, "step"); step != nil {
		c.fail(Place{Line: step.Line, Column: step.Column}, JoinPath(path, "step"),
			"unknown key; a range has steps, the number of its values with both ends")
		return
	}
	mistakes := len(c.mistakes)
	c.value(n, reflect.ValueOf(&written).Elem(), path, Rules{})
	if len(c.mistakes) > mistakes {
		return
	}
	of := v.Type().Elem()
	for _, key := range []string{"from", "to"} { // check the ends as values of the list
		c.value(entryOf(n, key), reflect.New(of).Elem(), JoinPath(path, key), r)
	}
	s := span{from: exactly(written.From), to: exactly(written.To), steps: written.Steps,
		log: written.Scale == schemas.LogScale}
	if len(c.mistakes) > mistakes {
		return
	}
	switch order := s.from.Cmp(s.to); {
	case order > 0:
		c.fail(p, path, "from %s is above to %s: a range ascends", written.From, written.To)
		return
	case order == 0:
		c.fail(p, path, "from and to are both %s: write the value alone", written.To)
		return
	case s.log && s.from.Sign() <= 0:
		c.fail(c.File.places[JoinPath(path, "from")], JoinPath(path, "from"),
			"%s has no logarithm: with scale log, from must be above 0", written.From)
		return
	}
	s.whole = of.Kind() != reflect.Float64 && of.Kind() != reflect.Struct // Reference and Value are structs
	values := s.values()
	if few := slices.CompactFunc(slices.Clone(values), same); len(few) < len(values) {
		c.File.Notes = append(c.File.Notes, fmt.Sprintf("%s (line %d): only %d of the %d steps from %s to %s are different "+
			"whole numbers", path, p.Line, len(few), len(values), written.From, written.To))
		values = few
	}
	v.Set(reflect.MakeSlice(v.Type(), len(values), len(values)))
	for i, x := range values {
		item := path + "[" + strconv.Itoa(i) + "]"
		if of == valueType {
			c.File.places[item] = p
			v.Index(i).Set(reflect.ValueOf(schemas.Value{Text: textOf(x)}))
			continue
		}
		c.value(&yaml.Node{Kind: yaml.ScalarNode, Value: textOf(x), Line: n.Line, Column: n.Column}, v.Index(i), item, r)
	}
	if of == valueType {
		s.whole = true
		for i, x := range s.values() {
			v.Index(i).Addr().Interface().(*schemas.Value).Whole = textOf(x)
		}
	}
}

func same(x, y *big.Rat) bool { return x.Cmp(y) == 0 }

// exactly returns a number of the file without rounding.
func exactly(n schemas.Number) *big.Rat {
	x := new(big.Rat)
	var whole schemas.Size // may be a power
	if whole.UnmarshalText([]byte(n)) == nil {
		return x.SetUint64(uint64(whole))
	}
	x.SetString(string(n)) // never fails, because schemas.Number has accepted it
	return x
}

// textOf formats a number as in a sweep file.
func textOf(x *big.Rat) string {
	if x.IsInt() {
		return x.Num().String()
	}
	f, _ := x.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// A span is a range of numbers. It computes its values in exact arithmetic, because floating-point logarithms differ
// between machines.
type span struct {
	from, to   *big.Rat
	steps      int
	log, whole bool
}

// leastDigits is the number of significant digits of the values of a logarithmic range.
const leastDigits = 3

// values returns the numbers of the range, ascending, with equal distances or equal ratios between
// them: the ends as they are, and those between rounded to whole numbers, or on a linear scale to a
// hundredth of the distance or less, on a logarithmic one to three significant digits, or more where
// neighbours differ by less than a tenth. A half is rounded up.
func (s span) values() []*big.Rat {
	last := s.steps - 1
	values := make([]*big.Rat, s.steps)
	values[0], values[last] = s.from, s.to
	for i := 1; i < last; i++ {
		if s.log {
			values[i] = s.power(i, last)
		} else {
			values[i] = s.line(i, last)
		}
	}
	return values
}

// line returns value i of a linear range.
func (s span) line(i, last int) *big.Rat {
	step := new(big.Rat).Sub(s.to, s.from)
	step.Quo(step, big.NewRat(int64(last), 1))
	x := new(big.Rat).Mul(step, big.NewRat(int64(i), 1))
	x.Add(x, s.from)
	unit := big.NewRat(1, 1)
	if !s.whole {
		unit = ten(magnitude(step, func(y *big.Rat) bool { return y.Cmp(step) <= 0 }) - 2)
	}
	return roundTo(unit, x, func(y *big.Rat) bool { return y.Cmp(x) <= 0 })
}

// power returns value i of a logarithmic range: the root of degree last of from^(last-i) to^i.
func (s span) power(i, last int) *big.Rat {
	num := new(big.Int).Mul(raise(s.from.Num(), last-i), raise(s.to.Num(), i))
	denom := new(big.Int).Mul(raise(s.from.Denom(), last-i), raise(s.to.Denom(), i))
	reaches := func(x *big.Rat) bool { // x^last <= num/denom
		return x.Sign() <= 0 || new(big.Int).Mul(raise(x.Num(), last), denom).
			Cmp(new(big.Int).Mul(num, raise(x.Denom(), last))) <= 0
	}
	low, _ := s.from.Float64()
	high, _ := s.to.Float64()
	share := float64(i) / float64(last)
	near := new(big.Rat).SetFloat64(math.Pow(low, 1-share) * math.Pow(high, share))
	unit := big.NewRat(1, 1)
	if !s.whole {
		unit = ten(magnitude(near, reaches) + 1 - s.digits(last))
	}
	return roundTo(unit, near, reaches)
}

// digits returns the number of significant digits to which a logarithmic range is rounded: the least
// from leastDigits on of which a tenth of the last but one is no more than the distance of two values.
func (s span) digits(last int) int {
	ratio := new(big.Rat).Quo(s.to, s.from)
	digits := leastDigits
	for ; digits < 15; digits++ {
		next := new(big.Rat).Add(big.NewRat(1, 1), ten(2-digits))
		power := new(big.Rat).SetFrac(raise(next.Num(), last), raise(next.Denom(), last))
		if power.Cmp(ratio) <= 0 {
			break
		}
	}
	return digits
}

// magnitude returns the exponent of the largest power of ten that x reaches, which is near.
func magnitude(near *big.Rat, reaches func(*big.Rat) bool) int {
	f, _ := near.Float64()
	e := int(math.Floor(math.Log10(f)))
	for !reaches(ten(e)) {
		e--
	}
	for reaches(ten(e + 1)) {
		e++
	}
	return e
}

// roundTo returns the multiple of unit that is nearest to a number x. near approximates x, and reaches reports
// whether its argument is at most x.
func roundTo(unit, near *big.Rat, reaches func(*big.Rat) bool) *big.Rat {
	quotient := new(big.Rat).Quo(near, unit)
	m, one := new(big.Int).Div(quotient.Num(), quotient.Denom()), big.NewInt(1)
	at := func(halves int64) *big.Rat { // m + halves/2 units
		x := new(big.Rat).SetInt(m)
		return x.Mul(x.Add(x, big.NewRat(halves, 2)), unit)
	}
	for reaches(at(1)) {
		m.Add(m, one)
	}
	for !reaches(at(-1)) {
		m.Sub(m, one)
	}
	return at(0)
}

// ten returns a power of ten.
func ten(exponent int) *big.Rat {
	p := new(big.Rat).SetInt(raise(big.NewInt(10), max(exponent, -exponent)))
	if exponent < 0 {
		p.Inv(p)
	}
	return p
}

// raise returns x to the power k, from 0 on.
func raise(x *big.Int, k int) *big.Int { return new(big.Int).Exp(x, big.NewInt(int64(k)), nil) }
