// Package worker leases jobs from the work queues of sweeps, draws their data, runs them in plugin
// processes, plays the adversary, scores the answers, publishes the outcomes, and acknowledges the jobs.
//
// It promises that one trial never costs another its outcome: when a plugin process ends, the
// unfinished trials of the job are run again in halves, in fresh processes, down to the trial that
// ends it alone. It promises that it acknowledges a job only when its results are stored, so that
// a crash repeats work and loses none; that a job that it cannot run by its own fault returns to the queue
// and costs no outcome, while its heartbeat has the reason and it leases no jobs of that sweep for a
// while; and that the target and the labels of test points and of
// queries never leave it. Evaluation points are asked about in a random order and in chunks, and,
// where the sweep says so, not all of them in trials that are clear before; a recheck, in a
// process that runs nothing but rechecks, asks about some of them alone, and then about all in another
// order, or runs each trial in a process of its own.
//
// It needs a connection of package queue, plugins and a folder for what it fetches. Start reading at Run.
package worker
