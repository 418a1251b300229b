package worker

import (
	"fmt"
	"math"
	"time"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/plugins/host"
)

// outcomes holds the results of a job as one message, which batches divides: a row per repetition, or
// the refusal of the sample size.
type outcomes struct {
	ledger.Batch
	pluginTime time.Duration // time of the calls into the plugin
}

func newOutcomes(job *trial.Job) *outcomes {
	n := int(job.Count)
	o := &outcomes{Batch: ledger.Batch{
		Sweep: job.Sweep, Cell: job.Cell.Key, N: job.N, Digest: job.Plugin, Metrics: job.Cell.Metrics,
		Repetition: make([]int64, n), Status: make([]uint8, n), Error: make([]float64, n),
		Kind: make([]string, n), Reason: make([]string, n),
	}}
	for i := range n {
		o.Repetition[i] = job.Repetition(i)
	}
	for range job.Cell.Metrics {
		o.Values = append(o.Values, make([]float64, n))
	}
	return o
}

// setFault sets the outcome of a trial to a status other than ok.
func (o *outcomes) setFault(trial int, status uint8, kind, reason string) {
	const maxReason = 4 << 10 // bytes
	if len(reason) > maxReason {
		reason = reason[:maxReason] + "..."
	}
	o.Status[trial], o.Error[trial] = status, math.NaN()
	o.Kind[trial], o.Reason[trial] = kind, reason
	for m := range o.Values {
		o.Values[m][trial] = math.NaN()
	}
}

// record copies the results of one session, whose first trial is from. An infinite metric fails its trial; a metric
// that was not reported becomes NaN.
func (o *outcomes) record(from int, s *scores, metrics map[string][]float64) {
	copy(o.Error[from:], s.error)
	for m, name := range o.Metrics {
		got, ok := metrics[name]
		for j := range s.error {
			v := math.NaN()
			if ok {
				v = got[j]
			}
			o.Values[m][from+j] = v
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
	if o.Warnings == 0 {
		o.Warning = first
	}
	o.Warnings += count
}

// batchBytes keeps a result message, with its header, below the queue's limit.
const batchBytes = 480 << 10

// batches divides the rows into result messages. Each gets a share of the job's times in proportion to its rows. The
// first one carries the notes.
func (o *outcomes) batches(w *worker, seconds float64) (out []*ledger.Batch) {
	o.Worker, o.Profile = w.Name, w.profile
	if o.Refusal != nil {
		b := o.Select(nil)
		b.Metrics, b.Values, b.Seconds = nil, nil, seconds
		return []*ledger.Batch{b}
	}
	row := 8 + 1 + 8 + 8*len(o.Values) + 4 + 4 // bytes of the numbers, and of the lengths of kind and reason
	for from := 0; from < len(o.Status); {
		var rows []int
		for size := 0; from < len(o.Status) && size < batchBytes; from++ {
			rows = append(rows, from)
			size += row + len(o.Kind[from]) + len(o.Reason[from])
		}
		b := o.Select(rows)
		share := float64(len(rows)) / float64(len(o.Status))
		b.Seconds, b.PluginSeconds = seconds*share, min(o.pluginTime.Seconds(), seconds)*share
		if len(out) > 0 {
			b.Notes, b.Environment, b.Warnings, b.Warning = nil, nil, 0, ""
		}
		out = append(out, b)
	}
	return out
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
