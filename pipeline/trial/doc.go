// Package trial defines the values that coordinator and workers exchange. A [Cell] is a point of the grid, with
// everything that a worker needs to run its trials. A [Job] is a range of a cell's repetitions. A [Key] identifies a
// cell or its data. [Seed] derives every random stream from keys, sample sizes and repetitions.
//
// Keys and seeds never change within one [Format]: the determinism of a sweep depends on them. Start with Cell.
package trial
