//go:build cgo

package query

import (
	"unsafe"

	"github.com/apache/arrow/go/v17/arrow/array"
	duck "github.com/duckdb/duckdb-go-bindings"
)

// appendVector appends the first n values of a vector to the builder of its type, and returns about
// how many bytes they have.
func appendVector(to array.Builder, v duck.Vector, n int) (bytes int) {
	valid := validity(v, n)
	switch to := to.(type) {
	case *array.Int64Builder:
		to.AppendValues(values[int64](v, n), valid)
		return 8 * n
	case *array.Float64Builder:
		to.AppendValues(values[float64](v, n), valid)
		return 8 * n
	case *array.BooleanBuilder:
		to.AppendValues(values[bool](v, n), valid)
	case *array.StringBuilder:
		to.Reserve(n)
		for i, s := range texts(v, n) {
			if valid != nil && !valid[i] {
				to.AppendNull()
				continue
			}
			bytes += 4 + int(s.length)
			to.Append(s.view())
		}
	}
	return bytes
}

// values returns the memory of a vector of fixed width. Values that validity calls null have any
// content.
func values[T int64 | float64 | bool](v duck.Vector, n int) []T {
	return unsafe.Slice((*T)(duck.VectorGetData(v)), n)
}

// validity says which values are not null. It returns nil where none is null.
func validity(v duck.Vector, n int) []bool {
	mask := duck.VectorGetValidity(v)
	if mask == nil {
		return nil
	}
	bits := unsafe.Slice((*uint64)(mask), (n+63)/64)
	valid := make([]bool, n)
	for i := range valid {
		valid[i] = bits[i/64]>>(i%64)&1 != 0
	}
	return valid
}

// inlined is the length in bytes of the longest text that stands in the value itself.
const inlined = 12

// stringT is DuckDB's form of a text: its length and, where it is short, its bytes; otherwise the
// first four bytes and a pointer to all of them.
type stringT struct {
	length uint32
	prefix [4]byte
	at     *byte
}

func texts(v duck.Vector, n int) []stringT {
	return unsafe.Slice((*stringT)(duck.VectorGetData(v)), n)
}

// view returns the text in DuckDB's memory, which ends with the chunk.
func (s *stringT) view() string {
	if s.length <= inlined {
		return unsafe.String(&s.prefix[0], s.length)
	}
	return unsafe.String(s.at, s.length)
}

// String returns a copy of the text.
func (s *stringT) String() string { return string([]byte(s.view())) }
