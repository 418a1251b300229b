package trial

import (
	"cmp"
	"math"
	"slices"

	"google.golang.org/protobuf/proto"

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

// Bounds holds the bounds of a cell. Cells share them: do not change them.
type Bounds []*pluginv1.Bound

// Judge returns the bounds with the reason, given by why, for which each says nothing of a cell; ""
// if it holds.
func (b Bounds) Judge(why func(*pluginv1.Bound) string) Bounds {
	judged := slices.Clone(b)
	for i, bound := range b {
		if fails := why(bound); fails != bound.GetFails() {
			judged[i] = proto.CloneOf(bound)
			judged[i].Fails = fails
		}
	}
	return judged
}

// LeastBound returns the least bound that is proved or declared and holds of the cell. It is nil
// if there is none that is finite; why gives the reason if the algorithm states any.
func (c *Cell) LeastBound() (least *pluginv1.Bound, why string) {
	for _, b := range c.Bounds {
		switch {
		case !b.GetProved():
		case b.GetFails() != "":
			why = cmp.Or(why, b.GetName()+": "+b.GetFails())
		case math.IsInf(b.GetValue(), 1):
			why = cmp.Or(why, b.GetName()+": no finite number is enough")
		case least == nil || b.GetValue() < least.GetValue():
			least = b
		}
	}
	if least != nil {
		return least, ""
	}
	return nil, why
}

// PrintedBound returns the first bound that is only printed and holds of the cell as far as its
// premises go, or nil. Orders of magnitude do not count.
func (c *Cell) PrintedBound() *pluginv1.Bound {
	for _, b := range c.Bounds {
		if !b.GetProved() && !b.GetOrder() && b.GetFails() == "" {
			return b
		}
	}
	return nil
}

// Contradicted returns the bounds by which a sample size suffices, which is shown insufficient: see
// Contradicts.
func (c *Cell) Contradicted(low int64) (bounds []*pluginv1.Bound) {
	for _, b := range c.Bounds {
		if Contradicts(low, b) {
			bounds = append(bounds, b)
		}
	}
	return bounds
}

// Contradicts reports whether low examples, which are shown insufficient, suffice by a bound that is
// proved or declared and holds of its cell. If low is 0, nothing is shown insufficient.
func Contradicts(low int64, b *pluginv1.Bound) bool {
	return low > 0 && Stands(b) && b.GetValue() <= float64(low)
}
