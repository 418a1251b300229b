package population

import (
	"bytes"
	"encoding/binary"
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

// readArrow reads a file in the Arrow IPC stream format, or in the file format (also called Feather
// version 2), which is a stream between two magic words, one record batch after the other.
func readArrow(t *table, f *io.SectionReader) error {
	start, end := make([]byte, 8), make([]byte, 4+len(ipc.Magic)) // the end begins with the length of the footer
	_, _ = f.ReadAt(start, 0)                                     // a shorter file has zeros
	_, _ = f.ReadAt(end, max(0, f.Size()-int64(len(end))))
	body, rest := f, f.Size()-int64(len(start)+len(end))-int64(binary.LittleEndian.Uint32(end))
	switch isFile := bytes.HasPrefix(start, ipc.Magic); {
	case bytes.HasPrefix(start, []byte("FEA1")):
		return t.damaged(unsupported("it is Feather version 1; write version 2 or Parquet"))
	case isFile && (!bytes.Equal(end[4:], ipc.Magic) || rest < 0):
		return t.damaged("it does not end with ARROW1; it was not written to its end")
	case isFile:
		body = io.NewSectionReader(f, int64(len(start)), rest)
	case !bytes.HasPrefix(start, []byte(arrowMark)):
		return t.damaged("it does not begin with ARROW1")
	}
	if err := checkMessages(body); err != nil {
		return t.damaged(err)
	}
	r, err := ipc.NewReader(body, ipc.WithAllocator(newLimited(f.Size())))
	if err != nil {
		return t.damaged(err)
	}
	defer r.Release()
	if err := t.beginArrow(r.Schema()); err != nil {
		return err
	}
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return t.damaged(err)
		}
		base, rows := t.rows, record.NumRows()
		if err := t.reserve(rows); err != nil {
			return err
		}
		for i, c := range t.columns {
			if c.use == unused {
				continue
			}
			a := record.Column(i)
			if int64(a.Len()) != rows {
				return t.damaged(fmt.Errorf("column %q has %d of %d rows", c.name, a.Len(), rows))
			}
			t.fill(c, base, a)
		}
	}
}

// arrowMark begins a message of Arrow. The length of its metadata follows.
const arrowMark = "\xFF\xFF\xFF\xFF"

// checkMessages walks the messages of a stream and refuses lengths and counts that it cannot hold:
// the library would allocate memory by them, or loop over them for minutes. Like the library it
// panics if an offset points outside.
func checkMessages(f *io.SectionReader) error {
	const schema = 1
	head := make([]byte, 8)
	for at := int64(0); at < f.Size(); {
		if _, err := f.ReadAt(head, at); err != nil {
			return err
		}
		size := int64(binary.LittleEndian.Uint32(head[4:]))
		if string(head[:4]) != arrowMark || size > f.Size() {
			return errors.New("a message is larger than the file, or older than Arrow 0.15")
		}
		if size == 0 {
			break // the end of the stream
		}
		message := make([]byte, size)
		if _, err := f.ReadAt(message, at+int64(len(head))); err != nil {
			return err
		}
		root := flatbuffers.Table{Bytes: message, Pos: flatbuffers.GetUOffsetT(message)}
		body := root.GetInt64Slot(10, 0)
		if body < 0 || body > f.Size() {
			return errors.New("a message states more bytes than the file has")
		}
		if root.GetByteSlot(6, 0) == schema {
			if err := dataset.CheckSchema(&root, 8, true); errors.Is(err, dataset.ErrColumnType) {
				return unsupported("it has a column of a union type; write plain types")
			} else if err != nil {
				return err
			}
		}
		at += int64(len(head)) + size + body
	}
	return nil
}

// beginArrow calls begin with the columns of a schema.
func (t *table) beginArrow(s *arrow.Schema) error {
	var columns []*column
	for _, field := range s.Fields() {
		c := &column{name: field.Name}
		kind := field.Type
		if d, ok := kind.(*arrow.DictionaryType); ok {
			kind = d.ValueType
		}
		switch id := kind.ID(); {
		case arrow.IsInteger(id), arrow.IsFloating(id), arrow.IsDecimal(id), id == arrow.BOOL, id == arrow.NULL:
		case arrow.IsBaseBinary(id), id == arrow.STRING_VIEW, id == arrow.BINARY_VIEW:
			c.why = "it holds text"
		default:
			c.why, c.unreadable = "it holds "+field.Type.String()+", neither numbers nor text", true
		}
		columns = append(columns, c)
	}
	return t.begin(columns)
}

// fill appends cells to a column in use. row is the number of rows before them.
func (t *table) fill(c *column, row int, a arrow.Array) {
	number, text := numberOf(a), textOf(a)
	for i := range a.Len() {
		row++
		switch {
		case a.IsNull(i):
			t.addText(c, row, "")
		case c.use == asFeature && number != nil:
			t.addNumber(c, row, number(i))
		default:
			t.addText(c, row, text(i))
		}
	}
}

// textOf returns a function that reads the cells of an array as text; a missing value of a
// dictionary is empty.
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

// numberOf returns a function that reads floating-point numbers; nil for other arrays, whose texts
// are exact.
func numberOf(a arrow.Array) func(i int) float64 {
	switch a := a.(type) {
	case *array.Float16:
		return func(i int) float64 { return float64(a.Value(i).Float32()) }
	case *array.Float32:
		return func(i int) float64 { return float64(a.Value(i)) }
	case *array.Float64:
		return a.Value
	}
	return nil
}

// limited is an allocator for the libraries that refuses a buffer far larger than a file of its
// size holds: the lengths come from the file, and a process cannot recover from running out of
// memory.
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
