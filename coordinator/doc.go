// Package coordinator turns a plan into a table: it asks each cell what it still has to know, hands that out as jobs, verifies
// what comes back, keeps it in the ledger, and stops where the table is decided.
//
// It promises that what is left to do is always the plan minus the ledger: a job that is lost, doubled, late or reordered
// changes nothing. It promises that the result files are a pure function of the plan and the outcomes, and that an outcome is
// acknowledged only after it is on the disk.
//
// It needs a bus connection, a folder of its own and the plugins' answers about sample sizes. Start reading at Run.
package coordinator
