package plan

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/schemas"

	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/problem/adversary"
	"github.com/shatterlab/shatter/pipeline/problem/prior"
	"github.com/shatterlab/shatter/pipeline/sweep"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/pipeline/wording"
)

// Explain writes a description of the plan in words, without warnings, in lines of at most width characters; 0: no line
// is broken.
func (p *Plan) Explain(w io.Writer, width int) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: task %s, %s, %s\n", p.Name, p.Cells[0].Task, p.describeSeed(),
		wording.Count(len(p.Cells), "cell"))
	facts := p.description
	for _, fit := range p.Fits {
		facts = append(facts, fact{"fit", fit.String()})
	}
	for _, f := range facts {
		f.write(&b, width)
	}
	for i, note := range p.notes {
		if i == 0 {
			b.WriteString("\nNotes:\n")
		}
		b.WriteString(strings.Join(wording.Wrap("- "+note, width, "  "), "\n") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// A fact is a statement of a description, on one or more lines. Without a label it is a heading.
type fact struct{ label, words string }

func (f fact) write(b *strings.Builder, width int) {
	const indent = 12
	if f.label == "" {
		b.WriteString("\n" + f.words + "\n")
		return
	}
	label := f.label
	for _, line := range strings.Split(f.words, "\n") {
		before := strings.Repeat(" ", indent)
		if strings.HasPrefix(line, " ") { // an item of a list
			before += "    "
		}
		line = fmt.Sprintf("%-*s%s", indent, label, line)
		b.WriteString(strings.Join(wording.Wrap(line, width, before), "\n") + "\n")
		label = ""
	}
}

// explain describes the grids: the facts about each one, then those that hold for all. Notes explain facts.
func (l *layout) explain(cells []*trial.Cell, origins []*checkedInstance) (facts []fact, notes []string) {
	cellsOf := map[*entry][]*trial.Cell{} // after exclusion and merging
	for i, c := range cells {
		cellsOf[origins[i].entry] = append(cellsOf[origins[i].entry], c)
	}
	var grids []gridDescription
	gridsWith := map[fact]int{}
	for _, entries := range l.grids {
		w := gridDescription{Block: entries[0].grid, entries: entries, cellsOf: cellsOf}
		for _, e := range entries {
			w.cells = append(w.cells, cellsOf[e]...)
		}
		w.describe()
		for _, f := range w.out {
			gridsWith[f]++
		}
		for _, note := range w.notes {
			if !slices.Contains(notes, note) {
				notes = append(notes, note)
			}
		}
		grids = append(grids, w)
	}
	if len(grids) == 1 {
		return grids[0].out, notes
	}
	common := func(f fact) bool { return gridsWith[f] == len(grids) }
	for _, w := range grids {
		heading := fmt.Sprintf("%s (line %d): %s", w.Home(), w.File.At(w.Home()).Line, wording.Count(len(w.cells), "cell"))
		facts = append(facts, fact{words: heading})
		facts = append(facts, slices.DeleteFunc(slices.Clone(w.out), common)...)
	}
	shared := slices.DeleteFunc(grids[0].out, func(f fact) bool { return !common(f) })
	if len(shared) > 0 {
		facts = append(append(facts, fact{words: "all grids"}), shared...)
	}
	return facts, notes
}

// A gridDescription describes one grid.
type gridDescription struct {
	*sweep.Block
	entries []*entry
	cells   []*trial.Cell // cells of all entries
	cellsOf map[*entry][]*trial.Cell
	out     []fact
	notes   []string
}

// distinct returns the distinct values of a function on the cells, ascending.
func distinct[T cmp.Ordered](cells []*trial.Cell, of func(*trial.Cell) T) []T {
	all := map[T]bool{}
	for _, c := range cells {
		all[of(c)] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// note adds a sentence that explains facts.
func (w *gridDescription) note(format string, args ...any) {
	w.notes = append(w.notes, fmt.Sprintf(format, args...))
}

// add adds a fact.
func (w *gridDescription) add(label, format string, args ...any) {
	w.out = append(w.out, fact{label, fmt.Sprintf(format, args...)})
}

func (w *gridDescription) describe() {
	w.add("problem", "%s", axesInWords(w.entries[0].axes[:w.entries[0].problemAxes]))
	w.describeProblems()
	w.describeAlgorithms()
	w.describeGame()
	setting := measureAxes(w.Block, true)
	if slices.ContainsFunc(w.entries, func(e *entry) bool { return e.algorithm.GetPrivate() }) {
		w.add("privacy", "%s", axesInWords(named(setting, "epsilon", "delta")))
	}
	for _, names := range w.Zip {
		w.add("zip", "%s vary together", wording.And(names))
	}
	if n := len(w.Exclude); n > 0 {
		w.add("excluded", "cells that match %s of exclude", wording.Count(n, "item"))
	}
	w.describeGoal(setting)
	w.describeSizes()
	limits := limitsOf(w.Block)
	w.add("limits", "%v and %s per trial", wording.Duration(limits.Trial), wording.Bytes(limits.Memory))
	w.note("A trial that exceeds a limit is lost; it does not count as failed.")
}

// describeAlgorithms lists the grid's algorithms below the privacy that they guarantee.
func (w *gridDescription) describeAlgorithms() {
	var guarantees []string
	of := map[string][]string{}
	for _, e := range w.entries {
		guarantee := guaranteeInWords(w.cellsOf[e])
		if len(of[guarantee]) == 0 {
			guarantees = append(guarantees, guarantee)
		}
		of[guarantee] = append(of[guarantee], "  "+e.describe(len(w.cellsOf[e])))
	}
	var lines []string
	for _, guarantee := range guarantees {
		lines = append(append(lines, guarantee+":"), of[guarantee]...)
	}
	w.add("algorithms", "%s", strings.Join(lines, "\n"))
}

// guaranteeInWords describes the privacy of an algorithm with these cells.
func guaranteeInWords(cells []*trial.Cell) (words string) {
	if len(cells) == 0 {
		return "without cells, because they are excluded or belong to another grid"
	}
	switch c := cells[0]; {
	case !c.Private:
		return "not private"
	case c.Guarantee.GetUnproved():
		words = "intended as (epsilon, delta)-differentially private, which is not proved"
	case c.Pure:
		words = "epsilon-differentially private (delta does not apply)"
	default:
		words = "(epsilon, delta)-differentially private"
	}
	if cells[0].PrivacyStanding() == trial.Declared {
		words += ", declared by the author and not checked"
	}
	return words
}

// describeProblems describes the data of the grid's problems, and how their points are labeled.
func (w *gridDescription) describeProblems() {
	type statement struct {
		fact
		drawn bool // it is about a drawn target
	}
	hypotheses := map[statement][]string{} // the sweep file's hypotheses by statement
	for _, c := range w.cells {
		if p := c.Population; p != nil {
			lines := append(slices.Clone(p.Report), p.String())
			hypotheses[statement{fact: fact{"data", strings.Join(lines, "\n")}}] = nil
		}
		kind := ""
		if c.Adversary != nil {
			kind = c.Adversary.Kind
		}
		words, target := problem.Labels(c.Problem, kind)
		s := statement{fact: fact{"labels", words}}
		if target {
			s.label, s.drawn = "target", !problem.Stated(c.Problem) && prior.Drawn(c.Problem)
		}
		stated := hypotheses[s]
		if target && problem.Stated(c.Problem) && !slices.Contains(stated, c.Problem.Target) {
			stated = append(stated, c.Problem.Target)
		}
		hypotheses[s] = stated
	}
	drawn := false
	for _, s := range slices.SortedFunc(maps.Keys(hypotheses), func(a, b statement) int {
		return cmp.Or(cmp.Compare(a.label, b.label), cmp.Compare(a.words, b.words))
	}) {
		words := s.words
		if stated := hypotheses[s]; len(stated) > 0 {
			words += ": " + alternatives(stated)
		}
		w.add(s.label, "%s", words)
		drawn = drawn || s.drawn
	}
	if drawn {
		w.note("%s", problem.OverTargets)
	}
}

// describeGame describes the rounds or queries, and what each of the grid's adversaries reveals.
func (w *gridDescription) describeGame() {
	t := w.File.Task()
	if !t.Adversary {
		return
	}
	w.add("game", "%s", cmp.Or(t.Game, axesInWords(named(taskAxes(w.Block), "queries"))))
	var names []string
	for _, o := range adversaryAxis(w.Block).options {
		var s setting
		o.set(&s)
		names = append(names, s.adversary.String())
	}
	w.add("adversary", "%s", alternatives(names))
	for _, spec := range w.Adversary {
		for _, kind := range spec.Kind {
			if a := adversary.Lookup(kind); a != nil {
				w.note("The adversary %s reveals %s.", kind, a.Reveals)
			}
		}
	}
}

// describeGoal describes the criterion of success, and how errors are measured.
func (w *gridDescription) describeGoal(setting []axis) {
	if t := w.File.Task(); t.Success == "" {
		w.add("audit", "of the claimed epsilon and delta, by pairs of neighboring samples")
		return
	} else if w.Goal != nil {
		w.describeSuccess(setting)
	}
	if w.File.Task().Rounds() {
		return
	}
	if states := named(setting, "states"); len(states) > 0 {
		w.add("states", "%s", optionsOf(states))
		w.note("%s", statesInWords)
	}
	cellsWith := map[string]int{}
	for _, c := range w.cells {
		cellsWith[c.Evaluation.Words]++
	}
	var measured []string
	for _, how := range slices.Sorted(maps.Keys(cellsWith)) {
		words := problem.HowMeasured(how)
		if len(cellsWith) > 1 {
			words += " in " + wording.Count(cellsWith[how], "cell")
		}
		measured = append(measured, words)
	}
	w.add("errors", "%s", strings.Join(measured, "; "))
	w.note("An error is the share of points whose predicted label differs from the label without noise.")
	if lines := describePriors(w.cells); len(lines) > 0 {
		w.add("no data", "%s", strings.Join(lines, "\n"))
	}
}

// describeSuccess describes the goal, such as "excess error at most 0.1 in at least 90 % of trials".
func (w *gridDescription) describeSuccess(setting []axis) {
	var shares []string
	for _, beta := range w.Goal.Beta {
		shares = append(shares, wording.Percent(1-beta))
	}
	goal := fmt.Sprintf("%s at most %s in at least %s of trials", w.File.Task().Success,
		optionsOf(named(setting, "alpha")), alternatives(shares))
	if references := named(setting, "reference"); len(references) > 0 {
		if of := optionsOf(references); of == "0" {
			goal = strings.TrimPrefix(goal, "excess ")
		} else {
			goal += fmt.Sprintf(" (reference: %s)", strings.Replace(of, "best", "best of the class", 1))
		}
	}
	w.add("success", "%s", goal)
}

// describeSizes describes the sample sizes or numbers of rounds, or their search.
func (w *gridDescription) describeSizes() {
	size, trials := "n", "learning curve at n = %s; %d trials at each n; n* is bracketed between these sizes"
	if w.Goal == nil {
		trials = "learning curve at n = %s; %d trials at each n; no goal: errors are the result"
	}
	if w.File.Task().Decide != nil {
		trials = "%s; at most %d trials at each n"
	}
	if w.File.Task().Rounds() {
		size, trials = "rounds", "%s; %d sequences each"
	}
	if w.Search != nil {
		w.describeSearch(size)
		return
	}
	f := searchOf(w.Block)
	if f == nil {
		w.add(size, trials, w.sizeList(), trialsOf(w.Block))
		return
	}
	w.add("n*", "search from %d to %d until n_high/n_low is at most %v; at most %d trials per cell",
		f.From, f.To, f.Within, maxTrialsOf(w.Block))
	w.noteSearch(f.Confidence, f.Monotone, "success drops as n grows")
	for _, step := range distinct(w.cells, func(c *trial.Cell) int64 { return c.Find.Step }) {
		if step != 0 {
			w.note("With adversarial or malicious noise, n is a multiple of %d, so that the noise has exactly its rate. "+
				"Between the multiples, the share floor(rate n)/n varies, and so does success.", step)
		}
	}
}

// describeSearch describes a search over another number than n. size is the number that the grid lists: n or rounds.
func (w *gridDescription) describeSearch(size string) {
	e := w.entries[slices.IndexFunc(w.entries, func(e *entry) bool { return e.find != nil })] // all have the same search
	first, direction := "largest", schemas.SuccessFalls
	if e.find.rises {
		first, direction = "least", schemas.SuccessRises
	}
	what, among := e.find.name, fmt.Sprintf("the values above, at n = %s,", w.sizeList())
	switch size {
	case what: // a search over rounds
		what, among = "number of rounds", w.sizeList()
	case "rounds":
		among = fmt.Sprintf("the values above, with %s rounds,", w.sizeList())
	}
	w.add("search", "for the %s sufficient %s among %s until the bracket has at most %s; at most %d trials per search",
		first, what, among, wording.Count(int(cmp.Or(w.Search.Within, schemas.DefaultSteps)), "step"), maxTrialsOf(w.Block))
	w.note("The search over %s requires that success %s with it.", e.find.name, direction)
	confidence := cmp.Or(w.Search.Confidence, schemas.DefaultConfidence)
	w.noteSearch(confidence, w.Search.Monotone, "success changes direction")
}

// noteSearch explains the confidence of a search, and whether it tests for a violation of monotonicity.
func (w *gridDescription) noteSearch(confidence float64, monotone bool, violation string) {
	w.note("All brackets of the table hold together with probability at least %v.", confidence)
	if monotone {
		w.note("Success is assumed to be monotone; no trials test it.")
		return
	}
	w.note("After a search, up to 25 %% more trials test whether %s outside the bracket.", violation)
}

// statesInWords explains the values of goal.states.
const statesInWords = "The error is that of the worst state that is probed; for states: final, that of the final " +
	"state. At the worst state, all answers except a share alpha must agree with the states that gave them."

// sizeList returns the sample sizes or numbers of rounds, such as "100, 200".
func (w *gridDescription) sizeList() string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(w.Sizes), " ", ", "), "[]")
}

// describe names the entry's algorithm with its parameters and its number of cells.
func (e *entry) describe(cells int) string {
	out := e.label()
	if e.use.As != "" && e.use.As != e.use.Use {
		out += " is " + e.use.Use
	}
	var set []axis
	for _, a := range e.axes[e.problemAxes:] {
		if a.param && a.path != e.path || a.names[0] == "replica" && !a.param && len(e.use.Replica) > 0 {
			set = append(set, a)
		}
	}
	if len(set) > 0 {
		out += " with " + axesInWords(set)
	}
	return fmt.Sprintf("%s (%s)", out, wording.Count(cells, "cell"))
}

// axesInWords lists the axes with their values, such as "d 10 or 50; margin 0.1".
func axesInWords(axes []axis) string {
	var parts []string
	for _, a := range axes {
		for i, name := range a.names {
			values := a.valuesOf(i)
			if len(values) == 0 || name == "noise_rate" && len(values) == 1 && values[0] == "0" {
				continue
			}
			parts = append(parts, name+" "+alternatives(values))
		}
	}
	return strings.Join(parts, "; ")
}

// valuesOf returns the distinct values of the axis's i-th name.
func (a *axis) valuesOf(i int) (values []string) {
	for _, o := range a.options {
		if v := o.values[i]; v != nil && !slices.Contains(values, formatValue(v)) {
			values = append(values, formatValue(v))
		}
	}
	return values
}

// optionsOf lists the values of the first axis as alternatives.
func optionsOf(axes []axis) string { return alternatives(axes[0].valuesOf(0)) }

// alternatives lists the values, such as "1, 2 or 3". Of a long list it shows the number, the first few and the last.
func alternatives(values []string) string {
	if last := len(values) - 1; last > maxNamed {
		first := strings.Join(values[:maxNamed/2], ", ")
		return fmt.Sprintf("%s, ..., %s (%d values)", first, values[last], len(values))
	}
	return wording.Or(values)
}

// named returns the axes with the given first names.
func named(axes []axis, names ...string) []axis {
	var out []axis
	for _, name := range names {
		for _, a := range axes {
			if !a.param && a.names[0] == name {
				out = append(out, a)
			}
		}
	}
	return out
}
