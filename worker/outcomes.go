package worker

import (
	"fmt"
	"math"
	"time"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// outcomes are the rows of a job while they are made: one per repetition.
type outcomes struct {
	job    *trial.Job
	status []uint8
	error  []float64
	faults map[int]fault // of trials whose outcome is not ok
	values [][]float64   // per metric that the algorithm declares
	notes  []string      // what happened to plugin processes on the way
	plugin time.Duration // part of the job's time that was spent in calls into the plugin

	refusal *ledger.Refusal // of the job's sample size, of which no trial was run; nil: it was not refused
}

func newOutcomes(job *trial.Job) *outcomes {
	n := int(job.Count)
	o := &outcomes{job: job, status: make([]uint8, n), error: make([]float64, n), faults: map[int]fault{}}
	for range job.Cell.Metrics {
		o.values = append(o.values, make([]float64, n))
	}
	return o
}

// end gives a trial an outcome other than ok.
func (o *outcomes) end(trial int, status uint8, kind, reason string) {
	const longest = 4 << 10
	if len(reason) > longest {
		reason = reason[:longest] + "..."
	}
	o.status[trial], o.error[trial], o.faults[trial] = status, math.NaN(), fault{kind, reason}
	for m := range o.values {
		o.values[m][trial] = math.NaN()
	}
}

// record takes over one session's trials; from is the first of them. An infinite metric fails its
// trial; NaN marks one that was not reported.
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
		o.end(from+j, ledger.Failed, f.kind, f.reason)
	}
}

// bytesPerMessage keeps a result message below the queue's limit, with room for its header.
const bytesPerMessage = 480 << 10

// messages cuts the rows into result messages. The job's times are shared out by rows; its notes
// travel with the first.
func (o *outcomes) messages(w *worker, seconds float64) []*ledger.Batch {
	if o.refusal != nil {
		return []*ledger.Batch{o.refused(w, seconds)}
	}
	var out []*ledger.Batch
	row := 8 + 1 + 8 + 8*len(o.values) // bytes of repetition, status, error and metrics
	if len(o.faults) > 0 {
		row += 4 + 4 // where the texts of kind and reason end
	}
	for from := 0; from < len(o.status); {
		to, size := from, 0
		for ; to < len(o.status) && size < bytesPerMessage; to++ {
			size += row
			if f, ok := o.faults[to]; ok {
				size += len(f.kind) + len(f.reason)
			}
		}
		b := o.batch(from, to)
		b.Worker, b.Profile = w.Name, w.profile
		share := float64(to-from) / float64(len(o.status))
		b.Seconds, b.PluginSeconds = seconds*share, min(o.plugin.Seconds(), seconds)*share
		out, from = append(out, b), to
	}
	out[0].Notes = o.notes
	return out
}

// batch makes one message of the rows from..to-1.
func (o *outcomes) batch(from, to int) *ledger.Batch {
	b := &ledger.Batch{
		Sweep: o.job.Sweep, Cell: o.job.Cell.Key, N: o.job.N, Digest: o.job.Plugin,
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
