package pluginv1

import (
	"maps"
	"slices"
)

// WithNames returns the names of the bound's intermediate values, ascending.
func (b *Bound) WithNames() []string {
	names := slices.AppendSeq(make([]string, 0, len(b.GetWith())), maps.Keys(b.GetWith())) // many bounds are checked
	slices.Sort(names)
	return names
}
