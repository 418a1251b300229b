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

// readParquet reads a Parquet file, one column after the other.
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
	if err := t.reserve(pf.NumRows()); err != nil {
		return err
	}
	for i, c := range t.columns {
		if c.use == unused {
			continue
		}
		if err := t.readColumn(r, i, f.Size()); err != nil {
			return t.damaged(err)
		}
	}
	return nil
}

// readColumn reads the i-th column.
func (t *table) readColumn(r *pqarrow.FileReader, i int, fileSize int64) error {
	const batch = 1 << 14 // rows
	leaf, groups := r.Manifest.Fields[i].ColIndex, []int{}
	for g := range r.ParquetReader().NumRowGroups() {
		if err := checkChunk(r.ParquetReader(), g, leaf, fileSize); err != nil {
			return err
		}
		groups = append(groups, g)
	}
	// Unlike the readers of records and tables, this one starts no goroutine. A panic of a
	// goroutine on damaged bytes could not be recovered.
	cells, err := r.GetFieldReader(context.Background(), i, map[int]bool{leaf: true}, groups)
	if err != nil {
		return err
	}
	defer cells.Release()
	for row := 0; row < t.rows; {
		pieces, err := cells.NextBatch(int64(min(batch, t.rows-row)))
		if err != nil {
			return err
		}
		if n := pieces.Len(); n == 0 || n > t.rows-row {
			return fmt.Errorf("column %q ends after %d of %d rows", t.columns[i].name, row+n, t.rows)
		}
		for _, a := range pieces.Chunks() {
			t.fill(t.columns[i], row, a)
			row += a.Len()
		}
		pieces.Release()
	}
	return nil
}

// checkChunk rejects a column chunk that is encrypted, has an encoding that the library lacks, is
// larger than the file, or begins with a dictionary of more values than bytes: the library
// allocates memory by these sizes.
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
