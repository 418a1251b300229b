package dataset

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"
)

// flat reads a flatbuffer with every access checked, because Go's flatbuffers package trusts what
// it reads. The first failure sticks, and everything read after it is zero and empty, so that
// callers check err once per step.
type flat struct {
	b   []byte
	err error
}

func (f *flat) fail(format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf(format, args...)
	}
}

// bytes returns b[at:at+n], or nil after recording the error.
func (f *flat) bytes(at, n int) []byte {
	if f.err != nil || at < 0 || n < 0 || at > len(f.b) || n > len(f.b)-at {
		f.fail("metadata points to %d bytes at %d, outside of its %d", n, at, len(f.b))
		return nil
	}
	return f.b[at : at+n]
}

func (f *flat) u16(at int) int {
	if b := f.bytes(at, 2); b != nil {
		return int(binary.LittleEndian.Uint16(b))
	}
	return 0
}

func (f *flat) i32(at int) int {
	if b := f.bytes(at, 4); b != nil {
		return int(int32(binary.LittleEndian.Uint32(b)))
	}
	return 0
}

func (f *flat) i64(at int) int {
	if b := f.bytes(at, 8); b != nil {
		return int(binary.LittleEndian.Uint64(b))
	}
	return 0
}

// follow returns the position that the offset at at points to.
func (f *flat) follow(at int) int {
	if b := f.bytes(at, 4); b != nil {
		return at + int(binary.LittleEndian.Uint32(b))
	}
	return 0
}

func (f *flat) root() flatTable { return f.table(f.follow(0)) }

func (f *flat) table(pos int) flatTable {
	vtable := pos - f.i32(pos)
	vsize, size := f.u16(vtable), f.u16(vtable+2)
	if f.bytes(vtable, vsize) == nil || f.bytes(pos, size) == nil {
		return flatTable{f: f}
	}
	return flatTable{f: f, pos: pos, vtable: vtable, vsize: vsize}
}

// A flatTable is a flatbuffers table. Its fields are numbered as in the format's .fbs files; fields
// that are left out read as zero.
type flatTable struct {
	f                  *flat
	pos, vtable, vsize int
}

// at returns the position of a field, or 0 if it is left out.
func (t flatTable) at(field int) int {
	slot := 4 + 2*field
	if slot+2 > t.vsize {
		return 0
	}
	if off := t.f.u16(t.vtable + slot); off != 0 {
		return t.pos + off
	}
	return 0
}

func (t flatTable) has(field int) bool { return t.at(field) != 0 }

func (t flatTable) u8(field int) int {
	if at := t.at(field); at != 0 {
		if b := t.f.bytes(at, 1); b != nil {
			return int(b[0])
		}
	}
	return 0
}

func (t flatTable) i16(field int) int {
	if at := t.at(field); at != 0 {
		return int(int16(t.f.u16(at)))
	}
	return 0
}

func (t flatTable) i32(field int) int {
	if at := t.at(field); at != 0 {
		return t.f.i32(at)
	}
	return 0
}

func (t flatTable) i64(field int) int {
	if at := t.at(field); at != 0 {
		return t.f.i64(at)
	}
	return 0
}

// child returns a table field. what names it in the error if it is missing.
func (t flatTable) child(field int, what string, args ...any) flatTable {
	at := t.at(field)
	if at == 0 {
		t.f.fail(what+" is missing", args...)
		return flatTable{f: t.f}
	}
	return t.f.table(t.f.follow(at))
}

// vector returns the position and length of a vector field of elements of size bytes.
func (t flatTable) vector(field, size int) (at, n int) {
	p := t.at(field)
	if p == 0 {
		return 0, 0
	}
	p = t.f.follow(p)
	n = t.f.i32(p)
	if t.f.bytes(p+4, n*size) == nil {
		return 0, 0
	}
	return p + 4, n
}

// text returns a string field.
func (t flatTable) text(field int) string {
	at, n := t.vector(field, 1)
	b := t.f.bytes(at, n)
	if !utf8.Valid(b) {
		t.f.fail("text %q is not UTF-8", b)
		return ""
	}
	return string(b)
}
