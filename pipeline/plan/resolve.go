package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"

	"github.com/shatterlab/shatter/pipeline/sweep"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// Resolve expands the grids of a file into cells, asking the algorithms about each. What is wrong with the file is a Problems;
// any other error is that of a plugin process or of ctx. Steps:
//
//  1. names: every algorithm is looked up, every parameter typed and bounded as its algorithm describes it
//  2. count: a grid of too many cells or trials is refused before it is expanded
//  3. expand: combinations that exclude drops are gone from here on
//  4. problems: each distinct problem is resolved and opened once
//  5. ask: each distinct setting is checked, and its theory computed, once
//  6. cells: keys; cells that come out equal, because a budget does not apply to them, are merged
func Resolve(ctx context.Context, f *sweep.File, algorithms Algorithms, o Options) (*Plan, error) {
	if task := f.Task(); trial.WireTask(task) == pluginv1.Task_TASK_UNSPECIFIED {
		return nil, sweep.Mistakes{f.Mistake("task", "this version runs the tasks learn, predict and online, not %s", task)}
	}
	known, problems, err := catalog(ctx, f, algorithms, o.Dir)
	if err != nil {
		return nil, err
	}
	x := &expander{file: f, algorithms: known, problems: problems, names: map[string]bool{}, matched: map[string]int{}}
	entries := x.entries()
	if len(x.problems) > 0 {
		return nil, x.problems.Sorted()
	}
	r := &resolver{expander: x, dir: o.Dir, entries: entries, opened: map[string]*openProblem{}, asked: map[string]*answer{}}
	if err := r.expand(); err != nil {
		return nil, err
	}
	if err := r.ask(ctx, algorithms); err != nil {
		return nil, err
	}
	plan, err := r.plan()
	if err != nil {
		return nil, err
	}
	if len(r.problems) > 0 {
		return nil, r.problems.Sorted()
	}
	return plan, nil
}

// catalog lists the algorithms by name and refuses names that two files claim.
func catalog(ctx context.Context, f *sweep.File, algorithms Algorithms, dir string) (map[string]Described, sweep.Mistakes, error) {
	list, err := algorithms.List(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("list algorithms: %w", err)
	}
	known := map[string]Described{}
	var problems sweep.Mistakes
	for _, d := range list {
		first, ok := known[d.GetName()]
		if !ok {
			known[d.GetName()] = d
			continue
		}
		if d.Plugin == "" {
			first, d = d, first
			known[d.GetName()] = first
		}
		problems = append(problems, f.Mistake(pluginItem(f, dir, d.Plugin), "it serves %q, which %s", d.GetName(), claimed(first)))
	}
	return known, problems, nil
}

func claimed(d Described) string {
	if d.Plugin == "" {
		return "is built in: rename the plugin's algorithm"
	}
	return fmt.Sprintf("%q serves already", d.Plugin)
}

// pluginItem is the path of a plugin in the file.
func pluginItem(f *sweep.File, dir, plugin string) string {
	for i, p := range f.Sweep.Plugins {
		if abs, err := sweep.Absolute(dir, p); err == nil && abs == plugin {
			return f.Item("plugins", i)
		}
	}
	return "plugins"
}

// resolver holds what cells share.
type resolver struct {
	*expander
	dir     string
	entries []*entry
	opened  map[string]*openProblem
	asked   map[string]*answer
	order   []*answer // asked, in order of first use
	drafts  []pending
	warned  []string
}

// pending is a combination that was not excluded.
type pending struct {
	entry       *entry
	combination int
	ordinal     int // of its problem among the grid's
	draft       draft
	problem     *openProblem
	answer      *answer
	above       float64
}

// openProblem is a problem that cells share.
type openProblem struct {
	resolved   schemas.Problem
	canonical  trial.Fragment
	public     *pluginv1.Problem
	evaluation string
	open       *problem.Problem
	best       float64
	bestErr    error
	bestKnown  bool
	dataKey    trial.Key
	err        error
}

// expand makes the drafts of all combinations, in the order of the tables: problems outermost, then algorithms, then settings.
func (r *resolver) expand() error {
	for rest := r.entries; len(rest) > 0; {
		n := 0
		for n < len(rest) && rest[n].grid == rest[0].grid {
			n++
		}
		if err := r.expandGrid(rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	r.unmatched()
	if len(r.problems) > 0 {
		return r.problems.Sorted()
	}
	return nil
}

func (r *resolver) expandGrid(entries []*entry) error {
	first := len(r.drafts)
	for _, e := range entries {
		problems := map[int]*openProblem{}
		params := map[int]trial.Params{}
		var options []int
		for c := range int(e.cells()) {
			options = e.pick(c, options)
			if r.excluded(e, options) {
				continue
			}
			p := pending{entry: e, combination: c}
			if err := r.problemOf(&p, options, problems); err != nil {
				return err
			}
			p.set(options, params)
			r.reference(&p)
			r.adversary(&p, options)
			r.drafts = append(r.drafts, p)
		}
	}
	slices.SortStableFunc(r.drafts[first:], func(a, b pending) int { return a.ordinal - b.ordinal })
	return nil
}

// ordinal numbers the combinations of some of the entry's axes.
func (e *entry) ordinal(options []int, some func(i int) bool) int {
	ordinal, counted := 0, make([]bool, len(e.axes))
	for i, lead := range e.leader {
		if some(i) && !counted[lead] {
			counted[lead] = true
			ordinal = ordinal*len(e.axes[lead].options) + options[lead]
		}
	}
	return ordinal
}

// problemOf finds or opens the combination's problem.
func (r *resolver) problemOf(p *pending, options []int, known map[int]*openProblem) error {
	e := p.entry
	p.ordinal = e.ordinal(options, func(i int) bool { return i < e.problemAxes })
	if o, ok := known[p.ordinal]; ok {
		p.problem = o
		return nil
	}
	d := draft{problem: new(schemas.Problem)}
	for i := range e.problemAxes {
		e.axes[i].options[options[i]].set(&d)
	}
	o, err := r.openOnce(*d.problem)
	if err != nil {
		return err
	}
	known[p.ordinal], p.problem = o, o
	if o.err != nil {
		r.blameProblem(e, options, o.err)
	}
	return nil
}

// openOnce resolves and opens a problem, unless an equal one was before.
func (r *resolver) openOnce(spec schemas.Problem) (*openProblem, error) {
	id, err := trial.Canonical(spec)
	if err != nil {
		return nil, err
	}
	key, file := string(id), ""
	if written, _ := spec.File(); written != "" {
		if file, err = sweep.Absolute(r.dir, written); err != nil {
			return nil, err
		}
		spec = spec.At(file)
		key += file
	}
	if o, ok := r.opened[key]; ok {
		return o, nil
	}
	o := &openProblem{resolved: spec}
	r.opened[key] = o
	if o.err = problem.Resolve(&o.resolved); o.err != nil {
		return o, nil
	}
	if o.open, o.err = problem.Open(o.resolved, file); o.err != nil {
		return o, nil
	}
	o.public, o.evaluation = o.open.Public(), o.open.Evaluation()
	if n := o.open.Pulled(); n > 0 {
		r.warned = append(r.warned, fmt.Sprintf("%s: %d of %d rows lie beyond the stated scale and are pulled back onto it", file, n, o.open.Rows()))
	}
	if o.canonical, err = trial.Canonical(o.resolved); err != nil {
		return nil, err
	}
	o.dataKey, err = trial.KeyOf(map[string]any{"format": trial.Format, "seed": r.file.Seed(), "problem": o.canonical})
	return o, err
}

// blameProblem puts a problem's error at the value to blame.
func (r *resolver) blameProblem(e *entry, options []int, err error) {
	var keyed *problem.Error
	if !errors.As(err, &keyed) {
		r.blame(e.grid.Path("problem"), "%v", err)
		return
	}
	root, _, _ := strings.Cut(keyed.Key, ".")
	path := e.grid.Path(root) + strings.TrimPrefix(keyed.Key, root)
	for i := range e.axes {
		if rest, ok := strings.CutPrefix(path, e.axes[i].path); ok && (rest == "" || rest[0] == '.') {
			path = e.axes[i].options[options[i]].path + rest
			break
		}
	}
	r.blame(path, "%s", keyed.Reason)
}

// set fills the draft from everything but the problem. Parameters are shared by the combinations that agree in them.
func (p *pending) set(options []int, known map[int]trial.Params) {
	e := p.entry
	ordinal := e.ordinal(options, func(i int) bool { return e.axes[i].param })
	params, ok := known[ordinal]
	if !ok {
		params = trial.Params{}
		known[ordinal] = params
	}
	p.draft.params = params
	for i := e.problemAxes; i < len(e.axes); i++ {
		if set := e.axes[i].options[options[i]].set; set != nil && (!e.axes[i].param || !ok) {
			set(&p.draft)
		}
	}
	if !e.algorithm.GetPrivate() {
		p.draft.epsilon, p.draft.delta = 0, 0
	}
}

// reference resolves goal.above.
func (r *resolver) reference(p *pending) {
	o := p.problem
	if !p.draft.above.Best || o.err != nil {
		p.above = p.draft.above.Value
		return
	}
	if !o.bestKnown {
		o.best, o.bestErr = o.open.Best()
		o.bestKnown = true
		if o.bestErr != nil {
			var keyed *problem.Error
			message := o.bestErr.Error()
			if errors.As(o.bestErr, &keyed) {
				message = keyed.Reason
			}
			r.blame(p.entry.grid.Path("goal", "above"), "%s", message)
		}
	}
	p.above = o.best
}
