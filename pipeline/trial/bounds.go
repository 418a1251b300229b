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
	Proved   = "proved"   // by a built-in algorithm; the proof is in this repository
	Declared = "declared" // as proved, by the author of a plugin
	Printed  = "printed"  // in a paper, without a proof here
)

// Standing returns Proved, Declared or Printed.
func (c *Cell) Standing(b *pluginv1.Bound) string {
	switch {
	case !b.GetProved():
		return Printed
	case c.Plugin != "":
		return Declared
	}
	return Proved
}

// RefutedBounds describes the bounds that a result refutes, given their standings.
func RefutedBounds(standings []string) string {
	switch declared := slices.Contains(standings, Declared); {
	case declared && slices.Contains(standings, Proved):
		return "bounds that are called proved, and others that a plugin declares"
	case declared:
		return "a bound that a plugin declares"
	}
	return "a bound that is called proved"
}

// IsGuaranteed reports whether a bound is proved or declared, and its premises hold in its cell.
func IsGuaranteed(b *pluginv1.Bound) bool { return b.GetProved() && b.GetFails() == "" }

// Bounds holds the bounds of a cell. Cells share them: do not change them.
type Bounds []*pluginv1.Bound

// WithFailures returns copies of the bounds with the failed premise of each, as reason returns it; "" if all hold.
func (b Bounds) WithFailures(reason func(*pluginv1.Bound) string) Bounds {
	judged := slices.Clone(b)
	for i, bound := range b {
		if fails := reason(bound); fails != bound.GetFails() {
			judged[i] = proto.CloneOf(bound)
			judged[i].Fails = fails
		}
	}
	return judged
}

// Least returns the least finite bound that is proved or declared and applies. If there is none, it returns nil and, if
// the algorithm states any bound, the reason.
func (b Bounds) Least() (least *pluginv1.Bound, reason string) {
	for _, b := range b {
		switch {
		case !b.GetProved():
		case b.GetFails() != "":
			reason = cmp.Or(reason, b.GetName()+": "+b.GetFails())
		case math.IsInf(b.GetValue(), 1):
			reason = cmp.Or(reason, b.GetName()+": no finite number is enough")
		case least == nil || b.GetValue() < least.GetValue():
			least = b
		}
	}
	if least != nil {
		return least, ""
	}
	return nil, reason
}

// Printed returns the first printed bound whose premises hold, or nil. It ignores orders of magnitude.
func (b Bounds) Printed() *pluginv1.Bound {
	for _, b := range b {
		if !b.GetProved() && !b.GetOrder() && b.GetFails() == "" {
			return b
		}
	}
	return nil
}

// Contradicted returns the bounds that contradict the insufficient sample size low: see [Contradicts].
func (b Bounds) Contradicted(low int64) (bounds []*pluginv1.Bound) {
	for _, b := range b {
		if Contradicts(low, b) {
			bounds = append(bounds, b)
		}
	}
	return bounds
}

// Contradicts reports whether low examples, which a search has shown to be insufficient, suffice by a guaranteed bound.
// If low is 0, no sample size was shown to be insufficient.
func Contradicts(low int64, b *pluginv1.Bound) bool {
	return low > 0 && IsGuaranteed(b) && b.GetValue() <= float64(low)
}
