package sweep

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/schemas"
)

// Block is one grid of the file. It has the top level's keys where it has none of its own.
type Block struct {
	schemas.Grid
	File   *File
	Prefix string  // of the paths of its keys, "grids[1]."; empty where the file has one grid
	Sizes  []int64 // sample sizes, or the numbers of rounds of task online, ascending; nil where n* is searched

	own map[string]bool // keys that stand in the block itself
}

// Blocks returns the grids of the file. A file without the key grids is one block.
func (f *File) Blocks() []*Block {
	if len(f.Sweep.Grids) == 0 {
		b := &Block{Grid: f.Sweep.Grid, File: f}
		b.Sizes = b.sizes()
		return []*Block{b}
	}
	var all []*Block
	for i, grid := range f.Sweep.Grids {
		b := &Block{Grid: grid, File: f, Prefix: fmt.Sprintf("grids[%d].", i), own: map[string]bool{}}
		b.inherit(f.Sweep.Grid)
		b.Sizes = b.sizes()
		all = append(all, b)
	}
	return all
}

// inherit takes the keys of the top level that the block does not have.
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

func (b *Block) sizes() (list []int64) {
	if b.N != nil {
		list = append(list, b.N.List...)
	}
	if b.Online() {
		for _, rounds := range b.Rounds {
			list = append(list, int64(rounds))
		}
	}
	slices.Sort(list)
	return list
}

// Path returns where a key of the block stands in the file: Path("problem", "d") is
// "grids[1].problem.d", or "problem.d" where the block has it from the top level.
func (b *Block) Path(key string, inner ...string) string {
	path := strings.Join(append([]string{key}, inner...), ".")
	if b.own[key] {
		return b.Prefix + path
	}
	return path
}

// Home returns the path of the block itself, for what is missing in it.
func (b *Block) Home() string { return strings.TrimSuffix(b.Prefix, ".") }

// HidesTopLevel returns a remark for messages about something that is missing in a key of the
// block, where the key takes the place of the one at the top level; otherwise nothing.
func (b *Block) HidesTopLevel(key string) string {
	if b.own[key] && b.File.Has(key) {
		return fmt.Sprintf(" (the %s of a block takes the place of the whole %s at the top level)", key, key)
	}
	return ""
}

// Online reports whether the task is online.
func (b *Block) Online() bool { return b.File.Task() == schemas.TaskOnline }

// MostRounds returns the largest number of rounds of task online, and 0 in other tasks.
func (b *Block) MostRounds() int64 {
	if !b.Online() {
		return 0
	}
	most := int64(0)
	for _, rounds := range b.Sizes { // none where the key is wrong
		most = max(most, rounds)
	}
	return most
}

// Sound reports whether no mistake has been found in what the block has under any of the keys, its
// own or the top level's.
func (b *Block) Sound(r *Reporter, keys ...string) bool {
	return !slices.ContainsFunc(keys, func(key string) bool { return !r.Sound(b.Path(key), b.Prefix+key) })
}

// checkTogether reports what does not fit together in a file, as far as its single values are right.
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
	need := func(given bool, key, what string) {
		if !given && b.Sound(r, key) {
			r.Missing(b.Home(), key, "%q is needed%s", key, what)
		}
	}
	need(b.Problem != nil, "problem", "")
	need(len(b.Algorithms) > 0, "algorithms", "")
	switch b.File.Task() {
	case schemas.TaskOnline:
		need(len(b.Rounds) > 0, "rounds", ": in task online it takes the place of n")
		need(len(b.Adversary) > 0, "adversary",
			" in task online: {kind: planted, rate: 0.05} plays points of the law, labelled by a target")
		b.checkGameGoal(r)
		return
	case schemas.TaskPredict:
		need(len(b.Queries) > 0, "queries", " in task predict: how many are asked")
		need(len(b.Adversary) > 0, "adversary", " in task predict: {kind: stochastic} asks fresh points of the law")
	}
	need(b.N != nil, "n", ": a list of sample sizes, or {find: true}")
	need(b.Goal != nil, "goal", ": {alpha: 0.1, beta: 0.05} makes an excess error of at most 0.1 a success")
	if b.Goal != nil {
		b.checkGoal(r)
	}
}

// checkGameGoal reports a search over games that lacks a goal, and a goal that lacks a search.
func (b *Block) checkGameGoal(r *Reporter) {
	switch {
	case b.Find == nil && b.Goal != nil:
		r.At(b.Path("goal"), "in task online it says what a success is for a search: add \"find: rounds\" to search the "+
			"number of rounds from which on the regret per round is at most alpha, or leave goal out")
	case b.Find != nil && b.Goal == nil && b.Sound(r, "goal"):
		r.Missing(b.Home(), "goal", `"goal" is needed to search: {alpha: 0.1, beta: 0.05} makes a regret of at most 0.1 per `+
			"round a success")
	case b.Goal != nil:
		b.checkGoal(r)
	}
}

// checkGoal reports what is missing in the goal.
func (b *Block) checkGoal(r *Reporter) {
	need := func(given bool, key, what string) {
		if path := b.Path("goal"); !given && r.Sound(JoinPath(path, key)) {
			r.Missing(path, key, "%q is needed: %s%s", key, what, b.HidesTopLevel("goal"))
		}
	}
	what := "the excess error that counts as success"
	if b.Online() {
		what = "the regret per round that counts as success"
	}
	need(len(b.Goal.Alpha) > 0, "alpha", what)
	need(len(b.Goal.Beta) > 0, "beta", "the failure probability allowed")
}

// checkSizes reports what does not fit in n and trials.
func (b *Block) checkSizes(r *Reporter) {
	trials := b.Trials != nil && b.Sound(r, "trials")
	if b.Find != nil {
		b.checkFind(r, trials)
		return
	}
	if b.N == nil || !b.Sound(r, "n") {
		return
	}
	if len(b.Sizes) > 0 {
		if trials && b.Trials.Count == 0 {
			r.At(b.Path("trials"), `{max: ...} belongs to "n: {find: true}"; with a list of n write the number of `+
				`repetitions, "trials: %d"`, schemas.DefaultTrials)
		}
		return
	}
	if !b.N.Find {
		r.At(b.Path("n", "find"), `find has to be true; for single sample sizes write a list, "n: [100, 1000]"`)
	}
	if trials && b.Trials.Max == 0 {
		r.At(b.Path("trials"), `with "n: {find: true}" write the number of trials of one search, "trials: {max: %d}"`,
			schemas.DefaultMaxTrials)
	}
	if from, to := cmp.Or(b.N.From, schemas.DefaultFrom), cmp.Or(b.N.To, schemas.DefaultTo); from >= to {
		r.At(b.Path("n"), "from %d is not below to %d", from, to)
	}
}

// checkFind reports what does not fit beside a search over another number than n. trials says that
// there is a sound key of that name.
func (b *Block) checkFind(r *Reporter, trials bool) {
	if !b.Sound(r, "find") {
		return
	}
	if b.N != nil && b.Sound(r, "n") && len(b.Sizes) == 0 {
		r.At(b.Path("n"), `find searches %s at a given n, so n cannot be searched too: write the sample sizes, "n: [2000]", `+
			"or remove find", Shorten(b.Find.Axis))
	}
	if trials && b.Trials.Max == 0 {
		r.At(b.Path("trials"), `with find write the number of trials of one search, "trials: {max: %d}"`,
			schemas.DefaultMaxTrials)
	}
}

// Sequential reports whether the sequential rule decides how many points trials are asked about.
func (b *Block) Sequential() bool {
	return b.Goal != nil && b.Goal.Evaluation == schemas.EvaluationSequential
}

// checkForeign reports keys and values of other tasks and classes.
func (b *Block) checkForeign(r *Reporter) {
	task := b.File.Task()
	learn, predict, online := task == schemas.TaskLearn, task == schemas.TaskPredict, b.Online()
	goal, problem := cmp.Or(b.Goal, new(schemas.Goal)), cmp.Or(b.Problem, new(schemas.ProblemSpec))
	class := r.Sound(b.Path("problem", "class"))
	for _, x := range []struct {
		foreign      bool
		path, remedy string
	}{
		{len(b.Queries) > 0 && !predict, b.Path("queries"), "belongs to task predict"},
		{len(b.Rounds) > 0 && !online, b.Path("rounds"),
			"belongs to task online; the rounds of an algorithm stand beside its use"},
		{len(b.Adversary) > 0 && learn, b.Path("adversary"), "belongs to the tasks predict and online"},
		{len(goal.Above) > 0 && online, b.Path("goal", "above"), "does not apply to task online, where the reference is " +
			"the best hypothesis in hindsight; leave it out"},
		{len(goal.States) > 0 && !predict, b.Path("goal", "states"),
			"belongs to task predict, where the state changes with each answer; leave it out"},
		{goal.Evaluation != "" && !learn, b.Path("goal", "evaluation"),
			"belongs to task learn, where a trial has one error; leave it out"},
		{goal.Answers != "" && online, b.Path("goal", "answers"),
			"does not apply to task online, where answers are means of labels"},
		{len(problem.File) > 0 && class && !slices.ContainsFunc(problem.Class, givenByFile), b.Path("problem", "file"),
			"belongs to the class matrix; a dataset stands at problem.data.file"},
		{len(problem.Test) > 0 && online, b.Path("problem", "test"),
			"does not apply to task online, where every round is scored; leave it out"},
		{b.N != nil && online, b.Path("n"), `not allowed in task online; list the game lengths under "rounds" instead`},
		{b.Trials != nil && b.Trials.Count == 0 && online && b.Find == nil && b.Sound(r, "trials"), b.Path("trials"),
			`max belongs to a search; write the number of sequences, "trials: 20"`},
	} {
		if x.foreign {
			r.At(x.path, "%s", x.remedy)
		}
	}
	if !online {
		b.checkInfinite(r, problem.Class)
	}
}

// checkInfinite reports classes that only task online can use.
func (b *Block) checkInfinite(r *Reporter, classes []string) {
	for i, class := range classes {
		if concept.InfiniteThresholds(class) {
			r.At(b.File.Item(b.Path("problem", "class"), i), "%s belongs to task online: no law on its infinitely many "+
				"points is uniform, so there is nothing to draw samples from; take thresholds", class)
		}
	}
}

// givenByFile reports whether a class is read from a file.
func givenByFile(class string) bool {
	d, ok := concept.Lookup(class)
	return ok && d.Shape == concept.Column
}
