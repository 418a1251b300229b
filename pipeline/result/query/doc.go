// Package query answers SQL over the Parquet files of a result, on the command line and as an Arrow
// Flight SQL service.
//
// DuckDB runs in this process, through its Go driver. A query reads the views of one result and
// changes nothing: only select and explain select are accepted, the database is opened read-only,
// external access is limited to the files of the result, and the configuration is locked before the
// first query. Each query has its own connection, a time limit that interrupts it, and shares
// DuckDB's memory limit with the other queries. A temporary table holds the answer, so the memory
// limit includes it. Its columns have the four types of result files (text, 64-bit integers,
// floats, booleans); other SQL types are cast to the nearest of these.
//
// DuckDB's limits have gaps: a single function call that runs for minutes cannot be interrupted, so
// its caller waits, and a single value of a gigabyte is not counted. A server for untrusted clients
// therefore also needs a memory limit of the operating system (see "shatter serve --help").
//
// The package needs cgo; without it [Open] returns [ErrNoEngine]. Start at [Open]; [Write] renders
// an answer, and [DB.Serve] offers the same to clients of Flight SQL.
package query
