package result

import (
	"fmt"
	"slices"

	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/pipeline/wording"
)

// Sheet returns one of Sheets, in the order of the result's rows.
func (r *Result) Sheet(name string) (*sheet.Sheet, error) {
	params := paramColumns(r.cells())
	switch name {
	case "table":
		if r.Games != nil {
			return sheet.New(name, withKey(params, (*GameRow).cell, gameColumns), r.Games)
		}
		columns := withKey(params, (*TableRow).cell, tableColumns)
		if slices.ContainsFunc(r.Table, func(row TableRow) bool { return row.Cell.Rung != nil }) {
			columns = append(columns, findColumns...)
		}
		s, err := sheet.New(name, columns, r.Table)
		if err == nil {
			s.Confidence = r.Confidence
		}
		return s, err
	case "curve":
		metrics := metricColumns(r.metrics())
		return sheet.New(name, withKey(params, (*CurveRow).cell, curveColumns, metrics), r.Curve)
	case "bounds":
		bounds := r.Bounds
		if bounds == nil {
			bounds = slices.Values[[]BoundRow](nil)
		}
		return sheet.Stream(name, slices.Concat(boundColumns, withColumns(bounds)), bounds)
	case "fits":
		return sheet.New(name, fitColumns, r.Fits)
	case "timing":
		return sheet.New(name, timingColumns, r.Timing)
	case "failures":
		rows, err := r.failures()
		if err != nil {
			return nil, err
		}
		return sheet.New(name, failureColumns, rows)
	}
	return nil, fmt.Errorf("show %q: a result has %s", name, wording.And(Sheets()))
}

// cells returns the cells of all rows, some of them several times.
func (r *Result) cells() []*trial.Cell {
	var all []*trial.Cell
	for i := range r.Trials {
		all = append(all, r.Trials[i].Cell)
	}
	for i := range r.Table {
		all = append(all, r.Table[i].Cell)
	}
	for i := range r.Curve {
		all = append(all, r.Curve[i].Cell)
	}
	return all
}

// metrics returns the names of the declared metrics, each once, sorted.
func (r *Result) metrics() []string { return slices.Compact(slices.Sorted(slices.Values(r.Metrics))) }
