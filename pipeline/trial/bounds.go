package trial

import (
	"cmp"
	"encoding/binary"
	"iter"
	"math"
	"slices"
	"unique"

	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// Standings of a bound, and of a guarantee.
const (
	Proved   = "proved"   // by an algorithm that is built in, whose proofs stand in this repository
	Declared = "declared" // a third party's plugin says that it is proved
	Printed  = "printed"  // a paper prints it
)

// Standing returns whose word a bound of the cell is.
func (c *Cell) Standing(b *pluginv1.Bound) string {
	switch {
	case !b.GetProved():
		return Printed
	case c.Plugin != "":
		return Declared
	}
	return Proved
}

// RefutedBounds describes the bounds that a result refutes, by their standings, of which each may be
// there several times.
func RefutedBounds(standings []string) string {
	switch declared := slices.Contains(standings, Declared); {
	case declared && slices.Contains(standings, Proved):
		return "bounds that are called proved, and others that a plugin declares"
	case declared:
		return "a bound that a plugin declares"
	}
	return "a bound that is called proved"
}

// Stands reports whether a bound is proved or declared and holds of its cell.
func Stands(b *pluginv1.Bound) bool { return b.GetProved() && b.GetFails() == "" }

// Bounds holds the bounds of a cell. A plan has many, most of which differ in their numbers alone,
// so what they have in common is kept once. The zero value has none.
type Bounds struct{ list *packed }

// packed is a list of bounds, at least one.
type packed struct {
	first   unique.Handle[bound]
	fails   unique.Handle[string] // of each bound, joined
	numbers []float64             // of each bound its value, then its intermediate values in the order of bound.with
}

// bound is what a pluginv1.Bound says in all cells, and the bounds that follow it in a list.
type bound struct {
	name, source, unit string
	premises, with     string // joined; the names in with ascend
	values             int    // number of intermediate values
	proved, order      bool
	next               unique.Handle[bound] // the zero value after the last one
}

// NewBounds packs bounds.
func NewBounds(list []*pluginv1.Bound) Bounds { return NewJudged(list, (*pluginv1.Bound).GetFails) }

// NewJudged packs bounds with the reason, given by why, for which each says nothing of a cell, as
// Judge does.
func NewJudged(list []*pluginv1.Bound, why func(*pluginv1.Bound) string) Bounds {
	if len(list) == 0 {
		return Bounds{}
	}
	count := len(list)
	for _, b := range list {
		count += len(b.GetWith())
	}
	all, numbers, fails := packed{}, make([]float64, 0, count), make([]string, len(list))
	for i, b := range slices.Backward(list) { // and so are the numbers, until they are turned around
		names := b.WithNames()
		for _, name := range slices.Backward(names) {
			numbers = append(numbers, b.GetWith()[name])
		}
		numbers, fails[i] = append(numbers, b.GetValue()), why(b)
		all.first = unique.Make(bound{
			name: b.GetName(), source: b.GetSource(), unit: b.GetUnit(), premises: join(b.GetPremises()),
			with: join(names), values: len(names), proved: b.GetProved(), order: b.GetOrder(), next: all.first,
		})
	}
	slices.Reverse(numbers)
	all.fails, all.numbers = unique.Make(join(fails)), numbers
	return Bounds{&all}
}

// stated is a bound of a list, with all that is stated in its cell.
type stated struct {
	bound
	is    unique.Handle[bound]
	fails string
	value float64
	with  []float64 // in the order of bound.with
}

// each returns the bounds one by one, in their order.
func (b Bounds) each() iter.Seq[stated] {
	return func(yield func(stated) bool) {
		if b.list == nil {
			return
		}
		numbers, fails := b.list.numbers, b.list.fails.Value()
		for is := b.list.first; is != (unique.Handle[bound]{}); {
			s := stated{bound: is.Value(), is: is, value: numbers[0]}
			s.with, numbers = numbers[1:1+s.values], numbers[1+s.values:]
			s.fails, fails = cut(fails)
			if !yield(s) {
				return
			}
			is = s.next
		}
	}
}

// All unpacks the bounds, in their order.
func (b Bounds) All() []*pluginv1.Bound {
	var all []*pluginv1.Bound
	for s := range b.each() {
		all = append(all, s.unpackAll())
	}
	return all
}

// unpackAll returns the bound.
func (s *stated) unpackAll() *pluginv1.Bound {
	all := s.unpack()
	for j, name := range split(s.bound.with) {
		if j == 0 {
			all.With = make(map[string]float64, s.values)
		}
		all.With[name] = s.with[j]
	}
	return all
}

// Unpacker unpacks the bounds of many cells. The zero value is ready for use.
type Unpacker struct {
	last map[unique.Handle[bound]]*unpacked
}

// unpacked is what a bound was unpacked to last.
type unpacked struct {
	*pluginv1.Bound
	with []string // names, in the order of bound.with
}

// All returns the bounds one by one, as Bounds.All does. Each lasts until the next one.
func (u *Unpacker) All(b Bounds) iter.Seq[*pluginv1.Bound] {
	return func(yield func(*pluginv1.Bound) bool) {
		for s := range b.each() {
			last, known := u.last[s.is]
			if !known {
				last = &unpacked{s.unpackAll(), split(s.bound.with)}
				if u.last == nil {
					u.last = map[unique.Handle[bound]]*unpacked{}
				}
				u.last[s.is] = last
			}
			last.Value, last.Fails = s.value, s.fails
			for i, name := range last.with {
				last.With[name] = s.with[i]
			}
			if !yield(last.Bound) {
				return
			}
		}
	}
}

// unpack returns the bound without its intermediate values.
func (s *stated) unpack() *pluginv1.Bound {
	return &pluginv1.Bound{
		Name: s.name, Source: s.source, Unit: s.unit, Premises: split(s.premises), Value: s.value,
		Proved: s.proved, Order: s.order, Fails: s.fails,
	}
}

// Judge returns the bounds with the reason, given by why, for which each says nothing of a cell; ""
// where it holds. The bounds that why gets lack their intermediate values.
func (b Bounds) Judge(why func(*pluginv1.Bound) string) Bounds {
	if b.list == nil {
		return b
	}
	var fails []string
	for s := range b.each() {
		fails = append(fails, why(s.unpack()))
	}
	judged := *b.list
	if judged.fails = unique.Make(join(fails)); judged.fails == b.list.fails {
		return b
	}
	return Bounds{&judged}
}

// Equal reports whether both hold the same bounds in the same order.
func (b Bounds) Equal(c Bounds) bool {
	if b.list == nil || c.list == nil {
		return b == c
	}
	return b.list.first == c.list.first && b.list.fails == c.list.fails && slices.Equal(b.list.numbers, c.list.numbers)
}

// join joins texts, each after its length.
func join(texts []string) string {
	b := make([]byte, 0, 128)
	for _, text := range texts {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	return string(b)
}

// split splits what join has joined.
func split(joined string) (texts []string) {
	for joined != "" {
		var text string
		text, joined = cut(joined)
		texts = append(texts, text)
	}
	return texts
}

// cut returns the first of the texts that join has joined, and the others.
func cut(joined string) (text, others string) {
	size, digits := binary.Uvarint([]byte(joined[:min(len(joined), binary.MaxVarintLen64)]))
	end := digits + int(size)
	return joined[digits:end], joined[end:]
}

// LeastBound returns the least bound that is proved or declared and holds of the cell. It is nil
// where there is none that is finite, and why says so if the algorithm states any.
func (c *Cell) LeastBound() (least *pluginv1.Bound, why string) {
	var first stated
	some := false
	for s := range c.Bounds.each() {
		switch {
		case !s.proved:
		case s.fails != "":
			why = cmp.Or(why, s.name+": "+s.fails)
		case math.IsInf(s.value, 1):
			why = cmp.Or(why, s.name+": no finite number is enough")
		case !some || s.value < first.value:
			first, some = s, true
		}
	}
	if some {
		return first.unpackAll(), ""
	}
	return nil, why
}

// PrintedBound returns the first bound that is only printed and holds of the cell as far as its
// premises go, or nil. Orders of magnitude do not count.
func (c *Cell) PrintedBound() *pluginv1.Bound {
	for s := range c.Bounds.each() {
		if !s.proved && !s.order && s.fails == "" {
			return s.unpackAll()
		}
	}
	return nil
}

// Contradicted returns the bounds by which a sample size suffices, which is shown insufficient: see
// Contradicts.
func (c *Cell) Contradicted(low int64) (bounds []*pluginv1.Bound) {
	for s := range c.Bounds.each() {
		if low > 0 && s.value <= float64(low) { // or it need not be unpacked
			if all := s.unpackAll(); Contradicts(low, all) {
				bounds = append(bounds, all)
			}
		}
	}
	return bounds
}

// Contradicts reports whether low examples, which are shown insufficient, suffice by a bound that is
// proved or declared and holds of its cell. Where low is 0, nothing is shown insufficient.
func Contradicts(low int64, b *pluginv1.Bound) bool {
	return low > 0 && Stands(b) && b.GetValue() <= float64(low)
}
