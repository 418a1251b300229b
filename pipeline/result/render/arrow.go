package render

import (
	"bufio"
	"errors"
	"io"

	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"github.com/shatterlab/shatter/pipeline/result/sheet"
)

var arrowFormat = Format{
	Name:   "arrow",
	Doc:    "Arrow IPC, with the types of the columns: a file for sheets, a stream for answers",
	Binary: true,
	sheet:  writeArrowFile,
	answer: writeArrowStream,
}

// writeArrowFile writes a sheet in the file format of Arrow IPC: one record batch, uncompressed,
// with the metadata of the Parquet files.
func writeArrowFile(w *bufio.Writer, s *sheet.Sheet) error {
	schema := sheet.ArrowSchema(s.Name, s.Columns, s.Metadata())
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	s.Build(b.Fields())
	rec := b.NewRecord()
	defer rec.Release()
	to := &sheet.ErrorWriter{Writer: w}
	f, err := ipc.NewFileWriter(&counted{Writer: to}, ipc.WithSchema(schema), ipc.WithAllocator(memory.DefaultAllocator))
	if err != nil {
		return err
	}
	return errors.Join(f.Write(rec), f.Close(), to.Err)
}

func writeArrowStream(w *bufio.Writer, a Answer) error {
	s := ipc.NewWriter(w, ipc.WithSchema(a.Schema()))
	if err := EachBatch(a, s.Write); err != nil {
		return err
	}
	return s.Close()
}

// counted counts the bytes that were written, which is all that the library asks of Seek.
type counted struct {
	io.Writer
	count int64
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.Writer.Write(b)
	c.count += int64(n)
	return n, err
}

func (c *counted) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekCurrent {
		return 0, errors.ErrUnsupported
	}
	return c.count, nil
}
