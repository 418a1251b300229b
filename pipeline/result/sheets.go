package result

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/schemas"
)

// Sheet returns the sheet of a name in [Sheets], in the order of the result's rows.
func (r *Result) Sheet(name string) (*sheet.Sheet, error) {
	params := paramColumns(r.cells())
	switch name {
	case "table":
		if r.Games != nil {
			return r.games(params)
		}
		columns := withKey(params, (*TableRow).cell, tableColumns)
		if slices.ContainsFunc(r.Table, func(row TableRow) bool { return row.Cell.Rung != nil }) {
			columns = append(columns, findColumns...)
		}
		if slices.ContainsFunc(r.Table, func(row TableRow) bool { return row.Audit != nil }) {
			columns = append(columns, auditColumns...)
		}
		s, err := sheet.New(name, columns, slices.Values(r.Table))
		if err == nil {
			s.Confidence = r.Confidence
		}
		return s, err
	case "curve":
		metrics := metricColumns(r.metrics())
		return sheet.New(name, withKey(params, (*CurveRow).cell, curveColumns, metrics), slices.Values(r.Curve))
	case "bounds":
		columns, rows := r.boundRows()
		return sheet.New(name, columns, rows)
	case "fits":
		return sheet.New(name, fitColumns, slices.Values(r.Fits))
	case "timing":
		var failed error
		s, err := sheet.New(name, timingColumns, r.timings(&failed))
		return s, cmp.Or(failed, err)
	case "failures":
		rows, err := r.failures()
		if err != nil {
			return nil, err
		}
		return sheet.New(name, failureColumns, slices.Values(rows))
	}
	return nil, fmt.Errorf("show %q: a result has %s", name, wording.And(Sheets()))
}

// games returns the table of task online.
func (r *Result) games(params []schemas.ColumnOf[trial.Cell]) (*sheet.Sheet, error) {
	columns := withKey(params, (*GameRow).cell, gameColumns)
	if slices.ContainsFunc(r.Games, func(row GameRow) bool { return row.Search != nil }) {
		columns = append(columns, gameSearchColumns...)
	}
	s, err := sheet.New("table", columns, slices.Values(r.Games))
	if err == nil {
		s.Confidence = r.Confidence
	}
	return s, err
}

// writeBounds writes the file of the sheet bounds. It streams, because this file has by far the
// most rows.
func (r *Result) writeBounds(w io.Writer) error {
	columns, rows := r.boundRows()
	return sheet.WriteStream(w, "bounds", columns, rows, r.origin)
}

// writeTiming writes the file of the sheet timing. It streams, because this file grows with the
// trials.
func (r *Result) writeTiming(w io.Writer) error {
	var failed error
	err := sheet.WriteStream(w, "timing", timingColumns, r.timings(&failed), r.origin)
	return cmp.Or(failed, err)
}

// boundRows returns the columns and rows of the bounds.
func (r *Result) boundRows() ([]schemas.ColumnOf[BoundRow], iter.Seq[BoundRow]) {
	rows := r.Bounds
	if rows == nil {
		rows = slices.Values[[]BoundRow](nil)
	}
	return slices.Concat(boundColumns, withColumns(rows)), rows
}

// cells returns the cells of all rows; cells may repeat.
func (r *Result) cells() iter.Seq[*trial.Cell] {
	return func(yield func(*trial.Cell) bool) {
		for i := range r.Trials {
			if !yield(r.Trials[i].Cell) {
				return
			}
		}
		for i := range r.Table {
			if !yield(r.Table[i].Cell) {
				return
			}
		}
		for i := range r.Curve {
			if !yield(r.Curve[i].Cell) {
				return
			}
		}
	}
}

// metrics returns the distinct names of the declared metrics, sorted.
func (r *Result) metrics() []string { return slices.Compact(slices.Sorted(slices.Values(r.Metrics))) }
