package sweep

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/schemas"
)

// The largest sweep. Cells are counted before those that come out equal are merged, trials where n is a list, and entries are
// the items of algorithms of all grids.
const (
	MaxCells   = 1_000_000
	MaxTrials  = 10_000_000_000
	MaxEntries = 10_000
)

// grid is one block of the file, with the top level's keys where it has none of its own.
type Block struct {
	schemas.Grid
	File   *File
	Prefix string          // "grids[1]."; empty: the file has one grid
	own    map[string]bool // keys that stand in the block
	Sizes  []int64         // the sample sizes, ascending; nil where they are searched
}

// grids gives the blocks of the file; a file without grids is one block.
func (f *File) Grids() []*Block {
	if len(f.Sweep.Grids) == 0 {
		g := &Block{Grid: f.Sweep.Grid, File: f}
		g.sort()
		return []*Block{g}
	}
	var all []*Block
	for i, block := range f.Sweep.Grids {
		g := &Block{Grid: block, File: f, Prefix: fmt.Sprintf("grids[%d].", i), own: map[string]bool{}}
		top, own := reflect.ValueOf(f.Sweep.Grid), reflect.ValueOf(&g.Grid).Elem()
		for j := range own.NumField() {
			if own.Field(j).IsNil() {
				own.Field(j).Set(top.Field(j))
				continue
			}
			key, _, _ := strings.Cut(own.Type().Field(j).Tag.Get("yaml"), ",")
			g.own[key] = true
		}
		g.sort()
		all = append(all, g)
	}
	return all
}

func (g *Block) sort() {
	if g.N != nil {
		g.Sizes = slices.Sorted(slices.Values(g.N.List))
	}
	if g.File.Task() == schemas.TaskOnline {
		for _, t := range g.Rounds {
			g.Sizes = append(g.Sizes, int64(t))
		}
		slices.Sort(g.Sizes)
	}
}

// path is where the grid's key stands in the file: path("problem", "d") is "grids[1].problem.d" or "problem.d".
func (g *Block) Path(key string, inner ...string) string {
	path := strings.Join(append([]string{key}, inner...), ".")
	if g.own[key] {
		return g.Prefix + path
	}
	return path
}

// home is the path of the block, for what is missing in it.
func (g *Block) Home() string { return strings.TrimSuffix(g.Prefix, ".") }

// item is the path of the i-th value of the axis at path; a single value has no index.
func (f *File) Item(path string, i int) string {
	indexed := path + "[" + strconv.Itoa(i) + "]"
	if _, ok := f.Places[indexed]; ok {
		return indexed
	}
	return path
}

// together finds what does not fit together in a file whose single values are right.
func (f *File) together() Mistakes {
	var problems Mistakes
	for _, g := range f.Grids() {
		problems = append(problems, g.needed()...)
		problems = append(problems, g.sizes()...)
		problems = append(problems, g.foreign()...)
	}
	return problems
}

// needed finds missing keys.
func (g *Block) needed() Mistakes {
	var problems Mistakes
	missing := func(path, format string, args ...any) {
		problems = append(problems, g.File.Mistake(path, format, args...))
	}
	if g.Problem == nil {
		missing(g.Home(), `"problem" is needed`)
	}
	if len(g.Algorithms) == 0 {
		missing(g.Home(), `"algorithms" is needed`)
	}
	if g.File.Task() == schemas.TaskOnline {
		if len(g.Rounds) == 0 {
			missing(g.Home(), `"rounds" is needed: in task online it takes the place of n`)
		}
		if len(g.Adversary) == 0 {
			missing(g.Home(), `"adversary" is needed in task online: {kind: planted, rate: 0.05} plays points of the law, labelled by a target`)
		}
		return problems
	}
	if g.File.Task() == schemas.TaskPredict {
		if len(g.Queries) == 0 {
			missing(g.Home(), `"queries" is needed in task predict: how many are asked`)
		}
		if len(g.Adversary) == 0 {
			missing(g.Home(), `"adversary" is needed in task predict: {kind: stochastic} asks fresh points of the law`)
		}
	}
	if g.N == nil {
		missing(g.Home(), `"n" is needed: a list of sample sizes, or {find: true}`)
	}
	if g.Goal == nil {
		missing(g.Home(), `"goal" is needed: {alpha: 0.1, beta: 0.05} makes an excess error of at most 0.1 a success`)
		return problems
	}
	if len(g.Goal.Alpha) == 0 {
		missing(g.Path("goal"), `"alpha" is needed: the excess error that counts as success%s`, g.WholeKey("goal"))
	}
	if len(g.Goal.Beta) == 0 {
		missing(g.Path("goal"), `"beta" is needed: the failure probability allowed%s`, g.WholeKey("goal"))
	}
	return problems
}

// whole reminds that a block's key takes the place of the whole key at the top level.
func (g *Block) WholeKey(key string) string {
	if g.own[key] && g.File.Has(key) {
		return fmt.Sprintf(" (the %s of a block takes the place of the whole %s at the top level)", key, key)
	}
	return ""
}

func (f *File) Has(path string) bool { _, ok := f.Places[path]; return ok }

// sizes finds what does not fit in n and trials.
func (g *Block) sizes() Mistakes {
	if g.N == nil {
		return nil
	}
	var problems Mistakes
	blame := func(path, format string, args ...any) {
		problems = append(problems, g.File.Mistake(path, format, args...))
	}
	if len(g.Sizes) > 0 {
		if g.Trials != nil && g.Trials.Count == 0 {
			blame(g.Path("trials"), `{max: ...} belongs to "n: {find: true}"; with a list of n write the number of repetitions, "trials: %d"`, schemas.DefaultTrials)
		}
		return problems
	}
	if !g.N.Find {
		blame(g.Path("n", "find"), `find has to be true; for single sample sizes write a list, "n: [100, 1000]"`)
	}
	if g.Trials != nil && g.Trials.Max == 0 {
		blame(g.Path("trials"), `with "n: {find: true}" write the number of trials of one search, "trials: {max: %d}"`, schemas.DefaultMaxTrials)
	}
	if from, to := cmp.Or(g.N.From, schemas.DefaultFrom), cmp.Or(g.N.To, schemas.DefaultTo); from >= to {
		blame(g.Path("n"), "from %d is not below to %d", from, to)
	}
	return problems
}

// foreign finds keys of other tasks and classes.
func (g *Block) foreign() Mistakes {
	var problems Mistakes
	refuse := func(given bool, key, message string) {
		if given {
			problems = append(problems, g.File.Mistake(g.Path(key), "%s", message))
		}
	}
	task := g.File.Task()
	refuse(len(g.Queries) > 0 && task != "predict", "queries", "belongs to task predict")
	refuse(len(g.Rounds) > 0 && task != "online", "rounds", "belongs to task online; the rounds of an algorithm stand beside its use")
	refuse(len(g.Adversary) > 0 && task == "learn", "adversary", "belongs to the tasks predict and online")
	if g.Problem != nil {
		problems = append(problems, g.foreignToProblem(task)...)
	}
	refuse(g.N != nil && task == "online", "n", "rounds takes the place of n in task online")
	refuse(g.Goal != nil && task == "online", "goal", "does not apply to task online, which measures mistakes and regret")
	refuse(g.Trials != nil && g.Trials.Count == 0 && task == "online", "trials", "max belongs to a search for n*; write the number of sequences, \"trials: 20\"")
	return problems
}

// foreignToProblem finds keys and values of the problem that belong to other tasks and classes.
func (g *Block) foreignToProblem(task string) Mistakes {
	var problems Mistakes
	p := g.Problem
	if len(p.File) > 0 && !slices.Contains(p.Class, "matrix") {
		problems = append(problems, g.File.Mistake(g.Path("problem", "file"), "belongs to the class matrix; a dataset stands at problem.data.file"))
	}
	if len(p.Test) > 0 && task == schemas.TaskOnline {
		problems = append(problems, g.File.Mistake(g.Path("problem", "test"), "does not apply to task online, where every round is scored; leave it out"))
	}
	for i, class := range p.Class {
		if concept.InfiniteThresholds(class) && task != schemas.TaskOnline {
			problems = append(problems, g.File.Mistake(g.File.Item(g.Path("problem", "class"), i),
				"%s belongs to task online: no law on its infinitely many points is uniform, so there is nothing to draw samples from; take thresholds", class))
		}
	}
	return problems
}

// task is the task with its default.
func (f *File) Task() string { return cmp.Or(f.Sweep.Task, "learn") }

// seed is the seed with its default.
func (f *File) Seed() uint64 {
	if f.Sweep.Seed == nil {
		return schemas.DefaultSeed
	}
	return *f.Sweep.Seed
}

// rounds is the largest number of rounds of an online game, 0 in other tasks.
func (g *Block) MostRounds() int64 {
	if g.File.Task() != schemas.TaskOnline {
		return 0
	}
	return slices.Max(g.Sizes)
}
