package sweep

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/task"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/schemas"
)

// A Block is one grid of the file. It inherits missing keys from the top level.
type Block struct {
	schemas.Grid
	File   *File
	Prefix string  // prefix of the paths of its keys, such as "grids[1]."; empty if the file has one grid
	Sizes  []int64 // sample sizes or numbers of rounds, ascending; nil if n* is searched

	own map[string]bool // keys of the block itself
}

// Blocks returns the grids of the file. A file without the key grids is one block.
func (f *File) Blocks() []*Block {
	if len(f.Sweep.Grids) == 0 {
		b := &Block{Grid: f.Sweep.Grid, File: f}
		b.complete()
		return []*Block{b}
	}
	var all []*Block
	for i, grid := range f.Sweep.Grids {
		b := &Block{Grid: grid, File: f, Prefix: fmt.Sprintf("grids[%d].", i), own: map[string]bool{}}
		b.inherit(f.Sweep.Grid)
		b.complete()
		all = append(all, b)
	}
	return all
}

// inherit copies the keys of the top level that the block does not have.
func (b *Block) inherit(grid schemas.Grid) {
	top, own := reflect.ValueOf(grid), reflect.ValueOf(&b.Grid).Elem()
	for i := range own.NumField() {
		if own.Field(i).IsNil() {
			own.Field(i).Set(top.Field(i))
			continue
		}
		key, _, _ := strings.Cut(own.Type().Field(i).Tag.Get("yaml"), ",")
		b.own[key] = true
	}
}

// complete fills in what follows from the keys of the block.
func (b *Block) complete() {
	b.Sizes = b.sizes()
	if p := b.Problem; p != nil && p.Plugin != nil {
		p.Noise, p.Test = p.Plugin.Noise, p.Plugin.Test
	}
}

func (b *Block) sizes() (list []int64) {
	if b.N != nil {
		list = append(list, b.N.List...)
	}
	for _, rounds := range b.Rounds {
		list = append(list, int64(rounds))
	}
	slices.Sort(list)
	return list
}

// Path returns the path of a key of the block: Path("problem", "d") is "grids[1].problem.d", or "problem.d" if the
// block inherits the key.
func (b *Block) Path(key string, inner ...string) string {
	path := strings.Join(append([]string{key}, inner...), ".")
	if b.own[key] {
		return b.Prefix + path
	}
	return path
}

// Home returns the path of the block itself.
func (b *Block) Home() string { return strings.TrimSuffix(b.Prefix, ".") }

// HidesTopLevel returns a remark for messages about a value that is missing in a key of the block, if the key
// replaces one at the top level; otherwise "".
func (b *Block) HidesTopLevel(key string) string {
	if b.own[key] && b.File.Has(key) {
		return fmt.Sprintf(" (the %s of a block replaces the whole %s at the top level)", key, key)
	}
	return ""
}

// MostRounds returns the largest number of rounds; 0 if the task has none.
func (b *Block) MostRounds() int64 {
	most := 0
	for _, rounds := range b.Rounds { // empty if the key has a mistake
		most = max(most, rounds)
	}
	return int64(most)
}

// Sound reports whether the keys have no mistakes, in the block or at the top level.
func (b *Block) Sound(r *Reporter, keys ...string) bool {
	return !slices.ContainsFunc(keys, func(key string) bool { return !r.Sound(b.Path(key), b.Prefix+key) })
}

// checkTogether reports invalid combinations of valid values.
func (f *File) checkTogether(r *Reporter) {
	if !r.Readable() {
		return
	}
	for _, b := range f.Blocks() {
		if !r.wrongs.here[b.Home()] {
			b.checkNeeded(r)
			b.checkSizes(r)
			b.checkForeign(r)
		}
	}
}

// checkNeeded reports missing keys.
func (b *Block) checkNeeded(r *Reporter) {
	need := func(key, what string) {
		if !b.File.Has(b.Path(key)) && b.Sound(r, key) {
			r.Missing(b.Home(), key, "%q is needed%s", key, what)
		}
	}
	need("problem", "")
	need("algorithms", "")
	t := b.File.Task()
	for _, key := range t.Keys {
		if key.Need != "" && !(key.Path == "goal" && b.isCurve()) {
			need(key.Path, key.Need)
		}
	}
	switch {
	case t.GoalOptional && b.Search == nil && b.Goal != nil && b.Sound(r, "search"):
		r.At(b.Path("goal"), "in task %s a goal requires a search: add \"search: rounds\" to search the "+
			"number of rounds from which on the regret per round is at most alpha, or leave goal out", t.Name)
	case t.GoalOptional && b.Search != nil && b.Goal == nil && b.Sound(r, "goal"):
		r.Missing(b.Home(), "goal", `"goal" is needed to search: {alpha: 0.1, beta: 0.05} makes a regret of at most 0.1 per `+
			"round a success")
	case b.Goal != nil:
		b.checkGoal(r)
	}
}

// LacksGoal reports whether the block states no criterion of success, and no game provides one: errors
// are its result.
func (b *Block) LacksGoal() bool { return b.Goal == nil && !b.File.Task().Rounds() }

// isCurve reports whether the block measures errors at listed sample sizes and searches for nothing,
// so that it needs no goal.
func (b *Block) isCurve() bool {
	return len(b.Sizes) > 0 && b.Search == nil && b.File.Task().Decide == nil
}

// checkGoal reports missing keys of the goal.
func (b *Block) checkGoal(r *Reporter) {
	need := func(given bool, key, what string) {
		if path := b.Path("goal"); !given && r.Sound(JoinPath(path, key)) {
			r.Missing(path, key, "%q is needed: %s%s", key, what, b.HidesTopLevel("goal"))
		}
	}
	success := cmp.Or(b.File.Task().Success, task.Of("").Success)
	need(len(b.Goal.Alpha) > 0, "alpha", "the "+success+" that counts as success")
	need(len(b.Goal.Beta) > 0, "beta", "the allowed failure probability")
}

// checkSizes reports invalid combinations of n and trials.
func (b *Block) checkSizes(r *Reporter) {
	trials := b.Trials != nil && b.Sound(r, "trials")
	if t := b.File.Task(); t.Listed && b.Search == nil && b.N != nil && b.Sound(r, "n", "search") && len(b.Sizes) == 0 {
		r.At(b.Path("n"), `task %s searches no n: list sample sizes, "n: [100]"`, t.Name)
		return
	}
	if b.Search != nil || !b.Sound(r, "search") {
		b.checkSearch(r, trials)
		return
	}
	if b.N == nil || !r.Sound(b.Path("n", "from"), b.Path("n", "to")) {
		return
	}
	if len(b.Sizes) > 0 {
		if trials && b.Trials.Count == 0 {
			r.At(b.Path("trials"), `{max: ...} belongs to a search, "n: {from: 16, to: 1e6}"; with a list of n write the `+
				`number of repetitions, "trials: %d"`, schemas.DefaultTrials)
		}
		return
	}
	if trials && b.Trials.Max == 0 {
		r.At(b.Path("trials"), `with a search for n* write the number of trials of one search, "trials: {max: %d}"`,
			schemas.DefaultMaxTrials)
	}
	if from, to := cmp.Or(b.N.From, schemas.DefaultFrom), cmp.Or(b.N.To, schemas.DefaultTo); from >= to {
		r.At(b.Path("n"), "from %d is not below to %d", from, to)
	}
}

// checkSearch reports keys that contradict a search over another number than n. trials reports whether the key trials
// is present and valid.
func (b *Block) checkSearch(r *Reporter, trials bool) {
	if !b.Sound(r, "search") {
		return
	}
	if t := b.File.Task(); t.Listed {
		r.At(b.Path("search"), "does not apply to task %s, which searches nothing; leave it out", t.Name)
		return
	}
	if b.N != nil && b.Sound(r, "n") && len(b.Sizes) == 0 {
		r.At(b.Path("n"), `%s is searched at a given n, so n cannot be searched too: write the sample sizes, "n: [2000]", `+
			"or remove search", wording.Shorten(b.Search.Axis))
	}
	if trials && b.Trials.Max == 0 {
		r.At(b.Path("trials"), `with search write the number of trials of one search, "trials: {max: %d}"`,
			schemas.DefaultMaxTrials)
	}
}

// Sequential reports whether the sequential rule determines the number of evaluation points per trial.
func (b *Block) Sequential() bool {
	return b.Goal != nil && b.Goal.Evaluation == schemas.EvaluationSequential
}

// checkForeign reports keys and values that belong to other tasks and classes.
func (b *Block) checkForeign(r *Reporter) {
	own := b.File.Task()
	for _, key := range task.Keys() {
		parts := strings.Split(key.Path, ".")
		if path := b.Path(parts[0], parts[1:]...); !own.Takes(key.Path) && b.File.Has(path) {
			r.At(path, "%s", cmp.Or(own.Instead[key.Path], belongs(key)))
		}
	}
	problem := cmp.Or(b.Problem, new(schemas.ProblemSpec))
	if len(problem.File) > 0 && r.Sound(b.Path("problem", "class")) && !slices.ContainsFunc(problem.Class, givenByFile) {
		r.At(b.Path("problem", "file"), "belongs to the class matrix; for a dataset use problem.data.file")
	}
	if problem.Plugin != nil && (own.Adversary || own.Private) {
		r.At(b.Path("problem", "use"), "a problem of a plugin belongs to task learn: the other tasks need a class of "+
			"Shatter with a list of its hypotheses, or a file of data; use class, or data")
	}
	if own.Rounds() {
		if b.Trials != nil && b.Trials.Count == 0 && b.Search == nil && b.Sound(r, "trials") {
			r.At(b.Path("trials"), `max belongs to a search; write the number of sequences, "trials: 20"`)
		}
		return
	}
	b.checkInfinite(r, problem.Class)
}

// belongs states which tasks a key belongs to.
func belongs(key task.Key) string {
	var names []string
	for _, t := range task.All() {
		if t.Takes(key.Path) {
			names = append(names, t.Name)
		}
	}
	words := "belongs to task " + names[0]
	if len(names) > 1 {
		words = "belongs to the tasks " + wording.And(names)
	}
	if key.Note != "" {
		words += ", " + key.Note
	}
	return words
}

// checkInfinite reports classes that only task online can use.
func (b *Block) checkInfinite(r *Reporter, classes []string) {
	for i, class := range classes {
		if concept.InfiniteThresholds(class) {
			r.At(b.File.Item(b.Path("problem", "class"), i), "%s belongs to task online: its infinitely many points have no "+
				"uniform distribution to draw samples from; use thresholds", class)
		}
	}
}

// givenByFile reports whether a class is read from a file.
func givenByFile(class string) bool {
	d, ok := concept.Lookup(class)
	return ok && d.Shape == concept.Column
}
