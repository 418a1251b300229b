// Package report shows the result folder of a sweep: one page for a browser (report.html)
// and figures for papers (SVG, PDF, PNG).
//
// It promises that the page needs nothing but itself: it asks for no file and no network, and
// forbids both to whatever stands in it; that nothing from the data can become markup or code; that
// its size and the number of its charts stay reasonable for thousands of cells; and that a figure
// of one folder is the same bytes each time.
//
// It needs table.parquet and curve.parquet; what else a folder holds (bounds, fits, timing, the
// manifest, the sweep file) is shown where it is found, and what is missing is left out.
//
// Start at Load, then Sweep.WriteHTML and Sweep.Figures. A Figure is one chart as data, made in
// figures.go from the tables; plot.go draws it as SVG (in the page and for papers), PDF and PNG.
package report
