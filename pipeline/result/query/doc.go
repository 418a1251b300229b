// Package query answers SQL over the Parquet files of a result, on the command line and as an Arrow
// Flight SQL service.
//
// DuckDB runs in this process, through its Go driver. A query reads the views of one result and
// changes nothing: only select and explain select are accepted, the database is opened read-only,
// external access is limited to the files of the result, and the configuration is locked before the
// first query. Each query has a connection of its own, a time limit that interrupts it, and shares
// DuckDB's memory limit with the other queries. An answer is held in a temporary table, so the memory
// limit includes it. Its columns have the four types of result files (text, 64-bit integers, floats,
// booleans); other SQL types are cast to the nearest of them.
//
// DuckDB's limits do not cover everything: a single function call that works for minutes cannot be
// interrupted, so its caller waits, and a single value of a gigabyte is not counted. A server for
// untrusted clients therefore also needs a memory limit of the system (see "shatter serve --help").
//
// The package needs cgo; without it Open returns ErrNoEngine. Open is the entry point; Write renders
// an answer, Serve offers the same to clients of Flight SQL.
package query
