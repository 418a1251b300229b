// Package coordinator turns a plan into a table. It asks each cell which trials it still needs,
// publishes these as jobs to a work queue, checks the outcomes that come back, keeps them in the ledger,
// and stops where the table is decided.
//
// It promises that what is left to do is always the plan minus the ledger: a job that is lost,
// doubled, late or reordered changes nothing. It promises that the result files are a pure function
// of the plan and the outcomes, and that results stay on the server until the sweep has ended or they are
// in a ledger on the disk: a new leader reads them again.
// A random share of each cell's trials is run again, by another worker if there is one, and compared
// bit for bit (looks).
//
// It needs a connection of package queue and a claimed folder (package folder): what algorithms say of sample sizes
// comes from workers. Start reading at Run and at the loop of type run. Its parts, each a type with a
// file:
//
//	grid        the cells: which are decided, which may want trials; asks the algorithms
//	dispatcher  the jobs that are out: which trials the next jobs have
//	crew        the work queue: publishes jobs and offers, follows the workers' heartbeats, publishes again
//	            what the server has lost, and once more what runs four times longer than predicted
//	intake      the results: checked, appended to the ledger, fed to their cells
//	looks       trials that are run a second time when the cells are decided
//	rerun       trials that are run again, to compare them with their records
//	cacheUse    outcomes shared with other sweeps
//	progress    the state of the run for people, with the predicted work left
//	tables      the rows of the result files; fitter adds the slopes
//	pilotRun    the decider of a cell by whose trials Predict measures costs
//
// CheckTables, CheckSample and RunTrial read a folder that a run has left.
package coordinator
