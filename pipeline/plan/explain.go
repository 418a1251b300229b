package plan

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shatterlab/shatter/schemas"

	"github.com/shatterlab/shatter/pipeline/sweep"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// Explain says in words what was understood; warnings are not part of it.
func (p *Plan) Explain(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: task %s, seed %d, %s\n", p.Name, p.Cells[0].Task, p.Seed, plural(len(p.Cells), "cell"))
	for _, line := range p.words {
		b.WriteString(line + "\n")
	}
	for _, fit := range p.Fits {
		b.WriteString(fmt.Sprintf("%-12s", "fit") + fit.String() + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// kept is what became of one entry: its cells after exclusion and merging.
type kept struct {
	cells      int
	sample     *trial.Cell
	evaluation map[string]bool
}

// words describes every grid; from says which entry made a cell.
func (r *resolver) words(cells []*trial.Cell, from map[trial.Key]*entry) []string {
	became := map[*entry]*kept{}
	for _, e := range r.entries {
		became[e] = &kept{evaluation: map[string]bool{}}
	}
	for _, c := range cells {
		k := became[from[c.Key]]
		k.cells++
		k.sample = c
		k.evaluation[c.Evaluation] = true
	}
	var lines []string
	for rest := r.entries; len(rest) > 0; {
		g, n := rest[0].grid, 0
		for n < len(rest) && rest[n].grid == g {
			n++
		}
		lines = append(lines, gridInWords(g, rest[:n], became)...)
		rest = rest[n:]
	}
	return lines
}

// words describes one grid.
func gridInWords(g *sweep.Block, entries []*entry, became map[*entry]*kept) []string {
	var lines []string
	say := func(label, format string, args ...any) {
		lines = append(lines, fmt.Sprintf("%-12s", label)+fmt.Sprintf(format, args...))
	}
	if g.Prefix != "" {
		lines = append(lines, fmt.Sprintf("%s (line %d)", g.Home(), g.File.At(g.Home()).Line))
	}
	say("problem", "%s", axesInWords(problemAxes(g)))
	label, evaluation := "algorithms", map[string]bool{}
	for _, e := range entries {
		say(label, "%s", e.words(became[e]))
		label = ""
		maps.Copy(evaluation, became[e].evaluation)
	}
	switch g.File.Task() {
	case schemas.TaskPredict:
		say("game", "%s; adversary %s", axesInWords(named(taskAxes(g), "queries")), alternatives(adversariesInWords(g)))
	case schemas.TaskOnline:
		say("game", "rounds of point, prediction, truth; adversary %s", alternatives(adversariesInWords(g)))
	}
	setting := settingAxes(g, true)
	if slices.ContainsFunc(entries, func(e *entry) bool { return e.algorithm.GetPrivate() }) {
		say("privacy", "%s", axesInWords(named(setting, "epsilon", "delta")))
	}
	for _, names := range g.Zip {
		say("zip", "%s", strings.Join(names, " with "))
	}
	if n := len(g.Exclude); n > 0 {
		say("excluded", "by %s of exclude", plural(n, "item"))
	}
	if g.File.Task() == schemas.TaskOnline {
		say("rounds", "%s, %d sequences each", strings.Trim(strings.ReplaceAll(fmt.Sprint(g.Sizes), " ", ", "), "[]"), trialsOf(g))
		return append(lines, limitsInWords(g))
	}
	say("success", "error above the reference (above) is at most alpha, with probability at least 1 - beta: %s",
		axesInWords(named(setting, "alpha", "beta", "above")))
	for _, how := range slices.Sorted(maps.Keys(evaluation)) {
		if how != "exact" {
			how = "on " + how + " fresh points"
		}
		say("error", "%s, against clean labels", how)
	}
	say("n", "%s", sizesInWords(g))
	return append(lines, limitsInWords(g))
}

func limitsInWords(g *sweep.Block) string {
	limits := limitsOf(g)
	return fmt.Sprintf("%-12sa trial may take %v and %s; beyond that it is lost, not failed", "limits", TimeInWords(limits.Trial), bytesInWords(limits.Memory))
}

func sizesInWords(g *sweep.Block) string {
	if f := searchOf(g); f != nil {
		return fmt.Sprintf("n* is searched: the least n from %d to %d that succeeds, to a bracket of ratio %v; the whole table is right with "+
			"probability %v; at most %d trials a cell", f.From, f.To, f.Within, f.Confidence, maxTrialsOf(g))
	}
	return fmt.Sprintf("the curve at n = %s, %d trials each", strings.Trim(strings.ReplaceAll(fmt.Sprint(g.Sizes), " ", ", "), "[]"), trialsOf(g))
}

// words describes one algorithm.
func (e *entry) words(k *kept) string {
	out := e.as()
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
	switch {
	case k.cells == 0:
		return out + "; all its cells are excluded, or are those of another grid"
	case !k.sample.Private:
		out += "; not private: it runs once, without a budget"
	case k.sample.Guarantee.GetUncertified():
		out += "; aims at (epsilon, delta) differential privacy, which is not certified"
	case k.sample.Pure:
		out += "; pure differential privacy: delta does not apply"
	default:
		out += "; (epsilon, delta) differential privacy"
	}
	return out + "; " + plural(k.cells, "cell")
}

// axesInWords is "d 10 or 50, margin 0.1".
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

// alternatives is "1, 2 or 3".
func alternatives(values []string) string {
	last := len(values) - 1
	if last == 0 {
		return values[0]
	}
	return few(values[:last]) + " or " + values[last]
}

// named picks axes by their first name.
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

// TimeInWords is 10m instead of 10m0s.
func TimeInWords(d time.Duration) string {
	s := d.String()
	for _, tail := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, tail) {
			s = s[:len(s)-2]
		}
	}
	return s
}

func bytesInWords(n int64) string {
	for _, unit := range []struct {
		name string
		size int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}} {
		if n >= unit.size && n%(unit.size/4) == 0 {
			return fmt.Sprintf("%v %s", float64(n)/float64(unit.size), unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
