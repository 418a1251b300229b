// Package simulation runs coordinators, workers and a NATS server on a virtual clock, with a network
// and disks that fail as a seed says, and compares what comes out with an undisturbed run.
//
// It promises that everything but three things is the code that people run: the NATS server and its
// client, package queue, the leaders with their ledgers and shipments, and the workers with their
// shelves. The three are the connections, which lose, double, delay and reorder messages; the disks
// under the ledgers, which forget what was not synced; and the trials, whose outcomes are drawn and
// whose time is slept. It needs testing/synctest and a folder in memory. All of it is tests: start at
// TestSimulation.
//
// Each core makes 700 to 950 schedules a minute of CPU time, on a machine with two of them and loads
// of 5 to 20; what is said in the last line of
//
//	go test ./cmd/shatter/simulation -run TestSimulation -sim.schedules 200 -v
//
// counts user and system time of the process, but who shares caches and cores with others needs more
// of it. -sim.schedules 10000 runs ten thousand, and -sim.seed says which is the first.
//
// A bubble has one clock for all, so that nothing stops a process altogether. Of one that is stopped no
// message arrives or leaves, no sync of its disk and no trial ends, and the timers of its leases fire
// late, which [queue.Options] lets them: a leader goes on after its lease, and does not know yet. Its other
// timers fire in time, but what they do is not heard of before it goes on.
package simulation
