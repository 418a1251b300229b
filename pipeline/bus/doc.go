// Package bus carries jobs to workers, outcomes back to the coordinator, and files to whoever needs them. It is the only
// package that knows NATS.
//
// It promises transport and leases, never memory: every job and every result arrives at least once or is seen to be missing by
// State, and the coordinator computes what is left from its ledger. A job that was handed out comes again when its worker
// shows no sign of life for AckWait. A result stays on the server until it is acknowledged. Nothing is prefetched: each call
// of Lease asks for one job, and a job waits where every slot can still take it.
//
// It needs a server with JetStream: Embed starts one inside this process (in memory, no open port, nothing on the disk), Dial
// connects to one elsewhere. What is stored there:
//
//	shatter-jobs     work queue   shatter.job.<sweep>.<job>        one durable consumer "workers" for all sweeps
//	shatter-results  work queue   shatter.result.<sweep>.<result>  one durable consumer for each sweep, named like it
//	shatter-files    by content   shatter.file.<sha256>[.<part>]   read part by part
//
// Results are a work queue as well because its acknowledgement is the deletion: no second request for each result, and none
// left behind by a crash between the two. Files are parts of half a MiB under their digest instead of NATS's object store,
// because parts are asked for one by one: a transfer goes on after the server's restart, and two who put the same file at
// once write the same bytes. The hot path (job, result, their acknowledgements) uses one lasting subscription and plain messages;
// the JetStream API with its JSON requests is left to setting up and to State.
//
// Start at Conn: Coordinate makes the coordinator's Queue, Lease and Publish are the worker's.
package bus
