// Package host starts, supervises and stops the processes that serve algorithms, and runs sessions
// of trials in them.
//
// A plugin cannot take its host along. If it exits, hangs, stops itself, floods its output, takes too much memory,
// sends invalid answers or leaves processes behind, every call returns with an error that explains the fault, and after
// Stop no process, socket or memory of the plugin remains. A plugin ends with its host, for any cause of the host's
// end. It gets an environment of a few variables, an empty standard input, its own process group, and descriptors for a
// life-line, the memory of sessions and a shared dataset. It runs in the sandbox of package sandbox.
//
// The package needs Unix. The sandbox, memory limits, and read-only shared memory need Linux. Start reading at Start,
// then Process.Open. Catalog answers questions about algorithms before anything is run.
package host
