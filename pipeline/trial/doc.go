// Package trial holds what travels between coordinator and workers, and what identifies it: Cell, a
// point of the grid with everything that a worker needs to run its trials; Job, a range of its
// repetitions; Key, the identity of a cell and of its data; and Seed, which derives every stream of
// randomness from keys, sample sizes and repetitions.
//
// The package promises that keys and seeds never change within one Format: they are the whole of
// the determinism of a sweep. Start with Cell.
package trial
