package trial

import (
	"fmt"
	"strconv"
	"time"

	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/task"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// Cell is one point of the grid: every parameter fixed but the sample size and the repetition. It
// holds everything that a worker needs to run trials of it but the data file, which is found by its
// digest; it travels inside jobs.
type Cell struct {
	Key      Key // identity
	DataKey  Key // seed and problem: target, points, label noise, test points
	NoiseKey Key // seed and Key, as if all points were read: the algorithm's own randomness

	AdversaryKey Key `json:",omitzero"` // seed, problem and adversary: the adversary's own randomness; task predict

	Task    string            // its name: see Kind
	Problem *schemas.Problem  // shared with other cells: do not change it
	Public  *pluginv1.Problem // what algorithms may know of the problem

	Queries   int                `json:",omitzero"` // T, how many queries each trial is asked
	Adversary *schemas.Adversary `json:",omitzero"` // asks or plays; nil: the task has none

	Algorithm string // as the plugin names it
	As        string // as the sweep file names it
	Version   string `json:"-"`         // of the algorithm, for people; outcomes go by the identity of what ran
	Plugin    string `json:",omitzero"` // absolute path of its file; empty: built in
	Params    Params // resolved
	Replica   int    `json:",omitzero"`

	Private bool    `json:",omitzero"` // states a guarantee; else Epsilon and Delta do not apply and are 0
	Pure    bool    `json:",omitzero"` // pure differential privacy; then Delta does not apply and is 0
	Means   bool    `json:",omitzero"` // learn, predict: answers to points are means of labels; else labels
	Epsilon float64 `json:",omitzero"` // 0: does not apply
	Delta   float64 `json:",omitzero"` // 0: does not apply

	Alpha float64 // success: error - Above <= Alpha
	Beta  float64 // failure probability allowed
	Above float64 `json:",omitzero"` // the reference error, resolved

	States string `json:",omitzero"` // predict: whose error counts, one of the values of goal.states; else ""

	N         []int64 `json:",omitzero"` // list mode: the sample sizes, or in task online the numbers of rounds, ascending
	Trials    int     `json:",omitzero"` // list mode: repetitions per sample size
	Find      *Find   `json:",omitzero"` // find mode
	MaxTrials int64   `json:",omitzero"` // find mode, and of a rung: trials that the search may consume
	Rung      *Rung   `json:"-"`         // of a search over another number than n, whose size N holds; no worker needs it
	Limits    Limits  `json:",omitzero"`

	Metrics    []string            // that the algorithm declares, and those of the task, ascending
	Bounds     Bounds              `json:"-"` // workers need them not
	Guarantee  *pluginv1.Guarantee `json:"-"` // nil: not private; workers need it not
	Evaluation *problem.Evaluation // how errors are measured: shared with other cells; the zero value in task online
	Prior      *Prior              `json:"-"` // nil: not known, or trials do not succeed; workers need it not
	Population *Population         `json:"-"` // nil for a law; workers need it not
}

// Prior is what a learner without data reaches on the problem of a cell. It is no part of the key.
type Prior struct {
	Success float64 // the probability with which it succeeds
	Drawn   bool    // the target is drawn for each trial; else the cell is a calibration
}

// Population says what the data of a cell are like. It is no part of the key.
type Population struct {
	Positive float64 // share of the rows whose label is +1
	Pulled   float64 // share of the rows that lay beyond the stated scale and were pulled back onto it
}

// ConstantError returns the error of the better one of the two constants.
func (p *Population) ConstantError() float64 { return min(p.Positive, 1-p.Positive) }

// String says it in words.
func (p *Population) String() string {
	words := fmt.Sprintf("%s of the rows are positive, so that a constant errs on %s",
		wording.Percent(p.Positive), wording.Percent(p.ConstantError()))
	if p.Pulled > 0 {
		words += "; " + wording.Percent(p.Pulled) + " are pulled back onto the stated scale"
	}
	return words
}

// Trivial reports whether a learner without data succeeds as often as n* asks for, so that n* of the
// cell would say nothing of data.
func (c *Cell) Trivial() bool {
	return c.Prior != nil && c.Prior.Drawn && c.CanSucceed() && c.Beta > 0 && c.Prior.Success >= 1-c.Beta
}

// WithoutData says in words what a learner without data reaches in the cell; "" where that is not
// known.
func (c *Cell) WithoutData() string {
	switch {
	case c.Prior == nil:
		return ""
	case !c.Prior.Drawn:
		return "the target is the same in all trials: a calibration, which a program that knows it passes without data"
	}
	share := wording.Percent(c.Prior.Success)
	return fmt.Sprintf("a learner without data succeeds in %s of trials at alpha %v", share, c.Alpha)
}

// Find says how n* is searched: the least n in [From, To] that succeeds, to a bracket of ratio at
// most Within, where the whole table is right with probability Confidence.
type Find struct {
	From       int64   `json:"from"`
	To         int64   `json:"to"`
	Within     float64 `json:"within"`
	Confidence float64 `json:"confidence"`
	Step       int64   `json:"step,omitempty"`     // only multiples of it are looked at; 0: all sizes
	Monotone   bool    `json:"monotone,omitempty"` // no trials look for a fall of success outside of the bracket
}

// Searched reports whether a search chooses which trials of the cell are run.
func (c *Cell) Searched() bool { return c.Find != nil || c.Rung != nil }

// Repetitions returns the number of repetitions that the cell may have at a sample size.
func (c *Cell) Repetitions() int64 {
	if c.Searched() {
		return c.MaxTrials
	}
	return int64(c.Trials)
}

// Limits bound one trial on a machine. Exceeding one loses the trial; it never counts as an
// outcome.
type Limits struct {
	Trial  time.Duration `json:"trial"`  // wall time
	Memory int64         `json:"memory"` // resident bytes of the plugin process
}

// Kind returns the cell's task.
func (c *Cell) Kind() *task.Task { return task.Of(c.Task) }

// Code names what runs the cell's trials: the absolute path of a plugin, or the name of a built-in
// algorithm. The built-in algorithms are told apart because each has an identity of its own.
func (c *Cell) Code() string {
	if c.Plugin != "" {
		return c.Plugin
	}
	return c.Algorithm
}

// TrialID names one trial of the cell: first 10 hex digits of its key, n, repetition.
func (c *Cell) TrialID(n, rep int64) string {
	return c.Key.Short() + "/" + strconv.FormatInt(n, 10) + "/" + strconv.FormatInt(rep, 10)
}

// SetKeys computes the keys of the cell but DataKey from its other fields, the seed of the sweep, and
// the canonical JSON of its whole problem, of what its sample depends on (schemas.Problem.Sampled)
// and of its parameters.
func (c *Cell) SetKeys(seed SweepSeed, whole, sampled, params Fragment) (err error) {
	if c.Key, err = KeyOf(c.identity(whole, params, c.Evaluation.Words)); err != nil {
		return err
	}
	noisy := c.Key
	if words, sequential := problem.AllRead(c.Evaluation.Words); sequential {
		if noisy, err = KeyOf(c.identity(whole, params, words)); err != nil {
			return err
		}
	}
	if c.NoiseKey, err = seed.noiseKey(noisy); err != nil || c.Adversary == nil {
		return err
	}
	c.AdversaryKey, err = seed.adversaryKey(sampled, c.Adversary)
	return err
}

// identity returns what the key of the cell is the key of, if evaluation is how errors are measured.
func (c *Cell) identity(whole, params Fragment, evaluation string) Object {
	id := c.Members(make(Object, 0, 16), params).With("format", Format).With("task", c.Task).With("problem", whole)
	if evaluation != "" && evaluation != "exact" {
		id = id.With("evaluation", evaluation)
	}
	if c.Rung != nil {
		id = id.With("find", c.Rung.Axis).With("n", c.N[0])
	}
	return id
}

// Members appends to o what of a cell stands beside its task and its problem, in its key and in
// resolved sweeps. params are its parameters in any form.
func (c *Cell) Members(o Object, params any) Object {
	o = o.With("above", c.Above)
	if c.Adversary != nil {
		o = o.With("adversary", c.Adversary)
	}
	o = o.With("algorithm", c.Algorithm).With("alpha", c.Alpha)
	if c.Means {
		o = o.With("answers", schemas.AnswersMean)
	}
	o = o.With("beta", c.Beta).With("delta", c.Delta).With("epsilon", c.Epsilon).With("params", params)
	if c.Adversary != nil {
		o = o.With("queries", c.Queries)
	}
	o = o.With("replica", c.Replica)
	if c.Probes() {
		o = o.With("states", c.States)
	}
	return o
}

// Probes reports whether states before the final one are asked too.
func (c *Cell) Probes() bool { return Probes(c.States) }

// Probes reports whether states before the final one count, by a value of goal.states; "" is that
// of other tasks than predict.
func Probes(states string) bool { return states != "" && states != schemas.StatesFinal }
