package worker

import (
	"fmt"
	"math"
	"time"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/schemas"
)

// outcomes collects the rows of a job, one per repetition.
type outcomes struct {
	job         *trial.Job
	status      []uint8
	error       []float64
	faults      map[int]fault       // faults by trial, for outcomes other than ok
	values      [][]float64         // values by metric of the cell, then trial
	identity    string              // identity of the plugin in its environment
	environment schemas.Environment // environment of the plugin; nil: it is in an earlier result of the process
	notes       []string            // failures of plugin processes during the job
	warnings    int64               // number of the plugin's warnings
	warning     string              // text of the first one
	pluginTime  time.Duration       // time of the calls into the plugin

	refusal *ledger.Refusal // the algorithm refused the sample size, and no trial ran; nil: it did not
}

func newOutcomes(job *trial.Job) *outcomes {
	n := int(job.Count)
	o := &outcomes{
		job: job, identity: job.Plugin, status: make([]uint8, n), error: make([]float64, n), faults: map[int]fault{},
	}
	for range job.Cell.Metrics {
		o.values = append(o.values, make([]float64, n))
	}
	return o
}

// setFault sets the outcome of a trial to a status other than ok.
func (o *outcomes) setFault(trial int, status uint8, kind, reason string) {
	const maxReason = 4 << 10 // bytes
	if len(reason) > maxReason {
		reason = reason[:maxReason] + "..."
	}
	o.status[trial], o.error[trial], o.faults[trial] = status, math.NaN(), fault{kind, reason}
	for m := range o.values {
		o.values[m][trial] = math.NaN()
	}
}

// record copies the results of one session, whose first trial is from. An infinite metric fails its trial; a metric
// that was not reported becomes NaN.
func (o *outcomes) record(from int, s *scores, metrics map[string][]float64) {
	copy(o.error[from:], s.error)
	for m, name := range o.job.Cell.Metrics {
		got, ok := metrics[name]
		for j := range s.error {
			v := math.NaN()
			if ok {
				v = got[j]
			}
			o.values[m][from+j] = v
			if math.IsInf(v, 0) {
				s.fail(j, "metric", fmt.Sprintf("metric %q is %v: a metric is a finite number", name, v))
			}
		}
	}
	for j, f := range s.faults {
		o.setFault(from+j, ledger.Failed, f.kind, f.reason)
	}
}

// addWarnings counts the warnings of a session.
func (o *outcomes) addWarnings(count int64, first string) {
	if o.warnings == 0 {
		o.warning = first
	}
	o.warnings += count
}

// batchBytes keeps a result message, with its header, below the queue's limit.
const batchBytes = 480 << 10

// batches divides the rows into result messages. Each gets a share of the job's times in proportion to its rows. The
// first one carries the notes.
func (o *outcomes) batches(w *worker, seconds float64) []*ledger.Batch {
	if o.refusal != nil {
		return []*ledger.Batch{o.refusalBatch(w, seconds)}
	}
	var out []*ledger.Batch
	row := 8 + 1 + 8 + 8*len(o.values) // bytes of repetition, status, error and metrics
	if len(o.faults) > 0 {
		row += 4 + 4 // end offsets of kind and reason
	}
	for from := 0; from < len(o.status); {
		to, size := from, 0
		for ; to < len(o.status) && size < batchBytes; to++ {
			size += row
			if f, ok := o.faults[to]; ok {
				size += len(f.kind) + len(f.reason)
			}
		}
		b := o.batch(from, to)
		b.Worker, b.Profile = w.Name, w.profile
		share := float64(to-from) / float64(len(o.status))
		b.Seconds, b.PluginSeconds = seconds*share, min(o.pluginTime.Seconds(), seconds)*share
		out, from = append(out, b), to
	}
	out[0].Notes, out[0].Environment = o.notes, o.environment
	out[0].Warnings, out[0].Warning = o.warnings, o.warning
	return out
}

// batch returns the message for the rows from..to-1.
func (o *outcomes) batch(from, to int) *ledger.Batch {
	b := &ledger.Batch{
		Sweep: o.job.Sweep, Cell: o.job.Cell.Key, N: o.job.N, Digest: o.identity,
		Repetition: make([]int64, to-from),
		Status:     o.status[from:to], Error: o.error[from:to],
		Metrics: o.job.Cell.Metrics,
	}
	if len(o.faults) > 0 {
		b.Kind, b.Reason = make([]string, to-from), make([]string, to-from)
	}
	for trial, f := range o.faults {
		if from <= trial && trial < to {
			b.Kind[trial-from], b.Reason[trial-from] = f.kind, f.reason
		}
	}
	for i := range b.Repetition {
		b.Repetition[i] = o.job.Repetition(from + i)
	}
	for _, v := range o.values {
		b.Values = append(b.Values, v[from:to])
	}
	return b
}

// scores collects the outcomes of one session's trials.
type scores struct {
	error  []float64
	faults map[int]fault // faults by trial; the other trials have not failed
}

// A fault describes why a trial has no ok outcome.
type fault struct{ kind, reason string }

func newScores(trials int) *scores {
	return &scores{error: make([]float64, trials), faults: map[int]fault{}}
}

func (s *scores) failed(j int) bool {
	_, failed := s.faults[j]
	return failed
}

func (s *scores) fail(j int, kind, reason string) {
	if !s.failed(j) { // the first fault counts
		s.faults[j] = fault{kind, reason}
	}
}

func (s *scores) addFaults(faults []host.Fault) {
	for _, f := range faults {
		s.fail(f.Trial, string(f.Kind), f.Message)
	}
}

// populationError returns the weighted error of answers against clean labels: an answer a to a point of label y and
// weight w costs w (1 - y a)/2. If w is nil, all weights are equal and sum to 1.
func populationError(answers, y, w []float64) (sum float64) {
	if w == nil {
		return loss(answers, y) / float64(len(y))
	}
	for i, a := range answers {
		sum += float64(w[i] * float64(1-float64(y[i]*a)))
	}
	return sum / 2
}

// loss returns the sum of the losses of answers against clean labels: exact for labels, in any order.
func loss(answers, y []float64) (sum float64) {
	for i, a := range answers {
		sum += float64(y[i] * a)
	}
	return (float64(len(y)) - sum) / 2
}
