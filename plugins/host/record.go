package host

import (
	"fmt"
	"math"

	"github.com/shatterlab/shatter/pipeline/dataset"
	"github.com/shatterlab/shatter/plugins/record"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// A Recorder keeps what the session that began last told its plugin, and what the plugin answered. It
// is for sessions of one trial and for one of them at a time. A nil Recorder does nothing.
type Recorder struct {
	trial    *record.Record // nil: no session has begun
	err      error          // why the record is not whole
	requests int64          // after the one that opened the session
	round    int            // first row of the round whose truths are still to come; -1: none
}

// Record returns the record, or why there is none.
func (r *Recorder) Record() (*record.Record, error) {
	switch {
	case r.err != nil:
		return nil, r.err
	case r.trial == nil:
		return nil, fmt.Errorf("record a trial: no session has begun")
	}
	return r.trial, nil
}

// open begins a record with the tables that a plugin is shown before it learns.
func (r *Recorder) open(p *Process, o *pluginv1.Open) {
	if r == nil {
		return
	}
	*r = Recorder{round: -1}
	if len(o.Seeds) != 2 {
		r.err = fmt.Errorf("record a session of %d trials: a record holds one", len(o.Seeds)/2)
		return
	}
	r.trial = &record.Record{
		Setting: o.Setting, Seeds: [2]uint64(o.Seeds), Dim: int(o.Setting.GetProblem().GetDim()),
		Metrics: map[string]float64{},
	}
	if o.Sample != nil {
		r.append(p, o.Sample, record.Sample, 0, int(o.Sample.Rows))
	}
	if o.Revealed != nil {
		r.append(p, o.Revealed, record.Revealed, 0, int(o.Revealed.Rows))
	}
}

// append appends rows of a table in shared memory.
func (r *Recorder) append(p *Process, w *pluginv1.Table, kind string, first, rows int) {
	memory := p.memory
	if w.Place == pluginv1.Table_PLACE_DATASET {
		memory = p.child.command.Dataset
	}
	p.memUse.RLock()
	defer p.memUse.RUnlock()
	if memory.Bytes() == nil {
		r.err = p.child.gone("idle")
		return
	}
	t, err := dataset.Decode(memory.Bytes()[w.Offset : w.Offset+w.Length])
	if err != nil {
		r.err = fmt.Errorf("record the %s: %w", kind, err)
		return
	}
	x, dim, err := t.List("x")
	if err != nil {
		r.err = err
		return
	}
	var y []float64
	if kind == record.Sample {
		if y, r.err = t.Float64("y"); r.err != nil {
			return
		}
	}
	r.trial.Append(r.requests, kind, x[first*dim:(first+rows)*dim], y)
}

// step appends the points of a request for answers.
func (r *Recorder) step(s *Session, q *pluginv1.Step, rows int) {
	if r == nil || r.err != nil {
		return
	}
	r.truths(appendFloats(nil, q.Truths))
	r.requests++
	kind := record.Point
	switch {
	case q.Play && s.online:
		kind, r.round = record.Round, len(r.trial.Rows)
	case q.Play:
		kind = record.Query
	}
	r.append(s.p, q.Points, kind, int(q.FirstRow), rows)
}

// answers notes those to the rows that were appended last.
func (r *Recorder) answers(answers []float64, marks []byte) {
	if r == nil || r.err != nil {
		return
	}
	rows := r.trial.Rows[len(r.trial.Rows)-len(answers):]
	for i, a := range answers {
		rows[i].Answer = a
		rows[i].Hard = len(marks) > 0 && marks[i] != 0
	}
}

// truths notes those of the round that was played last.
func (r *Recorder) truths(y []float64) {
	if r == nil || r.err != nil || r.round < 0 || len(y) == 0 {
		return
	}
	for i, label := range y {
		r.trial.Rows[r.round+i].Y = label
	}
	r.round = -1
}

// fault notes why the trial failed.
func (r *Recorder) fault(faults []Fault) {
	if r != nil && r.err == nil && len(faults) > 0 {
		r.trial.Fault = string(faults[0].Kind) + ": " + faults[0].Message
	}
}

// close notes the metrics of the trial.
func (r *Recorder) close(metrics map[string][]float64) {
	if r == nil || r.err != nil {
		return
	}
	for name, v := range metrics {
		if !math.IsNaN(v[0]) && !math.IsInf(v[0], 0) {
			r.trial.Metrics[name] = v[0]
		}
	}
}
