// Package compare compares two results cell by cell, or cells of one result with each other.
//
// It promises that the probability that any two cells are told apart that do not differ is at most
// the level that the comparison states: the levels of the brackets of both tables, and that of all
// its tests together, add up. It needs the files table.parquet and trials.parquet of a result.
//
// Start at [Read], which reads the table of a result. [Match] says which of its rows belong
// together, [Matching.Compare] judges each pair, and [Comparison.Sheet] shows what was found.
package compare
