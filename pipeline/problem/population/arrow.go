package population

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"
	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/shatterlab/shatter/pipeline/dataset"
)

var arrowFormat = format{name: "arrow", extensions: []string{".arrow", ".feather", ".ipc"}, read: readArrow}

// readArrow reads a file in the Arrow IPC file format (also called Feather version 2) or stream format, one record
// batch after the other.
func readArrow(t *table, f *io.SectionReader) error {
	mem := ipc.WithAllocator(newLimited(f.Size()))
	start := make([]byte, 4)
	if _, err := f.ReadAt(start, 0); err == nil && string(start) == "\xFF\xFF\xFF\xFF" {
		r, err := ipc.NewReader(f, mem)
		if err != nil {
			return t.damaged(err)
		}
		defer r.Release()
		return t.arrowBatches(r.Schema(), r.Read)
	}
	if err := checkArrow(f); err != nil {
		return t.damaged(err)
	}
	r, err := ipc.NewFileReader(f, mem)
	if err != nil {
		return t.damaged(err)
	}
	defer func() { _ = r.Close() }() // always nil
	return t.arrowBatches(r.Schema(), r.Read)
}

// arrowBatches fills the table with the record batches that read returns up to io.EOF. A batch is valid until the next
// call.
func (t *table) arrowBatches(schema *arrow.Schema, read func() (arrow.Record, error)) error {
	if err := t.beginArrow(schema); err != nil {
		return err
	}
	for {
		record, err := read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return t.damaged(err)
		}
		base, rows := t.rows, record.NumRows()
		if err := t.growBy(rows); err != nil {
			return err
		}
		for c, role := range t.roles {
			if role.use == unused {
				continue
			}
			a := record.Column(c)
			if int64(a.Len()) != rows {
				return t.damaged(fmt.Errorf("column %q has %d of %d rows", role.name, a.Len(), rows))
			}
			if err := t.fill(role, base, a); err != nil {
				return err
			}
		}
	}
}

// beginArrow calls begin with the columns of a schema.
func (t *table) beginArrow(s *arrow.Schema) error {
	columns := make([]column, s.NumFields())
	for i, field := range s.Fields() {
		c := column{name: field.Name, kind: arrowKind(field.Type)}
		switch c.kind {
		case other:
			c.why = "it holds text"
		case unreadable:
			c.why = "it holds " + field.Type.String() + ", neither numbers nor text"
		}
		columns[i] = c
	}
	return t.begin(columns)
}

// arrowKind returns the kind of a column of a type. Nested columns, dates and times are not supported.
func arrowKind(d arrow.DataType) kind {
	switch d.ID() {
	case arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64,
		arrow.FLOAT16, arrow.FLOAT32, arrow.FLOAT64, arrow.DECIMAL128, arrow.DECIMAL256, arrow.BOOL:
		return numbers
	case arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW, arrow.BINARY, arrow.LARGE_BINARY, arrow.BINARY_VIEW:
		return other
	case arrow.NULL:
		return empty
	case arrow.DICTIONARY:
		return arrowKind(d.(*arrow.DictionaryType).ValueType)
	}
	return unreadable
}

// fill sets the cells of one column from a row on, for which grow has made room.
func (t *table) fill(role role, row int, a arrow.Array) error {
	number, text := numberOf(a), textOf(a)
	for i := range a.Len() {
		var c cell
		switch {
		case a.IsNull(i):
		case role.use == asNumber && number != nil:
			c.number, c.numeric = number(i), true
		default:
			c.text = text(i)
		}
		if err := t.set(role, row+i, row+i+1, c); err != nil {
			return err
		}
	}
	return nil
}

// textOf returns a function that reads the cells of an array as text; a missing value of a dictionary is empty.
func textOf(a arrow.Array) func(i int) string {
	switch a := a.(type) {
	case *array.Dictionary:
		values := a.Dictionary()
		of := textOf(values)
		return func(i int) string {
			if k := a.GetValueIndex(i); !values.IsNull(k) {
				return of(k)
			}
			return ""
		}
	case interface{ ValueString(i int) string }: // ValueStr encodes bytes
		return a.ValueString
	}
	return a.ValueStr
}

// numberOf returns a function that reads a numeric array; nil for any other array.
func numberOf(a arrow.Array) func(i int) float64 {
	switch a := a.(type) {
	case *array.Boolean:
		return func(i int) float64 {
			if a.Value(i) {
				return 1
			}
			return 0
		}
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
	return nil // decimals are read as text, which rounds once
}

// checkArrow walks the schema in the footer and refuses counts that the footer cannot hold: the library
// would loop over them for minutes. Like the library it panics if an offset points outside.
func checkArrow(f *io.SectionReader) error {
	head, tail := make([]byte, len(ipc.Magic)), make([]byte, 4+len(ipc.Magic))
	if _, err := f.ReadAt(head, 0); err != nil || !bytes.Equal(head, ipc.Magic) {
		if bytes.HasPrefix(head, []byte("FEA1")) {
			return unsupported("it is Feather version 1; write version 2 or Parquet")
		}
		return errors.New("it does not begin with ARROW1")
	}
	if _, err := f.ReadAt(tail, f.Size()-int64(len(tail))); err != nil || !bytes.Equal(tail[4:], ipc.Magic) {
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
	err := dataset.CheckSchema(&root, 6, true)
	if errors.Is(err, dataset.ErrColumnType) {
		return unsupported("it has a column of a union type; write plain types")
	}
	return err
}

// limited is an allocator for the libraries that refuses a buffer far larger than a file of its size
// holds: the lengths come from the file, and a process cannot recover from running out of memory.
type limited struct {
	memory.Allocator
	most int // bytes of a buffer
}

func newLimited(fileSize int64) limited {
	return limited{memory.NewGoAllocator(), int(1<<20 + 1000*fileSize)}
}

// Allocate returns a buffer of size bytes.
func (l limited) Allocate(size int) []byte {
	l.check(size)
	return l.Allocator.Allocate(size)
}

// Reallocate returns a buffer of size bytes that begins with those of b.
func (l limited) Reallocate(size int, b []byte) []byte {
	l.check(size)
	return l.Allocator.Reallocate(size, b)
}

func (l limited) check(size int) {
	if size < 0 || size > l.most {
		panic(errors.New("it states more than a file of its size holds"))
	}
}
