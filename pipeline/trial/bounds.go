package trial

import (
	"cmp"
	"encoding/binary"
	"iter"
	"maps"
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
type Bounds struct{ list []bound }

// bound is a pluginv1.Bound, packed.
type bound struct {
	form  unique.Handle[boundForm]
	fails unique.Handle[string]
	value float64
	with  []float64 // in the order of boundForm.with
}

// boundForm is what bounds of many cells have in common.
type boundForm struct {
	name, source, unit string
	premises, with     string // joined; the names in with ascend
	proved, order      bool
}

// NewBounds packs bounds.
func NewBounds(list []*pluginv1.Bound) Bounds { return NewJudged(list, (*pluginv1.Bound).GetFails) }

// NewJudged packs bounds with the reason, given by why, for which each says nothing of a cell, as
// Judge does.
func NewJudged(list []*pluginv1.Bound, why func(*pluginv1.Bound) string) Bounds {
	packed := make([]bound, len(list))
	for i, b := range list {
		names := slices.AppendSeq(make([]string, 0, len(b.GetWith())), maps.Keys(b.GetWith()))
		slices.Sort(names)
		p := &packed[i]
		p.form = unique.Make(boundForm{
			name: b.GetName(), source: b.GetSource(), unit: b.GetUnit(), premises: join(b.GetPremises()),
			with: join(names), proved: b.GetProved(), order: b.GetOrder(),
		})
		p.fails, p.value = unique.Make(why(b)), b.GetValue()
		p.with = make([]float64, len(names))
		for j, name := range names {
			p.with[j] = b.GetWith()[name]
		}
	}
	return Bounds{packed}
}

// All unpacks the bounds, in their order.
func (b Bounds) All() []*pluginv1.Bound {
	var all []*pluginv1.Bound
	for _, p := range b.list {
		all = append(all, p.unpackAll())
	}
	return all
}

// unpackAll returns the bound.
func (b bound) unpackAll() *pluginv1.Bound {
	all := b.unpack()
	for j, name := range split(b.form.Value().with) {
		if j == 0 {
			all.With = make(map[string]float64, len(b.with))
		}
		all.With[name] = b.with[j]
	}
	return all
}

// Unpacker unpacks the bounds of many cells. The zero value is ready for use.
type Unpacker struct {
	forms map[unique.Handle[boundForm]]*unpacked
}

// unpacked is the last bound of a form.
type unpacked struct {
	*pluginv1.Bound
	with []string // names, in the order of bound.with
}

// All returns the bounds one by one, as Bounds.All does. Each lasts until the next one.
func (u *Unpacker) All(b Bounds) iter.Seq[*pluginv1.Bound] {
	return func(yield func(*pluginv1.Bound) bool) {
		for _, p := range b.list {
			last, known := u.forms[p.form]
			if !known {
				last = &unpacked{p.unpackAll(), split(p.form.Value().with)}
				if u.forms == nil {
					u.forms = map[unique.Handle[boundForm]]*unpacked{}
				}
				u.forms[p.form] = last
			}
			last.Value, last.Fails = p.value, p.fails.Value()
			for i, name := range last.with {
				last.With[name] = p.with[i]
			}
			if !yield(last.Bound) {
				return
			}
		}
	}
}

// unpack returns the bound without its intermediate values.
func (b bound) unpack() *pluginv1.Bound {
	form := b.form.Value()
	return &pluginv1.Bound{
		Name: form.name, Source: form.source, Unit: form.unit, Premises: split(form.premises), Value: b.value,
		Proved: form.proved, Order: form.order, Fails: b.fails.Value(),
	}
}

// Judge returns the bounds with the reason, given by why, for which each says nothing of a cell; ""
// where it holds. The bounds that why gets lack their intermediate values.
func (b Bounds) Judge(why func(*pluginv1.Bound) string) Bounds {
	judged := b
	for i, p := range b.list {
		fails := why(p.unpack())
		if fails == p.fails.Value() {
			continue
		}
		if &judged.list[0] == &b.list[0] {
			judged.list = slices.Clone(b.list)
		}
		judged.list[i].fails = unique.Make(fails)
	}
	return judged
}

// Equal reports whether both hold the same bounds in the same order.
func (b Bounds) Equal(c Bounds) bool {
	return slices.EqualFunc(b.list, c.list, func(p, q bound) bool {
		return p.form == q.form && p.fails == q.fails && p.value == q.value && slices.Equal(p.with, q.with)
	})
}

// join joins texts, each after its length.
func join(texts []string) string {
	var b []byte
	for _, text := range texts {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	return string(b)
}

// split splits what join has joined.
func split(joined string) (texts []string) {
	for joined != "" {
		size, digits := binary.Uvarint([]byte(joined[:min(len(joined), binary.MaxVarintLen64)]))
		end := digits + int(size)
		texts, joined = append(texts, joined[digits:end]), joined[end:]
	}
	return texts
}

// LeastBound returns the least bound that is proved or declared and holds of the cell. It is nil
// where there is none that is finite, and why says so if the algorithm states any.
func (c *Cell) LeastBound() (least *pluginv1.Bound, why string) {
	var first *bound
	for i := range c.Bounds.list {
		b := &c.Bounds.list[i]
		form, fails := b.form.Value(), b.fails.Value()
		switch {
		case !form.proved:
		case fails != "":
			why = cmp.Or(why, form.name+": "+fails)
		case math.IsInf(b.value, 1):
			why = cmp.Or(why, form.name+": no finite number is enough")
		case first == nil || b.value < first.value:
			first = b
		}
	}
	if first != nil {
		return first.unpackAll(), ""
	}
	return nil, why
}

// PrintedBound returns the first bound that is only printed and holds of the cell as far as its
// premises go, or nil. Orders of magnitude do not count.
func (c *Cell) PrintedBound() *pluginv1.Bound {
	for _, b := range c.Bounds.list {
		if form := b.form.Value(); !form.proved && !form.order && b.fails.Value() == "" {
			return b.unpackAll()
		}
	}
	return nil
}

// Contradicted returns the bounds by which a sample size suffices, which is shown insufficient: see
// Contradicts.
func (c *Cell) Contradicted(low int64) (bounds []*pluginv1.Bound) {
	for _, b := range c.Bounds.list {
		if low > 0 && b.value <= float64(low) { // or it need not be unpacked
			if all := b.unpackAll(); Contradicts(low, all) {
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
