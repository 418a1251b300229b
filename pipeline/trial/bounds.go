package trial

import (
	"cmp"
	"math"

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

// Stands reports whether a bound is proved or declared and holds of its cell.
func Stands(b *pluginv1.Bound) bool { return b.GetProved() && b.GetFails() == "" }

// LeastBound returns the least bound that is proved or declared and holds of the cell. It is nil
// where there is none that is finite, and why says so if the algorithm states any.
func (c *Cell) LeastBound() (least *pluginv1.Bound, why string) {
	for _, b := range c.Bounds {
		switch {
		case !b.GetProved():
		case !Stands(b):
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

// Contradicted returns the bounds by which a sample size suffices, which is shown insufficient: those
// that are proved or declared, hold of the cell, and are at most low. No size is shown insufficient
// where low is 0.
func (c *Cell) Contradicted(low int64) (bounds []*pluginv1.Bound) {
	for _, b := range c.Bounds {
		if low > 0 && Stands(b) && b.GetValue() <= float64(low) {
			bounds = append(bounds, b)
		}
	}
	return bounds
}
