package trial

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/shatterlab/shatter/pipeline/fleet"
	"github.com/shatterlab/shatter/pipeline/task"
	"github.com/shatterlab/shatter/schemas"
)

// A Job holds some repetitions of a cell at one sample size, leased as one message. It contains everything that a
// worker needs except files. The division of repetitions into jobs does not change outcomes.
type Job struct {
	Sweep   string `json:"sweep"` // identity of the output folder
	ID      string `json:"id"`    // identifies the message: a job that is queued again gets a new one
	Cell    *Cell  `json:"cell"`
	N       int64  `json:"n"`
	First   int64  `json:"first"`   // first repetition
	Count   int64  `json:"count"`   // number of repetitions, First..First+Count-1 unless Picked
	Plugin  string `json:"plugin"`  // required plugin or built-in algorithm, by identity
	Profile string `json:"profile"` // required float profile; empty: any

	Picked  []int64 `json:"picked,omitempty"`  // the Count repetitions, ascending from First; nil: a range
	Recheck Recheck `json:"recheck,omitempty"` // kind of recheck; empty: none

	Avoid   []string `json:"avoid,omitempty"`   // workers that should not run the job if others are alive
	Seconds float64  `json:"seconds,omitempty"` // predicted run time; 0 if unknown
}

// A Recheck is a way to run trials a second time, to test whether their outcomes depend on anything but the trial.
type Recheck string

// The rechecks. Both run in a process that runs no first trials.
const (
	RecheckShuffled Recheck = "shuffled" // some points one by one, then all in another order and other chunks
	RecheckFresh    Recheck = "fresh"    // each session in a fresh process, with points as in the first run
)

// Repetition returns the repetition of the job's trial i, counted from 0.
func (j *Job) Repetition(i int) int64 {
	if j.Picked != nil {
		return j.Picked[i]
	}
	return j.First + int64(i)
}

// Need returns the cell's demand for a plugin or built-in algorithm of an identity.
func (c *Cell) Need(identity string) fleet.Need {
	if c.Plugin == "" {
		return fleet.Need{Plugin: identity, Name: "the built-in " + c.Algorithm, Own: true}
	}
	return fleet.Need{Plugin: identity, Name: "plugin " + c.Plugin}
}

// NeedOfProblem returns the demand for the plugin that draws a problem.
func NeedOfProblem(p *schemas.Plugin) fleet.Need {
	return fleet.Need{Plugin: p.Digest, Name: "the plugin of problem " + p.Name}
}

// Subject names the plugins and the data that a worker needs for the job.
func (j *Job) Subject() string {
	what := "built-in algorithms"
	if j.Cell.Plugin != "" {
		what = fmt.Sprintf("plugin %s (sha256 %.12s)", j.Cell.Plugin, j.Plugin)
	}
	if file, digest := j.Cell.Problem.File(); digest != "" {
		what += fmt.Sprintf(" with data %s (sha256 %.12s)", file, digest)
	}
	if drawn := j.Cell.Problem.Plugin; drawn != nil {
		what += fmt.Sprintf(" with the problem %s (sha256 %.12s)", drawn.Name, drawn.Digest)
	}
	return what
}

// MaxRepetition is the largest repetition: seeds have 32 bits for it, including AllRepetitions. The limit also keeps
// the index of a ledger small, whatever a result names.
const MaxRepetition = 1<<31 - 1

// DecodeJob decodes a job from the queue. It validates all numbers, because the bytes may come from anywhere.
func DecodeJob(msg []byte) (*Job, error) {
	j := new(Job)
	dec := json.NewDecoder(bytes.NewReader(msg))
	dec.DisallowUnknownFields()
	if err := dec.Decode(j); err != nil {
		return nil, fmt.Errorf("decode job: %w; coordinator and worker must be of one version", err)
	}
	switch {
	case j.Sweep == "" || j.ID == "" || j.Cell == nil || j.Cell.Problem == nil || j.Cell.Evaluation == nil:
		return nil, fmt.Errorf("decode job %q: sweep, id, cell, problem or evaluation is missing", j.ID)
	case task.Lookup(j.Cell.Task) == nil:
		return nil, fmt.Errorf("decode job %q: unknown task %.20q", j.ID, j.Cell.Task)
	case j.N < 1:
		return nil, fmt.Errorf("decode job %q: sample size %d is below 1", j.ID, j.N)
	case j.First < 0 || j.Count < 1 || j.First > MaxRepetition-j.Count:
		return nil, fmt.Errorf("decode job %q: %d repetitions from %d on are outside 0..%d",
			j.ID, j.Count, j.First, int64(MaxRepetition))
	case !(0 <= j.Seconds && j.Seconds <= 1e9):
		return nil, fmt.Errorf("decode job %q: %v seconds are outside 0..1e9", j.ID, j.Seconds)
	case j.Recheck != "" && j.Recheck != RecheckShuffled && j.Recheck != RecheckFresh:
		return nil, fmt.Errorf("decode job %q: unknown recheck %.20q", j.ID, j.Recheck)
	}
	return j, j.checkPicked()
}

// checkPicked returns an error unless Picked holds Count ascending repetitions, beginning with First.
func (j *Job) checkPicked() error {
	if j.Picked == nil {
		return nil
	}
	if int64(len(j.Picked)) != j.Count || j.Picked[0] != j.First {
		return fmt.Errorf("decode job %q: %d picked repetitions, want %d from %d on",
			j.ID, len(j.Picked), j.Count, j.First)
	}
	for i, rep := range j.Picked {
		if rep > MaxRepetition || i > 0 && rep <= j.Picked[i-1] {
			return fmt.Errorf("decode job %q: picked repetition %d is not ascending, or above %d",
				j.ID, rep, int64(MaxRepetition))
		}
	}
	return nil
}
