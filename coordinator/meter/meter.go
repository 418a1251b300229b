// Package meter counts the events of runs for Prometheus. Start at [New].
package meter

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// A Meter holds the counters of runs, and the registry of their metrics. Any number of runs may
// share one.
type Meter struct {
	*prometheus.Registry

	Trials, Back, Dropped              *prometheus.CounterVec // labels: status or cause
	TrialSeconds, Refused, Sent, Bytes prometheus.Counter
	Fsyncs                             prometheus.Histogram // durations in seconds
}

// New returns a meter whose counters are 0.
func New() *Meter {
	m := &Meter{Registry: prometheus.NewRegistry()}
	make := promauto.With(m.Registry)
	counter := func(name, help string) prometheus.Counter {
		return make.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	vector := func(name, help, label string) *prometheus.CounterVec {
		return make.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
	}
	m.Trials = vector("shatter_trials_total", "New outcomes by status (ok, failed), and lost trials.", "status")
	m.Back = vector("shatter_jobs_back_total", "Jobs that are published again: the server has lost them (lost), or "+
		"their results had no outcome that they asked for (useless).", "reason")
	m.Dropped = vector("shatter_results_dropped_total", "Results that were not recorded, by what was wrong: malformed, "+
		"sweep, cell, trial, metrics, code or profile.", "reason")
	m.TrialSeconds = counter("shatter_trial_seconds_total", "Seconds that trials took, as workers report them.")
	m.Refused = counter("shatter_sizes_refused_total", "Sample sizes that algorithms refused.")
	m.Sent = counter("shatter_jobs_sent_total", "Jobs that were published to the work queue.")
	m.Bytes = counter("shatter_result_bytes_total", "Bytes of results that were recorded.")
	m.Fsyncs = make.NewHistogram(prometheus.HistogramOpts{
		Name: "shatter_ledger_fsync_seconds", Help: "Times that ledgers took to reach the disk.",
		Buckets: []float64{.0005, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5},
	})
	return m
}
