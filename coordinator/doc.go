// Package coordinator turns a plan into a table. It asks each cell which trials it still needs, has the pool of workers
// run them, checks the outcomes, keeps them in the ledger, and stops when every cell is decided and rechecked.
//
// The work that remains is always the plan minus the ledger: a job that is lost, doubled, late or reordered changes
// nothing. The result files are a pure function of the plan and the outcomes. Results stay on the server until they are
// in a ledger on the disk, and in a cluster until the sweep has ended: a new leader reads them again.
//
// It needs a connection of package queue and a claimed folder (package folder). Start at [Run]; the type run is the
// source of the pool's trials. Its parts, each a type with a file:
//
//	grid       the cells: which are decided, which may want trials
//	scheduler  requests trials, and tracks the requests whose trials have not all come back
//	intake     checks results, appends them to the ledger and feeds their cells
//	cacheUse   outcomes shared with other sweeps
//	progress   the state of the run for people, with the predicted work left
//
// Packages below it: pool (jobs and workers), audit (trials that are run twice), forecast (predicted run times), meter
// (counters), folder (output folders and their checks). Package result makes the rows from plan and ledger.
package coordinator
