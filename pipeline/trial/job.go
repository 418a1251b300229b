package trial

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Job is a range of repetitions of one cell at one sample size, leased as one message. It carries
// all that a worker needs but the files; its borders mean nothing.
type Job struct {
	Sweep   string `json:"sweep"` // identity of the output folder that asked
	ID      string `json:"id"`    // of this message: a job that is queued again gets a new one
	Cell    *Cell  `json:"cell"`
	N       int64  `json:"n"`
	First   int64  `json:"first"`   // first repetition
	Count   int64  `json:"count"`   // repetitions First..First+Count-1
	Plugin  string `json:"plugin"`  // SHA-256 of the plugin file that has to run it
	Profile string `json:"profile"` // float profile that has to run it; empty: any
}

// maxRepetition keeps a repetition inside the 32 bits that a seed has for it, with a sign.
const maxRepetition = 1<<31 - 1

// Encode returns the job as the bytes of a message.
func (j *Job) Encode() ([]byte, error) { return json.Marshal(j) }

// DecodeJob reads a job from the queue. The bytes may be anything: every number is checked before
// it is used.
func DecodeJob(msg []byte) (*Job, error) {
	dec := json.NewDecoder(bytes.NewReader(msg))
	dec.DisallowUnknownFields()
	j := new(Job)
	if err := dec.Decode(j); err != nil {
		return nil, fmt.Errorf("decode job: %w; coordinator and worker must be of one version", err)
	}
	switch {
	case j.Sweep == "" || j.ID == "" || j.Cell == nil:
		return nil, fmt.Errorf("decode job %q: sweep, id and cell are needed", j.ID)
	case j.N < 1:
		return nil, fmt.Errorf("decode job %q: sample size %d is below 1", j.ID, j.N)
	case j.First < 0 || j.Count < 1 || j.First > maxRepetition-j.Count:
		return nil, fmt.Errorf("decode job %q: repetitions %d and %d more are outside 0..%d",
			j.ID, j.First, j.Count, int64(maxRepetition))
	}
	return j, nil
}
