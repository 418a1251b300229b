// Package simulation runs coordinators, workers and a NATS server on a virtual clock, with a network
// and disks that fail as a seed says, and compares what comes out with an undisturbed run.
//
// It promises that everything but three things is the code that people run: the NATS server and its
// client, package bus, the leaders with their ledgers and shipments, and the workers with their
// shelves. The three are the connections, which lose, double, delay and reorder messages; the disks
// under the ledgers, which forget what was not synced; and the trials, whose outcomes are drawn and
// whose time is slept. It needs testing/synctest and a folder in memory. All of it is tests: start at
// TestSimulation.
package simulation
