package dataset

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
	"unsafe"

	flatbuffers "github.com/google/flatbuffers/go"
)

// A Table is a decoded table: views into the bytes that it was decoded from, valid as long as those
// are. They must not be written. A Table is safe for concurrent use.
type Table struct {
	src     []byte
	schema  Schema
	rows    int
	values  []span
	strings []Strings // of the Utf8 columns; zero for the others
}

// Decode opens an Arrow IPC file of one uncompressed record batch without copying a value. Its cost
// depends on the number of columns alone, except for Utf8 columns, whose offsets it checks. It also
// opens files of other writers, as long as they hold only this package's types and no nulls.
//
// src must start at a multiple of 8 in memory, as a mapping does; [Align] makes other bytes fit. It
// must not change while the table is in use.
func Decode(src []byte) (t *Table, err error) {
	defer func() { // the flatbuffers library panics if an offset points outside of the bytes
		if r := recover(); r != nil {
			err = fmt.Errorf("metadata is damaged: %v", r)
		}
		if err != nil {
			t, err = nil, fmt.Errorf("decode Arrow table of %d bytes: %w", len(src), err)
		}
	}()
	if len(src) > 0 && uintptr(unsafe.Pointer(&src[0]))%8 != 0 {
		return nil, errors.New("bytes do not start at a multiple of 8 in memory: see Align")
	}
	footer, limit, err := findFooter(src)
	if err != nil {
		return nil, err
	}
	t = &Table{src: src}
	block, err := t.readFooter(footer)
	if err != nil {
		return nil, fmt.Errorf("footer: %w", err)
	}
	if err := t.readBatch(src[:limit], block); err != nil {
		return nil, fmt.Errorf("record batch: %w", err)
	}
	return t, nil
}

// Align returns b itself if it starts at a multiple of 8 in memory, and a copy that does otherwise.
func Align(b []byte) []byte {
	if len(b) == 0 || uintptr(unsafe.Pointer(&b[0]))%8 == 0 {
		return b
	}
	words := make([]uint64, (len(b)+7)/8)
	out := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), len(b))
	copy(out, b)
	return out
}

// findFooter returns the footer's flatbuffer, and where it starts.
func findFooter(src []byte) (footer []byte, at int, err error) {
	const least = 8 + 4 + len(magic)
	if len(src) < least || string(src[:len(magic)]) != magic {
		return nil, 0, errors.New("not an Arrow file: it does not start with " + magic)
	}
	end := len(src) - len(magic)
	if string(src[end:]) != magic {
		return nil, 0, errors.New("not a whole Arrow file: it does not end with " + magic)
	}
	size := int(binary.LittleEndian.Uint32(src[end-4:]))
	if size > len(src)-least {
		return nil, 0, fmt.Errorf("footer of %d bytes is longer than the file", size)
	}
	return src[end-4-size : end-4], end - 4 - size, nil
}

// A block holds the place of the record batch in the file, and the lengths of its metadata and its body.
type block struct{ at, metadata, body int }

// A fields is a flatbuffers table. Its fields are numbered as in the format's .fbs files; fields that are
// left out read as zero. Its methods panic if an offset points outside of the bytes.
type fields struct{ flatbuffers.Table }

func rootOf(b []byte) fields {
	return fields{flatbuffers.Table{Bytes: b, Pos: flatbuffers.GetUOffsetT(b)}}
}

func slot(field int) flatbuffers.VOffsetT { return flatbuffers.VOffsetT(4 + 2*field) }

func (t *fields) has(field int) bool  { return t.Offset(slot(field)) != 0 }
func (t *fields) u8(field int) int    { return int(t.GetByteSlot(slot(field), 0)) }
func (t *fields) i16(field int) int   { return int(t.GetInt16Slot(slot(field), 0)) }
func (t *fields) i32(field int) int   { return int(t.GetInt32Slot(slot(field), 0)) }
func (t *fields) i64(field int) int64 { return t.GetInt64Slot(slot(field), 0) }

// child returns a table; one that is left out is empty.
func (t *fields) child(field int) fields {
	child, ok := slotOf(&t.Table, slot(field))
	if !ok {
		return fields{flatbuffers.Table{Bytes: make([]byte, 8), Pos: 4}}
	}
	return fields{child}
}

// vector returns the bytes of a vector of elements of a size, and their number.
func (t *fields) vector(field, size int) (b []byte, n int) {
	o := flatbuffers.UOffsetT(t.Offset(slot(field)))
	if o == 0 {
		return nil, 0
	}
	n = t.VectorLen(o)
	at := int(t.Vector(o))
	return t.Bytes[at : at+n*size], n
}

// tables returns the tables of a vector, at most maxColumns.
func (t *fields) tables(field int) ([]fields, error) {
	_, n := t.vector(field, 4)
	if n > maxColumns {
		return nil, fmt.Errorf("schema has %d columns or entries: at most %d", n, maxColumns)
	}
	all := make([]fields, n)
	for i := range all {
		at := t.Vector(flatbuffers.UOffsetT(t.Offset(slot(field)))) + flatbuffers.UOffsetT(4*i)
		all[i] = fields{flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(at)}}
	}
	return all, nil
}

// text returns a string.
func (t *fields) text(field int) string {
	b, _ := t.vector(field, 1)
	return string(b)
}

func (t *Table) readFooter(b []byte) (block, error) {
	root := rootOf(b)
	if err := checkVersion(root.i16(0)); err != nil {
		return block{}, err
	}
	if _, n := root.vector(2, 24); n != 0 {
		return block{}, errors.New("file has dictionaries: write the columns plain")
	}
	at, n := root.vector(3, 24)
	if n != 1 {
		return block{}, fmt.Errorf("file has %d record batches: must be one", n)
	}
	if err := t.readSchema(root.child(1)); err != nil {
		return block{}, err
	}
	found := block{int64At(at, 0), int(int32(binary.LittleEndian.Uint32(at[8:]))), int64At(at, 16)}
	return found, t.schema.check()
}

func int64At(b []byte, at int) int { return int(binary.LittleEndian.Uint64(b[at:])) }

func checkVersion(v int) error {
	if v != metadataV4 && v != metadataV5 {
		return fmt.Errorf("metadata version is V%d: must be V4 or V5", v+1)
	}
	return nil
}

func (t *Table) readSchema(s fields) error {
	if s.i16(0) != 0 {
		return errors.New("schema is big-endian: must be little-endian")
	}
	columns, err := s.tables(1)
	if err != nil {
		return err
	}
	entries, err := s.tables(2)
	if err != nil {
		return err
	}
	total := 0 // bytes of the texts once copied: tables of a flatbuffer may share their bytes
	for _, field := range columns {
		c, err := readField(field)
		if err != nil {
			return err
		}
		if total += len(c.Name); total > maxMetadata {
			return fmt.Errorf("names take more than %d bytes", maxMetadata)
		}
		t.schema.Columns = append(t.schema.Columns, c)
	}
	for _, entry := range entries {
		kv := KeyValue{entry.text(0), entry.text(1)}
		if total += len(kv.Key) + len(kv.Value); total > maxMetadata {
			return fmt.Errorf("metadata takes more than %d bytes", maxMetadata)
		}
		t.schema.Metadata = append(t.schema.Metadata, kv)
	}
	return nil
}

func readField(field fields) (Column, error) {
	c := Column{Name: field.text(0)}
	if field.has(4) {
		return c, fmt.Errorf("column %q is dictionary-encoded: write it plain", c.Name)
	}
	kind, typ := field.u8(2), field.child(3)
	c.Type = readType(kind, typ)
	if kind == typeFixedSizeList {
		c.Width = typ.i32(0)
		items, err := field.tables(5)
		if err != nil || len(items) != 1 {
			return c, fmt.Errorf("column %q: a list must have one child", c.Name)
		}
		if item := items[0]; readType(item.u8(2), item.child(3)) == Float64 && !item.has(4) {
			c.Type = List
		}
	}
	if c.Type == 0 {
		return c, fmt.Errorf("column %q: type is not supported: must be float64, int64, int32, uint8, uint64, utf8 "+
			"or a fixed-size list of float64 (Arrow type %d)", c.Name, kind)
	}
	return c, nil
}

// readType returns the type of a column that is not a list, or 0 if it is none of this package's.
func readType(kind int, typ fields) Type {
	switch kind {
	case typeFloatingPoint:
		if typ.i16(0) == precisionDouble {
			return Float64
		}
	case typeUtf8:
		return Utf8
	case typeInt:
		switch bits, signed := typ.i32(0), typ.u8(1) != 0; {
		case bits == 64 && signed:
			return Int64
		case bits == 64:
			return Uint64
		case bits == 32 && signed:
			return Int32
		case bits == 8 && !signed:
			return Uint8
		}
	}
	return 0
}

// messageAt returns the message of a block, which must lie within src.
func messageAt(src []byte, at block) (root fields, err error) {
	if at.at < 8 || at.at%8 != 0 || at.metadata < 8 || at.metadata%8 != 0 || at.body < 0 || at.body%8 != 0 ||
		at.at > len(src) || at.metadata > len(src)-at.at || at.body > len(src)-at.at-at.metadata {
		return root, fmt.Errorf("%d + %d bytes at %d do not fit the file", at.metadata, at.body, at.at)
	}
	frame := src[at.at : at.at+at.metadata]
	size := int(binary.LittleEndian.Uint32(frame[4:]))
	if binary.LittleEndian.Uint32(frame) != continuation || size > len(frame)-8 {
		return root, errors.New("message header is damaged or from before Arrow 0.15")
	}
	root = rootOf(frame[8 : 8+size])
	return root, checkVersion(root.i16(0))
}

// readBatch reads the record batch of a block, which must lie within src.
func (t *Table) readBatch(src []byte, at block) error {
	root, err := messageAt(src, at)
	if err != nil {
		return err
	}
	batch := root.child(2)
	rows := batch.i64(0)
	switch {
	case root.u8(1) != headerRecordBatch:
		return fmt.Errorf("message is of kind %d", root.u8(1))
	case root.i64(3) != int64(at.body):
		return fmt.Errorf("body of %d bytes is %d long in the footer", root.i64(3), at.body)
	case batch.has(3):
		return errors.New("it is compressed: write it without compression")
	case rows < 0 || rows > math.MaxInt64/16:
		return fmt.Errorf("it has %d rows", rows)
	}
	nodes, _ := batch.vector(1, 16)
	buffers, _ := batch.vector(2, 16)
	w := &walk{src: t.src, body: span{at.at + at.metadata, at.body}, rows: int(rows), nodes: nodes, buffers: buffers}
	t.rows = w.rows
	t.values, t.strings = make([]span, len(t.schema.Columns)), make([]Strings, len(t.schema.Columns))
	for i, c := range t.schema.Columns {
		t.values[i], t.strings[i] = w.column(c)
		if w.err != nil {
			return fmt.Errorf("column %q: %w", c.Name, w.err)
		}
	}
	if len(w.nodes) != 0 || len(w.buffers) != 0 {
		return fmt.Errorf("%d arrays and %d buffers more than the schema has", len(w.nodes)/16, len(w.buffers)/16)
	}
	return nil
}

// A walk goes through the arrays and buffers of a record batch, which lie in the order of the
// columns, depth first. The first failure sticks.
type walk struct {
	src            []byte
	body           span
	rows           int
	nodes, buffers []byte // the next ones, 16 bytes each
	err            error
}

func (w *walk) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

// column returns the values of the next column, and its strings if it is Utf8.
func (w *walk) column(c Column) (span, Strings) {
	switch c.Type {
	case List:
		if w.rows > math.MaxInt64/16/c.Width {
			w.fail("%d rows of %d numbers", w.rows, c.Width)
			return span{}, Strings{}
		}
		w.array(w.rows)
		w.array(w.rows * c.Width)
		return w.numbers(w.rows*c.Width, 8), Strings{}
	case Utf8:
		w.array(w.rows)
		return w.text()
	default:
		w.array(w.rows)
		return w.numbers(w.rows, c.rowSize()), Strings{}
	}
}

// array passes the next node and its validity buffer.
func (w *walk) array(length int) {
	if len(w.nodes) == 0 {
		w.fail("there are fewer arrays than the schema has")
		return
	}
	if n := int64At(w.nodes, 0); n != length {
		w.fail("%d values: must be %d", n, length)
	}
	if nulls := int64At(w.nodes, 8); nulls != 0 {
		w.fail("it has %d nulls: fill or drop them", nulls)
	}
	w.nodes = w.nodes[16:]
	w.next()
}

// next returns the next buffer.
func (w *walk) next() span {
	if len(w.buffers) == 0 {
		w.fail("there are fewer buffers than the schema has")
		return span{}
	}
	at, n := int64At(w.buffers, 0), int64At(w.buffers, 8)
	w.buffers = w.buffers[16:]
	if at < 0 || n < 0 || at > w.body.len || n > w.body.len-at {
		w.fail("buffer of %d bytes at %d lies outside of the body's %d", n, at, w.body.len)
		return span{}
	}
	return span{w.body.at + at, n}
}

// numbers returns the next buffer, of n numbers of size bytes.
func (w *walk) numbers(n, size int) span {
	s := w.next()
	if w.err != nil {
		return span{}
	}
	if n > s.len/size {
		w.fail("buffer of %d bytes holds fewer than %d values", s.len, n)
		return span{}
	}
	if n > 0 && s.at%size != 0 {
		w.fail("values at %d are not aligned to %d bytes", s.at, size)
		return span{}
	}
	return span{s.at, n * size}
}

// text returns the next buffers as strings.
func (w *walk) text() (span, Strings) {
	s := Strings{offsets: []int32{0}}
	if w.rows == 0 {
		w.next() // may be empty: some writers leave the first offset out
	} else if at := w.numbers(w.rows+1, 4); w.err == nil {
		s.offsets = view[int32](w.src, at)
	}
	values := w.next()
	if w.err != nil {
		return span{}, Strings{}
	}
	s.bytes = w.src[values.at:values.end():values.end()]
	if err := s.check(); err != nil {
		w.fail("%w", err)
		return span{}, Strings{}
	}
	return values, s
}

// check makes At safe: it reports an error unless offsets rise, lie inside the bytes, and cut valid
// UTF-8 between characters.
func (s Strings) check() error {
	last := int32(0)
	for i, off := range s.offsets {
		if off < last || int(off) > len(s.bytes) {
			return fmt.Errorf("string %d: offset %d does not fit after %d in %d bytes", i-1, off, last, len(s.bytes))
		}
		if int(off) < len(s.bytes) && !utf8.RuneStart(s.bytes[off]) {
			return fmt.Errorf("string %d: offset %d is inside a character", i, off)
		}
		last = off
	}
	if !utf8.Valid(s.bytes[s.offsets[0]:last]) {
		return errors.New("strings are not UTF-8")
	}
	return nil
}

// Schema returns the table's schema.
func (t *Table) Schema() Schema { return t.schema }

// Rows returns the number of rows.
func (t *Table) Rows() int { return t.rows }

// Float64 returns the values of a float64 column. Like its siblings it returns an error, which
// names the columns there are, if the table has no column of that name or one of another type.
func (t *Table) Float64(name string) ([]float64, error) { return numbers[float64](t, name, Float64) }

// Int64 returns the values of an int64 column.
func (t *Table) Int64(name string) ([]int64, error) { return numbers[int64](t, name, Int64) }

// Uint8 returns the values of a uint8 column.
func (t *Table) Uint8(name string) ([]uint8, error) { return numbers[uint8](t, name, Uint8) }

// List returns the values of a fixed-size list column, row-major, and the number of values per row.
func (t *Table) List(name string) (values []float64, width int, err error) {
	values, err = numbers[float64](t, name, List)
	if err != nil {
		return nil, 0, err
	}
	i, _ := t.place(name)
	return values, t.schema.Columns[i].Width, nil
}

// Utf8 returns the strings of a utf8 column.
func (t *Table) Utf8(name string) (Strings, error) {
	i, err := t.find(name, Utf8)
	if err != nil {
		return Strings{}, err
	}
	return t.strings[i], nil
}

func numbers[T number](t *Table, name string, want Type) ([]T, error) {
	i, err := t.find(name, want)
	if err != nil {
		return nil, err
	}
	return view[T](t.src, t.values[i]), nil
}

// place returns the place of a column in the schema, and whether the table has it.
func (t *Table) place(name string) (i int, ok bool) {
	i = slices.IndexFunc(t.schema.Columns, func(c Column) bool { return c.Name == name })
	return i, i >= 0
}

func (t *Table) find(name string, want Type) (int, error) {
	i, ok := t.place(name)
	if !ok {
		names := make([]string, len(t.schema.Columns))
		for i, c := range t.schema.Columns {
			names[i] = c.Name
		}
		return 0, fmt.Errorf("read column %q: not in the table, which has %s", name, strings.Join(names, ", "))
	}
	if c := t.schema.Columns[i]; c.Type != want {
		return 0, fmt.Errorf("read column %q: it is %v, not %v", name, c.Type, want)
	}
	return i, nil
}

// Strings is a column of strings.
type Strings struct {
	offsets []int32
	bytes   []byte
}

// Len returns the number of strings.
func (s Strings) Len() int { return len(s.offsets) - 1 }

// At returns string i as a copy. The empty string costs nothing.
func (s Strings) At(i int) string { return string(s.bytes[s.offsets[i]:s.offsets[i+1]]) }
