// Package worker runs a worker process. It leases jobs from the queues of sweeps, draws their data, runs them in
// plugin processes, plays the adversary, scores the answers, publishes the outcomes and acknowledges the jobs.
// Start reading at [Run].
//
// Guarantees:
//
//   - A trial never costs another trial its outcome. If a plugin process ends, the unfinished trials of the job
//     run again in halves, in fresh processes, down to the single trial that ends the process.
//   - A job is acknowledged only after the server has stored its results, so a crash repeats work and loses none.
//   - A job that this worker cannot run returns to the queue without an outcome. The heartbeat then carries the
//     reason, and the worker leases no jobs of that sweep for a while.
//   - The target and the labels of test points and queries never leave the worker.
//   - A plugin sees evaluation points in random order and in chunks. If the sweep uses the sequential rule, a trial
//     stops early when its error is clear.
//   - Rechecks run in processes that run nothing else. A shuffled recheck asks about some points one by one and then
//     about all of them in another order. The other kind runs each trial in a process of its own.
package worker
