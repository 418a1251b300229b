package sheet

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/compress"
	"github.com/apache/arrow/go/v17/parquet/pqarrow"

	"github.com/shatterlab/shatter/schemas"
)

// RowGroup is the number of rows in a full group of a Parquet file.
const RowGroup = 1 << 17

// The keys of the metadata of the files of a result.
const (
	VersionKey    = "shatter.result"
	FileKey       = "shatter.file"       // type of file: table, curve, ...
	ConfidenceKey = "shatter.confidence" // probability that no bracket of the table is wrong
)

// OriginKeys are the keys of metadata about the origin of a result: the sweep's name, its seed and
// the result's digest.
var OriginKeys = []string{"shatter.sweep", "shatter.seed", "shatter.digest"}

// NoDigest stands for the digest of a result in the metadata of a Parquet file until [SetDigest]
// replaces it.
var NoDigest = strings.Repeat("0", hex.EncodedLen(sha256.Size))

// SetDigest replaces [NoDigest] in the metadata of a Parquet file by a digest of the same length.
func SetDigest(f interface {
	io.Seeker
	io.ReaderAt
	io.WriterAt
}, digest string) error {
	const end = 8 // the length of the metadata in 4 bytes, and the magic number
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil || size < end {
		return cmp.Or(err, io.ErrUnexpectedEOF)
	}
	length := make([]byte, 4)
	if _, err := f.ReadAt(length, size-end); err != nil {
		return err
	}
	metadata := make([]byte, min(int64(binary.LittleEndian.Uint32(length)), size-end))
	start := size - end - int64(len(metadata))
	if _, err := f.ReadAt(metadata, start); err != nil {
		return err
	}
	i := bytes.LastIndex(metadata, []byte(NoDigest))
	if i < 0 || len(digest) != len(NoDigest) {
		return fmt.Errorf("set digest: no place for %q in the metadata", digest)
	}
	_, err = f.WriteAt([]byte(digest), start+int64(i))
	return err
}

// ParquetWriter writes records to a Parquet file. Its options are fixed, so that equal rows give
// equal bytes.
type ParquetWriter struct {
	file *pqarrow.FileWriter
	to   *errorWriter
}

// errorWriter is a writer that never returns an error, and records the first error of Writer
// instead, because the Arrow and Parquet libraries panic on some failed writes and lose the
// errors of others.
type errorWriter struct {
	io.Writer
	Err error
}

// Write writes b to Writer, or discards it after an error.
func (w *errorWriter) Write(b []byte) (int, error) {
	if w.Err == nil {
		_, w.Err = w.Writer.Write(b)
	}
	return len(b), nil
}

// NewParquetWriter starts a Parquet file. Write and Close return errors of w.
func NewParquetWriter(w io.Writer, schema *arrow.Schema) (*ParquetWriter, error) {
	options := []parquet.WriterProperty{
		parquet.WithVersion(parquet.V2_6),
		parquet.WithDataPageVersion(parquet.DataPageV1),
		parquet.WithCreatedBy("shatter"),
		// With the library's default, repeated, some readers expect lists.
		parquet.WithRootRepetition(parquet.Repetitions.Required),
		parquet.WithCompression(compress.Codecs.Snappy), // the library's zstd allocates 96 MB per page
		// If a column abandons its dictionary, its pages have two encodings, which the library
		// lists in the order of a map.
		parquet.WithDictionaryPageSizeLimit(math.MaxInt32),
		parquet.WithMaxRowGroupLength(RowGroup),
	}
	for _, f := range schema.Fields() {
		options = append(options, parquet.WithDictionaryFor(f.Name, f.Type.ID() == arrow.STRING))
		if f.Type.ID() == arrow.INT64 {
			options = append(options, parquet.WithEncodingFor(f.Name, parquet.Encodings.DeltaBinaryPacked))
		}
	}
	to := &errorWriter{Writer: w}
	fw, err := pqarrow.NewFileWriter(schema, to, parquet.NewWriterProperties(options...),
		pqarrow.NewArrowWriterProperties())
	return &ParquetWriter{fw, to}, err
}

// Write appends the rows of a record with the writer's schema.
func (w *ParquetWriter) Write(rec arrow.Record) error {
	return errors.Join(w.file.WriteBuffered(rec), w.to.Err)
}

// Close completes the file. It does not close the underlying writer.
func (w *ParquetWriter) Close() error { return errors.Join(w.file.Close(), w.to.Err) }

// WriteStream writes the file of a result with the sheet of New and its origin. It keeps one row
// group in memory.
func WriteStream[Row any](
	w io.Writer, name string, columns []schemas.ColumnOf[Row], rows iter.Seq[Row], origin []string,
) (err error) {
	to, err := NewParquetWriter(w, ArrowSchema(name, schemas.Plain(columns), origin...))
	for s, bad := range batches(name, columns, rows, RowGroup) {
		if err = cmp.Or(err, bad); err != nil {
			return err
		}
		err = to.Write(s.Record())
	}
	return cmp.Or(err, to.Close())
}

// ArrowSchema returns the schema of a result file. further lists more metadata: alternating keys
// and values.
func ArrowSchema(name string, columns []schemas.Column, further ...string) *arrow.Schema {
	keys, values := []string{VersionKey, FileKey}, []string{schemas.ResultVersion, name}
	for i := 0; i+1 < len(further); i += 2 {
		keys, values = append(keys, further[i]), append(values, further[i+1])
	}
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = arrow.Field{Name: c.Name, Type: ArrowType(c.Type), Nullable: true}
	}
	metadata := arrow.NewMetadata(keys, values)
	return arrow.NewSchema(fields, &metadata)
}

// ArrowType returns the Arrow type of a column.
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

// ColumnType returns the column type for an Arrow type: text for Arrow types without a column
// type.
func ColumnType(t arrow.DataType) schemas.ColumnType {
	return cmp.Or(map[arrow.Type]schemas.ColumnType{
		arrow.INT64: schemas.IntColumn, arrow.FLOAT64: schemas.FloatColumn, arrow.BOOL: schemas.BoolColumn,
	}[t.ID()], schemas.TextColumn)
}
