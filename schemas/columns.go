package schemas

import (
	"math"
	"slices"
)

// ResultVersion is the version of the columns of result files. It stands in the metadata of each
// Parquet file of a result, under the key "shatter.result", and rises when a column changes its
// meaning or is removed.
const ResultVersion = "3"

// OutcomeVersion is the version of the messages in which workers send outcomes and in which the
// ledger keeps them.
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

// TypeOf returns the type of the column that holds v: text where it is no number and no bool.
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
	Doc  string // meaning of a value, one line for people
}

// ColumnOf is a column together with the way its value is read from a row.
type ColumnOf[Row any] struct {
	Column
	// Value returns a string, an int64, a float64 or a bool, as the column's type says, or nil where
	// the column does not apply to the row. A float64 is never NaN nor -0: see Clean.
	Value func(*Row) any
}

// IndexOf returns the index of the column of this name, or -1 where there is none.
func IndexOf(columns []Column, name string) int {
	return slices.IndexFunc(columns, func(c Column) bool { return c.Name == name })
}

// Plain returns what columns say of themselves, without the way their values are read.
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

// Clean returns v as a column holds it: 0 for the float -0, nil for NaN, and anything else
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

// Nonzero returns v as a column holds it in which zero means "does not apply": nil for zero and
// NaN.
func Nonzero[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return Clean(v)
}
