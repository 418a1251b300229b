// Package report shows the result folder of a sweep: one page for a browser (report.html) and
// figures for papers (SVG, PDF, PNG).
//
// The page is self-contained: it requests no file and no network resource, and its policy forbids
// both. Nothing from the data can become markup or code. Its size and its number of figures are
// limited for any number of cells: rows and figures beyond a first screen are packed, and the
// script expands them when the reader asks for them. A figure of one folder has the same bytes each
// time. A live [Page] consists of the same sections, which a process replaces.
//
// The package needs table.parquet and curve.parquet. It shows failures, fits, the manifest and the
// sweep file if the folder has them.
//
// Start at [Load], then [Sweep.WriteHTML] and [Sweep.Choose]. A measure names the columns of a
// quantity, group.go finds the lines of a figure, figure.go makes a [Figure] of them, and plot.go
// draws it.
package report
