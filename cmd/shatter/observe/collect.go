package observe

import (
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/shatterlab/shatter/coordinator"
	"github.com/shatterlab/shatter/coordinator/lead"
	"github.com/shatterlab/shatter/coordinator/meter"
	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/worker"
)

// Sources provides the numbers for each scrape. Any field may be nil.
type Sources struct {
	Version string
	Traffic func() queue.Traffic
	Leads   func() lead.Overview
	Counts  func() meter.Counts
	Works   func() worker.Overview
}

// maxSweeps is the maximum number of sweeps with their own series. For a coordinator that leads
// more, use `shatter sweeps`.
const maxSweeps = 200

// Registry returns a registry of all metrics, with numbers from s.
func Registry(s Sources) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collector{s})
	return r
}

// A collector turns numbers into metrics.
type collector struct{ Sources }

func (c collector) Describe(to chan<- *prometheus.Desc) {
	for _, m := range described {
		to <- m.desc
	}
}

func (c collector) Collect(to chan<- prometheus.Metric) {
	out := sink(to)
	out.put("shatter_build_info", 1, c.Version)
	if c.Traffic != nil {
		out.traffic(c.Traffic())
	}
	if c.Leads != nil {
		out.leads(c.Leads())
	}
	if c.Counts != nil {
		out.counts(c.Counts())
	}
	if c.Works != nil {
		out.works(c.Works())
	}
}

// A sink receives metrics.
type sink chan<- prometheus.Metric

func (s sink) put(name string, value float64, labels ...string) {
	s <- prometheus.MustNewConstMetric(described[name].desc, described[name].kind, value, labels...)
}

// by puts a value for each key of a map.
func (s sink) by(name string, values map[string]int64) {
	for key, n := range values {
		s.put(name, float64(n), key)
	}
}

func (s sink) traffic(t queue.Traffic) {
	s.put("shatter_connected", one(t.Connected))
	s.put("shatter_reconnects_total", float64(t.Reconnects))
	s.put("shatter_messages_total", float64(t.Sent), "out")
	s.put("shatter_messages_total", float64(t.Received), "in")
	s.put("shatter_message_bytes_total", float64(t.BytesOut), "out")
	s.put("shatter_message_bytes_total", float64(t.BytesIn), "in")
}

func (s sink) leads(o lead.Overview) {
	for _, state := range slices.Sorted(maps.Keys(o.Sweeps)) {
		s.put("shatter_sweeps", float64(o.Sweeps[state]), state)
	}
	s.put("shatter_leases", float64(len(o.Leading)))
	for _, l := range o.Leading[:min(len(o.Leading), maxSweeps)] {
		s.sweep(l)
	}
}

// sweep puts the metrics of one sweep.
func (s sink) sweep(l lead.Leading) {
	const longest = 80 // bytes
	sweepName := strings.ToValidUTF8(l.Name[:min(len(l.Name), longest)], "")
	p := l.Progress
	if p == nil {
		p = &coordinator.Progress{Cells: l.Cells, SlotSecondsLeft: float64(l.Cells)}
	}
	for name, value := range map[string]float64{
		"shatter_sweep_cpu_seconds_left": p.SlotSecondsLeft,
		"shatter_sweep_cells":            float64(p.Cells),
		"shatter_sweep_cells_decided":    float64(p.Decided),
		"shatter_sweep_trials":           float64(p.Known + p.Trials + p.Served),
		"shatter_sweep_jobs_out":         float64(p.Out),
		"shatter_sweep_jobs_waiting":     float64(p.Again),
		"shatter_sweep_results_unread":   float64(p.Unread),
		"shatter_sweep_workers":          float64(p.Workers),
		"shatter_sweep_slots":            float64(p.Slots),
		"shatter_sweep_stuck":            one(l.Reason != ""),
	} {
		s.put(name, value, l.ID, sweepName)
	}
	if p.TimeLeft != nil {
		s.put("shatter_sweep_seconds_left", p.TimeLeft.Seconds, l.ID, sweepName)
	}
}

func (s sink) counts(c meter.Counts) {
	s.by("shatter_trials_total", c.Trials)
	s.by("shatter_jobs_back_total", c.Back)
	s.by("shatter_results_dropped_total", c.Dropped)
	s.put("shatter_trial_seconds_total", c.TrialSeconds)
	s.put("shatter_sizes_refused_total", float64(c.Refused))
	s.put("shatter_jobs_sent_total", float64(c.Sent))
	s.put("shatter_result_bytes_total", float64(c.Bytes))
	within := map[float64]uint64{}
	for i, n := range c.Fsyncs.Within {
		within[meter.FsyncBounds[i]] = n
	}
	s <- prometheus.MustNewConstHistogram(described[fsyncs].desc, c.Fsyncs.Count, c.Fsyncs.Seconds, within)
}

func (s sink) works(o worker.Overview) {
	running := o.Heartbeat.Busy()
	s.put("shatter_worker_slots", float64(o.Heartbeat.Slots))
	s.put("shatter_worker_jobs_running", float64(running))
	s.put("shatter_worker_jobs_waiting", float64(len(o.Heartbeat.Held)-running))
	s.put("shatter_worker_leaving", one(o.Heartbeat.Leaving))
	faults := 0
	for _, r := range o.Heartbeat.Refusals {
		if !r.Never {
			faults++
		}
	}
	s.put("shatter_worker_faults", float64(faults))
	s.by("shatter_worker_jobs_total", o.Jobs)
	s.by("shatter_worker_trials_total", o.Trials)
	s.put("shatter_worker_job_seconds_total", o.Heartbeat.Seconds)
	s.put("shatter_worker_sizes_refused_total", float64(o.Refused))
}

func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
