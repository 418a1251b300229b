// Package query answers SQL over the Parquet files of a result, on the command line and as an Arrow
// Flight SQL service.
//
// It promises that a question reads nothing but the files of its result and changes nothing at all,
// that it ends within its time and its memory or says which of them it exceeded, and that answers
// of any length pass in batches. Answers have the four types of result files (text, 64-bit
// integers, floats, booleans): what SQL makes beside these is cast to the nearest of them.
//
// A question is answered in a child process, this binary again, in the sandbox of plugins: it may read
// the files of the result, and the system's libraries, and reaches neither the network nor other
// processes. It limits its own memory, writes no file and is killed when the time is over, when it
// holds too much, or when nobody waits for the answer any more. The answer comes back through a pipe
// as Arrow IPC. A child that ended in peace answers the next question.
//
// It needs DuckDB, and so a build with cgo; without it Open says so. Open is where to start; Write
// shows an answer, Serve offers the same to clients of Flight SQL.
//
// Within it, four things keep SQL in its place, any of which would do for most of what can be tried:
// only one statement, and only one that selects or explains a selection; table functions from a short
// list only, by the syntax tree; no file but those of the result, no network and no extension; and a
// configuration that is locked before a question is seen.
package query
