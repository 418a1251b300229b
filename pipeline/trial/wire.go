package trial

import (
	"encoding/json"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/shatterlab/shatter/pipeline/problem/adversary"
	"github.com/shatterlab/shatter/pipeline/theory"
	"github.com/shatterlab/shatter/schemas"
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
		Parameters: Values(c.Params),
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
	if c.Queries > 0 { // the queries of an audit do not depend on answers
		s.Sees = theory.SeesNothing
	}
	if a := c.Adversary; a != nil {
		s.Offline, s.Sees = a.Offline, adversary.Sight(*a)
		if s.Problem.GetRealizable() && c.Kind().Rounds() && !adversary.Realizable(*a) { // no hypothesis fits the truths
			s.Problem = proto.CloneOf(s.Problem)
			s.Problem.Realizable = false
		}
	}
	return s
}

// Encode returns the message for workers. It omits fields of the cell that workers do not need, the path of the
// problem's file, which means nothing on another machine, and the class matrix, which workers read from that file.
func (j *Job) Encode() ([]byte, error) {
	out := *j
	if c := j.Cell; c != nil && c.Public.GetMatrix() != "" {
		cell := *c
		cell.Public = proto.CloneOf(c.Public)
		cell.Public.Matrix = ""
		out.Cell = &cell
	}
	return json.Marshal(out)
}

// ProblemSetting returns the setting in which a plugin is asked about its problem.
func ProblemSetting(p *schemas.Plugin) *pluginv1.Setting {
	return &pluginv1.Setting{Algorithm: p.Name, Task: pluginv1.Task_TASK_PROBLEM, Parameters: Values(p.Params)}
}

// Values returns parameters in the form of the plugin protocol.
func Values(p Params) map[string]*pluginv1.Value {
	out := make(map[string]*pluginv1.Value, len(p))
	for name, v := range p {
		out[name] = pluginv1.ValueOf(v)
	}
	return out
}
