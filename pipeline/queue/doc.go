// Package queue carries jobs to workers, outcomes back to the leaders of sweeps, and files to whoever
// needs them. It is the only package that knows NATS.
//
// It uses JetStream for what JetStream is for: leases, redelivery, storage and compare-and-swap. It needs
// a server with JetStream: [Embed] starts one inside this process (in memory, without an open port or a
// file on the disk), [Dial] connects to one elsewhere. The server stores
//
//	shatter-jobs     work queue    shatter.job.<sweep>.<epoch>.<job>; one durable pull consumer for each sweep
//	shatter-results  stream        shatter.result.<sweep>.<worker>.<epoch>.<job>.<part>.<parts>
//	shatter-workers  key-value     the last heartbeat of each worker, for some seconds
//	shatter-sweeps   key-value     the [Registry] of sweeps that were submitted, with the leases of their leaders
//	shatter-files    object store  data, plugins, plans and results, named by their SHA-256
//
// A worker leases a job ([Puller.Lease]), extends the lease while it works, stores the results
// ([Puller.Publish]), and then acknowledges the job, which removes it. Of a worker that dies, the lease ends
// after [AckWait] and the server delivers the job to another one. Results stay until their sweep has ended,
// or are on the disk of the one coordinator that needs them: a new leader reads them all from the first on.
// Jobs and results may come more than once; the ledger recognizes copies.
//
// Plain messages, which may be lost because they are repeated, are
//
//	shatter.offer.<sweep>           of a leader to all workers: what its sweep needs and wants
//	$KV.shatter-workers.<worker>    of a worker to all leaders: its heartbeat, which the bucket stores
//	shatter.ask.<sweep>             to the leader of a sweep that was submitted: a question about its state
//
// With credentials of a cluster that has roles ([GrantsOf]), workers and submitters neither make nor change
// streams and consumers of jobs and results: coordinators do. What a worker sends is its own, because
// the server lets it publish under no other name.
//
// Start at [Conn]: Coordinate returns a leader's [Queue], Puller a worker's side of the queue; [Files] stores files,
// and [Registry] lists submitted sweeps and elects their leaders.
package queue
