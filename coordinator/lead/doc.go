// Package lead runs sweeps that were submitted to a server, many at a time.
//
// It promises that a sweep that was submitted comes to its end as long as one coordinator anywhere
// serves, whatever happens to those before it and to their disks: each sweep has one leader at a
// time. Results stay on the server until the sweep has ended, and the next leader reads them all. The output
// folder goes to the server when a leader ends. Two leaders at the same time would waste work and change no
// result.
//
// It needs a connection of package queue to a server with a registry, a folder of its own, and a Load, which makes
// a plan of what was submitted. Start at Serve. Its parts:
//
//	Submission, Wish, End   what the registry holds of a sweep
//	Server                  watches the registry, campaigns, and leads
//	term                    one leadership of one sweep
//	collectGarbage          deletes sweeps, and removes results and content that no sweep needs
//	shipper                 ships a folder; Fetch makes a folder of what was shipped
//	Answer                  a leader's description of its sweep; Look derives a Status
package lead
