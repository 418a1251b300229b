package population

import (
	"encoding/binary"
	"errors"
	"io"
)

// Parquet describes itself in Thrift's compact protocol. Its reader allocates by the lengths that it
// finds there before it has seen what they count, so they are looked at here first.

// Kinds of values in Thrift's compact protocol.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftInt16  = 4
	thriftInt32  = 5
	thriftInt64  = 6
	thriftDouble = 7
	thriftBytes  = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12
)

// thriftDepth is the depth to which structs and lists may be nested; Parquet's are half as deep.
const thriftDepth = 16

// thriftWalk walks over a value in Thrift's compact protocol, as the Parquet reader does.
type thriftWalk struct {
	b     []byte // what is left
	wrong bool   // it is no such value, or a length in it is greater than what is left

	// number is called with each field of 32 bits, and the depth of its struct from 1 on.
	number func(depth int, field int16, v int32)
}

// take returns the next n bytes, or fewer where there are not as many.
func (w *thriftWalk) take(n int) []byte {
	if n < 0 || n > len(w.b) {
		w.wrong, n = true, len(w.b)
	}
	b := w.b[:n]
	w.b = w.b[n:]
	return b
}

func (w *thriftWalk) byte() byte {
	if b := w.take(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

func (w *thriftWalk) varint() (v uint64) {
	for shift := 0; ; shift += 7 {
		b := w.byte()
		if v |= uint64(b&0x7f) << shift; b < 0x80 {
			return v
		}
	}
}

// int32 returns the next number of 32 bits, whose lowest bit is its sign.
func (w *thriftWalk) int32() int32 {
	v := uint32(w.varint())
	return int32(v>>1) ^ -int32(v&1)
}

// fields walks over the fields of a struct at a depth.
func (w *thriftWalk) fields(depth int) {
	for id := int16(0); !w.wrong; {
		head := w.byte()
		kind := head & 15
		switch {
		case kind == 0:
			return
		case head>>4 != 0:
			id += int16(head >> 4)
		default:
			id = int16(w.int32())
		}
		switch kind {
		case thriftTrue, thriftFalse: // the value is the kind
		case thriftInt32:
			if v := w.int32(); w.number != nil {
				w.number(depth, id, v)
			}
		default:
			w.value(kind, depth)
		}
	}
}

// value walks over a value in a struct or a list at a depth.
func (w *thriftWalk) value(kind byte, depth int) {
	switch kind {
	case thriftTrue, thriftFalse, thriftByte:
		w.byte()
	case thriftInt16, thriftInt32, thriftInt64:
		w.varint()
	case thriftDouble:
		w.take(8)
	case thriftBytes:
		w.take(int(int32(w.varint())))
	case thriftList, thriftSet:
		w.list(depth)
	case thriftMap:
		if n := int32(w.varint()); n != 0 {
			w.wrong = true // Parquet has none
		}
	case thriftStruct:
		if w.wrong = w.wrong || depth == thriftDepth; !w.wrong {
			w.fields(depth + 1)
		}
	default:
		w.wrong = true
	}
}

// list walks over a list, each of whose elements takes a byte at least.
func (w *thriftWalk) list(depth int) {
	head := w.byte()
	n := int(head >> 4)
	if n == 15 {
		n = int(int32(w.varint()))
	}
	if w.wrong = w.wrong || n < 0 || n > len(w.b) || depth == thriftDepth; w.wrong {
		return
	}
	for range n {
		if w.value(head&15, depth+1); w.wrong {
			return
		}
	}
}

// checkFooter walks over the metadata at the end of a Parquet file, and refuses counts that they
// cannot hold.
func checkFooter(f *io.SectionReader) error {
	tail := make([]byte, 8)
	if _, err := f.ReadAt(tail, f.Size()-int64(len(tail))); err != nil || string(tail[4:]) != "PAR1" {
		return errors.New("it does not end with PAR1; it was not written to its end, or is encrypted")
	}
	size := int64(binary.LittleEndian.Uint32(tail))
	if size > f.Size()-int64(len(tail)) {
		return errors.New("its footer is larger than the file")
	}
	footer := make([]byte, size)
	if _, err := f.ReadAt(footer, f.Size()-int64(len(tail))-size); err != nil {
		return err
	}
	const schemaDepth, children = 3, 5 // of an element of the list of the schema: its number of children
	w := thriftWalk{b: footer}
	w.number = func(depth int, field int16, v int32) {
		if depth == schemaDepth && field == children && (v < 0 || int(v) > len(footer)) {
			w.wrong = true
		}
	}
	if w.fields(1); w.wrong {
		return errors.New("its footer states more than it holds")
	}
	return nil
}

// compressedSize returns the size that the header of a page states for what follows it.
func compressedSize(header []byte) (size int32) {
	const compressed = 3
	w := thriftWalk{b: header, number: func(depth int, field int16, v int32) {
		if depth == 1 && field == compressed {
			size = v
		}
	}}
	w.fields(1)
	return size
}
