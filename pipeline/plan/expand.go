package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"

	"github.com/shatterlab/shatter/pipeline/sweep"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// entry is one item of a grid's algorithms with all its axes: a product of groups, where a group is one axis or the axes that
// zip pairs.
type entry struct {
	grid        *sweep.Block
	use         schemas.AlgorithmUse
	index       int    // in the grid's algorithms
	path        string // of the item
	algorithm   Described
	axes        []axis
	problemAxes int   // the first axes: those that make the problem
	leader      []int // for each axis the first of those that it is paired with; itself where it stands alone
	groups      []group
	exclude     []exclusion
}

// group is a set of axes that advance together.
type group struct {
	axes  []int // of the entry, in order
	first int   // its options first..first+count-1: all, or one where zip pairs an axis with the algorithms
	count int
}

// exclusion is one item of exclude as this entry understands it.
type exclusion struct {
	path  string
	tests []test
}

// test is one name of an exclusion: which options of its axis it means.
type test struct {
	axis  int
	means []bool
}

// as is the entry's name in the results.
func (e *entry) as() string { return cmp.Or(e.use.As, e.use.Use) }

// cells is the number of combinations.
func (e *entry) cells() int64 {
	n := int64(1)
	for _, g := range e.groups {
		n = numeric.Multiply(n, int64(g.count))
	}
	return n
}

// expander turns the grids of a file into entries, and counts before it expands.
type expander struct {
	file       *sweep.File
	algorithms map[string]Described
	problems   sweep.Mistakes
	partial    bool            // an algorithm is unknown, and so are the names of its parameters
	names      map[string]bool // by which zip and exclude may know something
	matched    map[string]int  // combinations that an item of exclude drops, by its path
}

func (x *expander) blame(path, format string, args ...any) {
	x.problems = append(x.problems, x.file.Mistake(path, format, args...))
}

// blameKey blames the key at path instead of its value.
func (x *expander) blameKey(path, format string, args ...any) {
	x.problems = append(x.problems, x.file.MistakeAtKey(path, format, args...))
}

// entries gives every item of algorithms of every grid.
func (x *expander) entries() []*entry {
	var all []*entry
	grids, items := x.file.Grids(), 0
	for _, g := range grids {
		if items += len(g.Algorithms); items > sweep.MaxEntries {
			x.blame(g.Path("algorithms"), "with these the sweep lists more than %d algorithms", sweep.MaxEntries)
			return nil
		}
	}
	byGrid := make([][]*entry, len(grids))
	for i, g := range grids {
		byGrid[i] = x.gridEntries(g)
		all = append(all, byGrid[i]...)
	}
	for i, g := range grids {
		x.zip(g, byGrid[i])
	}
	for _, e := range all {
		e.group()
	}
	if !x.count(all) {
		return nil
	}
	for _, e := range all {
		e.exclude = x.exclusions(e)
	}
	return all
}

// gridEntries makes the entries of one grid. They share the axes that do not depend on the algorithm.
func (x *expander) gridEntries(g *sweep.Block) []*entry {
	if n := countDatasets(g); n > sweep.MaxCells {
		x.blame(g.Path("problem", "data"), "%s combinations of datasets; a sweep may have at most %d cells", atLeast(n), sweep.MaxCells)
		return nil
	}
	shared := shareAxes(g)
	var all []*entry
	as := map[string]string{}
	for i, use := range g.Algorithms {
		e := &entry{grid: g, use: use, index: i, path: x.file.Item(g.Path("algorithms"), i)}
		if !x.find(e) {
			x.partial = true
			continue
		}
		if first, ok := as[e.as()]; ok {
			x.blame(e.path, "the name %q is already that of %s: give one of them another with \"as\"", sweep.Shorten(e.as()), first)
			continue
		}
		as[e.as()] = e.path
		if _, ok := x.algorithms[e.use.As]; ok && e.use.As != e.use.Use {
			x.blame(e.path+".as", "%q is the name of another algorithm", e.use.As)
		}
		x.axes(e, shared)
		all = append(all, e)
	}
	return all
}

// find looks the entry's algorithm up.
func (x *expander) find(e *entry) bool {
	d, ok := x.algorithms[e.use.Use]
	where := e.path
	if x.file.Has(e.path + ".use") {
		where = e.path + ".use"
	}
	if !ok {
		names := make([]string, 0, len(x.algorithms))
		for name := range x.algorithms {
			names = append(names, name)
		}
		slices.Sort(names)
		x.blame(where, "unknown algorithm %q%s", sweep.Shorten(e.use.Use), wording.DidYouMean(e.use.Use, names))
		return false
	}
	if task := x.file.Task(); !slices.Contains(d.GetTasks(), trial.WireTask(task)) {
		x.blame(where, "%q does not play the task %s", d.GetName(), task)
		return false
	}
	for _, m := range taskMetrics(x.file.Task()) {
		if slices.ContainsFunc(d.GetMetrics(), func(own *pluginv1.Metric) bool { return own.GetName() == m }) {
			x.blame(where, "%q declares the metric %q, which workers measure themselves: rename it in the plugin", d.GetName(), m)
			return false
		}
	}
	if d.GetPrivate() && (e.grid.Privacy == nil || len(e.grid.Privacy.Epsilon) == 0) {
		x.blame(where, "%q is private and needs a budget: privacy: {epsilon: 1, delta: 1e-6}%s", d.GetName(), e.grid.WholeKey("privacy"))
		return false
	}
	e.algorithm = d
	return true
}

// sharedAxes are the axes of a grid that its entries share.
type sharedAxes struct {
	problem    []axis
	algorithms axis
	setting    map[bool][]axis // of private algorithms and of others
}

func shareAxes(g *sweep.Block) sharedAxes {
	names := make([]string, len(g.Algorithms))
	for i, use := range g.Algorithms {
		names[i] = cmp.Or(use.As, use.Use)
	}
	return sharedAxes{
		problem:    problemAxes(g),
		algorithms: simple(g.File, g.Path("algorithms"), "algorithm", names, text, func(*draft, string) {}),
		setting:    map[bool][]axis{true: settingAxes(g, true), false: settingAxes(g, false)},
	}
}

// axes lists the entry's axes: problem, algorithm, parameters, replica, privacy, goal.
func (x *expander) axes(e *entry, shared sharedAxes) {
	params, problems := paramAxes(x.file, e.use, e.path, e.algorithm.GetParameters())
	x.problems = append(x.problems, problems...)
	replica := []int(e.use.Replica)
	if len(replica) == 0 {
		replica = []int{0}
	}
	e.problemAxes = len(shared.problem)
	e.axes = slices.Concat(shared.problem, []axis{shared.algorithms}, params,
		[]axis{simple(x.file, sweep.JoinPath(e.path, "replica"), "replica", replica, number, func(d *draft, v int) { d.replica = v })},
		shared.setting[e.algorithm.GetPrivate()])
	for _, a := range e.axes {
		e.leader = append(e.leader, len(e.leader))
		for j, name := range a.names {
			if a.param {
				x.names["p_"+name] = true
			}
			if a.knows(j, name) {
				x.names[name] = true
			}
		}
	}
}

// axisOf finds the axis that a name in zip or exclude means: its index and that of the name; -1 where the entry has none.
func (e *entry) axisOf(name string) (axis, inner int) {
	for i := range e.axes {
		for j := range e.axes[i].names {
			if e.axes[i].knows(j, name) {
				return i, j
			}
		}
	}
	return -1, -1
}

// zip pairs the axes of the grid's entries. A parameter that one algorithm does not have pairs nothing there.
func (x *expander) zip(g *sweep.Block, entries []*entry) {
	for i, names := range g.Zip {
		path := x.file.Item(g.Path("zip"), i)
		if len(names) < 2 {
			x.blame(path, "zip is a list of lists of at least two axes: [[d, margin]]")
			continue
		}
		for j, name := range names {
			has := func(e *entry) bool { a, _ := e.axisOf(name); return a >= 0 }
			if x.partial || slices.ContainsFunc(entries, has) {
				continue
			}
			if x.names[name] {
				x.blame(x.file.Item(path, j), "%q is not set in this grid", name)
			} else {
				x.blame(x.file.Item(path, j), "unknown axis %q%s", sweep.Shorten(name), wording.DidYouMean(name, x.known(name)))
			}
		}
		for _, e := range entries {
			if !x.pair(e, names, path) {
				break
			}
		}
	}
}

// pair lets the named axes of one entry advance together.
func (x *expander) pair(e *entry, names []string, path string) bool {
	first, said := -1, ""
	for _, name := range names {
		a, _ := e.axisOf(name)
		if a < 0 {
			continue
		}
		if first < 0 {
			first, said = a, name
			continue
		}
		if n, m := len(e.axes[first].options), len(e.axes[a].options); n != m {
			x.blame(path, "lengths differ: %q has %d values, %q has %d", said, n, name, m)
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

// group makes the groups from the pairs, in the order of their first axes.
func (e *entry) group() {
	at := map[int]int{}
	for a, lead := range e.leader {
		if a == lead {
			at[a] = len(e.groups)
			e.groups = append(e.groups, group{count: len(e.axes[a].options)})
		}
		g := &e.groups[at[lead]]
		g.axes = append(g.axes, a)
		if e.axes[a].names[0] == "algorithm" && !e.axes[a].param { // this entry is one of its options
			g.first, g.count = e.index, 1
		}
	}
}

// known lists the names that zip and exclude may use, in the form that word has.
func (x *expander) known(word string) []string {
	var names []string
	for name := range x.names {
		if strings.HasPrefix(name, "p_") == strings.HasPrefix(word, "p_") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// exclusions are the grid's items of exclude that may match something of this entry.
func (x *expander) exclusions(e *entry) []exclusion {
	var all []exclusion
	for i, item := range e.grid.Exclude {
		path := x.file.Item(e.grid.Path("exclude"), i)
		if _, ok := x.matched[path]; !ok {
			x.matched[path] = 0
		}
		out := exclusion{path: path}
		fits := true
		for name, values := range item {
			where := sweep.JoinPath(path, name)
			if !x.names[name] && !x.partial {
				x.blameKey(where, "unknown name%s", wording.DidYouMean(name, x.known(name)))
			}
			a, inner := e.axisOf(name)
			fits = fits && a >= 0
			if fits {
				out.tests = append(out.tests, e.test(a, inner, values))
			}
		}
		if len(item) == 0 {
			x.blame(path, "an empty exclusion would drop everything")
			continue
		}
		if fits {
			all = append(all, out)
		}
	}
	return all
}

// count refuses grids that are too large, before anything of their size is made.
func (x *expander) count(entries []*entry) bool {
	var cells, trials int64
	for _, e := range entries {
		cells = numeric.Add(cells, e.cells())
		if sizes := int64(len(e.grid.Sizes)); sizes > 0 {
			trials = numeric.Add(trials, numeric.Multiply(e.cells(), numeric.Multiply(sizes, trialsOf(e.grid))))
		}
		if cells > sweep.MaxCells {
			x.blame(e.path, "with this algorithm the sweep has %s cells; at most %d are allowed", atLeast(cells), sweep.MaxCells)
			return false
		}
		if trials > sweep.MaxTrials {
			x.blame(e.path, "with this algorithm the sweep has %s trials; at most %d are allowed", atLeast(trials), sweep.MaxTrials)
			return false
		}
	}
	return true
}

func atLeast(n int64) string {
	if n > 1e18 {
		return "more than 10^18"
	}
	return fmt.Sprint(n)
}

// pick gives the option of each axis in the combination with this number; the last group runs fastest.
func (e *entry) pick(combination int, options []int) []int {
	options = slices.Grow(options[:0], len(e.axes))[:len(e.axes)]
	for i := len(e.groups) - 1; i >= 0; i-- {
		g := e.groups[i]
		k := g.first + combination%g.count
		combination /= g.count
		for _, a := range g.axes {
			options[a] = k
		}
	}
	return options
}

// excluded reports whether an exclusion drops the combination, and counts it for all that do.
func (x *expander) excluded(e *entry, options []int) bool {
	drop := false
	for _, item := range e.exclude {
		if !slices.ContainsFunc(item.tests, func(t test) bool { return !t.means[options[t.axis]] }) {
			x.matched[item.path]++
			drop = true
		}
	}
	return drop
}

// test says which options of an axis have one of the values.
func (e *entry) test(axis, name int, values []schemas.Value) test {
	t := test{axis: axis}
	for _, o := range e.axes[axis].options {
		t.means = append(t.means, slices.ContainsFunc(values, func(v schemas.Value) bool { return means(v, o.values[name]) }))
	}
	return t
}

// unmatched blames the items of exclude that dropped nothing.
func (x *expander) unmatched() {
	for path, n := range x.matched {
		if n == 0 {
			x.blame(path, "matches no cell: check the names and values, or remove it")
		}
	}
}
