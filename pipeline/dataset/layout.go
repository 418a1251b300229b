package dataset

import (
	"fmt"
	"math"
	"unicode/utf8"
	"unsafe"
)

// Bounds on a schema, far above any use. They keep small what a hostile file can make a reader
// allocate.
const (
	maxColumns  = 1 << 12
	maxMetadata = 1 << 24 // bytes of names and metadata
	maxBody     = 1 << 46
)

// alignment is that of every buffer, from the start of the file: a cache line, and the width of the
// widest vector registers.
const alignment = 64

// A span is a range of bytes, counted from the start of the file or, until the head is written, of
// its body.
type span struct{ at, len int }

func (s span) end() int { return s.at + s.len }

// A Layout says where each buffer of a table lies. [Plan] makes it; no method changes it, and it is
// safe for concurrent use.
type Layout struct {
	schema  Schema
	rows    int
	head    []byte // before the first value: magic, schema message, batch message; a multiple of 64
	tail    []byte // after the last value: end of stream, footer, magic
	values  []span // of each column
	offsets []span // of each Utf8 column; zero for the others
	body    span
}

// Plan lays out a table with the given schema and number of rows. strings holds the total length in
// bytes of the strings of each Utf8 column, in column order; it is nil if there are none. A schema
// needs at least one column, distinct column names, and valid UTF-8.
func Plan(s Schema, rows int, strings []int) (*Layout, error) {
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("plan table: %w", err)
	}
	if rows < 0 {
		return nil, fmt.Errorf("plan table: %d rows: must be 0 or more", rows)
	}
	l := &Layout{schema: s, rows: rows, values: make([]span, len(s.Columns)), offsets: make([]span, len(s.Columns))}
	if err := l.place(strings); err != nil {
		return nil, fmt.Errorf("plan table: %w", err)
	}
	l.head, l.tail = l.write()
	l.body.at = len(l.head)
	for i := range l.values {
		l.values[i].at += l.body.at
		l.offsets[i].at += l.body.at
	}
	return l, nil
}

// check reports an error if the schema cannot be that of a table.
func (s Schema) check() error {
	if len(s.Columns) == 0 || len(s.Columns) > maxColumns {
		return fmt.Errorf("schema has %d columns: must be 1 to %d", len(s.Columns), maxColumns)
	}
	names := make(map[string]bool, len(s.Columns))
	total := 0
	for _, c := range s.Columns {
		if c.Type < Float64 || c.Type > List {
			return fmt.Errorf("column %q: unknown %v", c.Name, c.Type)
		}
		if c.Type == List && (c.Width < 1 || c.Width > math.MaxInt32) || c.Type != List && c.Width != 0 {
			return fmt.Errorf("column %q: width %d does not fit %v", c.Name, c.Width, c.Type)
		}
		if names[c.Name] {
			return fmt.Errorf("column %q: a second one of that name", c.Name)
		}
		if !utf8.ValidString(c.Name) {
			return fmt.Errorf("column %q: name is not UTF-8", c.Name)
		}
		names[c.Name] = true
		total += len(c.Name)
	}
	for _, kv := range s.Metadata {
		if !utf8.ValidString(kv.Key) || !utf8.ValidString(kv.Value) {
			return fmt.Errorf("metadata %q: not UTF-8", kv.Key)
		}
		total += len(kv.Key) + len(kv.Value)
	}
	if total > maxMetadata {
		return fmt.Errorf("names and metadata take %d bytes: at most %d", total, maxMetadata)
	}
	return nil
}

// place sets the spans of all buffers, counted from the start of the body.
func (l *Layout) place(strings []int) error {
	next := 0
	for i, c := range l.schema.Columns {
		var size int
		if c.Type == Utf8 {
			if len(strings) == 0 {
				return fmt.Errorf("column %q: total length of its strings is not given", c.Name)
			}
			if strings[0] < 0 || strings[0] > math.MaxInt32 {
				return fmt.Errorf("column %q: strings of %d bytes in all: must be 0 to %d", c.Name, strings[0], math.MaxInt32)
			}
			if l.rows >= maxBody/4 {
				return tooLarge(l.rows)
			}
			l.offsets[i] = span{next, 4 * (l.rows + 1)}
			next = pad(l.offsets[i].end(), alignment)
			size, strings = strings[0], strings[1:]
		} else {
			per := c.rowSize()
			if l.rows > maxBody/per {
				return tooLarge(l.rows)
			}
			size = l.rows * per
		}
		l.values[i] = span{next, size}
		next = pad(l.values[i].end(), alignment)
		if next > maxBody {
			return tooLarge(l.rows)
		}
	}
	if len(strings) > 0 {
		return fmt.Errorf("%d lengths of strings more than Utf8 columns", len(strings))
	}
	l.body.len = next
	return nil
}

func tooLarge(rows int) error {
	return fmt.Errorf("%d rows take more than %d bytes", rows, int64(maxBody))
}

// rowSize returns the number of bytes that one row takes, for columns other than Utf8.
func (c Column) rowSize() int {
	switch c.Type {
	case List:
		return 8 * c.Width
	case Int32:
		return 4
	case Uint8:
		return 1
	default:
		return 8
	}
}

// pad rounds n up to a multiple of to.
func pad(n, to int) int { return (n + to - 1) / to * to }

// Size returns the length of the whole file in bytes.
func (l *Layout) Size() int { return l.body.end() + len(l.tail) }

// Init writes everything but the values into dst[:Size]: header, metadata, padding and footer. The
// values, and all offsets of a Utf8 column, are left to the caller, before or after. dst must start
// at a multiple of 8 in memory. If it starts at a multiple of 64, as a mapping does, every buffer
// does too.
func (l *Layout) Init(dst []byte) {
	dst = dst[:l.Size()]
	copy(dst, l.head)
	copy(dst[l.body.end():], l.tail)
	for i, c := range l.schema.Columns {
		if c.Type == Utf8 {
			clear(dst[l.offsets[i].end():pad(l.offsets[i].end(), alignment)])
		}
		clear(dst[l.values[i].end():pad(l.values[i].end(), alignment)])
	}
}

// At returns the offset of the values of column col (of the bytes, for Utf8) from the start of the
// file. It is a multiple of 64.
func (l *Layout) At(col int) uint64 { return uint64(l.values[col].at) }

// Float64 returns the values of column col in dst, to be filled. Like its siblings it panics if the
// column has another type.
func (l *Layout) Float64(dst []byte, col int) []float64 {
	return view[float64](dst, l.column(col, Float64))
}

// Int64 returns the values of column col in dst, to be filled.
func (l *Layout) Int64(dst []byte, col int) []int64 { return view[int64](dst, l.column(col, Int64)) }

// Uint8 returns the values of column col in dst, to be filled.
func (l *Layout) Uint8(dst []byte, col int) []uint8 { return view[uint8](dst, l.column(col, Uint8)) }

// List returns the values of column col in dst, to be filled: row-major, rows*Width numbers.
func (l *Layout) List(dst []byte, col int) []float64 { return view[float64](dst, l.column(col, List)) }

// Utf8 returns column col in dst, to be filled: string i is bytes[offsets[i]:offsets[i+1]]. offsets
// has one entry more than there are rows. Its first entry must become 0 and its last len(bytes).
func (l *Layout) Utf8(dst []byte, col int) (offsets []int32, bytes []byte) {
	values := l.column(col, Utf8)
	return view[int32](dst, l.offsets[col]), view[byte](dst, values)
}

// column returns the span of the values of column col. It panics if the column is not of the wanted
// type.
func (l *Layout) column(col int, want Type) span {
	if c := l.schema.Columns[col]; c.Type != want {
		panic(fmt.Sprintf("dataset: column %q is %v, not %v", c.Name, c.Type, want))
	}
	return l.values[col]
}

// A number is what a buffer can hold.
type number interface {
	float64 | int64 | int32 | uint64 | uint8
}

// view returns the numbers in b[s.at:s.end()]. It panics if the range is outside of b or misaligned
// in memory.
func view[T number](b []byte, s span) []T {
	b = b[s.at:s.end():s.end()]
	if len(b) == 0 {
		return []T{}
	}
	var t T
	p := unsafe.Pointer(&b[0])
	if uintptr(p)%unsafe.Alignof(t) != 0 {
		panic(fmt.Sprintf("dataset: %T values at misaligned address %#x", t, uintptr(p)))
	}
	return unsafe.Slice((*T)(p), len(b)/int(unsafe.Sizeof(t)))
}
