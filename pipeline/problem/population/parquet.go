package population

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/apache/arrow/go/v17/parquet/pqarrow"
)

var parquetFormat = format{name: "parquet", extensions: []string{".parquet"}, read: readParquet}

// readParquet reads a Parquet file, one column of one row group after the other, so that only one
// compressed column is in memory.
func readParquet(t *table, f *io.SectionReader) error {
	mem := newLimited(f.Size())
	pf, err := file.NewParquetReader(f, file.WithReadProps(parquet.NewReaderProperties(mem)))
	if err != nil {
		return t.damaged(err)
	}
	r, err := pqarrow.NewFileReader(pf, pqarrow.ArrowReadProperties{}, mem)
	if err != nil {
		return t.damaged(err)
	}
	schema, err := r.Schema()
	if err != nil {
		return t.damaged(err)
	}
	if err := t.beginArrow(schema); err != nil {
		return err
	}
	for g := range pf.NumRowGroups() {
		base, rows := t.rows, pf.MetaData().RowGroup(g).NumRows()
		if err := t.growBy(rows); err != nil {
			return err
		}
		for c, role := range t.roles {
			if role.use == unused {
				continue
			}
			if err := checkChunk(pf, g, r.Manifest.Fields[c].ColIndex, f.Size()); err != nil {
				return t.damaged(err)
			}
			if err := t.chunk(r, g, c, base, int(rows)); err != nil {
				return err
			}
		}
	}
	return nil
}

// chunk reads column c of row group g, whose first row is number base.
func (t *table) chunk(r *pqarrow.FileReader, g, c, base, rows int) error {
	const batch = 1 << 14 // rows
	leaf := r.Manifest.Fields[c].ColIndex
	// Unlike the readers of records and tables, this one starts no goroutine. A panic of a goroutine on
	// damaged bytes could not be recovered.
	column, err := r.GetFieldReader(context.Background(), c, map[int]bool{leaf: true}, []int{g})
	if err != nil {
		return t.damaged(err)
	}
	defer column.Release()
	for row := 0; row < rows; {
		pieces, err := column.NextBatch(int64(min(batch, rows-row)))
		if err != nil {
			return t.damaged(err)
		}
		if n := pieces.Len(); n == 0 || n > rows-row {
			return t.damaged(fmt.Errorf("column %q ends after %d of %d rows", t.roles[c].name, row+n, rows))
		}
		for _, a := range pieces.Chunks() {
			if err := t.fill(t.roles[c], base+row, a); err != nil {
				return err
			}
			row += a.Len()
		}
		pieces.Release()
	}
	return nil
}

// checkChunk rejects a column chunk that is encrypted, has an encoding that the library lacks, is larger than the file,
// or begins with a dictionary of more values than bytes: the library allocates what these state.
func checkChunk(r *file.Reader, group, leaf int, fileSize int64) error {
	g := r.RowGroup(group)
	c, err := g.MetaData().ColumnChunk(leaf)
	switch {
	case err != nil:
		return err
	case c.CryptoMetadata() != nil:
		return unsupported("it is encrypted; write it without encryption")
	case slices.ContainsFunc(c.Encodings(), func(e parquet.Encoding) bool { return e.String() == "BYTE_STREAM_SPLIT" }):
		return errors.New("unsupported encoding BYTE_STREAM_SPLIT")
	case c.TotalCompressedSize() > fileSize:
		return fmt.Errorf("a column of %d bytes is larger than the file", c.TotalCompressedSize())
	}
	pages, err := g.GetColumnPageReader(leaf)
	if err != nil || !pages.Next() {
		return err
	}
	if d, ok := pages.Page().(*file.DictionaryPage); ok && int(d.NumValues()) > len(d.Data()) {
		return fmt.Errorf("a dictionary of %d values has %d bytes", d.NumValues(), len(d.Data()))
	}
	return nil
}
