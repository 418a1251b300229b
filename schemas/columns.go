package schemas

import (
	"math"
	"slices"
)

// ResultVersion is the version of the columns of result files. It is in the metadata of each
// Parquet file of a result, under the key "shatter.result", and increases when a column changes its
// meaning or is removed.
const ResultVersion = "3"

// OutcomeVersion is the version of the messages in which workers send outcomes and in which the
// ledger stores them.
const OutcomeVersion = "3"

// ColumnType is the type of a column of a result file.
type ColumnType string

// The types of columns. Any column may hold nulls.
const (
	TextColumn  ColumnType = "string"
	IntColumn   ColumnType = "int64"
	FloatColumn ColumnType = "float64"
	BoolColumn  ColumnType = "bool"
)

// TypeOf returns the type of the column that contains v: text if it is neither a number nor a bool.
func TypeOf(v any) ColumnType {
	switch v.(type) {
	case int64:
		return IntColumn
	case float64:
		return FloatColumn
	case bool:
		return BoolColumn
	}
	return TextColumn
}

// Column describes one column of a result file.
type Column struct {
	Name string
	Type ColumnType
	Doc  string // meaning of a value, one line of text
}

// ColumnOf is a column with a function that reads its value from a row.
type ColumnOf[Row any] struct {
	Column
	// Value returns a string, an int64, a float64 or a bool, according to the column's type, or nil
	// if the column does not apply to the row. A float64 is never NaN nor -0: see Clean.
	Value func(*Row) any
}

// IndexOf returns the index of the column of this name, or -1 if there is none.
func IndexOf(columns []Column, name string) int {
	return slices.IndexFunc(columns, func(c Column) bool { return c.Name == name })
}

// Plain returns the descriptions of columns without the functions that read their values.
func Plain[Row any](columns []ColumnOf[Row]) []Column {
	plain := make([]Column, len(columns))
	for i, c := range columns {
		plain[i] = c.Column
	}
	return plain
}

// Prefixes of the columns whose names come from algorithms.
const (
	ParamPrefix  = "p_" // parameters, as resolved: int64, float64, bool or string
	MetricPrefix = "m_" // metrics that the algorithm reports: float64
	WithPrefix   = "w_" // intermediate values of a bound: float64
)

// Clean returns v as stored in a column: 0 for the float -0, nil for NaN, and any other value
// unchanged.
func Clean(v any) any {
	f, ok := v.(float64)
	switch {
	case !ok:
		return v
	case f == 0:
		return 0.0
	case math.IsNaN(f):
		return nil
	}
	return v
}

// Nonzero returns v as stored in a column in which zero means "does not apply": nil for zero and
// NaN.
func Nonzero[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return Clean(v)
}
