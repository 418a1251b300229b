package sheet

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/compress"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/apache/arrow/go/v17/parquet/metadata"
	"github.com/apache/arrow/go/v17/parquet/pqarrow"
	"github.com/apache/arrow/go/v17/parquet/schema"

	"github.com/shatterlab/shatter/schemas"
)

// RowGroup is the number of rows in a full group of a Parquet file.
const RowGroup = 1 << 17

// ParquetWriter writes records to a Parquet file that is no part of a result. Its options are fixed, so
// that equal rows give equal bytes.
type ParquetWriter struct {
	file *pqarrow.FileWriter
	to   *ErrorWriter
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

// NewParquetWriter begins a Parquet file. Write and Close return errors of w.
func NewParquetWriter(w io.Writer, columns []schemas.Column) (*ParquetWriter, error) {
	to := &ErrorWriter{Writer: w}
	fw, err := pqarrow.NewFileWriter(arrow.NewSchema(arrowFields(columns), nil), to, properties(columns),
		pqarrow.NewArrowWriterProperties())
	if err != nil {
		return nil, err
	}
	return &ParquetWriter{fw, to}, nil
}

// Write appends the rows of a record with the writer's columns.
func (w *ParquetWriter) Write(rec arrow.Record) error {
	return errors.Join(w.file.WriteBuffered(rec), w.to.Err)
}

// Close ends the file. It does not close what it wrote to.
func (w *ParquetWriter) Close() error { return errors.Join(w.file.Close(), w.to.Err) }

// properties returns the options of a file that is written from values.
func properties(columns []schemas.Column) *parquet.WriterProperties {
	options := append(commonOptions(),
		parquet.WithCompression(compress.Codecs.Zstd),
		parquet.WithCompressionLevel(zstdLevel),
		parquet.WithDictionaryDefault(false),
		// a column that gives its dictionary up has pages of two encodings, which the library lists in the
		// order of a map
		parquet.WithDictionaryPageSizeLimit(math.MaxInt32),
		parquet.WithBatchSize(pageCheck),
		parquet.WithMaxRowGroupLength(RowGroup))
	for _, c := range columns {
		if c.Label {
			options = append(options, parquet.WithDictionaryFor(c.Name, true))
		}
	}
	return parquet.NewWriterProperties(options...)
}

// pageCheck is the number of rows after which the library looks whether a page is full.
const pageCheck = 1 << 10

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

// ArrowSchema returns the schema of the file of a result: see WriteStream. Further metadata are
// keys, each followed by its value.
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

// WriteParquet writes the sheet as a file of a result.
func (s *Sheet) WriteParquet(w io.Writer) error {
	sw, err := newSheetWriter(w, s.Name, s.Columns, s.Metadata()...)
	if err != nil {
		return err
	}
	return cmp.Or(sw.write(s), sw.close())
}

// sheetWriter writes sheets to the file of a result.
type sheetWriter struct {
	file *file.Writer
	to   *ErrorWriter
}

// newSheetWriter begins the file of a result with the given name, and writes the name and the version
// of the columns into its metadata. Further metadata are keys, each followed by its value.
func newSheetWriter(w io.Writer, name string, columns []schemas.Column, further ...string) (*sheetWriter, error) {
	options := properties(columns)
	described, pairs, err := parquetSchema(ArrowSchema(name, columns, further), options)
	if err != nil {
		return nil, err
	}
	to := &ErrorWriter{Writer: w}
	f := file.NewParquetWriter(to, described.Root(), file.WithWriterProps(options), file.WithWriteMetadata(pairs))
	return &sheetWriter{f, to}, nil
}

// parquetSchema returns what the file of a result says of its columns, and its metadata.
func parquetSchema(
	fields *arrow.Schema, options *parquet.WriterProperties,
) (*schema.Schema, metadata.KeyValueMetadata, error) {
	columns, err := pqarrow.ToParquet(fields, options, pqarrow.NewArrowWriterProperties())
	if err != nil {
		return nil, nil, err
	}
	pairs := metadata.NewKeyValueMetadata()
	for i, key := range fields.Metadata().Keys() {
		if err := pairs.Append(key, fields.Metadata().Values()[i]); err != nil {
			return nil, nil, err
		}
	}
	return columns, pairs, nil
}

// write appends the rows of a sheet, as row groups of their own. A sheet without rows is an empty one.
func (w *sheetWriter) write(s *Sheet) (err error) {
	if s.rows == 0 {
		return cmp.Or(w.file.AppendBufferedRowGroup().Close(), w.to.Err)
	}
	for first := 0; err == nil && first < s.rows; first += RowGroup {
		group := w.file.AppendRowGroup()
		for i := range s.values {
			err = cmp.Or(err, writeColumn(group, s, i, first, min(first+RowGroup, s.rows)))
		}
		err = cmp.Or(err, group.Close(), w.to.Err)
	}
	return err
}

// writeColumn writes the rows from first to before last of a column of a sheet, which are those of a
// row group. Some of them at a time are in memory beside the sheet, which has every text once.
func writeColumn(group file.SerialRowGroupWriter, s *Sheet, i, first, last int) error {
	const some = 4 * pageCheck
	to, err := group.NextColumn()
	if err != nil {
		return err
	}
	b := array.NewBuilder(memory.DefaultAllocator, ArrowType(s.Columns[i].Type))
	defer b.Release()
	options := pqarrow.NewArrowWriterProperties()
	ctx := pqarrow.NewArrowWriteContext(context.Background(), &options)
	for ; err == nil && first < last; first += some {
		s.build(b, i, first, min(first+some, last))
		values := b.NewArray()
		present := make([]int16, values.Len()) // 1 where there is a value
		for row := range present {
			if values.IsValid(row) {
				present[row] = 1
			}
		}
		err = pqarrow.WriteArrowToColumn(ctx, to, values, present, nil, true)
		values.Release()
	}
	return err
}

// close ends the file.
func (w *sheetWriter) close() error { return errors.Join(w.file.Close(), w.to.Err) }

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
	if texts, ok := to.(*array.StringBuilder); ok {
		bytes := 0
		for row := first; row < last; row++ {
			text, _ := s.At(row, i).(string)
			bytes += len(text)
		}
		texts.ReserveData(bytes) // or it would be copied as it grows
	}
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
