package plan

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"path/filepath"
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

// Explain says in words what was understood; warnings are not part of it.
func (p *Plan) Explain(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: task %s, %s, %s\n", p.Name, p.Cells[0].Task, p.seedWords(),
		wording.Count(len(p.Cells), "cell"))
	for _, line := range p.words {
		b.WriteString(line + "\n")
	}
	for _, fit := range p.Fits {
		fmt.Fprintf(&b, "%-12s%s\n", "fit", fit)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// explain describes every grid in words.
func (l *layout) explain(cells []*trial.Cell, origins []*settled) []string {
	cellsOf := map[*entry][]*trial.Cell{} // after exclusion and merging
	for i, c := range cells {
		cellsOf[origins[i].entry] = append(cellsOf[origins[i].entry], c)
	}
	var lines []string
	for entries := range byGrid(l.entries) {
		w := gridWords{Block: entries[0].grid, entries: entries, cellsOf: cellsOf}
		for _, e := range entries {
			w.cells = append(w.cells, cellsOf[e]...)
		}
		lines = append(lines, w.lines()...)
	}
	return lines
}

// gridWords describes one grid.
type gridWords struct {
	*sweep.Block
	entries []*entry
	cells   []*trial.Cell // of all entries
	cellsOf map[*entry][]*trial.Cell
	out     []string
}

// distinct returns the values of a function on the cells, each once, in ascending order.
func distinct[T cmp.Ordered](cells []*trial.Cell, of func(*trial.Cell) T) []T {
	all := map[T]bool{}
	for _, c := range cells {
		all[of(c)] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// line adds a line with a label.
func (w *gridWords) line(label, format string, args ...any) {
	w.out = append(w.out, fmt.Sprintf("%-12s", label)+fmt.Sprintf(format, args...))
}

func (w *gridWords) lines() []string {
	if w.Prefix != "" {
		w.out = append(w.out, fmt.Sprintf("%s (line %d)", w.Home(), w.File.At(w.Home()).Line))
	}
	w.line("problem", "%s", axesInWords(w.entries[0].axes[:w.entries[0].problemAxes]))
	w.about()
	label := "algorithms"
	for _, e := range w.entries {
		w.line(label, "%s", e.words(w.cellsOf[e]))
		label = ""
	}
	w.game()
	setting := measureAxes(w.Block, true)
	if slices.ContainsFunc(w.entries, func(e *entry) bool { return e.algorithm.GetPrivate() }) {
		w.line("privacy", "%s", axesInWords(named(setting, "epsilon", "delta")))
	}
	for _, names := range w.Zip {
		w.line("zip", "%s", strings.Join(names, " with "))
	}
	if n := len(w.Exclude); n > 0 {
		w.line("excluded", "by %s of exclude", wording.Count(n, "item"))
	}
	w.goal(setting)
	w.sizes()
	limits := limitsOf(w.Block)
	w.line("limits", "a trial may take %v and %s; beyond that it is lost, not failed",
		wording.Duration(limits.Trial), wording.Bytes(limits.Memory))
	return w.out
}

// about describes the data of the grid's problems, and who labels their points.
func (w *gridWords) about() {
	all := problemWords{}
	for _, c := range w.cells {
		all.addCell(c)
	}
	drawn := false
	for _, line := range slices.SortedFunc(maps.Keys(all), problemLine.compare) {
		words := line.words
		if stated := all[line]; len(stated) > 0 {
			words += ": " + alternatives(stated)
		}
		w.line(line.label, "%s", words)
		drawn = drawn || line.drawn
	}
	if drawn {
		w.line("", "where it is drawn, %s", problem.OverTargets)
	}
}

// problemLine says something of a problem.
type problemLine struct {
	label, words string
	drawn        bool // about a target that is drawn
}

func (l problemLine) compare(m problemLine) int {
	return cmp.Or(cmp.Compare(l.label, m.label), cmp.Compare(l.words, m.words))
}

// problemWords collects what is said of the problems of some cells, with the hypotheses that the
// file states, each once.
type problemWords map[problemLine][]string

func (w problemWords) add(line problemLine, stated ...string) {
	for _, target := range stated {
		if slices.Contains(w[line], target) {
			return
		}
	}
	w[line] = append(w[line], stated...)
}

// addCell adds the problem of a cell.
func (w problemWords) addCell(c *trial.Cell) {
	if p := c.Population; p != nil {
		w.add(problemLine{label: "data", words: filepath.Base(c.Problem.Data.File) + ": " + p.String()})
	}
	kind := ""
	if c.Adversary != nil {
		kind = c.Adversary.Kind
	}
	words, target := problem.Labels(c.Problem, kind)
	switch {
	case !target:
		w.add(problemLine{label: "labels", words: words})
	case problem.Stated(c.Problem):
		w.add(problemLine{label: "target", words: words}, c.Problem.Target)
	default:
		w.add(problemLine{label: "target", words: words, drawn: prior.Drawn(c.Problem)})
	}
}

// game describes the game against each adversary.
func (w *gridWords) game() {
	if t := w.File.Task(); t.Adversary {
		w.line("game", "%s; adversary %s", cmp.Or(t.Game, axesInWords(named(taskAxes(w.Block), "queries"))), w.adversaries())
		w.reveals()
	}
}

// reveals says what each of the grid's adversaries gives away.
func (w *gridWords) reveals() {
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

// adversaries returns the grid's adversaries in words.
func (w *gridWords) adversaries() string {
	var words []string
	for _, o := range adversaryAxis(w.Block).options {
		var s setting
		o.set(&s)
		words = append(words, s.adversary.String())
	}
	return alternatives(words)
}

// goal describes what success is, and how errors are measured.
func (w *gridWords) goal(setting []axis) {
	if w.Goal != nil {
		w.line("success", "%s is at most alpha, with probability at least 1 - beta: %s", w.File.Task().Success,
			axesInWords(named(setting, "alpha", "beta", "above")))
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
	for _, line := range withoutData(w.cells) {
		w.line("no data", "%s", line)
	}
}

// sizes describes the sample sizes or the numbers of rounds, or how they are searched.
func (w *gridWords) sizes() {
	size, trials := "n", "the curve at n = %s, %d trials each"
	if w.File.Task().Rounds() {
		size, trials = "rounds", "%s, %d sequences each"
	}
	if w.Find != nil {
		w.search(size)
		return
	}
	if f := searchOf(w.Block); f != nil {
		w.line("n", "n* is searched: the least n from %d to %d that succeeds, to a bracket of ratio %v; the whole table "+
			"is right with probability %v; at most %d trials a cell", f.From, f.To, f.Within, f.Confidence, maxTrialsOf(w.Block))
		for _, step := range distinct(w.cells, func(c *trial.Cell) int64 { return c.Find.Step }) {
			if step == 0 {
				continue
			}
			w.line("", "n is a multiple of %d where adversarial or malicious noise then has its rate exactly: the share "+
				"floor(rate n)/n rises and falls in between, and success with it", step)
		}
		if f.Monotone {
			w.line("", "success is taken never to fall as n grows: nothing looks for a fall")
		} else {
			w.line("", "then about a quarter of the trials again, or less, look on both sides of the bracket for a fall of "+
				"success")
		}
		return
	}
	w.line(size, trials, w.sizeList(), trialsOf(w.Block))
}

// search describes a search over another number than n. size is what the grid has a list of: n, or
// rounds.
func (w *gridWords) search(size string) {
	for _, e := range w.entries {
		if e.find == nil {
			continue
		}
		first, direction := "largest", schemas.SuccessFalls
		if e.find.rises {
			first, direction = "least", schemas.SuccessRises
		}
		at, what, among := fmt.Sprintf("at %s = %s ", size, w.sizeList()), e.find.name, "the values above"
		if what == size { // of games
			at, what, among = "", "number of rounds", w.sizeList()
		}
		w.line(size, "%sthe %s %s is searched with which trials succeed, among %s; success %s as it grows", at, first,
			what, among, direction)
		break // the entries have it in common
	}
	w.line("", "the ends of a bracket are at most %s apart; the whole table is right with probability %v; at most %d "+
		"trials a search", wording.Count(int(cmp.Or(w.Find.Within, schemas.DefaultSteps)), "step"),
		cmp.Or(w.Find.Confidence, schemas.DefaultConfidence), maxTrialsOf(w.Block))
	if w.Find.Monotone {
		w.line("", "success is taken to go one way: nothing looks for the contrary")
		return
	}
	w.line("", "then about a quarter of the trials again, or less, look on both sides of the bracket for success that "+
		"goes the other way")
}

// statesInWords says what the values of goal.states mean.
const statesInWords = "the error is that of the worst state that is asked, or of the final one; " +
	"where it is the worst one's, answers have to agree with the state that gave them, but for a share alpha"

// sizeList returns the sample sizes, or numbers of rounds, as "100, 200".
func (w *gridWords) sizeList() string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(w.Sizes), " ", ", "), "[]")
}

// words describes one algorithm and its cells.
func (e *entry) words(cells []*trial.Cell) string {
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
		return out + "; all its cells are excluded, or are those of another grid"
	}
	switch c := cells[0]; {
	case !c.Private:
		out += "; not private: it runs once, without a budget"
	case c.Guarantee.GetUncertified():
		out += "; aims at (epsilon, delta) differential privacy, which is not certified"
	case c.Pure:
		out += "; pure differential privacy: delta does not apply"
	default:
		out += "; (epsilon, delta) differential privacy"
	}
	if cells[0].PrivacyStanding() == trial.Declared {
		out += ", which is its author's word: nobody here has proved it"
	}
	return out + "; " + wording.Count(len(cells), "cell")
}

// axesInWords returns the axes with their values: "d 10 or 50, margin 0.1".
func axesInWords(axes []axis) string {
	var parts []string
	for _, a := range axes {
		for i, name := range a.names {
			var values []string
			seen := map[string]bool{}
			for _, o := range a.options {
				if v := o.values[i]; v != nil && !seen[show(v)] {
					seen[show(v)] = true
					values = append(values, show(v))
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

// alternatives returns the values as "1, 2 or 3"; of a long list the first few, how many more there
// are, and the last one.
func alternatives(values []string) string {
	last := len(values) - 1
	if last == 0 {
		return values[0]
	}
	return wording.Few(values[:last], mostNamed) + " or " + values[last]
}

// named returns the axes with these first names.
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
