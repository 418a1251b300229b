package ledger

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/schemas"
)

// Sheet is one table of a result with its columns, as it is written, read and shown.
type Sheet struct {
	Name    string // table, curve, bounds, fits or timing
	Columns []schemas.Column
	Rows    [][]any // nil, string, int64, float64 or bool, as the column's type says

	Confidence float64 // that no bracket of the table is wrong; 0: none is stated
	Title      string  // of the sweep and its result: a comment in tex
}

// Sheet is "table", "curve", "bounds", "fits" or "timing", in the order of the result's rows.
func (r *Result) Sheet(name string) (*Sheet, error) {
	switch name {
	case "table":
		if r.Games != nil {
			return newSheet(name, slices.Concat(schemas.KeyColumns(), r.params(), schemas.GameColumns()), r.Games, (*GameRow).value)
		}
		columns := slices.Concat(schemas.KeyColumns(), r.params(), schemas.TableColumns())
		s, err := newSheet(name, columns, r.Table, (*TableRow).value)
		if err == nil {
			s.Confidence = r.Confidence
		}
		return s, err
	case "curve":
		columns := slices.Concat(schemas.KeyColumns(), r.params(), schemas.CurveColumns(), r.metrics())
		return newSheet(name, columns, r.Curve, (*CurveRow).value)
	case "bounds":
		return newSheet(name, slices.Concat(schemas.BoundColumns(), r.with()), r.Bounds, (*BoundRow).value)
	case "fits":
		return newSheet(name, schemas.FitColumns(), r.Fits, (*FitRow).value)
	case "timing":
		return newSheet(name, schemas.TimingColumns(), r.Timing, (*TimingRow).value)
	}
	return nil, fmt.Errorf("show %q: a result has table, curve, bounds, fits and timing", name)
}

func newSheet[R any](name string, columns []schemas.Column, rows []R, value func(*R, string) any) (*Sheet, error) {
	s := &Sheet{Name: name, Columns: columns, Rows: make([][]any, len(rows))}
	for i := range rows {
		s.Rows[i] = make([]any, len(columns))
		for j, c := range columns {
			v, err := convert(value(&rows[i], c.Name), c.Type)
			if err != nil {
				return nil, fmt.Errorf("write %s, row %d, column %q: %w", name, i, c.Name, err)
			}
			s.Rows[i][j] = v
		}
	}
	return s, nil
}

// convert makes v fit a column that other cells made wider.
func convert(v any, to schemas.ColumnType) (any, error) {
	switch x := v.(type) {
	case nil:
		return nil, nil
	case string:
		if to == schemas.TextColumn {
			return strings.ToValidUTF8(x, "\uFFFD"), nil
		}
	case int64:
		switch to {
		case schemas.IntColumn:
			return x, nil
		case schemas.FloatColumn:
			return float64(x), nil
		}
	case float64:
		if to == schemas.FloatColumn {
			return x, nil
		}
	case bool:
		if to == schemas.BoolColumn {
			return x, nil
		}
	}
	if to == schemas.TextColumn {
		return text(v), nil
	}
	return nil, fmt.Errorf("%T %v in a column of %s", v, v, to)
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
			types[name] = join(types[name], typeOf(v))
		}
	}
	var columns []schemas.Column
	for _, name := range slices.Sorted(maps.Keys(types)) {
		typ := types[name]
		columns = append(columns, schemas.Column{Name: schemas.ParamPrefix + name, Type: typ, Label: typ == schemas.TextColumn, Doc: "parameter " + name})
	}
	return columns
}

func typeOf(v any) schemas.ColumnType {
	switch v.(type) {
	case int64:
		return schemas.IntColumn
	case float64:
		return schemas.FloatColumn
	case bool:
		return schemas.BoolColumn
	}
	return schemas.TextColumn
}

func join(a, b schemas.ColumnType) schemas.ColumnType {
	number := func(t schemas.ColumnType) bool { return t == schemas.IntColumn || t == schemas.FloatColumn }
	switch {
	case a == "" || a == b:
		return b
	case number(a) && number(b):
		return schemas.FloatColumn
	}
	return schemas.TextColumn
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
