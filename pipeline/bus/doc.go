// Package bus carries jobs to workers, outcomes back to the leaders of sweeps, and files to whoever
// needs them. It is the only package that knows NATS.
//
// It promises transport, not storage. Jobs go to a worker by its name, as plain messages that may
// get lost; workers announce what they hold, and leaders send again what is missing. Every result
// arrives at least once and stays on the server until it is acknowledged. Of two leaders of one
// sweep the one of the greater epoch gets the results, and the other one learns of it; it can waste
// work and change nothing.
//
// It needs a server with JetStream: [Embed] starts one inside this process (in memory, without an
// open port or a file on the disk), [Dial] connects to one elsewhere. Plain messages are
//
//	shatter.job.<worker>.<sweep>.<epoch>.<job>   to a worker
//	shatter.drop.<sweep>.<epoch>                 to all workers: jobs that nobody needs any more
//	shatter.call                                 to all workers: who is there?
//	shatter.fleet.<worker>                       a worker announces itself
//	shatter.back.<sweep>.<epoch>.<worker>.<job>  to a leader: a worker does not run its job
//	shatter.ask.<sweep>                          to the leader of a sweep that was submitted: how is it?
//
// and the server stores, with the limits of streamConfigs,
//
//	shatter-results  work queue  shatter.result.<sweep>.<epoch>.<worker>.<job>.<part>.<parts>
//	                             shatter.result.<sweep>.<epoch>.<worker>.<job>.<results>  several, from this job's on
//	shatter-files    objects     files and other content, named by SHA-256
//	shatter-sweeps   key-value   the [Registry] of sweeps that were submitted
//
// Results of jobs that end quickly one after another travel in one message, because carrying each would
// cost more than the job. This is an envelope: the leader's [Queue] delivers each by itself, the server
// has the message until all of them are acknowledged, and a leader that does not say with its jobs that it
// takes such messages gets none.
//
// Each leader has a durable consumer of results, named <sweep>-<epoch>. Results are a work queue
// because an acknowledgement then is the deletion: there is no second request for each result, and a
// crash between the two leaves no result behind. Files are objects of
// an object store, in chunks of half a MiB. Chunks are sent and read one by one, so that a transfer goes on
// after a restart of the server. Whoever fetches a file verifies its SHA-256; a coordinator removes a damaged
// one. [Conn.Restore] puts what a process has put before on a server that has lost it. Jobs, results and their
// acknowledgements use lasting subscriptions and plain messages, because they are many; the JetStream API
// with its JSON requests is used for setting up and for Unread only.
//
// With credentials of a cluster that has roles ([GrantsOf]), workers and submitters neither make nor change
// streams: leaders do. What workers send is believed to be of the worker that its subject names, because
// the server lets it use no other.
//
// Start at [Conn]: Coordinate returns a leader's [Queue]; Listen and Publish are the worker's side;
// Registry has what was submitted, and elects leaders.
package bus
