// Package coordinator turns a plan into a table. It asks each cell which trials it still needs,
// runs them on the pool of workers, checks the outcomes, records them in the ledger, and stops when
// every cell is decided and rechecked.
//
// The remaining work is always the plan minus the ledger. A lost, duplicate, late or reordered job
// therefore changes nothing. The result files are a pure function of the plan and the outcomes.
// Results stay on the server until they are in a ledger on disk. In a cluster they stay until the
// sweep has ended, so that a new leader can read them again.
//
// A run needs a connection of package queue and a claimed folder (package folder). Start at [Run].
// The type run is the source of the pool's trials. Its parts, each a type with a file:
//
//	grid       the cells: which are decided, which may want trials
//	scheduler  requests trials, and tracks the requests with missing trials
//	intake     checks results, appends them to the ledger and feeds their cells
//	cacheUse   outcomes shared with other sweeps
//	progress   the state of the run for people, with the predicted remaining work
//
// Packages below it: pool (jobs and workers), audit (trials that are run twice), forecast
// (predicted run times), meter (counters), folder (output folders and their checks). Package result
// makes the rows from plan and ledger.
package coordinator
