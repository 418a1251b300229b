package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline/sweep"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/schemas"
)

// risesWith holds the numbers with a known direction: success rises (true) or falls with them.
var risesWith = map[string]bool{
	"epsilon": true, "delta": true, "alpha": true, "margin": true, trial.RoundsAxis: true,
	"noise_rate": false, "queries": false,
}

// unsearchable holds the numbers that cannot be searched, with the reason.
var unsearchable = map[string]string{
	"beta":      "it is part of the goal: the share of trials that may fail",
	"reference": "it is part of the goal, with alpha; search alpha instead",
	"replica":   "replicas differ only in their noise",
	"test":      "it only determines how errors are measured",
	"n":         "search n* with \"n: {from: 16, to: 1e6}\"; search is for other numbers",
}

// A searchedAxis is the axis of an entry that its grid searches.
type searchedAxis struct {
	name        string // name of the column
	axis, inner int    // index in the entry, and index of the name on the axis
	rises       bool   // success rises with the number
}

// findAxis sets the axis that the entry's grid searches, or reports the mistake.
func (e *entry) findAxis(l *layout, r *sweep.Reporter) {
	spec := e.grid.Search
	if spec == nil || e.algorithm.Algorithm == nil || !e.grid.Sound(r, "search", "n", "rounds", "trials") {
		return
	}
	path := e.grid.Path("search")
	name := strings.ReplaceAll(spec.Axis, ".", "_") // noise.rate is the key of noise_rate
	axis, inner := e.axisOf(name)
	why, ok := unsearchable[name]
	if name == "n" && e.grid.File.Task().Rounds() {
		why = "games have rounds; use search: rounds"
	}
	if ok {
		r.At(path, "%s cannot be searched: %s", name, why)
		return
	}
	if axis < 0 {
		switch {
		case !l.names[name] && !l.mayMean(e.grid, name, r):
			r.At(path, "unknown number %q%s", wording.Shorten(spec.Axis), wording.DidYouMean(name, l.namesLike(name)))
		case l.names[name]:
			r.At(path, "%s has no %s in this grid: set it there, or give %s a grid of its own without search",
				e.label(), name, e.label())
		}
		return
	}
	if e.axes[axis].param {
		name = schemas.ParamPrefix + strings.TrimPrefix(name, schemas.ParamPrefix)
	}
	e.find = &searchedAxis{name: name, axis: axis, inner: inner, rises: spec.Success == schemas.SuccessRises}
	if why := e.checkSearchable(); why != "" {
		e.find = nil
		r.At(path, "%s", why)
	}
}

// checkSearchable returns the reason why the entry's axis cannot be searched; "" if it can. It sets the direction if
// the sweep file does not.
func (e *entry) checkSearchable() string {
	a, values := &e.axes[e.find.axis], map[float64]bool{}
	for _, o := range a.options {
		switch v := o.values[e.find.inner].(type) {
		case nil:
			return fmt.Sprintf("%s is not private, so that %s does not apply to it: give it a grid of its own without search",
				e.label(), e.find.name)
		case float64:
			values[v] = true
		default:
			return fmt.Sprintf("%s is not a number: only numbers can be searched", e.find.name)
		}
	}
	if len(values) < 2 {
		example := "{from: 0.1, to: 10, steps: 21, scale: log}"
		if e.find.name == trial.RoundsAxis {
			example = "{from: 10, to: 10000, steps: 16, scale: log}"
		}
		return fmt.Sprintf("%s has a single value: list the values to search, as in \"%s: %s\"", e.find.name,
			a.names[e.find.inner], example)
	}
	for i, lead := range e.leader {
		if i != e.find.axis && lead == e.leader[e.find.axis] {
			return fmt.Sprintf("zip pairs %s with %s, but a search changes one number only: remove it from zip",
				e.find.name, e.axes[i].names[0])
		}
	}
	rises, known := risesWith[e.find.name]
	if e.grid.Search.Success != "" {
		return ""
	}
	if e.find.rises = rises; !known {
		return fmt.Sprintf("state whether success rises or falls as %s grows: search: {axis: %s, success: falls}",
			e.find.name, e.grid.Search.Axis)
	}
	return ""
}

// rung returns the instance's rung. Its ladder has no values yet.
func (x *checkedInstance) rung() *trial.Rung {
	e := x.entry
	o := e.axes[e.find.axis].options[x.options()[e.find.axis]]
	value, _ := o.values[e.find.inner].(float64)
	return &trial.Rung{
		Ladder: &trial.Ladder{
			Axis: e.find.name, Rises: e.find.rises, Monotone: e.grid.Search.Monotone,
			Confidence: cmp.Or(e.grid.Search.Confidence, schemas.DefaultConfidence),
			Within:     cmp.Or(e.grid.Search.Within, schemas.DefaultSteps),
		},
		Value: value,
	}
}

// otherOptions identifies the instance's ladder within its entry: it contains all options except the searched value.
func (x *checkedInstance) otherOptions() string {
	options, f := x.options(), x.entry.find
	others := slices.Clone(x.entry.axes[f.axis].options[options[f.axis]].values)
	others[f.inner], options[f.axis] = nil, 0
	return fmt.Sprint(options, others)
}

// makeLadders sets the ladders of all rungs. It reports a searched number that does not change a cell.
func makeLadders(cells []*trial.Cell, from []*checkedInstance, r *sweep.Reporter) {
	type ladderID struct {
		entry  *entry
		others string
		n      int64
	}
	rungs := map[ladderID][]int{}
	var order []ladderID
	for i, c := range cells {
		if c.Rung == nil {
			continue
		}
		id := ladderID{from[i].entry, from[i].otherOptions(), c.N[0]}
		if c.Rung.OverRounds() {
			id.n = 0
		}
		if rungs[id] == nil {
			order = append(order, id)
		}
		rungs[id] = append(rungs[id], i)
	}
	for _, id := range order {
		list := rungs[id]
		first := cells[list[0]]
		l := first.Rung.Ladder
		for _, i := range list {
			l.Values = append(l.Values, cells[i].Rung.Value)
		}
		slices.Sort(l.Values)
		if l.Values = slices.Compact(l.Values); !l.Rises {
			slices.Reverse(l.Values)
		}
		for _, i := range list {
			x := cells[i].Rung
			x.Ladder, x.Position = l, int64(slices.Index(l.Values, x.Value))+1
			if x.Value != first.Rung.Value && cells[i].Key == first.Key {
				r.At(id.entry.grid.Path("search"), "%s does not affect %s: give it a grid of its own without search",
					l.Axis, id.entry.label())
			}
		}
	}
}

// sameLadder reports whether two rungs have equal ladders.
func sameLadder(a, b *trial.Rung) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Axis == b.Axis && a.Rises == b.Rises && a.Within == b.Within &&
		a.Confidence == b.Confidence && a.Monotone == b.Monotone && slices.Equal(a.Values, b.Values)
}
