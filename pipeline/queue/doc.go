// Package queue transports jobs to workers, outcomes to the leaders of sweeps, and files between
// all parties. It is the only package that depends on NATS.
//
// It uses JetStream for leases, redelivery, storage and compare-and-swap. It needs a server with
// JetStream: [Embed] starts one inside this process (in memory, without an open port or a file on
// disk), [Dial] connects to another one. The server stores
//
//	shatter-jobs     work queue    shatter.job.<sweep>.<epoch>.<job>; one durable pull consumer for each sweep
//	shatter-results  stream        shatter.result.<sweep>.<worker>.<epoch>.<job>.<part>.<parts>
//	shatter-workers  key-value     the last heartbeat of each worker, for a few seconds
//	shatter-sweeps   key-value     the [Registry] of submitted sweeps, with the leases of their leaders
//	shatter-files    stream        data, plugins, plans and results: shatter.file.<SHA-256>.<chunk>
//
// A worker leases a job ([Puller.Lease]), extends the lease while it works, stores the results
// ([Puller.Publish]), and then acknowledges the job, which removes it. If a worker dies, the lease
// expires after [AckWait] and the server delivers the job to another worker. Results stay until
// their sweep has ended, or until they are on the disk of the only coordinator that needs them; a
// new leader reads all of them from the first one. Jobs and results may be delivered more than
// once; the ledger recognizes copies.
//
// Plain messages, which may be lost because they are repeated, are
//
//	shatter.offer.<sweep>           from a leader to all workers: the requirements of its sweep
//	$KV.shatter-workers.<worker>    from a worker to all leaders: its heartbeat, which the bucket stores
//	shatter.ask.<sweep>             to the leader of a submitted sweep: a request for its state
//
// With credentials of a cluster that has roles ([GrantsOf]), workers and submitters neither make
// nor change streams and consumers of jobs and results: only coordinators do. A worker cannot forge
// messages of another one, because the server lets it publish under no other name.
//
// Start at [Conn]: Coordinate returns a leader's [Queue], Puller a worker's side of the queue;
// [Files] stores files, and [Registry] lists submitted sweeps and elects their leaders.
package queue
