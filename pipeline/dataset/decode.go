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
)

// A Table is a decoded table: views into the bytes that it was decoded from, valid as long as those
// are. They must not be written. A Table is safe for concurrent use.
type Table struct {
	src     []byte
	schema  Schema
	rows    int
	index   map[string]int // places of columns by name; nil: they are few
	values  []span
	strings []Strings // of the Utf8 columns; zero for the others
}

// Decode opens an Arrow IPC file of one uncompressed record batch without copying a value. Its cost
// depends on the number of columns alone, except for Utf8 columns, whose offsets it checks. It also
// opens files of other writers, as long as they hold only this package's types and no nulls.
//
// src must start at a multiple of 8 in memory, as a mapping does; [Align] makes other bytes fit. It
// must not change while the table is in use.
func Decode(src []byte) (*Table, error) {
	t, err := decode(src)
	if err != nil {
		return nil, fmt.Errorf("decode Arrow table of %d bytes: %w", len(src), err)
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

func decode(src []byte) (*Table, error) {
	if len(src) > 0 && uintptr(unsafe.Pointer(&src[0]))%8 != 0 {
		return nil, errors.New("bytes do not start at a multiple of 8 in memory: see Align")
	}
	footer, limit, err := findFooter(src)
	if err != nil {
		return nil, err
	}
	t := &Table{src: src}
	block, err := t.readFooter(footer)
	if err != nil {
		return nil, err
	}
	batch, body, err := readMessage(src[:limit], block)
	if err != nil {
		return nil, err
	}
	if err := t.readBatch(batch, body); err != nil {
		return nil, err
	}
	return t, nil
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

// A block says where the record batch lies in the file.
type block struct{ at, metadata, body int }

func (t *Table) readFooter(b []byte) (block, error) {
	f := &flat{b: b}
	root := f.root()
	checkVersion(f, root.i16(0))
	if _, n := root.vector(2, 24); n != 0 {
		f.fail("file has dictionaries: write the columns plain")
	}
	at, n := root.vector(3, 24)
	if f.err == nil && n != 1 {
		f.fail("file has %d record batches: must be one", n)
	}
	found := block{f.i64(at), f.i32(at + 8), f.i64(at + 16)}
	t.readSchema(root.child(1, "schema"))
	if f.err != nil {
		return block{}, fmt.Errorf("footer: %w", f.err)
	}
	if err := t.schema.check(); err != nil {
		return block{}, fmt.Errorf("footer: %w", err)
	}
	return found, nil
}

func checkVersion(f *flat, v int) {
	if v != metadataV4 && v != metadataV5 {
		f.fail("metadata version is V%d: must be V4 or V5", v+1)
	}
}

func (t *Table) readSchema(s flatTable) {
	if s.i16(0) != 0 {
		s.f.fail("schema is big-endian: must be little-endian")
	}
	at, n := s.vector(1, 4)
	if n > maxColumns {
		s.f.fail("schema has %d columns: at most %d", n, maxColumns)
	}
	if s.f.err == nil {
		t.schema.Columns = make([]Column, 0, n)
	}
	total := 0 // what the texts take once copied: tables of a flatbuffer may share their bytes
	for i := 0; i < n && s.f.err == nil; i++ {
		c := readField(s.f.table(s.f.follow(at + 4*i)))
		if total += len(c.Name); total > maxMetadata {
			s.f.fail("names take more than %d bytes", maxMetadata)
		}
		t.schema.Columns = append(t.schema.Columns, c)
	}
	if at, n = s.vector(2, 4); s.f.err == nil && n > 0 {
		t.schema.Metadata = make([]KeyValue, 0, min(n, maxColumns))
	}
	for i := 0; i < n && s.f.err == nil; i++ {
		entry := s.f.table(s.f.follow(at + 4*i))
		kv := KeyValue{entry.text(0), entry.text(1)}
		if total += 8 + len(kv.Key) + len(kv.Value); total > maxMetadata {
			s.f.fail("metadata takes more than %d bytes", maxMetadata)
		}
		t.schema.Metadata = append(t.schema.Metadata, kv)
	}
}

func readField(field flatTable) Column {
	c := Column{Name: field.text(0)}
	if field.has(4) {
		field.f.fail("column %q is dictionary-encoded: write it plain", c.Name)
	}
	kind := field.u8(2)
	typ := field.child(3, "type of column %q", c.Name)
	c.Type = readType(kind, typ)
	if kind == typeFixedSizeList {
		c.Width = typ.i32(0)
		at, n := field.vector(5, 4)
		if n != 1 {
			field.f.fail("column %q: list of %d children: must be one", c.Name, n)
			return c
		}
		item := field.f.table(field.f.follow(at))
		if readType(item.u8(2), item.child(3, "type of list items")) == Float64 && !item.has(4) {
			c.Type = List
		}
	}
	if c.Type == 0 {
		field.f.fail("column %q: type is not supported: must be float64, int64, int32, uint8, uint64, utf8 "+
			"or a fixed-size list of float64 (Arrow type %d)", c.Name, kind)
	}
	return c
}

// readType returns the type of a column that is not a list, or 0 if it is none of this package's.
func readType(kind int, typ flatTable) Type {
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

// readMessage returns the record batch's metadata and where its body lies.
func readMessage(src []byte, at block) (flatTable, span, error) {
	if at.at < 8 || at.at%8 != 0 || at.metadata < 8 || at.metadata%8 != 0 || at.body < 0 || at.body%8 != 0 ||
		at.at > len(src) || at.metadata > len(src)-at.at || at.body > len(src)-at.at-at.metadata {
		return flatTable{}, span{}, fmt.Errorf("record batch: %d + %d bytes at %d do not fit the file",
			at.metadata, at.body, at.at)
	}
	frame := src[at.at : at.at+at.metadata]
	size := int(binary.LittleEndian.Uint32(frame[4:]))
	if binary.LittleEndian.Uint32(frame) != continuation || size > len(frame)-8 {
		return flatTable{}, span{}, errors.New("record batch: message header is damaged or from before Arrow 0.15")
	}
	f := &flat{b: frame[8 : 8+size]}
	root := f.root()
	checkVersion(f, root.i16(0))
	if kind := root.u8(1); f.err == nil && kind != headerRecordBatch {
		f.fail("message is of kind %d", kind)
	}
	batch := root.child(2, "header")
	if root.i64(3) != at.body {
		f.fail("body of %d bytes is %d long in the footer", root.i64(3), at.body)
	}
	if f.err != nil {
		return flatTable{}, span{}, fmt.Errorf("record batch: %w", f.err)
	}
	return batch, span{at.at + at.metadata, at.body}, nil
}

func (t *Table) readBatch(batch flatTable, body span) error {
	w := &walk{flat: batch.f, src: t.src, body: body, rows: batch.i64(0)}
	if batch.has(3) {
		w.fail("it is compressed: write it without compression")
	}
	if w.rows < 0 || w.rows > math.MaxInt64/16 {
		w.fail("it has %d rows", w.rows)
	}
	w.node, w.nodes = batch.vector(1, 16)
	w.buffer, w.buffers = batch.vector(2, 16)
	if w.err != nil {
		return fmt.Errorf("record batch: %w", w.err)
	}
	t.rows = w.rows
	t.values = make([]span, len(t.schema.Columns))
	t.strings = make([]Strings, len(t.schema.Columns))
	if len(t.schema.Columns) > fewColumns {
		t.index = make(map[string]int, len(t.schema.Columns))
	}
	for i, c := range t.schema.Columns {
		if t.index != nil {
			t.index[c.Name] = i
		}
		t.values[i], t.strings[i] = w.column(c)
		if w.err != nil {
			return fmt.Errorf("record batch: column %q: %w", c.Name, w.err)
		}
	}
	if w.nodes != 0 || w.buffers != 0 {
		return fmt.Errorf("record batch: %d arrays and %d buffers more than the schema has", w.nodes, w.buffers)
	}
	return nil
}

// A walk goes through the arrays and buffers of a record batch, which lie in the order of the
// columns, depth first.
type walk struct {
	*flat
	src             []byte
	body            span
	rows            int
	node, nodes     int // position of the next, and how many are left
	buffer, buffers int
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
	if w.nodes == 0 {
		w.fail("there are fewer arrays than the schema has")
		return
	}
	if n := w.i64(w.node); n != length {
		w.fail("%d values: must be %d", n, length)
	}
	if nulls := w.i64(w.node + 8); nulls != 0 {
		w.fail("it has %d nulls: fill or drop them", nulls)
	}
	w.node += 16
	w.nodes--
	w.next()
}

// next returns the next buffer.
func (w *walk) next() span {
	if w.buffers == 0 {
		w.fail("there are fewer buffers than the schema has")
		return span{}
	}
	at, n := w.i64(w.buffer), w.i64(w.buffer+8)
	w.buffer += 16
	w.buffers--
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

// fewColumns is the number of columns up to which one is found faster by looking at their names than by
// an index of them.
const fewColumns = 16

// place returns the place of a column in the schema, and whether the table has it.
func (t *Table) place(name string) (i int, ok bool) {
	if t.index != nil {
		i, ok = t.index[name]
		return i, ok
	}
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
