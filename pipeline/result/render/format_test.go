package render

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"

	"github.com/shatterlab/shatter/schemas"

	"github.com/shatterlab/shatter/pipeline/result/sheet"
)

// Every format has a unique name and a doc and writes sheets with and without rows. A format for
// programs writes the same text for a sheet as for an answer with its rows.
func TestFormats(t *testing.T) {
	s := sheet.Of("table", []schemas.Column{
		{Name: "a \"b\"", Type: schemas.TextColumn}, {Name: "i", Type: schemas.IntColumn},
		{Name: "f", Type: schemas.FloatColumn}, {Name: "t", Type: schemas.BoolColumn},
	}, []any{"x,\"y\"\n", int64(7), 0.1, true}, []any{nil, nil, nil, nil}, []any{"", int64(-1), 1e300, false})
	seen := map[string]bool{}
	for _, f := range Formats() {
		if f.Name == "" || seen[f.Name] || f.Doc == "" || f.ForPeople() != (f.write == nil) {
			t.Errorf("%+v", f)
		}
		seen[f.Name] = true
		for _, shown := range []*sheet.Sheet{s, sheet.Of(s.Name, s.Columns)} {
			var fromSheet, fromAnswer bytes.Buffer
			if err := Render(shown, &fromSheet, f.Name); err != nil || fromSheet.Len() == 0 {
				t.Errorf("%s: %v, %q", f.Name, err, fromSheet.String())
			}
			if err := WriteAnswer(&fromAnswer, answerOf(t, shown), f.Name, 0); err != nil || fromAnswer.Len() == 0 {
				t.Errorf("%s: %v, %q", f.Name, err, fromAnswer.String())
			}
			if same := f.Name == "csv" || f.Name == "json"; same && fromSheet.String() != fromAnswer.String() {
				t.Errorf("%s: sheet\n%s\nanswer\n%s", f.Name, fromSheet.String(), fromAnswer.String())
			}
		}
	}
	if err := WriteAnswer(&bytes.Buffer{}, answerOf(t, s), "xml", 0); err == nil ||
		!strings.Contains(err.Error(), `unknown format "xml": must be one of table, json, csv, md, tex, arrow, parquet`) {
		t.Error(err)
	}
}

// answerOf returns an answer with the rows of a sheet, one per batch.
func answerOf(t *testing.T, s *sheet.Sheet) Answer {
	t.Helper()
	schema := s.Record().Schema()
	var batches []arrow.Record
	for row := range s.Len() {
		batches = append(batches, s.Take([]int{row}).Record())
	}
	return &answer{schema, batches}
}

type answer struct {
	schema  *arrow.Schema
	batches []arrow.Record
}

func (a *answer) Schema() *arrow.Schema { return a.schema }

func (a *answer) Next() (arrow.Record, error) {
	if len(a.batches) == 0 {
		return nil, io.EOF
	}
	rec := a.batches[0]
	a.batches = a.batches[1:]
	return rec, nil
}
