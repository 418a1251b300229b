package render

import (
	"bufio"
	"cmp"
	"fmt"

	"github.com/shatterlab/shatter/pipeline/result/sheet"
)

var parquetFormat = Format{
	Name:   "parquet",
	Doc:    "Parquet, with the types of the columns",
	Binary: true,
	sheet:  func(w *bufio.Writer, s *sheet.Sheet) error { return s.WriteParquet(w) },
	answer: writeParquet,
}

func writeParquet(w *bufio.Writer, a Answer) error {
	p, err := sheet.NewParquetWriter(w, AnswerColumns(a.Schema()))
	if err != nil {
		return fmt.Errorf("write answer: %w", err)
	}
	err = EachBatch(a, p.Write)
	return cmp.Or(err, p.Close())
}
