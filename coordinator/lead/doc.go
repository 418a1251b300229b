// Package lead runs submitted sweeps, many at a time.
//
// A submitted sweep runs to its end as long as one coordinator serves, even if earlier coordinators
// and their disks fail. Each sweep has one leader at a time: the coordinator that holds its lease.
// The epoch of the lease identifies the leader's term. Results stay on the server until the sweep
// has ended, and the next leader reads all of them. When a leader ends, it puts the output folder on
// the server. Two leaders at the same time would waste work, but would not change any result.
//
// The package needs a connection of package queue to a server with a registry, a folder, and a
// [Load], which makes a plan of a submission. Start at [Serve]. Its parts:
//
//	Submission, DesiredState, End   values of a sweep in the registry
//	server                          watches the registry, acquires leases, and leads
//	term                            one term: one leader of one sweep
//	collectGarbage                  deletes sweeps, and results and content that no sweep needs
//	shipper                         ships a folder; Fetch makes a folder from a shipment
//	Answer                          a leader's description of its sweep; Look derives a Status
package lead
