package sheet

import (
	"cmp"
	"errors"
	"io"
	"math"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/compress"
	"github.com/apache/arrow/go/v17/parquet/pqarrow"

	"github.com/shatterlab/shatter/schemas"
)

// RowGroup is the number of rows in a full group of a Parquet file.
const RowGroup = 1 << 17

// ParquetWriter writes one Parquet file. Its options are fixed, so that equal rows give equal
// bytes.
type ParquetWriter struct {
	file   *pqarrow.FileWriter
	schema *arrow.Schema
	to     *ErrorWriter
}

// ErrorWriter is a writer that never fails, and keeps the first error of Writer instead: the Arrow
// and Parquet libraries panic on some failed writes and lose the errors of others.
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

// NewParquetWriter begins a Parquet file that is no part of a result. Write and Close return errors
// of w.
func NewParquetWriter(w io.Writer, columns []schemas.Column) (*ParquetWriter, error) {
	return beginParquet(w, columns, arrow.NewSchema(arrowFields(columns), nil))
}

// NewResultWriter begins the file of a result with the given name, and writes the name and the
// version of the columns into its metadata. Further metadata are keys, each followed by its value.
// Write and Close return errors of w.
func NewResultWriter(w io.Writer, name string, columns []schemas.Column, further ...string) (*ParquetWriter, error) {
	return beginParquet(w, columns, ArrowSchema(name, columns, further))
}

func beginParquet(w io.Writer, columns []schemas.Column, schema *arrow.Schema) (*ParquetWriter, error) {
	options := append(commonOptions(),
		parquet.WithCompression(compress.Codecs.Zstd),
		parquet.WithCompressionLevel(zstdLevel),
		parquet.WithDictionaryDefault(false),
		// a column that gives its dictionary up has pages of two encodings, which the library lists in the
		// order of a map
		parquet.WithDictionaryPageSizeLimit(math.MaxInt32),
		parquet.WithMaxRowGroupLength(RowGroup))
	for _, c := range columns {
		if c.Label {
			options = append(options, parquet.WithDictionaryFor(c.Name, true))
		}
	}
	to := &ErrorWriter{Writer: w}
	fw, err := pqarrow.NewFileWriter(schema, to, parquet.NewWriterProperties(options...),
		pqarrow.NewArrowWriterProperties())
	if err != nil {
		return nil, err
	}
	return &ParquetWriter{fw, schema, to}, nil
}

// commonOptions returns the options of all files.
func commonOptions() []parquet.WriterProperty {
	return []parquet.WriterProperty{
		parquet.WithVersion(parquet.V2_6),
		parquet.WithDataPageVersion(parquet.DataPageV1),
		parquet.WithCreatedBy("shatter"),
		// the library's own choice, repeated, makes some readers look for lists
		parquet.WithRootRepetition(parquet.Repetitions.Required),
	}
}

// The keys of the metadata of the files of a result.
const (
	VersionKey    = "shatter.result"
	FileKey       = "shatter.file"       // table, curve, ...
	ConfidenceKey = "shatter.confidence" // that no bracket of the table is wrong
)

// ArrowSchema returns the schema of the file of a result: see NewResultWriter.
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

// ArrowType returns the type of a column in Arrow.
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

// Close ends the file. It does not close what it wrote to.
func (w *ParquetWriter) Close() error { return errors.Join(w.file.Close(), w.to.Err) }

// WriteParquet writes the sheet as a file of a result.
func (s *Sheet) WriteParquet(w io.Writer) error {
	pw, err := NewResultWriter(w, s.Name, s.Columns, s.Metadata()...)
	if err != nil {
		return err
	}
	return cmp.Or(pw.writeSheet(s), pw.Close())
}

// writeSheet appends the rows of a sheet, as row groups of their own.
func (w *ParquetWriter) writeSheet(s *Sheet) (err error) {
	if s.rows == 0 {
		return w.Append(s.Build)
	}
	for first := 0; err == nil && first < s.rows; first += RowGroup {
		w.file.NewRowGroup()
		for i := range s.values {
			err = cmp.Or(err, w.writeColumn(s, i, first, min(first+RowGroup, s.rows)))
		}
	}
	return err
}

// writeColumn writes the rows from first to before last of a column of a sheet, which are those of a
// row group.
func (w *ParquetWriter) writeColumn(s *Sheet, i, first, last int) error {
	b := array.NewBuilder(memory.DefaultAllocator, w.schema.Field(i).Type)
	defer b.Release()
	s.build(b, i, first, last)
	values := b.NewArray()
	defer values.Release()
	return errors.Join(w.file.WriteColumnData(values), w.to.Err)
}

// Metadata returns what the metadata of a file say of the sheet beside version and name: keys, each
// followed by its value.
func (s *Sheet) Metadata() []string {
	if s.Confidence == 0 {
		return nil
	}
	return []string{ConfidenceKey, Text(s.Confidence)}
}

// Build appends the rows to the builders, one per column.
func (s *Sheet) Build(to []array.Builder) {
	for i := range s.values {
		s.build(to[i], i, 0, s.rows)
	}
}

// build appends the rows from first to before last of a column.
func (s *Sheet) build(to array.Builder, i, first, last int) {
	to.Reserve(last - first)
	for row := first; row < last; row++ {
		appendValue(to, s.At(row, i))
	}
}

// appendValue appends a value of a sheet to the builder of its type.
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
