// Package task holds the tasks: what a learner gets, how a trial is played, and which number judges it.
//
// A task is one value of type [Task] in one file and one line in [All]. The sweep file's checker, the plan, the
// worker and the result ask the value, and never which task it is. To add a task, write such a file and add the
// line.
package task

import (
	"cmp"
	"context"
	"slices"

	"github.com/shatterlab/shatter/pipeline/audit"
	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// A Task is a kind of trial. Its zero value is no task; [Of] finds one by its name.
type Task struct {
	Name string        // name in sweep files
	Wire pluginv1.Task // what a plugin plays
	Doc  string        // what a learner gets and does, in one line

	// Keys are the keys of the sweep file that the task takes, and some other task does not take or does not need.
	Keys []Key

	// Instead maps keys that do not apply to the reason and what to do instead. Without an entry, a message lists
	// the tasks that the key belongs to.
	Instead map[string]string

	// Adversary reports that trials are played against an adversary.
	Adversary bool

	// GoalOptional reports that trials need no goal unless something is searched.
	GoalOptional bool

	// Game describes a trial in words; empty: by its number of queries.
	Game string

	// Success describes the number that alpha bounds; empty: no trial is a success.
	Success string

	// Listed reports that sample sizes are listed, never searched.
	Listed bool

	// Private reports that algorithms must state a guarantee.
	Private bool

	// Judged is the metric that decides, per round, whether a trial succeeds; empty: its error decides.
	Judged string

	// Metrics are measured by workers in every trial, Optional ones only if the sweep asks for them: by the sequential
	// rule, or by goal.states hard.
	Metrics, Optional []schemas.Metric

	// Trips returns how many round trips to a plugin the trials of a session with an adversary share.
	Trips func(n int64, queries int) int64

	// Change changes the drawn sample of a trial, given its repetition and a random number that two repetitions share.
	// It returns two values for Play. The sample is drawn once for all trials that Change treats alike; nil: samples are
	// drawn for each trial and stay as they are.
	Change func(s audit.Sample, repetition int64, coin uint64) (side int, probes []float64)

	// Decide returns the decider of a cell; nil: it asks which sample sizes suffice.
	Decide func(audit.Claim) estimate.Decider

	// Least returns the number of trials at one sample size below which the decider can find nothing; nil: any do.
	Least func(audit.Claim) int

	// Play plays the trials of a session.
	Play func(Player, context.Context) (Played, error)
}

// A Key is a key of the sweep file. For the key queries of task predict, messages read
//
//	"queries" is needed in task predict: how many are asked
//	queries: belongs to the tasks predict and audit-predict
//
// Need is the first one's end from "in" on; a Note would follow the second one after a comma.
type Key struct {
	Path string // inside of a grid, such as "goal.reference"
	Need string // end of the message if the key is missing; empty: it may be missing
	Note string // end of the message if a sweep of another task has the key; empty: none
}

// A Player plays the trials of one session with a plugin, and scores them.
type Player interface {
	// Evaluate measures the errors of the models that the plugin learned.
	Evaluate(context.Context) (Played, error)
	// AskQueries lets the adversary ask its queries, and then measures the errors of the final states.
	AskQueries(context.Context) (Played, error)
	// PlayRounds plays the rounds of the adversary's game.
	PlayRounds(context.Context) (Played, error)
	// AskProbes asks the queries of an audit, if there are any, and the models about their probe points.
	AskProbes(context.Context) (Played, error)
}

// Played holds what a session measured, except the errors of its trials.
type Played struct {
	Metrics map[string][]float64 // key: name; one value for each trial
	Truths  []float64            // labels of the last round, which the plugin has yet to get
}

// All lists the tasks in the order in which people see them.
func All() []*Task { return all[:] }

var all = [...]*Task{&learn, &predict, &online, &auditing, &auditingQueries}

// Default is the name of the task of a sweep that states none.
const Default = "learn"

// Lookup returns the task with that name, or nil.
func Lookup(name string) *Task {
	for _, t := range all {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// Of returns the task with that name, or the default for an empty one. For an unknown name it returns a copy of the
// default with that name, so that a file with a wrong name can be checked further; no plugin accepts it.
func Of(name string) *Task {
	if t := Lookup(cmp.Or(name, Default)); t != nil {
		return t
	}
	unknown := *Lookup(Default)
	unknown.Name, unknown.Wire = name, pluginv1.Task_TASK_UNSPECIFIED
	return &unknown
}

// Keys lists the keys of the sweep file that some tasks have and others do not, each once.
func Keys() (keys []Key) {
	for _, t := range all {
		for _, k := range t.Keys {
			if !slices.ContainsFunc(keys, func(known Key) bool { return known.Path == k.Path }) {
				keys = append(keys, k)
			}
		}
	}
	return keys
}

// Rounds reports whether a trial is a game of N rounds, as [pluginv1.Task.Rounds] describes it. In other tasks N is the
// number of examples in a sample, and errors are measured on points.
func (t *Task) Rounds() bool { return t.Wire.Rounds() }

// Takes reports whether the task has the key of the sweep file among its own.
func (t *Task) Takes(path string) bool {
	return slices.ContainsFunc(t.Keys, func(k Key) bool { return k.Path == path })
}

// MetricNames returns the names of the metrics that workers measure, with the optional ones if all is set.
func (t *Task) MetricNames(all bool) (names []string) {
	for _, m := range t.Measured(all) {
		names = append(names, m.Name)
	}
	return names
}

// Measured returns the metrics that workers measure, with the optional ones if all is set.
func (t *Task) Measured(all bool) []schemas.Metric {
	if all {
		return slices.Concat(t.Metrics, t.Optional)
	}
	return t.Metrics
}

// SetSize writes the size n of trials into a setting; 0: none is fixed, and a game has at most the given number of
// rounds. The setting of a game gets no goal.
func (t *Task) SetSize(s *pluginv1.Setting, n, most int64) {
	if !t.Rounds() {
		s.N = n
		return
	}
	s.Rounds, s.Alpha, s.Beta = cmp.Or(n, most), 0, 0
}
