package result

import (
	"fmt"
	"slices"

	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/pipeline/wording"
)

// Sheet returns the sheet of a name in [Sheets], in the order of the result's rows.
func (r *Result) Sheet(name string) (*sheet.Sheet, error) {
	s, err := r.sheet(name)
	if err == nil && name == "table" {
		s.Confidence = r.Confidence
	}
	return s, err
}

func (r *Result) sheet(name string) (*sheet.Sheet, error) {
	params := paramColumns(r.cells())
	switch name {
	case "table":
		if r.Games != nil {
			columns := withKey(params, (*GameRow).cell, gameColumns)
			if slices.ContainsFunc(r.Games, func(row GameRow) bool { return row.Search != nil }) {
				columns = append(columns, gameSearchColumns...)
			}
			return sheet.New(name, columns, slices.Values(r.Games))
		}
		columns := withKey(params, (*TableRow).cell, tableColumns)
		if slices.ContainsFunc(r.Table, func(row TableRow) bool { return row.Cell.Rung != nil }) {
			columns = append(columns, findColumns...)
		}
		if slices.ContainsFunc(r.Table, func(row TableRow) bool { return row.Audit != nil }) {
			columns = append(columns, auditColumns...)
		}
		return sheet.New(name, columns, slices.Values(r.Table))
	case "curve":
		metrics := metricColumns(r.metrics())
		return sheet.New(name, withKey(params, (*CurveRow).cell, curveColumns, metrics), slices.Values(r.Curve))
	case "bounds":
		columns := slices.Concat(boundColumns, withColumns(r.Bounds))
		return sheet.New(name, columns, slices.Values(r.Bounds))
	case "fits":
		return sheet.New(name, fitColumns, slices.Values(r.Fits))
	case "timing":
		rows, err := r.timings()
		if err != nil {
			return nil, err
		}
		return sheet.New(name, timingColumns, slices.Values(rows))
	case "failures":
		rows, err := r.failures()
		if err != nil {
			return nil, err
		}
		return sheet.New(name, failureColumns, slices.Values(rows))
	}
	return nil, fmt.Errorf("show %q: a result has %s", name, wording.And(Sheets()))
}

// cells returns the cells of all rows; cells may repeat.
func (r *Result) cells() (cells []*trial.Cell) {
	for _, x := range r.Trials {
		cells = append(cells, x.Cell)
	}
	for i := range r.Table {
		cells = append(cells, r.Table[i].Cell)
	}
	for i := range r.Curve {
		cells = append(cells, r.Curve[i].Cell)
	}
	return cells
}

// metrics returns the distinct names of the declared metrics, sorted.
func (r *Result) metrics() []string { return slices.Compact(slices.Sorted(slices.Values(r.Metrics))) }
