package plan

import (
	"slices"

	"github.com/shatterlab/shatter/pipeline/sweep"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/schemas"
)

// zip pairs the axes of a grid's entries. It ignores a parameter for algorithms that do not have it.
func (l *layout) zip(b *sweep.Block, entries []*entry, r *sweep.Reporter) {
	for i, names := range b.Zip {
		path := l.file.Item(b.Path("zip"), i)
		if !r.Sound(path) {
			continue
		}
		if len(names) < 2 {
			r.At(path, "zip must be a list of lists of at least two axes: [[d, margin]]")
			continue
		}
		for j, name := range names {
			has := func(e *entry) bool { a, _ := e.axisOf(name); return a >= 0 }
			switch {
			case slices.ContainsFunc(entries, has) || l.mayMean(b, name, r):
			case l.names[name]:
				r.At(l.file.Item(path, j), "%q is not set in this grid", name)
			default:
				r.At(l.file.Item(path, j), "unknown axis %q%s", wording.Shorten(name),
					wording.DidYouMean(name, l.namesLike(name)))
			}
		}
		for _, e := range entries {
			if !e.pair(names, path, r) {
				for _, e := range entries {
					e.unpaired = true
				}
				break
			}
		}
	}
}

// pair makes the named axes of the entry change together. It returns false if their lengths differ, and reports that
// unless the values have other mistakes.
func (e *entry) pair(names []string, path string, r *sweep.Reporter) bool {
	first, firstName := -1, ""
	for _, name := range names {
		a, _ := e.axisOf(name)
		if a < 0 {
			continue
		}
		if first < 0 {
			first, firstName = a, name
			continue
		}
		if n, m := len(e.axes[first].options), len(e.axes[a].options); n != m {
			if r.Sound(e.axes[first].path, e.axes[a].path) {
				r.At(path, "lengths differ: %q has %d values, %q has %d", firstName, n, name, m)
			}
			return false
		}
		old, lead := max(e.leader[first], e.leader[a]), min(e.leader[first], e.leader[a])
		for i := range e.leader {
			if e.leader[i] == old {
				e.leader[i] = lead
			}
		}
	}
	return true
}

// An exclusion is one item of exclude, resolved for an entry. It matches combinations that meet all conditions.
type exclusion struct {
	path       string
	conditions []condition
}

// A condition is a name of an exclusion with its values.
type condition struct {
	axis     int
	matching []bool // whether an option has one of the values
}

// exclusions returns the grid's exclusions that apply to the entry.
func (l *layout) exclusions(e *entry, r *sweep.Reporter) []exclusion {
	var all []exclusion
	for i, item := range e.grid.Exclude {
		path := l.file.Item(e.grid.Path("exclude"), i)
		if !r.Sound(path) && len(item) == 0 { // it is not a mapping
			continue
		}
		x := exclusion{path: path}
		fits := true
		for name, values := range item {
			if !l.names[name] && !l.mayMean(e.grid, name, r) {
				r.AtKey(sweep.JoinPath(path, name), "unknown name%s", wording.DidYouMean(name, l.namesLike(name)))
			}
			a, inner := e.axisOf(name)
			fits = fits && a >= 0
			if fits {
				x.conditions = append(x.conditions, e.condition(a, inner, values))
			}
		}
		if len(item) == 0 {
			r.At(path, "an empty exclusion would match every cell: remove it")
			continue
		}
		if fits {
			all = append(all, x)
		}
	}
	return all
}

// condition returns the condition that the name-th value on an axis is one of values.
func (e *entry) condition(axis, name int, values []schemas.Value) condition {
	c := condition{axis: axis}
	for _, o := range e.axes[axis].options {
		c.matching = append(c.matching,
			slices.ContainsFunc(values, func(v schemas.Value) bool { return matchesValue(v, o.values[name]) }))
	}
	return c
}

// matches reports whether the exclusion matches a combination of options.
func (x *exclusion) matches(options []int) bool {
	return !slices.ContainsFunc(x.conditions, func(c condition) bool { return !c.matching[options[c.axis]] })
}
