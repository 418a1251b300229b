// Package observe serves the monitoring of a process of Shatter: pages for people, /healthz,
// /readyz, and /metrics in the format of Prometheus.
//
// A page consists of sections. A browser that follows it gets the sections that have changed, at
// most maxRefresh bytes at once, as server-sent events. Pages are shown to this machine, or to
// clients with a token. Forms of a page ask questions or, with a second token, control sweeps. Only
// the page itself can send them.
//
// The list metrics defines the name, help and labels of each metric. The number of series is
// bounded for any sweeps: at most maxSweeps have their own series, and the only user text in a
// label is the name of a sweep. Between two scrapes the monitoring costs nothing. It needs a source
// of numbers: a coordinator, a worker or a connection.
//
// Start at [Listen]; [Registry] collects the numbers, and [Server.Show] sets the pages.
package observe
