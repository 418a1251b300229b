package render

import (
	"errors"
	"io"

	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"github.com/shatterlab/shatter/pipeline/result/sheet"
)

// writeArrow writes the sheet in the file format of Arrow IPC: one record batch, uncompressed, with the metadata of the Parquet files.
func writeArrow(s *sheet.Sheet, w io.Writer) error {
	schema := sheet.ArrowSchema(s.Name, s.Columns, s.Metadata())
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	s.Build(b.Fields())
	rec := b.NewRecord()
	defer rec.Release()
	to := &sheet.Sink{W: w}
	f, err := ipc.NewFileWriter(&counted{Writer: to}, ipc.WithSchema(schema), ipc.WithAllocator(memory.DefaultAllocator))
	if err != nil {
		return err
	}
	return errors.Join(f.Write(rec), f.Close(), to.Err)
}

// counted knows how far it has come: all that the library asks of Seek.
type counted struct {
	io.Writer
	at int64
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.Writer.Write(b)
	c.at += int64(n)
	return n, err
}

func (c *counted) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekCurrent {
		return 0, errors.ErrUnsupported
	}
	return c.at, nil
}
