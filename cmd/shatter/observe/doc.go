// Package observe serves what people and programs watch a process of Shatter by: /healthz, /readyz
// and /metrics in the format of Prometheus.
//
// It promises that a metric's name, help and labels stand once, in the list of metrics; that the
// number of series stays small whatever the sweeps are (mostSweeps of them are told apart, and no
// label holds a text of a user but the name of a sweep); and that looking costs the process nothing
// between two looks. It needs a source of numbers: a coordinator's, a worker's or a connection's.
//
// Start at [Listen]; the numbers are taken in [Registry].
package observe
