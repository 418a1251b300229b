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

// Setting returns the plugin protocol's setting of the cell at size n (0: no size is fixed). It contains resolved
// parameters, so an algorithm's Check must accept parameters that it resolved. Cells share the problem: do not change
// it.
func (c *Cell) Setting(n int64) *pluginv1.Setting {
	s := &pluginv1.Setting{
		Algorithm:  c.Algorithm,
		Task:       c.Kind().Wire,
		Queries:    int64(c.Queries),
		Parameters: c.Params.Values(),
		Problem:    c.Public,
		Alpha:      c.Alpha,
		Reference:  c.Reference,
		Beta:       c.Beta,
		Epsilon:    c.Epsilon,
		Delta:      c.Delta,
		Means:      c.Means,
		Test:       uint64(c.Evaluation.Least),
	}
	largest := int64(0)
	if len(c.N) > 0 {
		largest = slices.Max(c.N)
	}
	c.Kind().SetSize(s, n, largest)
	if a := c.Adversary; a != nil {
		s.Offline, s.Sees = a.Offline, adversary.Sight(*a)
		if s.Problem.GetRealizable() && c.Kind().Rounds() && !adversary.Realizable(*a) { // no hypothesis fits the truths
			s.Problem = proto.CloneOf(s.Problem)
			s.Problem.Realizable = false
		}
	}
	return s
}

// A wireJob is the JSON form of a job. Its cell is part of the same value, so that decoding reads each byte once.
type wireJob struct {
	*plainJob
	Cell *wireCell `json:"cell"`
}

type plainJob Job

// A wireCell is the JSON form of a cell: it contains the public problem in protobuf's encoding.
type wireCell struct {
	plainCell
	Public []byte `json:",omitempty"`
}

type plainCell Cell

// Encode returns the message for workers. It omits fields of the cell that workers do not need, the path of the
// problem's file, which means nothing on another machine, and the class matrix, which workers read from that file.
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

// decode is the inverse of Encode. The job must be empty.
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
