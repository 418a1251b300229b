package trial

import (
	"fmt"

	"github.com/shatterlab/shatter/pipeline/fleet"
	"github.com/shatterlab/shatter/pipeline/task"
)

// Job is a number of repetitions of one cell at one sample size, leased as one message. It carries
// all that a worker needs but the files; its borders mean nothing.
type Job struct {
	Sweep   string `json:"sweep"` // identity of the output folder that asked
	ID      string `json:"id"`    // of this message: a job that is queued again gets a new one
	Cell    *Cell  `json:"cell"`
	N       int64  `json:"n"`
	First   int64  `json:"first"`   // first repetition
	Count   int64  `json:"count"`   // repetitions First..First+Count-1, unless Picked
	Plugin  string `json:"plugin"`  // identity of the plugin or built-in algorithm that has to run it
	Profile string `json:"profile"` // float profile that has to run it; empty: any

	Picked  []int64 `json:"picked,omitempty"`  // the Count repetitions, ascending from First on, where they are no range
	Recheck Recheck `json:"recheck,omitempty"` // how trials are rechecked; empty: they are run as ever

	Avoid   []string `json:"avoid,omitempty"`   // workers that leave the job to others, if there are others
	Seconds float64  `json:"seconds,omitempty"` // that it will take, as far as is known
}

// Recheck says how trials that have an outcome are run a second time, to see whether it depends on
// anything but the trial itself.
type Recheck string

// The rechecks. Both run in a process that runs no first trials.
const (
	RecheckShuffled Recheck = "shuffled" // points first one by one, then in another order and other chunks
	RecheckAlone    Recheck = "alone"    // each trial in a fresh process, its points as in the first run
)

// Repetition returns the repetition of trial number i of the job, counted from 0.
func (j *Job) Repetition(i int) int64 {
	if j.Picked != nil {
		return j.Picked[i]
	}
	return j.First + int64(i)
}

// Need returns the plugin or built-in algorithm of the cell, with its identity, as a worker needs it.
func (c *Cell) Need(identity string) fleet.Need {
	if c.Plugin == "" {
		return fleet.Need{Plugin: identity, Name: "the built-in " + c.Algorithm, Own: true}
	}
	return fleet.Need{Plugin: identity, Name: "plugin " + c.Plugin}
}

// Subject names what a worker needs to run the job and may lack: the plugin and the data.
func (j *Job) Subject() string {
	what := "built-in algorithms"
	if j.Cell.Plugin != "" {
		what = fmt.Sprintf("plugin %s (sha256 %.12s)", j.Cell.Plugin, j.Plugin)
	}
	if file, digest := j.Cell.Problem.File(); digest != "" {
		what += fmt.Sprintf(" with data %s (sha256 %.12s)", file, digest)
	}
	return what
}

// maxRepetition keeps a repetition inside the 32 bits that a seed has for it, with a sign.
const maxRepetition = 1<<31 - 1

// DecodeJob reads a job from the queue. The bytes may be anything: every number is checked before
// it is used.
func DecodeJob(msg []byte) (*Job, error) {
	j := new(Job)
	if err := j.decode(msg); err != nil {
		return nil, fmt.Errorf("decode job: %w; coordinator and worker must be of one version", err)
	}
	switch {
	case j.Sweep == "" || j.ID == "" || j.Cell == nil || j.Cell.Problem == nil || j.Cell.Evaluation == nil:
		return nil, fmt.Errorf("decode job %q: sweep, id, cell, its problem and its evaluation are needed", j.ID)
	case task.Lookup(j.Cell.Task) == nil:
		return nil, fmt.Errorf("decode job %q: unknown task %.20q", j.ID, j.Cell.Task)
	case j.N < 1:
		return nil, fmt.Errorf("decode job %q: sample size %d is below 1", j.ID, j.N)
	case j.First < 0 || j.Count < 1 || j.First > maxRepetition-j.Count:
		return nil, fmt.Errorf("decode job %q: repetitions %d and %d more are outside 0..%d",
			j.ID, j.First, j.Count, int64(maxRepetition))
	case !(0 <= j.Seconds && j.Seconds <= 1e9):
		return nil, fmt.Errorf("decode job %q: %v seconds cannot be", j.ID, j.Seconds)
	case j.Recheck != "" && j.Recheck != RecheckShuffled && j.Recheck != RecheckAlone:
		return nil, fmt.Errorf("decode job %q: unknown recheck %.20q", j.ID, j.Recheck)
	}
	return j, j.checkPicked()
}

// checkPicked returns an error if the picked repetitions are not Count ascending ones from First
// on.
func (j *Job) checkPicked() error {
	if j.Picked == nil {
		return nil
	}
	if int64(len(j.Picked)) != j.Count || j.Picked[0] != j.First {
		return fmt.Errorf("decode job %q: %d picked repetitions where %d from %d on are due",
			j.ID, len(j.Picked), j.Count, j.First)
	}
	for i, rep := range j.Picked {
		if rep > maxRepetition || i > 0 && rep <= j.Picked[i-1] {
			return fmt.Errorf("decode job %q: picked repetition %d is not ascending, or above %d",
				j.ID, rep, int64(maxRepetition))
		}
	}
	return nil
}
