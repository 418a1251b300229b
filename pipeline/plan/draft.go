package plan

import (
	"slices"

	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/sweep"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// A draft is a combination of options that is not excluded.
type draft struct {
	entry       *entry
	combination int // index among the combinations of the entry
	problem     int // index of its problem among the problems of the grid
	setting     setting
}

// A setting holds the values of one combination.
type setting struct {
	problem *schemas.Problem
	params  trial.Params // parameters in the file

	queries   int
	rounds    int // number of rounds in a search over rounds; else 0
	adversary *schemas.Adversary

	replica   int
	epsilon   float64
	delta     float64
	alpha     float64
	beta      float64
	reference schemas.Reference
	means     bool   // answers may be means of labels
	states    string // task predict
}

// expand returns the drafts of all combinations in the order of the tables: by grid, problem, algorithm and setting. It
// reports exclusions that match nothing.
func (l *layout) expand(r *sweep.Reporter) []draft {
	var drafts []draft
	dropped := map[string]bool{}
	for _, entries := range l.grids {
		first := len(drafts)
		for _, e := range entries {
			if !e.unpaired && e.grid.Sound(r, "zip") {
				drafts = e.expand(drafts, dropped)
			}
		}
		slices.SortStableFunc(drafts[first:], func(a, b draft) int { return a.problem - b.problem })
	}
	for _, b := range l.file.Blocks() {
		for i := range b.Exclude {
			if path := l.file.Item(b.Path("exclude"), i); !dropped[path] && l.canJudgeExclusion(b, i, r) {
				dropped[path] = true // grids may share it
				r.At(path, "matches no cell: check the names and values, or remove it")
			}
		}
	}
	return drafts
}

// canJudgeExclusion reports whether the grid's i-th exclusion is unaffected by other mistakes.
func (l *layout) canJudgeExclusion(b *sweep.Block, i int, r *sweep.Reporter) bool {
	if !b.Sound(r, "algorithms", "zip") || !r.Sound(l.file.Item(b.Path("exclude"), i)) {
		return false
	}
	entries := l.entries()
	for name := range b.Exclude[i] {
		for _, e := range entries {
			a, _ := e.axisOf(name)
			if !l.names[name] || e.unpaired || a >= 0 && !r.Sound(e.axes[a].path) {
				return false
			}
		}
	}
	return len(entries) > 0
}

// expand appends the drafts of the entry, and records the matching exclusions in dropped.
func (e *entry) expand(drafts []draft, dropped map[string]bool) []draft {
	options := make([]int, len(e.axes))
	for combination := range int(e.cells()) {
		e.fillOptions(combination, options)
		if !e.excluded(options, dropped) {
			drafts = append(drafts, draft{e, combination, e.problemIndex(options), e.setting(options)})
		}
	}
	return drafts
}

// options returns the index of the draft's option on each axis.
func (d *draft) options() []int {
	options := make([]int, len(d.entry.axes))
	d.entry.fillOptions(d.combination, options)
	return options
}

// fillOptions sets the option index of each axis for a combination; the last group changes fastest.
func (e *entry) fillOptions(combination int, options []int) {
	for i := len(e.groups) - 1; i >= 0; i-- {
		g := e.groups[i]
		k := g.first + combination%g.count
		combination /= g.count
		for _, a := range g.axes {
			options[a] = k
		}
	}
}

// excluded reports whether an exclusion matches the combination, and records all that do in dropped.
func (e *entry) excluded(options []int, dropped map[string]bool) bool {
	found := false
	for i := range e.exclude {
		if e.exclude[i].matches(options) {
			dropped[e.exclude[i].path] = true
			found = true
		}
	}
	return found
}

// problemIndex returns the index of a combination's problem among the problems of the grid.
func (e *entry) problemIndex(options []int) int {
	index := 0
	for i, lead := range e.leader[:e.problemAxes] {
		if i == lead {
			index = index*len(e.axes[i].options) + options[i]
		}
	}
	return index
}

// setting returns the values of a combination.
func (e *entry) setting(options []int) setting {
	s := setting{problem: new(schemas.Problem), params: trial.Params{}}
	for i, a := range e.axes {
		if set := a.options[options[i]].set; set != nil {
			set(&s)
		}
	}
	if e.disguised {
		s.problem.Disguise = problem.CanDisguise(s.problem)
	}
	if !e.algorithm.GetPrivate() {
		s.epsilon, s.delta = 0, 0
	}
	return s
}
