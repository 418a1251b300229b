package trial

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/shatterlab/shatter/pipeline/problem/adversary"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// Setting returns the setting of the cell at size n; 0: none is fixed. Its parameters are the resolved ones, so an
// algorithm's Check has to accept what it resolved. The problem in it is shared: do not change it.
func (c *Cell) Setting(n int64) *pluginv1.Setting {
	s := &pluginv1.Setting{
		Algorithm:  c.Algorithm,
		Task:       c.Kind().Wire(),
		Queries:    int64(c.Queries),
		Parameters: c.Params.Values(),
		Problem:    c.Public,
		Alpha:      c.Alpha,
		Above:      c.Above,
		Beta:       c.Beta,
		Epsilon:    c.Epsilon,
		Delta:      c.Delta,
		Means:      c.Means,
		Test:       uint64(c.Evaluation.Least),
	}
	most := int64(0)
	if len(c.N) > 0 {
		most = slices.Max(c.N)
	}
	c.Kind().SetSize(s, n, most)
	if a := c.Adversary; a != nil {
		s.Offline, s.Sees = a.Offline, adversary.Sight(*a)
		if s.Problem.GetRealizable() && c.Kind().Rounds() && !adversary.Realizable(*a) { // then truths fit no hypothesis
			s.Problem = proto.CloneOf(s.Problem)
			s.Problem.Realizable = false
		}
	}
	return s
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
