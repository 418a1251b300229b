package population

import (
	"errors"
	"io"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/shatterlab/shatter/pipeline/dataset"
)

var arrowFormat = format{name: "arrow", extensions: []string{".arrow", ".feather", ".ipc"}, read: (*table).readArrow}

// readArrow reads a file in the Arrow IPC file format (also called Feather version 2), one record
// batch after the other.
func (t *table) readArrow(f *io.SectionReader) error {
	if err := checkArrow(f); err != nil {
		return t.damaged(err)
	}
	mem := newLimited(mapped{t.memory, largeBuffer}, f.Size())
	r, err := ipc.NewFileReader(f, ipc.WithAllocator(mem))
	if err != nil {
		return t.damaged(err)
	}
	defer func() { _ = r.Close() }() // always nil
	columns := make([]column, r.Schema().NumFields())
	for i, field := range r.Schema().Fields() {
		columns[i] = column{field.Name, arrowKind(field.Type)}
	}
	if err := t.begin(columns); err != nil {
		return err
	}
	for i := range r.NumRecords() {
		record, err := r.Record(i) // released by the next call, or by Close
		if err != nil {
			return t.damaged(err)
		}
		err = t.batch(func(i int, role role, base int) (int, error) {
			a := record.Column(i)
			c := cells{rows: a.Len(), missing: a.IsNull, number: numberOf(a), text: a.ValueStr}
			return a.Len(), t.setCells(role, base, c)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// arrowKind returns the kind of a column of a type. Nested columns, dates, times, decimals and raw
// bytes are not supported.
func arrowKind(d arrow.DataType) kind {
	switch d.ID() {
	case arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64,
		arrow.FLOAT16, arrow.FLOAT32, arrow.FLOAT64:
		return numbers
	case arrow.BOOL, arrow.STRING, arrow.LARGE_STRING:
		return textual
	case arrow.DICTIONARY:
		if arrowKind(d.(*arrow.DictionaryType).ValueType) != unknown {
			return textual
		}
	}
	return unknown
}

// numberOf returns a function that reads a numeric array; nil for any other array.
func numberOf(a arrow.Array) func(i int) float64 {
	switch a := a.(type) {
	case *array.Int8:
		return func(i int) float64 { return float64(a.Value(i)) }
	case *array.Int16:
		return func(i int) float64 { return float64(a.Value(i)) }
	case *array.Int32:
		return func(i int) float64 { return float64(a.Value(i)) }
	case *array.Int64:
		return func(i int) float64 { return float64(a.Value(i)) }
	case *array.Uint8:
		return func(i int) float64 { return float64(a.Value(i)) }
	case *array.Uint16:
		return func(i int) float64 { return float64(a.Value(i)) }
	case *array.Uint32:
		return func(i int) float64 { return float64(a.Value(i)) }
	case *array.Uint64:
		return func(i int) float64 { return float64(a.Value(i)) }
	case *array.Float16:
		return func(i int) float64 { return float64(a.Value(i).Float32()) }
	case *array.Float32:
		return func(i int) float64 { return float64(a.Value(i)) }
	case *array.Float64:
		return a.Value
	}
	return nil
}

// checkArrow walks the schema in the footer and refuses counts that the footer cannot hold, before
// the reader allocates by them. Like the reader it panics where an offset points outside.
func checkArrow(f *io.SectionReader) error {
	const magic = "ARROW1"
	head, tail := make([]byte, len(magic)), make([]byte, 4+len(magic))
	if _, err := f.ReadAt(head, 0); err != nil || string(head) != magic {
		return errors.New("it does not begin with ARROW1; write it as an IPC file (Feather version 2), not as a stream")
	}
	if _, err := f.ReadAt(tail, f.Size()-int64(len(tail))); err != nil || string(tail[4:]) != magic {
		return errors.New("it does not end with ARROW1; it was not written to its end")
	}
	size := int64(flatbuffers.GetUint32(tail))
	if size > f.Size() {
		return errors.New("its footer is larger than the file")
	}
	footer := make([]byte, size)
	if _, err := f.ReadAt(footer, f.Size()-int64(len(tail))-size); err != nil {
		return err
	}
	root := flatbuffers.Table{Bytes: footer, Pos: flatbuffers.GetUOffsetT(footer)}
	return dataset.CheckSchema(&root, 6)
}
