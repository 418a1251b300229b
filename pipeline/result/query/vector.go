//go:build cgo

package query

import (
	"unsafe"

	"github.com/apache/arrow/go/v17/arrow/array"
	duck "github.com/duckdb/duckdb-go-bindings"
)

// appendVector appends the first n values of a vector to the builder of its type, and returns about
// how many bytes these are.
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

// values is the memory of a vector of fixed width, as it is: null where it is null, as validity
// says.
func values[T int64 | float64 | bool](v duck.Vector, n int) []T {
	return unsafe.Slice((*T)(duck.VectorGetData(v)), n)
}

// validity says which values are not null; nil: all.
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

// inlined is the bytes of a text that stand in the value itself.
const inlined = 12

// stringT is DuckDB's text: its length and, where it is short, its bytes, else four of them and
// where all of them are.
type stringT struct {
	length uint32
	prefix [4]byte
	at     *byte
}

func texts(v duck.Vector, n int) []stringT {
	return unsafe.Slice((*stringT)(duck.VectorGetData(v)), n)
}

// view is the text in DuckDB's memory: copy it before the chunk goes.
func (s *stringT) view() string {
	if s.length <= inlined {
		return unsafe.String(&s.prefix[0], s.length)
	}
	return unsafe.String(s.at, s.length)
}

// String is a copy of the text.
func (s *stringT) String() string { return string([]byte(s.view())) }
