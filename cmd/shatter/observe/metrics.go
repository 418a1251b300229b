package observe

import "github.com/prometheus/client_golang/prometheus"

// A kind is the type of a metric: gauge or counter.
type kind = prometheus.ValueType

const (
	gauge   = prometheus.GaugeValue
	counter = prometheus.CounterValue
)

// A metric describes the values of one name.
type metric struct {
	name   string
	kind   kind
	help   string
	labels []string
}

var ofSweep = []string{"sweep", "name"}

// metrics lists all metrics of Shatter. The registry adds metrics of the process and of the Go
// runtime (process_resident_memory_bytes, process_cpu_seconds_total, go_goroutines and others).
var metrics = []metric{
	{"shatter_build_info", gauge, "1; the label names the build.", []string{"version"}},

	// Connection to the server.
	{"shatter_connected", gauge, "1 while there is a connection to the NATS server.", nil},
	{"shatter_reconnects_total", counter, "Times that the connection to the NATS server came back.", nil},
	{"shatter_messages_total", counter, "Messages to (out) and from (in) the NATS server.", []string{"direction"}},
	{"shatter_message_bytes_total", counter, "Bytes of the messages.", []string{"direction"}},

	// Coordinator, or shatter run.
	{"shatter_sweeps", gauge, "Submitted sweeps by state, as this coordinator sees them.", []string{"state"}},
	{
		"shatter_sweep_cpu_seconds_left", gauge,
		"Seconds of one slot that the sweep still takes, as predicted: what an autoscaler should follow. While no trial " +
			"has come back it is the number of cells.", ofSweep,
	},
	{"shatter_sweep_seconds_left", gauge, "Seconds to the end of the sweep with these slots, if known.", ofSweep},
	{"shatter_sweep_cells", gauge, "Cells of the sweep.", ofSweep},
	{"shatter_sweep_cells_decided", gauge, "Cells of the sweep that are decided.", ofSweep},
	{"shatter_sweep_trials", gauge, "Outcomes in the sweep's ledger.", ofSweep},
	{"shatter_sweep_jobs_out", gauge, "Jobs of the sweep that are queued or leased.", ofSweep},
	{"shatter_sweep_jobs_waiting", gauge, "Jobs of the sweep that wait to be published again.", ofSweep},
	{"shatter_sweep_results_unread", gauge, "Results on the server that are not in the sweep's ledger yet.", ofSweep},
	{"shatter_sweep_workers", gauge, "Workers whose heartbeats its leader received in the last ten seconds.", ofSweep},
	{"shatter_sweep_slots", gauge, "Slots of these workers.", ofSweep},
	{"shatter_sweep_stuck", gauge, "1 while nothing moves; shatter status says why.", ofSweep},
	{"shatter_leases", gauge, "Sweeps whose lease this coordinator holds.", nil},
	{"shatter_trials_total", counter, "New outcomes by status (ok, failed), and lost trials.", []string{"status"}},
	{"shatter_trial_seconds_total", counter, "Seconds that trials took, as workers report them.", nil},
	{"shatter_sizes_refused_total", counter, "Sample sizes that algorithms refused.", nil},
	{"shatter_jobs_sent_total", counter, "Jobs that were published to the work queue.", nil},
	{
		"shatter_jobs_back_total", counter,
		"Jobs that are published again: the server has lost them (lost), or their results had no outcome that they asked " +
			"for (useless).",
		[]string{"reason"},
	},
	{
		"shatter_results_dropped_total", counter,
		"Results that were not recorded, by what was wrong: malformed, sweep, cell, trial, metrics, code or profile.",
		[]string{"reason"},
	},
	{"shatter_result_bytes_total", counter, "Bytes of results that were recorded.", nil},
	{"shatter_ledger_fsync_seconds", gauge, "Times that ledgers took to reach the disk (histogram).", nil},

	// Worker, or shatter run.
	{"shatter_worker_slots", gauge, "Jobs that the worker runs at the same time.", nil},
	{"shatter_worker_jobs_running", gauge, "Jobs that run now.", nil},
	{"shatter_worker_jobs_waiting", gauge, "Leased jobs that wait for a slot.", nil},
	{"shatter_worker_leaving", gauge, "1 once the worker leases no more jobs.", nil},
	{"shatter_worker_faults", gauge, "Sweeps whose jobs the worker cannot run for now; shatter workers says why.", nil},
	{
		"shatter_worker_jobs_total", counter,
		"Jobs by how they ended: done, dropped by their leader, or returned to the queue (fault, cannot, drain).",
		[]string{"end"},
	},
	{"shatter_worker_trials_total", counter, "Trials of jobs that were done, by status.", []string{"status"}},
	{"shatter_worker_job_seconds_total", counter, "Seconds that jobs took.", nil},
	{"shatter_worker_sizes_refused_total", counter, "Sample sizes that algorithms refused.", nil},
}

const fsyncs = "shatter_ledger_fsync_seconds"

// described holds the metrics by name, each with its description for Prometheus.
var described = func() map[string]describedMetric {
	all := map[string]describedMetric{}
	for _, m := range metrics {
		all[m.name] = describedMetric{m.kind, prometheus.NewDesc(m.name, m.help, m.labels, nil)}
	}
	return all
}()

type describedMetric struct {
	kind kind
	desc *prometheus.Desc
}
