// Package pipeline turns a sweep file into cells: every parameter fixed, every default filled in, every name checked
// against the algorithms themselves, so that a typo never costs a cluster run.
//
// It promises that a plan is a pure function of the file, the data files and what the algorithms describe; that every
// mistake is reported at once, each with its line, column and path; and that the keys it derives never change within one
// Format. It needs an Algorithms, which answers for the plugins, and the problems of pipeline/problem.
//
// Start with Parse (text to File: syntax, keys, types), then Resolve (File to Plan: problems, algorithms, keys). Seed and
// Key are the whole of the determinism of a sweep: whoever draws anything derives its stream from them.
package pipeline
