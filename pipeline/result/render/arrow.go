package render

import (
	"bufio"
	"errors"

	"github.com/apache/arrow/go/v17/arrow/ipc"

	"github.com/shatterlab/shatter/pipeline/result/sheet"
)

var arrowFormat = Format{
	Name:   "arrow",
	Doc:    "an Arrow IPC stream, with the types of the columns",
	Binary: true,
	write: func(w *bufio.Writer, a Answer) error {
		s := ipc.NewWriter(w, ipc.WithSchema(a.Schema()))
		if err := EachBatch(a, s.Write); err != nil {
			return err
		}
		return s.Close()
	},
}

var parquetFormat = Format{
	Name:   "parquet",
	Doc:    "Parquet, with the types of the columns",
	Binary: true,
	write: func(w *bufio.Writer, a Answer) error {
		p, err := sheet.NewParquetWriter(w, a.Schema())
		if err != nil {
			return err
		}
		return errors.Join(EachBatch(a, p.Write), p.Close())
	},
}
