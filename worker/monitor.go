package worker

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/shatterlab/shatter/pipeline/fleet"
	"github.com/shatterlab/shatter/pipeline/ledger"
)

// A Monitor lets other goroutines observe a running worker. It holds the registry of the worker's counters.
type Monitor struct {
	*prometheus.Registry
	jobs, trials *prometheus.CounterVec
	refused      prometheus.Counter

	mu sync.Mutex
	o  Overview
}

// An Overview holds the present state of a worker.
type Overview struct {
	HeartbeatAt time.Time    // time of the last heartbeat; zero: none yet
	Heartbeat   fleet.Worker // the last heartbeat
}

// NewMonitor returns a monitor for one [Run].
func NewMonitor() *Monitor {
	m := &Monitor{Registry: prometheus.NewRegistry()}
	make := promauto.With(m.Registry)
	m.jobs = make.NewCounterVec(prometheus.CounterOpts{
		Name: "shatter_worker_jobs_total", Help: "Jobs by how they ended: done, dropped by their leader, or returned to " +
			"the queue (fault, cannot, drain).",
	}, []string{"end"})
	m.trials = make.NewCounterVec(prometheus.CounterOpts{
		Name: "shatter_worker_trials_total", Help: "Trials of jobs that were done, by status.",
	}, []string{"status"})
	m.refused = make.NewCounter(prometheus.CounterOpts{
		Name: "shatter_worker_sizes_refused_total", Help: "Sample sizes that algorithms refused.",
	})
	return m
}

// Overview returns a copy of the present overview.
func (m *Monitor) Overview() Overview {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.o
}

// recordHeartbeat records the heartbeat that the worker publishes.
func (m *Monitor) recordHeartbeat(heartbeat fleet.Worker) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.o = Overview{time.Now(), heartbeat}
}

// countJob counts a job by its end, and its trials if it is done.
func (m *Monitor) countJob(end string, out *outcomes) {
	m.jobs.WithLabelValues(end).Inc()
	switch {
	case end != "done":
	case out.refusal != nil:
		m.refused.Inc()
	default:
		for _, s := range out.status {
			m.trials.WithLabelValues(ledger.StatusName(s)).Inc()
		}
	}
}
