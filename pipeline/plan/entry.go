package plan

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/pipeline/sweep"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// layout is a sweep file in which every name is known: its entries with their axes.
type layout struct {
	file    *sweep.File
	catalog *catalog
	entries []*entry        // in the order of the file
	names   map[string]bool // by which zip, exclude and fits may know an axis
	partial bool            // an algorithm is unknown, and so are its parameters
}

// entry is one item of a grid's algorithms with all its axes, none of them of parameters where the
// algorithm is not known. It stands for a product of groups; a group is one axis, or the axes that
// zip pairs.
type entry struct {
	grid        *sweep.Block
	use         schemas.AlgorithmUse
	index       int    // in the grid's algorithms
	path        string // of the item
	algorithm   Described
	axes        []axis
	problemAxes int   // the number of axes that make the problem; they stand first
	leader      []int // for each axis the first of those that it is paired with; itself where it stands alone
	groups      []group
	exclude     []exclusion
	known       bool // the algorithm can be asked about the grid
	unpaired    bool // axes that zip pairs have different lengths

	find *searched // the axis that is searched; nil: none
}

// group is a set of axes that advance together.
type group struct {
	axes  []int // of the entry, ascending
	first int   // the first option that counts: 0, but where zip pairs an axis with the algorithms
	count int   // the number of options from first on
}

// label returns the entry's name in the results.
func (e *entry) label() string { return cmp.Or(e.use.As, e.use.Use) }

// cells returns the number of combinations, exclusions not counted.
func (e *entry) cells() int64 {
	n := int64(1)
	for _, g := range e.groups {
		n = numeric.Multiply(n, int64(g.count))
	}
	return n
}

// layOut looks up the algorithms of all grids, lays out their axes, pairs those that zip names, and
// counts: a grid of too many cells or trials is refused before it is expanded.
func layOut(r *sweep.Reporter, known *catalog, o Options) *layout {
	f := r.File
	for _, c := range known.clashes {
		r.At(c.path, "it serves %q, which %s", c.name, c.claimed)
	}
	l := &layout{file: f, catalog: known, names: map[string]bool{}}
	blocks := f.Blocks()
	if !checkEntries(blocks, r) {
		return l
	}
	byBlock := make([][]*entry, len(blocks))
	for i, b := range blocks {
		byBlock[i] = l.enter(b, hypothesesOf(b, o, r), r)
		l.entries = append(l.entries, byBlock[i]...)
	}
	for i, b := range blocks {
		l.zip(b, byBlock[i], r)
	}
	for _, e := range l.entries {
		e.findAxis(l, r)
		e.group()
	}
	if checkSize(l.entries, r) {
		for _, e := range l.entries {
			e.exclude = l.exclusions(e, r)
		}
	} else {
		l.entries = nil
	}
	return l
}

// checkEntries reports a file that lists too many algorithms.
func checkEntries(blocks []*sweep.Block, r *sweep.Reporter) bool {
	items := 0
	for _, b := range blocks {
		if items += len(b.Algorithms); items > maxEntries {
			r.At(b.Path("algorithms"), "with these the sweep lists more than %d algorithms", maxEntries)
			return false
		}
	}
	return true
}

// enter makes the entries of one grid, in which the target each stands for the given ones. They
// share the axes that do not depend on the algorithm.
func (l *layout) enter(b *sweep.Block, each []string, r *sweep.Reporter) []*entry {
	if b.Problem == nil { // that is a mistake
		b.Problem = new(schemas.ProblemSpec)
	}
	if n := countDatasets(b); n > maxCells {
		r.At(b.Path("problem", "data"), "%s combinations of datasets; a sweep may have at most %d cells",
			atLeast(n), maxCells)
		return nil
	}
	shared := shareAxes(b, each)
	var all []*entry
	labels := map[string]string{}
	for i, use := range b.Algorithms {
		e := &entry{grid: b, use: use, index: i, path: l.file.Item(b.Path("algorithms"), i)}
		sound := r.Sound(e.path)
		if e.known = e.lookUp(l.catalog, r); e.algorithm.Algorithm == nil {
			l.partial = true
		}
		if first, ok := labels[e.label()]; ok {
			if !sound { // given twice, for example
				continue
			}
			r.At(e.path, "the name %q is already that of %s: give one of them another with \"as\"",
				sweep.Shorten(e.label()), first)
			continue
		}
		labels[e.label()] = e.path
		if _, ok := l.catalog.byName[use.As]; ok && use.As != use.Use {
			r.At(e.path+".as", "%q is the name of another algorithm", use.As)
		}
		e.layOut(shared, r)
		l.addNames(e)
		all = append(all, e)
	}
	return all
}

// lookUp looks the entry's algorithm up, and reports one that is unknown or does not fit the sweep.
func (e *entry) lookUp(known *catalog, r *sweep.Reporter) bool {
	where, kind := e.path, e.grid.File.Task()
	if !r.Sound(sweep.JoinPath(e.path, "use")) {
		return false
	}
	if e.grid.File.Has(e.path + ".use") {
		where = e.path + ".use"
	}
	d, ok := known.byName[e.use.Use]
	if _, near := wording.Nearest(e.use.Use, known.names()); !ok && !near && !r.Sound("plugins") {
		return false // it may be of a plugin that is not there
	}
	if !ok {
		r.At(where, "unknown algorithm %q%s", sweep.Shorten(e.use.Use),
			cmp.Or(wording.DidYouMean(e.use.Use, known.names()), "; `shatter plugin list` names them all"))
		return false
	}
	e.algorithm = d
	if !slices.Contains(d.GetTasks(), kind.Wire()) {
		r.At(where, "%q does not play the task %s", d.GetName(), kind.Name)
		return false
	}
	for _, m := range kind.MetricNames(true) {
		if slices.ContainsFunc(d.GetMetrics(), func(own *pluginv1.Metric) bool { return own.GetName() == m }) {
			r.At(where, "%q declares the metric %q, which workers measure themselves: rename it in the plugin",
				d.GetName(), m)
			return false
		}
	}
	if !d.GetPrivate() {
		return true
	}
	if !e.grid.Sound(r, "privacy") {
		return false
	}
	if e.grid.Privacy == nil || len(e.grid.Privacy.Epsilon) == 0 {
		r.At(where, "%q is private and needs a budget beside algorithms: privacy: {epsilon: 1, delta: 1e-6}%s",
			d.GetName(), e.grid.HidesTopLevel("privacy"))
		return false
	}
	return true
}

// layOut lists the entry's axes: problem, algorithm, parameters, replica, privacy, goal.
func (e *entry) layOut(shared sharedAxes, r *sweep.Reporter) {
	replica := []int(e.use.Replica)
	if len(replica) == 0 {
		replica = []int{0}
	}
	path := sweep.JoinPath(e.path, "replica")
	e.problemAxes = len(shared.problem)
	e.axes = slices.Concat(shared.problem, []axis{shared.algorithms}, e.paramAxes(r),
		[]axis{plain(e.grid.File, path, "replica", replica, number, func(s *setting, v int) { s.replica = v })},
		shared.measure[e.algorithm.GetPrivate()])
	for i := range e.axes {
		e.leader = append(e.leader, i)
	}
}

// addNames adds the names by which zip and exclude may know the entry's axes.
func (l *layout) addNames(e *entry) {
	for _, a := range e.axes {
		for i, name := range a.names {
			if a.param {
				l.names[schemas.ParamPrefix+name] = true
			}
			if a.knows(i, name) {
				l.names[name] = true
			}
		}
	}
}

// namesLike lists the names that zip and exclude may use: those of parameters, with their prefix,
// if word has it, and otherwise the others.
func (l *layout) namesLike(word string) []string {
	prefixed := strings.HasPrefix(word, schemas.ParamPrefix)
	var names []string
	for _, name := range slices.Sorted(maps.Keys(l.names)) {
		if strings.HasPrefix(name, schemas.ParamPrefix) == prefixed {
			names = append(names, name)
		}
	}
	return names
}

// axisKeys are the keys of a grid that have axes.
var axisKeys = []string{"problem", "algorithms", "privacy", "goal", "queries", "adversary"}

// mayMean reports whether a name that is no axis of the grid may be one when mistakes are mended.
func (l *layout) mayMean(b *sweep.Block, name string, r *sweep.Reporter) bool {
	parameter := l.catalog.parameters[strings.TrimPrefix(name, schemas.ParamPrefix)]
	return l.partial && (parameter || !r.Sound("plugins")) || isKey(name) && !b.Sound(r, axisKeys...)
}

// axisOf returns the index of the axis that a name in zip, exclude or find means, and that of the name
// among the axis's own; -1 where the entry has none. A key of the grid goes before a parameter.
func (e *entry) axisOf(name string) (axis, inner int) {
	axis, inner = -1, -1
	for i := range e.axes {
		for j := range e.axes[i].names {
			if e.axes[i].knows(j, name) && (axis < 0 || !e.axes[i].param) {
				axis, inner = i, j
			}
		}
	}
	return axis, inner
}

// group makes the groups from the pairs, in the order of their first axes.
func (e *entry) group() {
	position := map[int]int{}
	for a, lead := range e.leader {
		if a == lead {
			position[a] = len(e.groups)
			e.groups = append(e.groups, group{count: len(e.axes[a].options)})
		}
		g := &e.groups[position[lead]]
		g.axes = append(g.axes, a)
		if e.axes[a].isAlgorithm() { // this entry is one of its options
			g.first, g.count = e.index, 1
		}
	}
}

// checkSize reports grids that are too large, before anything of their size is made.
func checkSize(entries []*entry, r *sweep.Reporter) bool {
	var cells, trials int64
	for _, e := range entries {
		if e.unpaired || !e.grid.Sound(r, "zip") {
			continue
		}
		if e.find != nil && len(e.grid.Rounds) == 0 { // whose rounds are an axis then
			cells = numeric.Add(cells, numeric.Multiply(e.cells(), int64(len(e.grid.Sizes))))
		} else {
			cells = numeric.Add(cells, e.cells())
		}
		if sizes := int64(len(e.grid.Sizes)); sizes > 0 && e.find == nil && e.grid.Sound(r, "n", "rounds", "trials") {
			trials = numeric.Add(trials, numeric.Multiply(e.cells(), numeric.Multiply(sizes, trialsOf(e.grid))))
		}
		if cells > maxCells {
			r.At(e.path, "with this algorithm the sweep has %s cells; at most %d are allowed: shorten an axis, or make "+
				"several sweeps", atLeast(cells), maxCells)
			return false
		}
		if trials > maxTrials {
			r.At(e.path, "with this algorithm the sweep has %s trials; at most %d are allowed", atLeast(trials), maxTrials)
			return false
		}
	}
	return true
}

// byGrid yields the entries of one grid after the other.
func byGrid(entries []*entry) func(yield func([]*entry) bool) {
	return func(yield func([]*entry) bool) {
		for first := 0; first < len(entries); {
			end := first + 1
			for end < len(entries) && entries[end].grid == entries[first].grid {
				end++
			}
			if !yield(entries[first:end]) {
				return
			}
			first = end
		}
	}
}
