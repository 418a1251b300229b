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

// Explain writes a description of the plan in words, without warnings.
func (p *Plan) Explain(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: task %s, %s, %s\n", p.Name, p.Cells[0].Task, p.describeSeed(),
		wording.Count(len(p.Cells), "cell"))
	for _, line := range p.description {
		b.WriteString(line + "\n")
	}
	for _, fit := range p.Fits {
		fmt.Fprintf(&b, "%-12s%s\n", "fit", fit)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (l *layout) explain(cells []*trial.Cell, origins []*checkedInstance) []string {
	cellsOf := map[*entry][]*trial.Cell{} // after exclusion and merging
	for i, c := range cells {
		cellsOf[origins[i].entry] = append(cellsOf[origins[i].entry], c)
	}
	var lines []string
	for entries := range byGrid(l.entries) {
		w := gridDescription{Block: entries[0].grid, entries: entries, cellsOf: cellsOf}
		for _, e := range entries {
			w.cells = append(w.cells, cellsOf[e]...)
		}
		lines = append(lines, w.lines()...)
	}
	return lines
}

// A gridDescription describes one grid.
type gridDescription struct {
	*sweep.Block
	entries []*entry
	cells   []*trial.Cell // cells of all entries
	cellsOf map[*entry][]*trial.Cell
	out     []string
}

// distinct returns the distinct values of a function on the cells, ascending.
func distinct[T cmp.Ordered](cells []*trial.Cell, of func(*trial.Cell) T) []T {
	all := map[T]bool{}
	for _, c := range cells {
		all[of(c)] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// line adds a line with a label.
func (w *gridDescription) line(label, format string, args ...any) {
	w.out = append(w.out, fmt.Sprintf("%-12s", label)+fmt.Sprintf(format, args...))
}

func (w *gridDescription) lines() []string {
	if w.Prefix != "" {
		w.out = append(w.out, fmt.Sprintf("%s (line %d)", w.Home(), w.File.At(w.Home()).Line))
	}
	w.line("problem", "%s", axesInWords(w.entries[0].axes[:w.entries[0].problemAxes]))
	w.describeProblems()
	label := "algorithms"
	for _, e := range w.entries {
		w.line(label, "%s", e.describe(w.cellsOf[e]))
		label = ""
	}
	w.describeGame()
	setting := measureAxes(w.Block, true)
	if slices.ContainsFunc(w.entries, func(e *entry) bool { return e.algorithm.GetPrivate() }) {
		w.line("privacy", "%s", axesInWords(named(setting, "epsilon", "delta")))
	}
	for _, names := range w.Zip {
		w.line("zip", "%s", strings.Join(names, " with "))
	}
	if n := len(w.Exclude); n > 0 {
		w.line("excluded", "cells that match %s of exclude", wording.Count(n, "item"))
	}
	w.describeGoal(setting)
	w.describeSizes()
	limits := limitsOf(w.Block)
	w.line("limits", "a trial may take %v and %s; a trial that exceeds this is lost, not failed",
		wording.Duration(limits.Trial), wording.Bytes(limits.Memory))
	return w.out
}

// describeProblems describes the data of the grid's problems, and how their points are labeled.
func (w *gridDescription) describeProblems() {
	all := problemFacts{}
	for _, c := range w.cells {
		all.addCell(c)
	}
	drawn := false
	for _, line := range slices.SortedFunc(maps.Keys(all), problemFact.compare) {
		words := line.words
		if stated := all[line]; len(stated) > 0 {
			words += ": " + alternatives(stated)
		}
		w.line(line.label, "%s", words)
		drawn = drawn || line.drawn
	}
	if drawn {
		w.line("", "if it is drawn, %s", problem.OverTargets)
	}
}

// A problemFact is a statement about a problem.
type problemFact struct {
	label, words string
	drawn        bool // the fact is about a drawn target
}

func (l problemFact) compare(m problemFact) int {
	return cmp.Or(cmp.Compare(l.label, m.label), cmp.Compare(l.words, m.words))
}

// problemFacts collects the distinct facts about problems of cells, each with the hypotheses in the sweep file.
type problemFacts map[problemFact][]string

func (w problemFacts) add(line problemFact, stated ...string) {
	for _, target := range stated {
		if slices.Contains(w[line], target) {
			return
		}
	}
	w[line] = append(w[line], stated...)
}

// addCell adds the problem of a cell.
func (w problemFacts) addCell(c *trial.Cell) {
	if p := c.Population; p != nil {
		lines := slices.Concat(p.Report, []string{p.String()})
		w.add(problemFact{label: "data", words: strings.Join(lines, "\n"+strings.Repeat(" ", 12))})
	}
	kind := ""
	if c.Adversary != nil {
		kind = c.Adversary.Kind
	}
	words, target := problem.Labels(c.Problem, kind)
	switch {
	case !target:
		w.add(problemFact{label: "labels", words: words})
	case problem.Stated(c.Problem):
		w.add(problemFact{label: "target", words: words}, c.Problem.Target)
	default:
		w.add(problemFact{label: "target", words: words, drawn: prior.Drawn(c.Problem)})
	}
}

func (w *gridDescription) describeGame() {
	if t := w.File.Task(); t.Adversary {
		game := cmp.Or(t.Game, axesInWords(named(taskAxes(w.Block), "queries")))
		w.line("game", "%s; adversary %s", game, w.adversaryNames())
		w.describeAdversaries()
	}
}

// describeAdversaries describes what each of the grid's adversaries reveals.
func (w *gridDescription) describeAdversaries() {
	said := map[string]bool{}
	for _, spec := range w.Adversary {
		for _, kind := range spec.Kind {
			if a := adversary.Lookup(kind); a != nil && !said[kind] {
				said[kind] = true
				w.line("", "%s reveals %s", kind, a.Reveals)
			}
		}
	}
}

func (w *gridDescription) adversaryNames() string {
	var words []string
	for _, o := range adversaryAxis(w.Block).options {
		var s setting
		o.set(&s)
		words = append(words, s.adversary.String())
	}
	return alternatives(words)
}

// describeGoal describes the criterion of success, and how errors are measured.
func (w *gridDescription) describeGoal(setting []axis) {
	if w.Goal != nil {
		w.line("success", "%s is at most alpha, with probability at least 1 - beta: %s", w.File.Task().Success,
			axesInWords(named(setting, "alpha", "beta", "reference")))
	}
	if w.File.Task().Rounds() {
		return
	}
	if states := named(setting, "states"); len(states) > 0 {
		w.line("", "%s: %s", axesInWords(states), statesInWords)
	}
	for _, how := range distinct(w.cells, func(c *trial.Cell) string { return c.Evaluation.Words }) {
		w.line("error", "%s, against clean labels", problem.HowMeasured(how))
	}
	for _, line := range describePriors(w.cells) {
		w.line("no data", "%s", line)
	}
}

// describeSizes describes the sample sizes or numbers of rounds, or their search.
func (w *gridDescription) describeSizes() {
	size, trials := "n", "the curve at n = %s, %d trials each"
	if w.File.Task().Rounds() {
		size, trials = "rounds", "%s, %d sequences each"
	}
	if w.Search != nil {
		w.describeSearch(size)
		return
	}
	if f := searchOf(w.Block); f != nil {
		w.line("n", "n* is searched: the least n from %d to %d that suffices, to a bracket of ratio %v; the whole table "+
			"is right with probability %v; at most %d trials per cell",
			f.From, f.To, f.Within, f.Confidence, maxTrialsOf(w.Block))
		for _, step := range distinct(w.cells, func(c *trial.Cell) int64 { return c.Find.Step }) {
			if step == 0 {
				continue
			}
			w.line("", "with adversarial or malicious noise, n is a multiple of %d, so that the noise has its rate exactly: "+
				"the share floor(rate n)/n rises and falls in between, and success with it", step)
		}
		if f.Monotone {
			w.line("", "assumed: success never falls as n grows; no trials test this")
		} else {
			w.line("", "up to 25 %% more trials then test whether success drops outside the bracket")
		}
		return
	}
	w.line(size, trials, w.sizeList(), trialsOf(w.Block))
}

// describeSearch describes a search over another number than n. size is the number that the grid lists: n or rounds.
func (w *gridDescription) describeSearch(size string) {
	for _, e := range w.entries {
		if e.find == nil {
			continue
		}
		first, direction := "largest", schemas.SuccessFalls
		if e.find.rises {
			first, direction = "least", schemas.SuccessRises
		}
		at, what, among := fmt.Sprintf("at %s = %s ", size, w.sizeList()), e.find.name, "the values above"
		if what == size { // a search over rounds
			at, what, among = "", "number of rounds", w.sizeList()
		}
		w.line(size, "%sthe %s %s that suffices is searched, among %s; success %s as it grows", at, first,
			what, among, direction)
		break // all entries have the same search
	}
	w.line("", "the ends of a bracket are at most %s apart; the whole table is right with probability %v; at most %d "+
		"trials per search", wording.Count(int(cmp.Or(w.Search.Within, schemas.DefaultSteps)), "step"),
		cmp.Or(w.Search.Confidence, schemas.DefaultConfidence), maxTrialsOf(w.Block))
	if w.Search.Monotone {
		w.line("", "assumed: success changes in one direction only; no trials test this")
		return
	}
	w.line("", "up to 25 %% more trials then test whether success changes direction outside the bracket")
}

// statesInWords explains the values of goal.states.
const statesInWords = "the error is that of the worst probed state, or of the final state; " +
	"for the worst state, all answers except a share alpha must agree with the state that gave them"

// sizeList returns the sample sizes or numbers of rounds, such as "100, 200".
func (w *gridDescription) sizeList() string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(w.Sizes), " ", ", "), "[]")
}

func (e *entry) describe(cells []*trial.Cell) string {
	out := e.label()
	if e.use.As != "" && e.use.As != e.use.Use {
		out += " is " + e.use.Use
	}
	var set []axis
	for _, a := range e.axes {
		if a.param && a.path != e.path || a.names[0] == "replica" && !a.param && len(e.use.Replica) > 0 {
			set = append(set, a)
		}
	}
	if len(set) > 0 {
		out += " with " + axesInWords(set)
	}
	if len(cells) == 0 {
		return out + "; all its cells are excluded or belong to another grid"
	}
	switch c := cells[0]; {
	case !c.Private:
		out += "; not private: it runs once, without a budget"
	case c.Guarantee.GetUnproved():
		out += "; intended as (epsilon, delta) differential privacy, which is not proved"
	case c.Pure:
		out += "; pure differential privacy: delta does not apply"
	default:
		out += "; (epsilon, delta) differential privacy"
	}
	if cells[0].PrivacyStanding() == trial.Declared {
		out += ", declared by its author and not checked"
	}
	return out + "; " + wording.Count(len(cells), "cell")
}

// axesInWords lists the axes with their values, such as "d 10 or 50, margin 0.1".
func axesInWords(axes []axis) string {
	var parts []string
	for _, a := range axes {
		for i, name := range a.names {
			var values []string
			seen := map[string]bool{}
			for _, o := range a.options {
				if v := o.values[i]; v != nil && !seen[formatValue(v)] {
					seen[formatValue(v)] = true
					values = append(values, formatValue(v))
				}
			}
			if len(values) == 0 || name == "noise_rate" && len(values) == 1 && values[0] == "0" {
				continue
			}
			parts = append(parts, name+" "+alternatives(values))
		}
	}
	return strings.Join(parts, ", ")
}

// alternatives lists the values, such as "1, 2 or 3". Of a long list it names the first few, a count and the last one.
func alternatives(values []string) string {
	last := len(values) - 1
	if last == 0 {
		return values[0]
	}
	return wording.Few(values[:last], maxNamed) + " or " + values[last]
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
