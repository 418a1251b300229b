package main

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/plan"
	"github.com/shatterlab/shatter/pipeline/problem/adversary"
	"github.com/shatterlab/shatter/pipeline/problem/law"
	"github.com/shatterlab/shatter/pipeline/problem/noise"
	"github.com/shatterlab/shatter/pipeline/sweep"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

var soundnessCells = flag.Int("soundness", 0, "number of cells of TestSoundness, 0 for the usual one")

// No table refutes a bound that stands beside it: random grids over all algorithms, classes, laws,
// targets, noises, adversaries, goals and budgets, of one cell each. A sample size is the one that
// the least bound calls sufficient, or a few more, so that a bound that is not true shows.
func TestSoundness(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	const perSweep = 500
	cells, largest := 100, 4000.0
	if testkit.LongRun {
		cells, largest = 150, 30_000
	}
	if *soundnessCells > 0 {
		cells, largest = *soundnessCells, 30_000
	}
	g := newGrids(t, largest)
	for left := cells; left > 0; left -= perSweep {
		g.run(t, min(left, perSweep))
	}
	t.Logf("%d cells of %d drafts, with %d of %d algorithms: a bound stands beside %d", g.cells, g.drawn, len(g.used),
		len(g.algorithms), g.bounded)
	if g.bounded < cells/3 {
		t.Errorf("only %d of %d cells have a bound to refute", g.bounded, cells)
	}
}

// grids draws random grids of one cell.
type grids struct {
	r          *rand.Rand
	catalog    plan.Algorithms
	algorithms []plan.Described
	dir        string  // of data and of a class matrix
	largest    float64 // sample size

	drawn, cells, bounded int
	used                  map[string]int // cells with a bound, by algorithm
	seen                  map[trial.Key]bool
}

func newGrids(t *testing.T, largest float64) *grids {
	c, err := catalog(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	g := &grids{
		r: rand.New(rand.NewPCG(13, 2)), catalog: c, dir: t.TempDir(), largest: largest,
		used: map[string]int{}, seen: map[trial.Key]bool{},
	}
	if g.algorithms, err = c.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	matrixFile(t, g.dir)
	var rows strings.Builder
	rows.WriteString("x,label\n")
	for range 3000 { // no threshold is right on more than four fifths
		x := g.r.IntN(40)
		fmt.Fprintf(&rows, "%d,%v\n", x, (x >= 25) != (g.r.Float64() < 0.2))
	}
	write(t, filepath.Join(g.dir, "data.csv"), rows.String())
	return g
}

// run runs a sweep of so many random cells, and fails where a bound is refuted.
func (g *grids) run(t *testing.T, cells int) {
	t.Helper()
	tasks := map[string][]string{}
	for range cells {
		task, grid, bounded := g.grid(t)
		tasks[task] = append(tasks[task], grid)
		g.cells++
		if bounded {
			g.bounded++
		}
	}
	for task, list := range tasks {
		dir := filepath.Join(t.TempDir(), "out")
		file := write(t, filepath.Join(g.dir, task+".yaml"), header(task)+"grids:\n"+strings.Join(list, ""))
		_, errs, code := shatter(t, "run", file, "--out", dir, "--workers", "2", "--looks", "0", "--cache", "off")
		if code != exitDone && code != exitUnfinished {
			t.Errorf("task %s: exit code %d\n%s", task, code, errs)
		}
		for _, row := range table(t, dir) {
			if row["contradicts"] != nil {
				t.Errorf("%v", row)
			}
		}
	}
}

func header(task string) string {
	return fmt.Sprintf("name: soundness-%s\ntask: %s\nseed: 7\n", task, task)
}

// grid draws grids until one is a cell, and returns it with its sizes. bounded says that a bound
// holds of it.
func (g *grids) grid(t *testing.T) (task, text string, bounded bool) {
	for {
		g.drawn++
		a := pick(g.r, g.algorithms...)
		task = pick(g.r, a.GetTasks()...).Name()
		draft := g.draft(task, a.Algorithm)
		sizes := "    n: [100]\n    trials: 5\n"
		if task == schemas.TaskOnline {
			sizes = fmt.Sprintf("    rounds: [%d]\n    trials: 30\n", pick(g.r, 3, 20, 100, 400))
		}
		c := g.cell(t, task, draft+sizes)
		if c == nil {
			continue
		}
		b, _ := c.LeastBound()
		switch {
		case task == schemas.TaskOnline:
			bounded = slices.ContainsFunc(c.Bounds.All(), trial.Stands)
		case b != nil && b.GetValue() <= g.largest:
			n := int(math.Ceil(b.GetValue() * pick(g.r, 1, 1, 1.07)))
			trials := 80
			if n > 4000 {
				trials = 30
			}
			sizes = fmt.Sprintf("    n: [%d]\n    trials: %d\n", n, trials)
			if c = g.cell(t, task, draft+sizes); c == nil {
				continue
			}
			bounded = true
		default:
			if g.r.IntN(4) > 0 { // few cells without a bound are enough
				continue
			}
		}
		if g.seen[c.Key] {
			continue // it would stand in the sweep twice
		}
		g.seen[c.Key] = true
		if bounded {
			g.used[a.GetName()]++
		}
		return task, draft + sizes, bounded
	}
}

// cell returns the cell of a grid, or nil if the grid is refused.
func (g *grids) cell(t *testing.T, task, grid string) *trial.Cell {
	file, err := sweep.Parse("soundness.yaml", []byte(header(task)+"grids:\n"+grid))
	if err != nil {
		return nil
	}
	p, err := plan.Resolve(t.Context(), file, g.catalog, plan.Options{Dir: g.dir})
	if err != nil || len(p.Cells) != 1 {
		return nil
	}
	return p.Cells[0]
}

// draft draws a grid but for its sizes.
func (g *grids) draft(task string, a *pluginv1.Algorithm) string {
	r := g.r
	var b strings.Builder
	fmt.Fprintf(&b, "  - problem: %s\n", g.problem(task))
	fmt.Fprintf(&b, "    algorithms: [{use: %s%s}]\n", a.GetName(), g.parameters(a))
	if a.GetPrivate() {
		fmt.Fprintf(&b, "    privacy: {epsilon: %v, delta: %v}\n", pick(r, 0.5, 1, 3, 8), pick(r, 1e-6, 1e-3))
	}
	switch task {
	case schemas.TaskOnline:
		fmt.Fprintf(&b, "    adversary: %s\n", g.adversary(task))
		return b.String()
	case schemas.TaskPredict:
		fmt.Fprintf(&b, "    adversary: %s\n    queries: %d\n", g.adversary(task), pick(r, 1, 4, 20, 60))
	}
	fmt.Fprintf(&b, "    goal: {alpha: %v, beta: %v", pick(r, 0.05, 0.1, 0.2, 0.3), pick(r, 0.05, 0.1, 0.3))
	fmt.Fprint(&b, pick(r, "", "", "", ", above: 0", ", above: 0.05", ", answers: mean"))
	if task == schemas.TaskPredict {
		fmt.Fprintf(&b, ", states: %s", pick(r, schemas.StatesAll, schemas.StatesEvery, schemas.StatesFinal))
	}
	return b.String() + "}\n"
}

// problem draws a problem, which may be none that exists.
func (g *grids) problem(task string) string {
	r := g.r
	var noises []string
	for _, n := range noise.All() {
		if n.Rate {
			noises = append(noises, fmt.Sprintf(", noise: {kind: %s, rate: %v}", n.Name, pick(r, 0.02, 0.05, 0.2)))
		}
	}
	labels := pick(r, append(noises, "", "", "")...)
	if task == schemas.TaskOnline {
		labels = ""
	}
	if task == schemas.TaskLearn && r.IntN(6) == 0 {
		return fmt.Sprintf("{class: %s, domain: 40, data: {file: data.csv, label: label, positive: true}%s}",
			pick(r, "thresholds", "intervals", "points", "stumps"), labels)
	}
	class := pick(r, concept.Names()...)
	text := "{class: " + class
	switch concept.ShapeOf(class) {
	case concept.Scalar:
		text += fmt.Sprintf(", domain: %v", pick(r, 2, 5, 16, 200, 100_000))
	case concept.Grid:
		text += fmt.Sprintf(", domain: %v, d: %d", pick(r, 2, 5, 16), pick(r, 1, 2))
	case concept.Bits:
		text += fmt.Sprintf(", d: %d", pick(r, 2, 3, 5, 8))
	case concept.Ball:
		text += fmt.Sprintf(", d: %d", pick(r, 2, 3, 5))
	case concept.Column:
		text += ", file: class.csv"
	}
	laws := law.NamesFor(class)
	if len(laws) == 0 {
		return text + labels + "}"
	}
	l := pick(r, laws...)
	text += ", distribution: " + l
	for _, k := range law.Lookup(l).Keys {
		text += fmt.Sprintf(", %s: %v", k.Name, pick(r, 0.05, 0.2, 0.4))
	}
	return text + pick(r, "", "", ", target: uniform", ", target: middle") + pick(r, "", "", ", test: 300") + labels + "}"
}

// adversary draws an adversary of a task.
func (g *grids) adversary(task string) string {
	var kinds []*adversary.Adversary
	for _, k := range adversary.All() {
		if k.Task == task {
			kinds = append(kinds, k)
		}
	}
	k := pick(g.r, kinds...)
	text := "{kind: " + k.Name
	if len(k.Sees) > 0 {
		text += ", sees: " + pick(g.r, k.Sees...)
	} else if task == schemas.TaskPredict {
		text += pick(g.r, "", ", offline: true")
	}
	if len(k.From) > 0 && g.r.IntN(2) == 0 {
		text += ", from: 100"
	}
	if k.Rate != nil {
		text += pick(g.r, "", ", rate: 0.1")
	}
	return text + "}"
}

// parameters draws values of an algorithm's parameters that are one of several choices.
func (g *grids) parameters(a *pluginv1.Algorithm) (text string) {
	for _, p := range a.GetParameters() {
		switch {
		case g.r.IntN(3) > 0:
		case len(p.GetChoices()) > 0:
			text += fmt.Sprintf(", %s: %s", p.GetName(), pick(g.r, p.GetChoices()...))
		case slices.Contains([]string{"lstar", "k", "passes", "steps", "rounds"}, p.GetName()):
			text += fmt.Sprintf(", %s: %d", p.GetName(), pick(g.r, 3, 20, 100))
		}
		if _, ok := p.GetDefault().GetKind().(*pluginv1.Value_Bool); ok && g.r.IntN(3) == 0 {
			text += fmt.Sprintf(", %s: true", p.GetName())
		}
	}
	return text
}

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

const boastSweep = `
name: boast
task: %s
plugins: [%s]
grids:
  - problem: {class: thresholds, domain: 50, distribution: uniform}
    algorithms: [third/boasts, %s]
%s
`

// A false bound of a plugin is an alarm, in the search, in lists of sample sizes and in games: on
// stderr, in the table, in JSON and in the report, and the exit code says so.
func TestFalseBound(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	const goal = "    goal: {alpha: 0.1, beta: 0.1}\n"
	for _, c := range []struct{ name, task, honest, rest, want string }{
		{"search", "learn", "baseline/erm", goal + "    n: {find: true, from: 4, to: 200}",
			"200 examples are insufficient, and by boast (declared) 20 suffice"},
		{"list", "learn", "baseline/erm", goal + "    n: [10, 40]\n    trials: 60",
			"40 examples are insufficient, and by boast (declared) 20 suffice"},
		{"games", "online", "online/soa", "    adversary: {kind: tree}\n    rounds: [30]\n    trials: 10",
			"is more than the 0 of boast: nobody (declared)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tmp := t.TempDir()
			dir := filepath.Join(tmp, "out")
			file := write(t, filepath.Join(tmp, "s.yaml"), fmt.Sprintf(boastSweep, c.task, thirdparty(t), c.honest, c.rest))
			out, errs, code := shatter(t, "run", file, "--out", dir, "--workers", "1", "--looks", "0")
			if code != exitContradicted || strings.Count(errs, "shatter: contradicted bound: third/boasts (cell ") != 1 ||
				!strings.Contains(errs, c.want) || !strings.Contains(errs, "refutes a bound that a plugin declares: ") {
				t.Fatalf("exit code %d\n%s", code, errs)
			}
			if c.name != "list" && !strings.Contains(out, "CONTRADICTED BOUND in cell ") {
				t.Errorf("the table says nothing:\n%s", out)
			}
			for _, row := range table(t, dir) {
				said, _ := row["contradicts"].(string)
				if strings.Contains(said, c.want) != (row["algorithm"] == "third/boasts") {
					t.Errorf("%v", row)
				}
			}
			page, err := os.ReadFile(filepath.Join(dir, "report.html"))
			if err != nil || strings.Count(string(page), "Contradicted bound.") != 1 {
				t.Errorf("the report does not say it once: %v", err)
			}
			for _, want := range []string{"is allowed by a bound that a plugin declares.", "declared bound"} {
				if !strings.Contains(string(page), want) {
					t.Errorf("the report does not say %s", want)
				}
			}
			if strings.Contains(errs+string(page), "called proved") {
				t.Errorf("a bound that nobody here has proved is called so:\n%s", errs)
			}
		})
	}
}
