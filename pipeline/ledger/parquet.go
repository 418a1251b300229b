package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

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
const rowGroup = 1 << 20

// parquetWriter writes one Parquet file. Its options are pinned, so that equal rows give equal bytes.
type parquetWriter struct {
	fw     *pqarrow.FileWriter
	schema *arrow.Schema
	to     *sink
}

// sink keeps the first error to itself: the library panics on some failed writes and loses others.
type sink struct {
	w   io.Writer
	err error
}

func (s *sink) Write(b []byte) (int, error) {
	if s.err == nil {
		_, s.err = s.w.Write(b)
	}
	return len(b), nil
}

func newParquetWriter(w io.Writer, name string, columns []schemas.Column) (*parquetWriter, error) {
	options := []parquet.WriterProperty{
		parquet.WithVersion(parquet.V2_6),
		parquet.WithDataPageVersion(parquet.DataPageV1),
		parquet.WithCreatedBy("shatter"),
		parquet.WithCompression(compress.Codecs.Zstd),
		parquet.WithCompressionLevel(3),
		parquet.WithDictionaryDefault(false),
		parquet.WithMaxRowGroupLength(rowGroup),
	}
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = arrow.Field{Name: c.Name, Type: arrowType(c.Type), Nullable: true}
		if c.Type == schemas.IntColumn {
			options = append(options, parquet.WithEncodingFor(c.Name, parquet.Encodings.DeltaBinaryPacked))
		}
		if c.Label {
			options = append(options, parquet.WithDictionaryFor(c.Name, true))
		}
	}
	metadata := arrow.NewMetadata([]string{"shatter.result", "shatter.file"}, []string{schemas.ResultVersion, name})
	schema := arrow.NewSchema(fields, &metadata)
	to := &sink{w: w}
	fw, err := pqarrow.NewFileWriter(schema, to, parquet.NewWriterProperties(options...), pqarrow.NewArrowWriterProperties())
	if err != nil {
		return nil, err
	}
	return &parquetWriter{fw, schema, to}, nil
}

func arrowType(t schemas.ColumnType) arrow.DataType {
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

// write appends what build puts into the builders, one per column.
func (w *parquetWriter) write(build func([]array.Builder)) error {
	b := array.NewRecordBuilder(memory.DefaultAllocator, w.schema)
	defer b.Release()
	build(b.Fields())
	rec := b.NewRecord()
	defer rec.Release()
	return errors.Join(w.fw.WriteBuffered(rec), w.to.err)
}

func (w *parquetWriter) close() error { return errors.Join(w.fw.Close(), w.to.err) }

func (s *Sheet) writeParquet(w io.Writer) error {
	pw, err := newParquetWriter(w, s.Name, s.Columns)
	if err != nil {
		return err
	}
	err = pw.write(func(to []array.Builder) {
		for _, row := range s.Rows {
			for i, v := range row {
				appendValue(to[i], v)
			}
		}
	})
	return cmp.Or(err, pw.close())
}

func appendValue(b array.Builder, v any) {
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

// ReadTable reads a table of a result folder back: "table", "curve", "bounds", "fits" or "timing".
func ReadTable(dir, name string) (*Sheet, error) {
	path := filepath.Join(dir, name+".parquet")
	s, err := readParquet(path)
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", path, err)
	}
	s.Name = name
	return s, nil
}

func readParquet(path string) (s *Sheet, err error) {
	defer func() { // the library panics on some damaged files
		if p := recover(); p != nil {
			s, err = nil, fmt.Errorf("file is damaged: %v", p)
		}
	}()
	f, err := file.OpenParquetFile(path, false)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	if err := checkVersion(f); err != nil {
		return nil, err
	}
	r, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		return nil, err
	}
	rows := f.NumRows()
	if rows < 0 || rows > maxShown {
		return nil, fmt.Errorf("file has %d rows: at most %d can be shown", rows, maxShown)
	}
	s = &Sheet{Rows: make([][]any, rows)}
	for i := range f.MetaData().Schema.NumColumns() {
		if err := s.readColumn(r, i); err != nil {
			return nil, fmt.Errorf("column %d: %w", i, err)
		}
	}
	return s, nil
}

// maxShown is the rows of the largest table that is read as a whole.
const maxShown = 1 << 26

// readColumn reads one column on this goroutine: the library's ReadTable starts others, whose panics nobody can recover.
func (s *Sheet) readColumn(r *pqarrow.FileReader, i int) error {
	c, values, err := columnValues(r, i, len(s.Rows))
	if err != nil {
		return err
	}
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
			values = append(values, valueAt(chunk, j))
		}
	}
	return schemas.Column{Name: c.Field().Name, Type: columnType(c.Field().Type)}, values, nil
}

func columnType(t arrow.DataType) schemas.ColumnType {
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

func valueAt(a arrow.Array, i int) any {
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
	case *array.String:
		return a.Value(i)
	}
	return a.ValueStr(i)
}
