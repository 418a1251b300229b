package sheet

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/apache/arrow/go/v17/parquet/pqarrow"

	"github.com/shatterlab/shatter/pipeline/disk"
	"github.com/shatterlab/shatter/schemas"
)

// ReadTable reads a table of a result folder: "table", "curve", "bounds", "fits", "timing" or
// "failures". The file may hold anything; ReadTable says so where it is no result file of this version.
func ReadTable(dir, name string) (*Sheet, error) {
	path := filepath.Join(dir, name+".parquet")
	s := &Sheet{Name: name}
	if err := ReadParquet(path, name, s.read); err != nil {
		return nil, fmt.Errorf("read %q: %w", path, err)
	}
	return s, nil
}

// ReadParquet opens a file of a result and calls read, which may not start goroutines: see
// RecoverDamage.
func ReadParquet(path, name string, read func(*Reader) error) (err error) {
	defer RecoverDamage(&err)
	r, err := OpenParquet(path)
	if err != nil {
		return err
	}
	defer r.Close()
	if of := r.File.MetaData().KeyValueMetadata().FindValue(FileKey); of == nil || *of != name {
		return fmt.Errorf("it is not the file %s of a result: its metadata say so", name)
	}
	if r.Rows > maxRows {
		return fmt.Errorf("it has %d rows: at most %d can be shown", r.Rows, maxRows)
	}
	return read(r)
}

// Reader is an open file of a result.
type Reader struct {
	arrow *pqarrow.FileReader
	File  *file.Reader
	Rows  int
}

// Close closes the file.
func (r *Reader) Close() { _ = r.File.Close() } // nothing was written

// OpenParquet opens a result file of this version. It does not rely on what the file says of its
// sizes.
func OpenParquet(path string) (r *Reader, err error) {
	defer RecoverDamage(&err)
	raw, size, err := disk.Open(path)
	if err != nil {
		return nil, errors.Unwrap(err) // the caller names the file
	}
	limit := &limitedAllocator{Allocator: memory.DefaultAllocator, left: maxInflated + maxRatio*size}
	f, err := file.NewParquetReader(raw, file.WithReadProps(parquet.NewReaderProperties(limit)))
	if err != nil {
		return nil, errors.Join(err, raw.Close())
	}
	if err := checkVersion(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	a, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{}, limit)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if f.NumRows() < 0 {
		return nil, errors.Join(fmt.Errorf("the file is damaged: it has %d rows", f.NumRows()), f.Close())
	}
	return &Reader{a, f, int(f.NumRows())}, nil
}

// RecoverDamage turns a panic into an error, where it is deferred: the Parquet library panics on
// some damaged files. A panic of another goroutine could not be recovered, so files are read column
// by column, which starts none.
func RecoverDamage(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("the file is damaged: %v", p)
	}
}

// maxRows is the number of rows of the largest table that is read as a whole.
const maxRows = 1 << 26

// limitedAllocator panics before a file that lies about its sizes makes it run out of memory.
type limitedAllocator struct {
	memory.Allocator
	left int64 // bytes that may still be allocated
}

// A file may take maxInflated bytes of memory and maxRatio times its size.
const (
	maxInflated = 1 << 30
	maxRatio    = 1 << 10
)

func (l *limitedAllocator) Allocate(size int) []byte {
	l.charge(size)
	return l.Allocator.Allocate(size)
}

func (l *limitedAllocator) Reallocate(size int, b []byte) []byte {
	l.charge(size - len(b))
	return l.Allocator.Reallocate(size, b)
}

func (l *limitedAllocator) Free(b []byte) {
	l.left += int64(len(b))
	l.Allocator.Free(b)
}

func (l *limitedAllocator) charge(size int) {
	if l.left -= int64(size); l.left < 0 {
		panic(fmt.Sprintf("a part of %d bytes", size))
	}
}

// read reads the whole file into the sheet.
func (s *Sheet) read(r *Reader) error {
	if text := r.File.MetaData().KeyValueMetadata().FindValue(ConfidenceKey); text != nil {
		v, err := strconv.ParseFloat(*text, 64)
		if err != nil || !(v > 0 && v < 1) {
			return fmt.Errorf("its metadata %s, %q, are no confidence", ConfidenceKey, *text)
		}
		s.Confidence = v
	}
	for i := range r.File.MetaData().Schema.NumColumns() {
		if err := s.readColumn(r, i); err != nil {
			return fmt.Errorf("column %d: %w", i, err)
		}
	}
	return nil
}

// readColumn reads column i: see RecoverDamage.
func (s *Sheet) readColumn(r *Reader, i int) error {
	c, values, err := columnValues(r.arrow, i, r.Rows)
	if err != nil {
		return err
	}
	c.Label = r.label(i)
	s.rows = len(values) // as many as there are, whatever the file says
	kept := gather(len(values), func(row int) any { return values[row] }).each(own)
	s.Columns, s.values = append(s.Columns, c), append(s.values, kept)
	return nil
}

// own returns a value that shares no memory with a whole column.
func own(v any) any {
	if text, ok := v.(string); ok {
		return strings.Clone(text)
	}
	return v
}

// columnValues reads column i of a file that says it has the given number of rows.
func columnValues(r *pqarrow.FileReader, i, rows int) (schemas.Column, []any, error) {
	c, err := r.GetColumn(context.Background(), i)
	if err != nil {
		return schemas.Column{}, nil, err
	}
	defer c.Release()
	data, err := c.NextBatch(int64(rows))
	if err != nil {
		return schemas.Column{}, nil, err
	}
	defer data.Release()
	if data.Len() != rows {
		return schemas.Column{}, nil, fmt.Errorf("%d values for %d rows", data.Len(), rows)
	}
	values := make([]any, 0, rows)
	for _, chunk := range data.Chunks() {
		for j := range chunk.Len() {
			values = append(values, ValueAt(chunk, j))
		}
	}
	name := strings.ToValidUTF8(c.Field().Name, "\uFFFD")
	return schemas.Column{Name: name, Type: ColumnType(c.Field().Type)}, values, nil
}

// label reports whether column i was written as a label.
func (r *Reader) label(i int) bool {
	if r.File.NumRowGroups() == 0 {
		return false
	}
	c, err := r.File.MetaData().RowGroup(0).ColumnChunk(i)
	return err == nil && c.HasDictionaryPage()
}

// ColumnType returns the type of the column that holds an Arrow type: text for the types that have
// none of their own.
func ColumnType(t arrow.DataType) schemas.ColumnType {
	switch t.ID() {
	case arrow.INT64:
		return schemas.IntColumn
	case arrow.FLOAT64:
		return schemas.FloatColumn
	case arrow.BOOL:
		return schemas.BoolColumn
	}
	return schemas.TextColumn
}

// ValueAt returns value i of an array as sheets hold it.
func ValueAt(a arrow.Array, i int) any {
	if a.IsNull(i) {
		return nil
	}
	switch a := a.(type) {
	case *array.Int64:
		return a.Value(i)
	case *array.Float64:
		return a.Value(i)
	case *array.Boolean:
		return a.Value(i)
	}
	return strings.ToValidUTF8(a.ValueStr(i), "\uFFFD")
}

// ReadColumn reads column i.
func (r *Reader) ReadColumn(i int) (c schemas.Column, values []any, err error) {
	defer RecoverDamage(&err)
	return columnValues(r.arrow, i, r.Rows)
}

// ColumnCount returns the number of columns.
func (r *Reader) ColumnCount() int { return r.File.MetaData().Schema.NumColumns() }

// ColumnName returns the name of column i.
func (r *Reader) ColumnName(i int) string { return r.File.MetaData().Schema.Column(i).Name() }

// checkVersion reports an error where the file is no result, or one of another version.
func checkVersion(f *file.Reader) error {
	version := f.MetaData().KeyValueMetadata().FindValue(VersionKey)
	switch {
	case version == nil:
		return errors.New("it is no result file of Shatter: its metadata have no " + VersionKey)
	case *version != schemas.ResultVersion:
		return &schemas.VersionError{What: "it", Found: *version, Want: schemas.ResultVersion}
	}
	return nil
}

// OpenColumn finds a column by its name and type.
func (r *Reader) OpenColumn(name string, want arrow.DataType) (*pqarrow.ColumnReader, error) {
	for i := range r.File.MetaData().Schema.NumColumns() {
		if r.File.MetaData().Schema.Column(i).Path() != name {
			continue
		}
		c, err := r.arrow.GetColumn(context.Background(), i)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", name, err)
		}
		if got := c.Field().Type; got.ID() != want.ID() {
			return nil, fmt.Errorf("column %q holds %s, not %s", name, got, want)
		}
		return c, nil
	}
	return nil, fmt.Errorf("it has no column %q", name)
}
