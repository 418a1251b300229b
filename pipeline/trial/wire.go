package trial

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/shatterlab/shatter/pipeline/problem/adversary"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// Setting returns what an algorithm is told about the cell at sample size n, in task online at n
// rounds; 0 where none is fixed. Its parameters are the resolved ones, so an algorithm's Check has
// to accept what it resolved. The problem in it is shared: do not change it.
func (c *Cell) Setting(n int64) *pluginv1.Setting {
	rounds := int64(0)
	alpha, beta := c.Alpha, c.Beta
	if c.Online() { // where the goal is about many games, and learners are told none
		n, rounds, alpha, beta = 0, cmp.Or(n, slices.Max(c.N)), 0, 0
	}
	return &pluginv1.Setting{
		Algorithm:  c.Algorithm,
		Task:       WireTask(c.Task),
		Queries:    int64(c.Queries),
		Offline:    c.Adversary != nil && c.Adversary.Offline,
		Parameters: c.Params.Values(),
		Problem:    PublicOf(c.Public, c.Task, c.Adversary),
		N:          n,
		Rounds:     rounds,
		Alpha:      alpha,
		Above:      c.Above,
		Beta:       beta,
		Epsilon:    c.Epsilon,
		Delta:      c.Delta,
		Means:      c.Means,
		Test:       uint64(c.Evaluation.Least),
		Sees:       SightOf(c.Adversary),
	}
}

// SightOf returns what an adversary knows of the answers when it chooses; "" where there is none.
func SightOf(a *schemas.Adversary) string {
	if a == nil {
		return ""
	}
	return adversary.Sight(*a)
}

// PublicOf returns what an algorithm may know of the problem in a task: of an online game, whether
// some hypothesis agrees with all truths depends on the adversary too.
func PublicOf(p *pluginv1.Problem, task string, a *schemas.Adversary) *pluginv1.Problem {
	if task != schemas.TaskOnline || p.GetRealizable() == (p.GetRealizable() && adversary.Realizable(*a)) {
		return p
	}
	p = proto.CloneOf(p)
	p.Realizable = false
	return p
}

// WireTask returns the task in the plugin protocol.
func WireTask(task string) pluginv1.Task {
	switch task {
	case schemas.TaskLearn:
		return pluginv1.Task_TASK_LEARN
	case schemas.TaskPredict:
		return pluginv1.Task_TASK_PREDICT
	case schemas.TaskOnline:
		return pluginv1.Task_TASK_ONLINE
	}
	return pluginv1.Task_TASK_UNSPECIFIED
}

// wireJob is a job as its message has it: cell and job are one value of JSON, so that each byte is read
// once.
type wireJob struct {
	*plainJob
	Cell *wireCell `json:"cell"`
}

type plainJob Job

// wireCell is a cell with its protocol message as protobuf writes it.
type wireCell struct {
	plainCell
	Public []byte `json:",omitempty"`
}

type plainCell Cell

// Encode returns the job as the bytes of a message, with what a worker needs of its cell. It leaves out
// what a worker has from the problem's file: its path, which means nothing on another machine, and a
// class matrix, which may be large.
func (j *Job) Encode() ([]byte, error) {
	w := wireJob{plainJob: (*plainJob)(j)}
	if c := j.Cell; c != nil {
		w.Cell = &wireCell{plainCell: plainCell(*c)}
		if c.Public != nil {
			var err error
			if w.Cell.Public, err = proto.Marshal(withoutMatrix(c.Public)); err != nil {
				return nil, fmt.Errorf("write cell %s: %w", c.Key.Short(), err)
			}
		}
	}
	return json.Marshal(w)
}

func withoutMatrix(p *pluginv1.Problem) *pluginv1.Problem {
	if p.GetMatrix() == "" {
		return p
	}
	p = proto.CloneOf(p)
	p.Matrix = ""
	return p
}

// decode reads what Encode wrote into an empty job.
func (j *Job) decode(msg []byte) error {
	w := wireJob{plainJob: (*plainJob)(j)}
	dec := json.NewDecoder(bytes.NewReader(msg))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&w); err != nil || w.Cell == nil {
		return err
	}
	j.Cell = (*Cell)(&w.Cell.plainCell)
	if w.Cell.Public != nil {
		j.Cell.Public = new(pluginv1.Problem)
		return proto.Unmarshal(w.Cell.Public, j.Cell.Public)
	}
	return nil
}
