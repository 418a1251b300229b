package ledger

import (
	"errors"
	"io"

	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"
)

// writeArrow writes the sheet in the file format of Arrow IPC: one record batch, uncompressed, with the metadata of the Parquet files.
func writeArrow(s *Sheet, w io.Writer) error {
	schema := arrowSchema(s.Name, s.Columns, s.metadata())
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	s.build(b.Fields())
	rec := b.NewRecord()
	defer rec.Release()
	to := &sink{w: w}
	f, err := ipc.NewFileWriter(&counted{Writer: to}, ipc.WithSchema(schema), ipc.WithAllocator(memory.DefaultAllocator))
	if err != nil {
		return err
	}
	return errors.Join(f.Write(rec), f.Close(), to.err)
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
