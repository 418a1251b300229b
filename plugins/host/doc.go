// Package host starts, supervises and stops the processes that serve algorithms, and runs sessions
// of trials in them.
//
// It promises that a plugin cannot take its host along. Whatever it does (exits, hangs, stops
// itself, floods its output, eats memory, answers nonsense, leaves processes behind), every call
// returns, with an error that tells a person what happened, and after Stop nothing of it is left:
// no process, no socket, no memory. A plugin dies with its host, however that ends. It gets an
// environment of a few variables, an empty standard input, its own process group, and descriptors
// for a life-line, the memory of sessions and a shared dataset; and it runs in the sandbox of the
// package of that name.
//
// It needs Unix. The sandbox, watching memory, and keeping a plugin from writing to shared memory
// need Linux. Start reading at Start, then Process.Open. Catalog answers questions about algorithms
// before anything is run.
package host
