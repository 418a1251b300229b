// Package observe serves the monitoring of a process of Shatter: /healthz, /readyz and /metrics in
// the format of Prometheus.
//
// The list metrics defines the name, help and labels of each metric. The number of series is
// bounded for any sweeps: at most maxSweeps have their own series, and the only user text in a
// label is the name of a sweep. Between two scrapes the monitoring costs nothing. It needs a source
// of numbers: a coordinator, a worker or a connection.
//
// Start at [Listen]; [Registry] collects the numbers.
package observe
