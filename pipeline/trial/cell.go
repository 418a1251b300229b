package trial

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shatterlab/shatter/pipeline/audit"
	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/task"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// A Cell is one point of the grid: it fixes every parameter except the sample size and the repetition. Jobs contain it,
// so it holds everything that a worker needs to run its trials, except the data file, which has a digest.
type Cell struct {
	Key      Key // identity of the cell
	DataKey  Key // for targets, points, label noise and test points; from seed and problem
	NoiseKey Key // for the algorithm's randomness; from seed and Key without the sequential rule

	AdversaryKey Key `json:",omitzero"` // for the adversary's randomness; from seed, problem and adversary

	Task    string            // name of the task: see Kind
	Problem *schemas.Problem  // shared with other cells: do not change it
	Public  *pluginv1.Problem `json:",omitzero"` // the part of the problem that algorithms may know

	Queries   int                `json:",omitzero"` // T, the number of queries per trial
	Adversary *schemas.Adversary `json:",omitzero"` // nil: the task has none

	Algorithm string // name in the plugin
	As        string // name in the sweep file
	Version   string `json:"-"`         // version of the algorithm, only for display
	Plugin    string `json:",omitzero"` // absolute path of the plugin file; empty: built in
	Params    Params // with defaults filled in
	Replica   int    `json:",omitzero"`

	Private bool    `json:",omitzero"` // the algorithm states a guarantee; if not, Epsilon and Delta are 0
	Pure    bool    `json:",omitzero"` // pure differential privacy; Delta is 0
	Means   bool    `json:",omitzero"` // answers to points may be means of labels; false: labels
	Epsilon float64 `json:",omitzero"` // 0: does not apply
	Delta   float64 `json:",omitzero"` // 0: does not apply

	Alpha     float64 // success: error - Reference <= Alpha
	Beta      float64 // allowed failure probability
	Reference float64 `json:",omitzero"` // reference error

	States string `json:",omitzero"` // task predict: a value of goal.states, the states whose error counts; else ""

	N         []int64 `json:",omitzero"` // list mode: sample sizes or, in task online, numbers of rounds; ascending
	Trials    int     `json:",omitzero"` // list mode: repetitions per sample size
	Find      *Find   `json:",omitzero"` // find mode
	MaxTrials int64   `json:",omitzero"` // find mode and rungs: limit of the trials of the search
	Rung      *Rung   `json:"-"`         // search over another number than n, at size N[0]; workers do not need it
	Limits    Limits  `json:",omitzero"`

	Axes []string `json:"-"` // columns in which cells of the algorithm differ: see NameAxes

	Metrics    []string            // names of the metrics of algorithm and task, ascending
	Bounds     Bounds              `json:"-"` // workers do not need them
	Guarantee  *pluginv1.Guarantee `json:"-"` // nil: not private; workers do not need it
	Evaluation *problem.Evaluation // shared with other cells: do not change it; zero in task online
	Prior      *Prior              `json:"-"` // nil: unknown, or trials cannot succeed; workers do not need it
	Population *Population         `json:"-"` // nil without real data; workers do not need it
}

// AllParams returns the parameters of the algorithm and, if a plugin draws the problem, the parameters of the problem.
// The plan ensures that no name is in both.
func (c *Cell) AllParams() Params {
	if c.Problem.Plugin == nil {
		return c.Params
	}
	all := maps.Clone(c.Params)
	maps.Copy(all, c.Problem.Plugin.Params)
	return all
}

// Param returns the value of one of AllParams, or nil.
func (c *Cell) Param(name string) any {
	if v, ok := c.Params[name]; ok || c.Problem.Plugin == nil {
		return v
	}
	return c.Problem.Plugin.Params[name]
}

// A Prior describes how well a learner without data does on a cell's problem. It does not enter the key.
type Prior struct {
	Success float64 // probability of success
	Drawn   bool    // the target is drawn for each trial; false: the cell is a calibration
	Limit   float64 `json:",omitzero"` // upper bound on the success of any function; 0: unknown
}

// A Population describes the data of a cell. It does not enter the key.
type Population struct {
	Positive float64  // share of rows with label +1
	Pulled   float64  // share of rows outside the stated scale, which were scaled back onto it
	Missing  float64  `json:",omitzero"`  // share of the file's rows that were dropped, or of the cells that were filled
	Report   []string `json:",omitempty"` // description of the file for people
}

// ConstantError returns the error of the better of the two constant hypotheses.
func (p *Population) ConstantError() float64 { return min(p.Positive, 1-p.Positive) }

func (p *Population) String() string {
	words := fmt.Sprintf("%s of the rows are positive, so a constant hypothesis has error %s",
		wording.Percent(p.Positive), wording.Percent(p.ConstantError()))
	if p.Pulled > 0 {
		words += "; " + wording.Percent(p.Pulled) + " are scaled back onto the stated scale"
	}
	return words
}

// Trivial reports whether a learner without data succeeds often enough, so that the n* of the cell is meaningless.
func (c *Cell) Trivial() bool {
	return c.Prior != nil && c.Prior.Drawn && c.CanSucceed() && c.Beta > 0 && c.Prior.Success >= 1-c.Beta
}

// DescribePrior describes how well a learner without data does; "" if unknown.
func (c *Cell) DescribePrior() string {
	switch {
	case c.Prior == nil:
		return ""
	case !c.Prior.Drawn:
		return "the target is the same in all trials: a calibration, which a program that knows it passes without data"
	}
	share := wording.Percent(c.Prior.Success)
	return fmt.Sprintf("a learner without data succeeds in %s of trials at alpha %v", share, c.Alpha)
}

// A Find configures the search for n*, the least n in [From, To] that suffices. The search ends when the ratio of the
// bracket's ends is at most Within. All brackets of the table are right with probability at least Confidence.
type Find struct {
	From       int64   `json:"from"`
	To         int64   `json:"to"`
	Within     float64 `json:"within"`
	Confidence float64 `json:"confidence"`
	Step       int64   `json:"step,omitempty"`     // the search considers only multiples of it; 0: all sizes
	Monotone   bool    `json:"monotone,omitempty"` // skip the trials that test whether success drops outside the bracket
}

// Searched reports whether a search chooses the trials of the cell.
func (c *Cell) Searched() bool { return c.Find != nil || c.Rung != nil }

// Repetitions returns the maximal number of repetitions of the cell at one sample size.
func (c *Cell) Repetitions() int64 {
	if c.Searched() {
		return c.MaxTrials
	}
	return int64(c.Trials)
}

// Limits are the resource limits of one trial. A trial that exceeds one is lost, and is not an outcome.
type Limits struct {
	Trial  time.Duration `json:"trial"`  // wall time
	Start  time.Duration `json:"start"`  // wall time in which the plugin process gets ready
	Memory int64         `json:"memory"` // resident bytes of the plugin process
}

// Kind returns the cell's task.
func (c *Cell) Kind() *task.Task { return task.Of(c.Task) }

// Claim returns the guarantee that an audit of the cell tests, in a table with that many cells.
func (c *Cell) Claim(cells int) audit.Claim {
	return audit.Claim{
		Epsilon: c.Guarantee.GetEpsilon(), Delta: c.Guarantee.GetDelta(), Mu: c.Guarantee.GetMu(), Rho: c.Guarantee.GetRho(),
		Sizes: c.N, Trials: c.Trials, Confidence: estimate.ListConfidence, Cells: cells,
	}
}

// Code names the program that runs the cell's trials: the absolute path of a plugin, or the name of a built-in
// algorithm, because each built-in algorithm has an identity of its own.
func (c *Cell) Code() string {
	if c.Plugin != "" {
		return c.Plugin
	}
	return c.Algorithm
}

// TrialID identifies a trial of the cell: key.Short()/n/repetition.
func (c *Cell) TrialID(n, rep int64) string {
	return c.Key.Short() + "/" + strconv.FormatInt(n, 10) + "/" + strconv.FormatInt(rep, 10)
}

// SetKeys computes the keys from the other fields, the seed of the sweep, and the canonical JSON of the whole
// problem, of the part that its sample depends on (schemas.Problem.Sampled) and of the parameters.
func (c *Cell) SetKeys(seed SweepSeed, whole, sampled, params Fragment) (err error) {
	if sampled, err = c.Rung.Sampled(sampled); err != nil {
		return err
	}
	if c.DataKey, err = seed.DataKey(sampled); err != nil {
		return err
	}
	var adversary Fragment
	if c.Adversary != nil {
		if adversary, err = Canonical(c.Adversary); err != nil {
			return err
		}
	}
	if c.Key, err = KeyOf(c.identity(whole, params, adversary, c.Evaluation.Words)); err != nil {
		return err
	}
	noiseCell := c.Key
	if words, sequential := problem.AllRead(c.Evaluation.Words); sequential {
		if noiseCell, err = KeyOf(c.identity(whole, params, adversary, words)); err != nil {
			return err
		}
	}
	if c.NoiseKey, err = seed.noiseKey(noiseCell); err != nil || c.Adversary == nil {
		return err
	}
	c.AdversaryKey, err = seed.adversaryKey(sampled, adversary)
	return err
}

// Names of a key's members that a sweep file calls reference and search. Other names would give every trial other
// random numbers, and so other results in all documents.
const (
	keyReference = "above"
	keySearch    = "find"
)

// ProbeFormat is the version of the measurement of states before the final one.
const ProbeFormat = 2

// identity returns the object that Key is the hash of, for an evaluation in words.
func (c *Cell) identity(whole, params, adversary Fragment, evaluation string) map[string]any {
	id := map[string]any{
		"format": Format, "task": c.Task, "problem": whole, "algorithm": c.Algorithm, "params": params,
		"epsilon": c.Epsilon, "delta": c.Delta, "alpha": c.Alpha, "beta": c.Beta, keyReference: c.Reference,
		"replica": c.Replica,
	}
	if c.Adversary != nil {
		id["adversary"], id["queries"] = adversary, c.Queries
	}
	if c.Means {
		id["answers"] = schemas.AnswersMean
	}
	if evaluation != "" && evaluation != "exact" {
		id["evaluation"] = evaluation
	}
	if Probes(c.States) {
		id["states"], id["probes"] = c.States, ProbeFormat
	}
	if c.Rung != nil {
		id[keySearch], id["n"] = c.Rung.Axis, c.N[0]
	}
	return id
}

// Probes reports whether errors of states before the final one count, given goal.states ("" for tasks other than
// predict).
func Probes(states string) bool { return states != "" && states != schemas.StatesFinal }

// Description describes the cell for display: its algorithm and the main parameters of its problem.
func (c *Cell) Description() string {
	p := c.Problem
	parts := []string{c.As + " on " + p.Class}
	for _, x := range []struct {
		name  string
		value any
		given bool
	}{
		{"", p.Distribution, p.Distribution != ""}, {"domain", p.Domain, p.Domain > 0}, {"d", p.Dim, p.Dim > 0},
		{"margin", p.Margin, p.Margin > 0}, {"noise", p.Noise.Rate, p.Noise.Rate > 0}, {"epsilon", c.Epsilon, c.Epsilon > 0},
	} {
		if x.given {
			parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %v", x.name, x.value)))
		}
	}
	for _, k := range axisColumns {
		if slices.Contains(c.Axes, k.Name) && !slices.Contains(described, k.Name) && k.Value(c) != nil {
			parts = append(parts, fmt.Sprintf("%s %v", k.Name, k.Value(c)))
		}
	}
	for _, name := range c.Axes {
		if name, ok := strings.CutPrefix(name, schemas.ParamPrefix); ok && c.Param(name) != nil {
			parts = append(parts, fmt.Sprintf("%s %v", name, c.Param(name)))
		}
	}
	return strings.Join(parts, ", ")
}

// described lists the columns that the description of every cell has.
var described = []string{"class", "distribution", "domain", "d", "margin", "noise_rate", "epsilon"}

// axisColumns holds the columns of the axes of a sweep, except parameters.
var axisColumns = append(slices.DeleteFunc(KeyColumns(), func(k KeyColumn) bool { return k.Has(Derived) }),
	whole(0, "test", "", func(c *Cell) int64 { return int64(c.Problem.Test) }),
	whole(0, "n", "", func(c *Cell) int64 {
		if c.Rung == nil || c.Rung.OverRounds() {
			return 0
		}
		return c.N[0]
	}))

// NameAxes sets the Axes of the cells of a sweep.
func NameAxes(cells []*Cell) {
	axes, first := map[string][]string{}, map[string]*Cell{} // algorithm to columns, and to its first cell
	for _, c := range cells {
		other := first[c.As]
		if other == nil {
			first[c.As] = c
			continue
		}
		add := func(name string, differs func() bool) {
			if !slices.Contains(axes[c.As], name) && differs() {
				axes[c.As] = append(axes[c.As], name)
			}
		}
		for _, k := range axisColumns {
			add(k.Name, func() bool { return k.Value(c) != k.Value(other) })
		}
		for name, value := range c.AllParams() {
			add(schemas.ParamPrefix+name, func() bool { return value != other.Param(name) })
		}
	}
	for _, c := range cells {
		slices.Sort(axes[c.As])
		c.Axes = axes[c.As]
	}
}

// DescriptionAt describes the cell at a sample size.
func (c *Cell) DescriptionAt(n int64) string { return fmt.Sprintf("%s, n = %d", c.Description(), n) }
