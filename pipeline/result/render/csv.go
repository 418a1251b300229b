package render

import (
	"bufio"
	"encoding/csv"

	"github.com/apache/arrow/go/v17/arrow"
)

var csvFormat = Format{
	Name:  "csv",
	Doc:   "comma-separated values with every column and digit; nothing stands for null",
	write: writeCSV,
}

func writeCSV(w *bufio.Writer, a Answer) error {
	out := csv.NewWriter(w)
	row := make([]string, a.Schema().NumFields())
	for i, f := range a.Schema().Fields() {
		row[i] = f.Name
	}
	if err := out.Write(row); err != nil {
		return err
	}
	err := EachBatch(a, func(rec arrow.Record) error {
		for i := range int(rec.NumRows()) {
			for j, c := range rec.Columns() {
				if row[j] = ""; c.IsValid(i) {
					row[j] = c.ValueStr(i)
				}
			}
			if err := out.Write(row); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	out.Flush()
	return out.Error()
}
