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

// readArrow reads a file in the Arrow IPC file format (also called Feather version 2), one record
// batch after the other.
func readArrow(t *table, f *io.SectionReader) error {
	if err := checkArrow(f); err != nil {
		return t.damaged(err)
	}
	r, err := ipc.NewFileReader(f, ipc.WithAllocator(newLimited(f.Size())))
	if err != nil {
		return t.damaged(err)
	}
	defer func() { _ = r.Close() }() // always nil
	if err := t.beginArrow(r.Schema()); err != nil {
		return err
	}
	for i := range r.NumRecords() {
		record, err := r.Record(i) // released by the next call, or by Close
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
	return nil
}

// beginArrow calls begin with the columns of a schema.
func (t *table) beginArrow(s *arrow.Schema) error {
	columns := make([]column, s.NumFields())
	for i, field := range s.Fields() {
		columns[i] = column{field.Name, arrowKind(field.Type)}
	}
	return t.begin(columns)
}

// arrowKind returns the kind of a column of a type. Nested columns, dates, times and decimals are not
// supported.
func arrowKind(d arrow.DataType) kind {
	switch d.ID() {
	case arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64,
		arrow.FLOAT16, arrow.FLOAT32, arrow.FLOAT64:
		return numbers
	case arrow.BOOL, arrow.STRING, arrow.LARGE_STRING, arrow.BINARY:
		return textual
	case arrow.DICTIONARY:
		if arrowKind(d.(*arrow.DictionaryType).ValueType) != unknown {
			return textual
		}
	}
	return unknown
}

// fill sets the cells of one column from a row on, for which grow has made room.
func (t *table) fill(role role, row int, a arrow.Array) (err error) {
	number, text := numberOf(a), a.ValueStr
	if b, ok := a.(*array.Binary); ok {
		text = b.ValueString
	}
	for i := range a.Len() {
		r, shown := row+i, row+i+1
		switch {
		case a.IsNull(i):
			err = t.missing(shown, role.name)
		case role.use == asNumber:
			err = t.number(r, shown, role.index, number(i))
		case role.use == asCategory:
			err = t.category(r, shown, role.index, text(i))
		case role.use == asLabel:
			err = t.label(r, shown, text(i))
		}
		if err != nil {
			return err
		}
	}
	return nil
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

// checkArrow walks the schema in the footer and refuses counts that the footer cannot hold: the library
// would loop over them for minutes. Like the library it panics if an offset points outside.
func checkArrow(f *io.SectionReader) error {
	head, tail := make([]byte, len(ipc.Magic)), make([]byte, 4+len(ipc.Magic))
	if _, err := f.ReadAt(head, 0); err != nil || !bytes.Equal(head, ipc.Magic) {
		return errors.New("it does not begin with ARROW1; write it as an IPC file (Feather version 2), not as a stream")
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
	return dataset.CheckSchema(&root, 6)
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
