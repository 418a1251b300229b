package sheet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/compress"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/apache/arrow/go/v17/parquet/pqarrow"

	"github.com/shatterlab/shatter/schemas"
)

// rowGroup is the rows of one group of a Parquet file.
const RowGroup = 1 << 20

// ParquetWriter writes one Parquet file. Its options are pinned, so that equal rows give equal bytes.
type ParquetWriter struct {
	file   *pqarrow.FileWriter
	schema *arrow.Schema
	to     *ErrorWriter
}

// ErrorWriter is a writer that never fails, and keeps the first error of Writer instead: the Arrow and
// Parquet libraries panic on some failed writes and lose the errors of others.
type ErrorWriter struct {
	io.Writer
	Err error
}

// Write writes b to Writer, or drops it after an error.
func (w *ErrorWriter) Write(b []byte) (int, error) {
	if w.Err == nil {
		_, w.Err = w.Writer.Write(b)
	}
	return len(b), nil
}

// NewParquetWriter begins a Parquet file that is no part of a result, with the same options. Errors of w come back from Write and Close.
func NewParquetWriter(w io.Writer, columns []schemas.Column) (*ParquetWriter, error) {
	return beginParquet(w, columns, arrow.NewSchema(arrowFields(columns), nil))
}

// NewResultWriter begins the file of a result that bears the name, with the version of the columns in its
// metadata. Further metadata are keys, each followed by its value. Errors of w come back from Write and Close.
func NewResultWriter(w io.Writer, name string, columns []schemas.Column, further ...string) (*ParquetWriter, error) {
	return beginParquet(w, columns, ArrowSchema(name, columns, further))
}

func beginParquet(w io.Writer, columns []schemas.Column, schema *arrow.Schema) (*ParquetWriter, error) {
	options := []parquet.WriterProperty{
		parquet.WithVersion(parquet.V2_6),
		parquet.WithDataPageVersion(parquet.DataPageV1),
		parquet.WithCreatedBy("shatter"),
		parquet.WithCompression(compress.Codecs.Zstd),
		parquet.WithCompressionLevel(3),
		parquet.WithDictionaryDefault(false),
		parquet.WithMaxRowGroupLength(RowGroup),
		parquet.WithRootRepetition(parquet.Repetitions.Required), // the library's own choice, repeated, makes some readers look for lists
	}
	for _, c := range columns {
		if c.Label {
			options = append(options, parquet.WithDictionaryFor(c.Name, true))
		}
	}
	to := &ErrorWriter{Writer: w}
	fw, err := pqarrow.NewFileWriter(schema, to, parquet.NewWriterProperties(options...), pqarrow.NewArrowWriterProperties())
	if err != nil {
		return nil, err
	}
	return &ParquetWriter{fw, schema, to}, nil
}

// The metadata of the files of a result.
const (
	VersionKey    = "shatter.result"
	FileKey       = "shatter.file"       // table, curve, ...
	ConfidenceKey = "shatter.confidence" // that no bracket of the table is wrong
)

func ArrowSchema(name string, columns []schemas.Column, further []string) *arrow.Schema {
	keys, values := []string{VersionKey, FileKey}, []string{schemas.ResultVersion, name}
	for i := 0; i+1 < len(further); i += 2 {
		keys, values = append(keys, further[i]), append(values, further[i+1])
	}
	metadata := arrow.NewMetadata(keys, values)
	return arrow.NewSchema(arrowFields(columns), &metadata)
}

func arrowFields(columns []schemas.Column) []arrow.Field {
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = arrow.Field{Name: c.Name, Type: ArrowType(c.Type), Nullable: true}
	}
	return fields
}

// ArrowType is the type of a column in Arrow.
func ArrowType(t schemas.ColumnType) arrow.DataType {
	switch t {
	case schemas.IntColumn:
		return arrow.PrimitiveTypes.Int64
	case schemas.FloatColumn:
		return arrow.PrimitiveTypes.Float64
	case schemas.BoolColumn:
		return arrow.FixedWidthTypes.Boolean
	}
	return arrow.BinaryTypes.String
}

// Append appends the rows that build puts into the builders, one per column.
func (w *ParquetWriter) Append(build func([]array.Builder)) error {
	b := array.NewRecordBuilder(memory.DefaultAllocator, w.schema)
	defer b.Release()
	build(b.Fields())
	rec := b.NewRecord()
	defer rec.Release()
	return w.Write(rec)
}

// Write appends the rows of a record with the writer's columns.
func (w *ParquetWriter) Write(rec arrow.Record) error {
	return errors.Join(w.file.WriteBuffered(rec), w.to.Err)
}

// BeginGroup begins a new row group; without it one holds RowGroup rows.
func (w *ParquetWriter) BeginGroup() { w.file.NewBufferedRowGroup() }

// Close ends the file. It does not close what it wrote to.
func (w *ParquetWriter) Close() error { return errors.Join(w.file.Close(), w.to.Err) }

func (s *Sheet) WriteParquet(w io.Writer) error {
	pw, err := NewResultWriter(w, s.Name, s.Columns, s.Metadata()...)
	if err != nil {
		return err
	}
	return cmp.Or(pw.Append(s.Build), pw.Close())
}

// metadata is what the metadata say of this sheet beside version and name.
func (s *Sheet) Metadata() []string {
	if s.Confidence == 0 {
		return nil
	}
	return []string{ConfidenceKey, Text(s.Confidence)}
}

// build appends the rows to the builders, one per column.
func (s *Sheet) Build(to []array.Builder) {
	for _, row := range s.Rows {
		for i, v := range row {
			AppendValue(to[i], v)
		}
	}
}

func AppendValue(b array.Builder, v any) {
	switch v := v.(type) {
	case nil:
		b.AppendNull()
	case string:
		b.(*array.StringBuilder).Append(v)
	case int64:
		b.(*array.Int64Builder).Append(v)
	case float64:
		b.(*array.Float64Builder).Append(v)
	case bool:
		b.(*array.BooleanBuilder).Append(v)
	}
}

// ReadTable reads a table of a result folder back: "table", "curve", "bounds", "fits" or "timing". The file may hold anything: what is no result
// file of this version is an error that says so.
func ReadTable(dir, name string) (*Sheet, error) {
	path := filepath.Join(dir, name+".parquet")
	s := &Sheet{Name: name}
	if err := ReadParquet(path, name, s.read); err != nil {
		return nil, fmt.Errorf("read %q: %w", path, err)
	}
	return s, nil
}

// readParquet opens a file of a result and reads it by way of read, which starts no goroutine: see damaged.
func ReadParquet(path, name string, read func(*Reader) error) (err error) {
	defer Damaged(&err)
	r, err := OpenParquet(path)
	if err != nil {
		return err
	}
	defer r.Close()
	if of := r.File.MetaData().KeyValueMetadata().FindValue(FileKey); of == nil || *of != name {
		return fmt.Errorf("it is not the file %s of a result: its metadata say so", name)
	}
	if r.Rows > maxShown {
		return fmt.Errorf("it has %d rows: at most %d can be shown", r.Rows, maxShown)
	}
	return read(r)
}

// resultReader is an open file of a result.
type Reader struct {
	arrow *pqarrow.FileReader
	File  *file.Reader
	Rows  int
}

func (r *Reader) Close() { _ = r.File.Close() } // it was only read

// openParquet opens a result file of this version. What it says of its sizes is not believed.
func OpenParquet(path string) (r *Reader, err error) {
	defer Damaged(&err)
	info, err := os.Stat(path)
	if err != nil {
		return nil, errors.Unwrap(err) // the caller names the file
	}
	limit := &Limited{Allocator: memory.DefaultAllocator, Left: maxInflated + maxRatio*info.Size()}
	f, err := file.OpenParquetFile(path, false, file.WithReadProps(parquet.NewReaderProperties(limit)))
	if err != nil {
		return nil, err
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

// damaged turns a panic into an error: the library panics on some damaged files. Where it does so on another goroutine, nobody can
// recover; so files are read column by column, which starts none.
func Damaged(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("the file is damaged: %v", p)
	}
}

// maxShown is the rows of the largest table that is read as a whole.
const maxShown = 1 << 26

// limited is an allocator that a file which lies about its sizes cannot make run out of memory.
type Limited struct {
	memory.Allocator
	Left int64
}

// A file may take this much memory, and this many times its size.
const (
	maxInflated = 1 << 30
	maxRatio    = 1 << 10
)

func (l *Limited) Allocate(size int) []byte {
	l.take(size)
	return l.Allocator.Allocate(size)
}

func (l *Limited) Reallocate(size int, b []byte) []byte {
	l.take(size - len(b))
	return l.Allocator.Reallocate(size, b)
}

func (l *Limited) Free(b []byte) {
	l.Left += int64(len(b))
	l.Allocator.Free(b)
}

func (l *Limited) take(size int) {
	if l.Left -= int64(size); l.Left < 0 {
		panic(fmt.Sprintf("a part of %d bytes", size))
	}
}

// read takes the whole file over.
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

// readColumn reads one column: see damaged.
func (s *Sheet) readColumn(r *Reader, i int) error {
	c, values, err := columnValues(r.arrow, i, r.Rows)
	if err != nil {
		return err
	}
	if s.Rows == nil {
		s.Rows = make([][]any, r.Rows) // as many as there are values, whatever the file says
	}
	c.Label = r.label(i)
	s.Columns = append(s.Columns, c)
	for row, v := range values {
		s.Rows[row] = append(s.Rows[row], v)
	}
	return nil
}

// columnValues reads one column of a file with so many rows.
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
	return schemas.Column{Name: strings.ToValidUTF8(c.Field().Name, "\uFFFD"), Type: ColumnType(c.Field().Type)}, values, nil
}

// label reports whether column i was written as a label.
func (r *Reader) label(i int) bool {
	if r.File.NumRowGroups() == 0 {
		return false
	}
	c, err := r.File.MetaData().RowGroup(0).ColumnChunk(i)
	return err == nil && c.HasDictionaryPage()
}

// ColumnType is the type of the column that holds an Arrow type: text where there is none of its own.
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

// values reads one column.
func (r *Reader) Values(i int) (c schemas.Column, values []any, err error) {
	defer Damaged(&err)
	return columnValues(r.arrow, i, r.Rows)
}

func (r *Reader) Columns() int { return r.File.MetaData().Schema.NumColumns() }

func (r *Reader) Name(i int) string { return r.File.MetaData().Schema.Column(i).Name() }

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

// column finds a column by its name and type.
func (r *Reader) Column(name string, want arrow.DataType) (*pqarrow.ColumnReader, error) {
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
