package render

import (
	"bufio"

	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/csv"
	"github.com/apache/arrow/go/v17/arrow/memory"
)

var csvFormat = Format{
	Name: "csv",
	Doc:  "comma-separated values with every column and digit; nothing stands for null",
	write: func(w *bufio.Writer, a Answer) error {
		out := csv.NewWriter(w, a.Schema(), csv.WithHeader(true), csv.WithNullWriter(""))
		none := array.NewRecordBuilder(memory.DefaultAllocator, a.Schema()).NewRecord()
		if err := out.Write(none); err != nil { // the header, even if there are no batches
			return err
		}
		return EachBatch(a, out.Write)
	},
}
