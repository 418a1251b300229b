package query

import (
	"testing"
)

func TestQuoteTable(t *testing.T) {
	for sql, want := range map[string]string{
		"select * from table":                    `select * from "table"`,
		"SELECT * FROM TABLE t":                  `SELECT * FROM "table" t`,
		"from /* the */ table -- table":          `from /* the */ "table" -- table`,
		"select table.n from curve, table":       `select "table".n from curve, "table"`,
		"from curve join\n table using (cell)":   "from curve join\n \"table\" using (cell)",
		"describe table":                         `describe "table"`,
		"create table x(i int)":                  "create table x(i int)",
		"select 'from table', \"from table\"":    "select 'from table', \"from table\"",
		"select 'it''s from table' from table":   `select 'it''s from table' from "table"`,
		"drop table x":                           "drop table x",
		"select tables from tables":              "select tables from tables",
		"select 1 /* from table */, '-- ' table": "select 1 /* from table */, '-- ' table",
	} {
		if got := quoteTable(sql); got != want {
			t.Errorf("%s\n%s, want\n%s", sql, got, want)
		}
	}
}

func TestPlain(t *testing.T) {
	for message, want := range map[string]string{
		"Parser Error: syntax error at or near \"selct\"\n\nLINE 1: selct 1\n        ^": `syntax error at or near "selct" (line 1, column 1)`,
		"Binder Error: Referenced column \"x\" not found!\nCandidate bindings: \"n\"\n\nLINE 12:  select x\n               " +
			"   ^": `referenced column "x" not found; Candidate bindings: "n" (line 12, column 10)`,
		"Out of Memory Error: failed to allocate.\nPossible solutions:\n* x": "failed to allocate",
		"INTERNAL Error: it broke\n\nStack Trace:\n\n0 x":                    "it broke",
		"": "",
	} {
		if got := plain(message); got != want {
			t.Errorf("%q\n%q, want\n%q", message, got, want)
		}
	}
}
