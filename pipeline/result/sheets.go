package result

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/shatterlab/shatter/schemas"

	"github.com/shatterlab/shatter/pipeline/result/sheet"
)

// Sheet is "table", "curve", "bounds", "fits" or "timing", in the order of the result's rows.
func (r *Result) Sheet(name string) (*sheet.Sheet, error) {
	switch name {
	case "table":
		if r.Games != nil {
			return sheet.NewSheet(name, slices.Concat(schemas.KeyColumns(), r.params(), schemas.GameColumns()), r.Games, (*GameRow).value)
		}
		columns := slices.Concat(schemas.KeyColumns(), r.params(), schemas.TableColumns())
		s, err := sheet.NewSheet(name, columns, r.Table, (*TableRow).value)
		if err == nil {
			s.Confidence = r.Confidence
		}
		return s, err
	case "curve":
		columns := slices.Concat(schemas.KeyColumns(), r.params(), schemas.CurveColumns(), r.metrics())
		return sheet.NewSheet(name, columns, r.Curve, (*CurveRow).value)
	case "bounds":
		return sheet.NewSheet(name, slices.Concat(schemas.BoundColumns(), r.with()), r.Bounds, (*BoundRow).value)
	case "fits":
		return sheet.NewSheet(name, schemas.FitColumns(), r.Fits, (*FitRow).value)
	case "timing":
		return sheet.NewSheet(name, schemas.TimingColumns(), r.Timing, (*TimingRow).value)
	}
	return nil, fmt.Errorf("show %q: a result has table, curve, bounds, fits and timing", name)
}

// cells is all cells of the result.
func (r *Result) cells() []*Cell {
	var all []*Cell
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

// params is the columns of all parameters, sorted. Where two algorithms give a name different types, integers and
// floats make floats, and anything else makes text.
func (r *Result) params() []schemas.Column {
	types := map[string]schemas.ColumnType{}
	for _, c := range r.cells() {
		for name, v := range c.Params {
			types[name] = sheet.Join(types[name], sheet.TypeOf(v))
		}
	}
	var columns []schemas.Column
	for _, name := range slices.Sorted(maps.Keys(types)) {
		typ := types[name]
		columns = append(columns, schemas.Column{Name: schemas.ParamPrefix + name, Type: typ, Label: typ == schemas.TextColumn, Doc: "parameter " + name})
	}
	return columns
}

// metrics is the columns of the declared metrics, sorted.
func (r *Result) metrics() []schemas.Column {
	return floats(schemas.MetricPrefix, "metric ", slices.Values(r.Metrics))
}

// with is the columns of the bounds' intermediate values, sorted.
func (r *Result) with() []schemas.Column {
	names := map[string]bool{}
	for _, b := range r.Bounds {
		for name := range b.With {
			names[name] = true
		}
	}
	return floats(schemas.WithPrefix, "intermediate value ", maps.Keys(names))
}

func floats(prefix, doc string, names iter.Seq[string]) []schemas.Column {
	var columns []schemas.Column
	for _, name := range slices.Compact(slices.Sorted(names)) {
		columns = append(columns, schemas.Column{Name: prefix + name, Type: schemas.FloatColumn, Doc: doc + name})
	}
	return columns
}
