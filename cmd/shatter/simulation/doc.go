// Package simulation runs coordinators, workers and a NATS server on a virtual clock, with a network
// and disks that fail as a seed says, and compares what comes out with an undisturbed run.
//
// It promises that everything but three things is the code that people run: the NATS server and its
// client, package bus, the leaders with their ledgers and shipments, and the workers with their
// shelves. The three are the connections, which lose, double, delay and reorder messages; the disks
// under the ledgers, which forget what was not synced; and the trials, whose outcomes are drawn and
// whose time is slept. It needs testing/synctest and a folder in memory. All of it is tests: start at
// TestSimulation. BenchmarkScale stands apart: by the true clock, it measures what a fleet of simulated
// slots costs its coordinator and its server.
//
// TestMutants tries the simulation on faults that somebody could make. Of the 19, 16 were found within
// a minute of CPU time: five of them already without any fault of the world, most others by one of the
// first 16 schedules, sums that are not checked since logs lose bits, and outcomes that are counted
// twice in memory since failures are compared with the ledger. Two break no promise. One was not found:
// a registry that takes what a leader of the past stores.
package simulation
