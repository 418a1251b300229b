// Package simulation runs coordinators, workers and a NATS server on a virtual clock, with a
// network and disks that fail according to a seed, and compares the result with that of an
// undisturbed run.
//
// Everything except three parts is production code: the NATS server and its client, package queue,
// the leaders with their ledgers and shipments, and the workers with their job queues. The
// simulated parts are the connections, which lose, duplicate, delay and reorder messages; the disks
// under the ledgers, which lose unsynced data; and the trials, whose outcomes are drawn and whose
// run time is a sleep. The simulation needs testing/synctest and a folder in memory. All of it is
// tests: start at TestSimulation.
//
// Each core runs 700 to 950 schedules per minute of CPU time, measured on a machine with two cores
// and loads of 5 to 20. The last line of
//
//	go test ./cmd/shatter/simulation -run TestSimulation -sim.schedules 200 -v
//
// reports user and system time of the process; shared caches and cores increase it. -sim.schedules
// 10000 runs ten thousand schedules, and -sim.seed sets the first one.
//
// A bubble has one clock for all processes, so a process cannot be stopped completely. For a
// stopped process, no message arrives or leaves, no sync of its disk and no trial ends, and the
// timers of its leases fire late, which [queue.Options] permits: a leader continues after its lease
// has expired, and has not noticed it yet. Its other timers fire in time, but their effects become
// visible only after it continues.
package simulation
