package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/shatterlab/shatter/coordinator"
)

// With --progress json, stderr has one object a line with the key "event", which is the name of one
// of the types below: opened first, progress about once a second, failure for the first failure of
// each kind, done last. Times are seconds. Further keys may be added, none will change. A line that
// does not begin with { is a warning or an error for people.

type openedEvent struct {
	Dir     string   `json:"dir"`
	Name    string   `json:"name"`
	Cells   int      `json:"cells"`
	Workers int      `json:"workers"`
	Resumed bool     `json:"resumed"`
	Ledger  []string `json:"ledger"` // what was wrong with it
}

type progressEvent struct {
	Elapsed     float64          `json:"elapsed"`
	Cells       int              `json:"cells"`
	Decided     int              `json:"decided"`
	Trials      int64            `json:"trials"`
	Known       int64            `json:"known"`
	Served      int64            `json:"served"` // from the cache
	PerSecond   float64          `json:"per_second"`
	LeftSeconds *float64         `json:"left_seconds"` // within a factor of about two; null: unknown, as is left_trials
	LeftTrials  *int64           `json:"left_trials"`  // trials that will enter the table
	Failed      map[string]int64 `json:"failed"`       // by kind
	Working     string           `json:"working"`
	Late        string           `json:"late"` // the job that has run far longer than expected; empty: none
	NoWorkers   bool             `json:"no_workers"`
	Stuck       string           `json:"stuck"`     // reason why no worker can run the next job; empty: none
	Refused     int64            `json:"refused"`   // results of workers that were dropped because they were unfit
	Rechecks    int64            `json:"rechecks"`  // trials to be rechecked; 0 until that begins
	Rechecked   int64            `json:"rechecked"` // those that were
}

type failureEvent struct {
	Kind    string `json:"kind"`
	Trial   string `json:"trial"`
	What    string `json:"what"`
	Reason  string `json:"reason"`
	Command string `json:"command"` // runs the trial again
}

type doneEvent struct {
	Elapsed      float64                 `json:"elapsed"`
	Status       string                  `json:"status"` // done, partial or interrupted
	Exit         int                     `json:"exit"`
	Cells        int                     `json:"cells"`
	Decided      int                     `json:"decided"`
	Unfinished   int                     `json:"unfinished"`
	Trials       int64                   `json:"trials"`
	Counted      int64                   `json:"counted"` // that the tables count, of this run and earlier ones
	Failed       map[string]int64        `json:"failed"`  // by kind
	Alarms       []string                `json:"alarms"`
	Refuted      []string                `json:"contradicted"` // bounds that the table refutes
	Dir          string                  `json:"dir"`
	Digest       string                  `json:"digest"`
	Partial      string                  `json:"partial"`
	Left         []coordinator.Undecided `json:"left"`
	Rechecked    int64                   `json:"rechecked"`     // trials that were rechecked
	RechecksLeft int64                   `json:"rechecks_left"` // those that should have been
	RecheckNotes []string                `json:"recheck_notes"`
	Seconds      float64                 `json:"trial_seconds"`  // time that slots worked on trials, summed over slots
	Plugin       float64                 `json:"plugin_seconds"` // part of trial_seconds that was spent inside plugins
}

// event writes one event.
func (d *display) event(name string, fields any) {
	raw, err := json.Marshal(fields)
	if err != nil {
		panic(err) // the fields are ours
	}
	fmt.Fprintf(d.w, "{\"event\":%q,%s\n", name, raw[1:])
}

func (d *display) progress(p coordinator.Progress) { d.event("progress", newProgressEvent(p)) }

func newProgressEvent(p coordinator.Progress) progressEvent {
	e := progressEvent{
		Elapsed: tenths(p.Elapsed.Seconds()), Cells: p.Cells, Decided: p.Decided, Trials: p.Trials, Known: p.Known,
		Served: p.Served, PerSecond: tenths(p.PerSecond), Failed: p.Failed, Working: p.Working, Late: p.Late,
		NoWorkers: p.NoWorkers, Stuck: p.Stuck,
		Refused: p.Refused, Rechecks: p.Rechecks, Rechecked: p.Rechecked,
	}
	if l := p.Left; l != nil {
		seconds := tenths(l.Seconds)
		e.LeftSeconds, e.LeftTrials = &seconds, &l.Counted
	}
	return e
}

func tenths(x float64) float64 { return float64(int64(x*10)) / 10 }

// done shows how the run ended, where that is an event, and returns the error that it ends with.
func (d *display) done(s *coordinator.Summary, err error) error {
	var status statusError
	if d.mode != "json" || err != nil && !errors.As(err, &status) {
		return err
	}
	how := "done"
	switch {
	case s.Interrupted:
		how = "interrupted"
	case s.Partial != "":
		how = "partial"
	}
	failed := map[string]int64{}
	for _, f := range s.Failures {
		failed[f.Kind] = f.Count
	}
	d.event("done", doneEvent{
		tenths(time.Since(d.began).Seconds()), how, int(status),
		s.Cells, s.Decided, s.Unfinished, s.Trials, s.Counted, failed, append([]string{}, s.Alarms...),
		append([]string{}, s.Contradicted...),
		d.dir, s.Digest, s.Partial, append([]coordinator.Undecided{}, s.Left...),
		s.Rechecked, s.RechecksLeft, append([]string{}, s.RecheckNotes...), s.Seconds, s.PluginSeconds,
	})
	return err
}
