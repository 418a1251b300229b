// Package bus carries jobs to workers, outcomes back to the coordinator, and files to whoever needs
// them. It is the only package that knows NATS.
//
// It promises transport and leases, not storage. Every job and every result arrives at least once,
// or [Queue.State] shows that it is missing, and the coordinator computes from its ledger what is
// left to do. A job that was handed out comes again if its worker shows no sign of life for
// AckWait. A result stays on the server until it is acknowledged. Nothing is prefetched: each call
// of [Conn.Lease] asks for one job, and a job waits where every slot can still take it.
//
// It needs a server with JetStream: [Embed] starts one inside this process (in memory, without an
// open port or a file on the disk), [Dial] connects to one elsewhere. The server stores:
//
//	shatter-jobs     work queue  shatter.job.<sweep>.<job>        one consumer, "workers"
//	shatter-results  work queue  shatter.result.<sweep>.<result>  one consumer for each sweep
//	shatter-files    by content  shatter.file.<sha256>[.<part>]   read part by part
//
// Consumers are durable; that of a sweep has the sweep's name. Results are a work queue because an
// acknowledgement then is the deletion: there is no second request for each result, and a crash
// between the two leaves no result behind. Files are stored in parts of half a MiB under their
// digest, and not in NATS's object store, because parts are asked for one by one: a transfer goes
// on after a restart of the server, and two processes that put the same file at once write the same
// bytes. Jobs, results and their acknowledgements use one lasting subscription and plain messages,
// because they are many; the JetStream API with its JSON requests is used for setting up and for
// State only.
//
// Start at [Conn]: Coordinate returns the coordinator's [Queue]; Lease and Publish are the worker's
// side.
package bus
