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

// A layout holds the entries of a sweep file with their axes.
type layout struct {
	file    *sweep.File
	catalog *catalog
	grids   [][]*entry      // entries of each grid, in the order of the file
	names   map[string]bool // names of axes for zip, exclude and fits
	partial bool            // an algorithm, and so its parameters, is unknown
}

// An entry is one item of a grid's algorithms with all its axes (without parameters if the algorithm is unknown). Its
// combinations are the product of its groups. A group is one axis, or axes paired by zip.
type entry struct {
	grid        *sweep.Block
	use         schemas.AlgorithmUse
	index       int    // index in the grid's algorithms
	path        string // path of the item
	algorithm   Described
	axes        []axis
	problemAxes int   // number of axes of the problem, which come first
	leader      []int // first axis of the group of each axis
	groups      []group
	exclude     []exclusion
	known       bool // the algorithm can be asked about the grid
	unpaired    bool // axes paired by zip have different lengths
	disguised   bool // data for halfspaces are disguised

	find *searchedAxis // nil: no search over an axis
}

// A group is a set of axes that change together.
type group struct {
	axes  []int // indices in the entry, ascending
	first int   // first option in use: 0 unless zip pairs an axis with the algorithms
	count int   // number of options in use
}

// label returns the entry's name in the results.
func (e *entry) label() string { return cmp.Or(e.use.As, e.use.Use) }

// cells returns the number of combinations, including excluded ones.
func (e *entry) cells() int64 {
	n := int64(1)
	for _, g := range e.groups {
		n = numeric.Multiply(n, int64(g.count))
	}
	return n
}

// layOut finds the algorithms of all grids, creates their axes and applies zip. It reports a sweep with too many
// cells or trials before anything is expanded.
func layOut(r *sweep.Reporter, known *catalog, o Options) *layout {
	f := r.File
	l := &layout{file: f, catalog: known, names: map[string]bool{}}
	blocks := f.Blocks()
	if !checkEntries(blocks, r) {
		return l
	}
	for _, b := range blocks {
		l.grids = append(l.grids, l.enter(b, hypothesesOf(b, o, r), r))
	}
	for i, b := range blocks {
		l.zip(b, l.grids[i], r)
	}
	for _, e := range l.entries() {
		e.findAxis(l, r)
		e.group()
	}
	if !checkSize(l.entries(), r) {
		l.grids = nil
	}
	for _, e := range l.entries() {
		e.exclude = l.exclusions(e, r)
	}
	return l
}

// entries returns the entries of all grids.
func (l *layout) entries() []*entry { return slices.Concat(l.grids...) }

// checkEntries reports a file that lists too many algorithms.
func checkEntries(blocks []*sweep.Block, r *sweep.Reporter) bool {
	items := 0
	for _, b := range blocks {
		if items += len(b.Algorithms); items > maxEntries {
			r.At(b.Path("algorithms"), "here the sweep exceeds %d algorithms: split it", maxEntries)
			return false
		}
	}
	return true
}

// enter returns the entries of one grid. The list each replaces the target "each". Entries share the axes that do not
// depend on the algorithm.
func (l *layout) enter(b *sweep.Block, each []string, r *sweep.Reporter) []*entry {
	if b.Problem == nil { // reported as a mistake elsewhere
		b.Problem = new(schemas.ProblemSpec)
	}
	if n := countDatasets(b); n > maxCells {
		r.At(b.Path("problem", "data"), "%s combinations of datasets; a sweep may have at most %d cells",
			atLeast(n), maxCells)
		return nil
	}
	problem := l.lookUpProblem(b, r)
	if b.Problem.Plugin != nil && problem == nil {
		return nil
	}
	shared := shareAxes(b, each, problem, r)
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
			r.At(e.path, "the name %q is in use by %s: rename one of them with \"as\"",
				wording.Shorten(e.label()), first)
			continue
		}
		labels[e.label()] = e.path
		if _, ok := l.catalog.byName[use.As]; ok && use.As != use.Use {
			r.At(e.path+".as", "%q is the name of another algorithm", use.As)
		}
		e.checkParams(problem, r)
		e.layOut(shared, r)
		l.addNames(e)
		all = append(all, e)
	}
	// All algorithms of a grid get the same problem.
	disguised := len(b.Problem.Disguise) == 0 &&
		slices.ContainsFunc(all, func(e *entry) bool { return e.algorithm.Plugin != "" })
	for _, e := range all {
		e.disguised = disguised
	}
	return all
}

// lookUp finds the entry's algorithm. It returns false if the algorithm is unknown or does not suit the sweep, and
// reports that unless another mistake explains it.
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
		return false // it may belong to a missing plugin
	}
	if !ok {
		r.At(where, "unknown algorithm %q%s", wording.Shorten(e.use.Use),
			cmp.Or(wording.DidYouMean(e.use.Use, known.names()), "; `shatter plugin list` lists all algorithms"))
		return false
	}
	e.algorithm = d
	if !slices.Contains(d.GetTasks(), kind.Wire) {
		r.At(where, "%q does not support the task %s", d.GetName(), kind.Name)
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
		if kind.Private {
			r.At(where, "%q states no privacy guarantee, so task %s has nothing to test: leave it out", d.GetName(), kind.Name)
		}
		return !kind.Private
	}
	if !e.grid.Sound(r, "privacy") {
		return false
	}
	if e.grid.Privacy == nil || len(e.grid.Privacy.Epsilon) == 0 {
		r.At(where, "%q is private and needs a budget, next to algorithms: privacy: {epsilon: 1, delta: 1e-6}%s",
			d.GetName(), e.grid.HidesTopLevel("privacy"))
		return false
	}
	return true
}

// lookUpProblem returns the problem of a plugin that the grid uses; nil if it uses none, or if it is unknown, which is
// reported.
func (l *layout) lookUpProblem(b *sweep.Block, r *sweep.Reporter) *Described {
	use, where := b.Problem.Plugin, b.Path("problem", "use")
	if use == nil || !r.Sound(where) {
		return nil
	}
	var names []string
	for name, d := range l.catalog.byName {
		if d.IsProblem() {
			names = append(names, name)
		}
	}
	if d := l.catalog.byName[use.Use]; slices.Contains(names, use.Use) {
		return &d
	}
	if r.Sound("plugins") { // otherwise it may belong to a missing plugin
		slices.Sort(names)
		r.At(where, "unknown problem %q%s", wording.Shorten(use.Use), cmp.Or(wording.DidYouMean(use.Use, names),
			`: no plugin of the sweep has it; list its file: "plugins: [./problems]"`))
	}
	return nil
}

// checkParams reports a parameter that the algorithm shares with the problem of a plugin: both would have the same
// column in the results.
func (e *entry) checkParams(problem *Described, r *sweep.Reporter) {
	if problem == nil {
		return
	}
	for _, p := range problem.GetParameters() {
		same := func(q *pluginv1.Parameter) bool { return q.GetName() == p.GetName() }
		if slices.ContainsFunc(e.algorithm.GetParameters(), same) {
			r.At(e.path, "%s and the problem %s both have a parameter %q, which would be one column of the results: rename "+
				"it in one of the plugins", e.use.Use, problem.GetName(), p.GetName())
		}
	}
}

// layOut sets the entry's axes: problem, algorithm, parameters, replica, privacy, goal.
func (e *entry) layOut(shared sharedAxes, r *sweep.Reporter) {
	replica := []int(e.use.Replica)
	if len(replica) == 0 {
		replica = []int{0}
	}
	path := sweep.JoinPath(e.path, "replica")
	e.problemAxes = len(shared.problem)
	e.axes = slices.Concat(shared.problem, []axis{shared.algorithms}, e.paramAxes(r),
		[]axis{plain(e.grid.File, path, "replica", replica, func(s *setting, v int) { s.replica = v })},
		shared.measure[e.algorithm.GetPrivate()])
	for i := range e.axes {
		e.leader = append(e.leader, i)
	}
}

// addNames adds the names of the entry's axes for zip and exclude.
func (l *layout) addNames(e *entry) {
	for _, a := range e.axes {
		for i, name := range a.names {
			if a.param {
				l.names[schemas.ParamPrefix+name] = true
			}
			if a.hasName(i, name) {
				l.names[name] = true
			}
		}
	}
}

// namesLike lists the names for zip and exclude: names with the prefix of parameters if word has it, else the others.
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

// mayMean reports whether an unknown name may become an axis of the grid once other mistakes are corrected.
func (l *layout) mayMean(b *sweep.Block, name string, r *sweep.Reporter) bool {
	parameter := l.catalog.parameters[strings.TrimPrefix(name, schemas.ParamPrefix)]
	return l.partial && (parameter || !r.Sound("plugins")) || isKey(name) && !b.Sound(r, axisKeys...)
}

// axisOf returns the index of the axis with a name from zip, exclude or find, and the index of the name on the axis; -1
// if there is none. Keys of the grid take precedence over parameters.
func (e *entry) axisOf(name string) (axis, inner int) {
	axis, inner = -1, -1
	for i := range e.axes {
		for j := range e.axes[i].names {
			if e.axes[i].hasName(j, name) && (axis < 0 || !e.axes[i].param) {
				axis, inner = i, j
			}
		}
	}
	return axis, inner
}

// group sets the groups, in the order of their first axes.
func (e *entry) group() {
	position := map[int]int{}
	for a, lead := range e.leader {
		if a == lead {
			position[a] = len(e.groups)
			e.groups = append(e.groups, group{count: len(e.axes[a].options)})
		}
		g := &e.groups[position[lead]]
		g.axes = append(g.axes, a)
		if e.axes[a].isAlgorithm() { // the entry uses one of its options
			g.first, g.count = e.index, 1
		}
	}
}

// checkSize reports a sweep that is too large.
func checkSize(entries []*entry, r *sweep.Reporter) bool {
	var cells, trials int64
	for _, e := range entries {
		if e.unpaired || !e.grid.Sound(r, "zip") {
			continue
		}
		if e.find != nil && len(e.grid.Rounds) == 0 { // rounds would be an axis
			cells = numeric.Add(cells, numeric.Multiply(e.cells(), int64(len(e.grid.Sizes))))
		} else {
			cells = numeric.Add(cells, e.cells())
		}
		if sizes := int64(len(e.grid.Sizes)); sizes > 0 && e.find == nil && e.grid.Sound(r, "n", "rounds", "trials") {
			trials = numeric.Add(trials, numeric.Multiply(e.cells(), numeric.Multiply(sizes, trialsOf(e.grid))))
		}
		if cells > maxCells {
			r.At(e.path, "with this algorithm the sweep has %s cells; at most %d are allowed: shorten an axis, or write "+
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
