package query

import (
	"slices"
	"strings"

	"github.com/shatterlab/shatter/schemas"

	"github.com/shatterlab/shatter/pipeline/result"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
)

// A View describes a table that SQL queries can read.
type View struct {
	Name    string
	Columns []schemas.Column // columns of the result's file, with their documentation
}

// Alias is a second name of the view "table", whose own name is a reserved word of SQL.
const Alias = "cells"

// names lists the files of a result; each is a view.
var names = []string{"table", "curve", "bounds", "trials", "timing", "fits", "failures"}

// documented returns the columns that a view may have, except columns named by algorithms.
func documented(view string) []schemas.Column {
	table := slices.Concat(result.Columns("table"), result.SearchColumns(), result.Columns("games"))
	if view == "table" {
		return table
	}
	return append(result.Columns(view), table...) // some views have the key columns
}

// meaning returns the documentation of a column; "": none.
func meaning(view, column string) string {
	for prefix, what := range map[string]string{
		schemas.ParamPrefix: "parameter ", schemas.MetricPrefix: "metric ", schemas.WithPrefix: "intermediate value ",
	} {
		if name, ok := strings.CutPrefix(column, prefix); ok {
			return what + name
		}
	}
	for _, c := range documented(view) {
		if c.Name == column {
			return c.Doc
		}
	}
	return ""
}

// withMetrics returns the views with the documentation of the metrics.
func withMetrics(views []View, metrics []schemas.Metric) []View {
	for _, v := range views {
		for _, m := range metrics {
			if i := schemas.IndexOf(v.Columns, schemas.MetricPrefix+m.Name); i >= 0 {
				v.Columns[i].Doc = m.Meaning()
			}
		}
	}
	return views
}

// Describe returns the views as one sheet: view, column, type, meaning.
func Describe(views []View) *sheet.Sheet {
	var columns []schemas.Column
	for _, name := range []string{"view", "column", "type", "meaning"} {
		columns = append(columns, schemas.Column{Name: name, Type: schemas.TextColumn})
	}
	var rows [][]any
	for _, v := range views {
		for _, c := range v.Columns {
			rows = append(rows, []any{v.Name, c.Name, string(c.Type), c.Doc})
		}
	}
	return sheet.Of("schema", columns, rows...)
}

// fileOf returns the name of a view's file.
func fileOf(view string) string { return view + ".parquet" }
