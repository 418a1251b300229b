// Package dataset is the form in which tables of numbers pass between processes: the Arrow IPC file
// format, holding one uncompressed record batch, usually inside a memory file.
//
// It promises that a table is opened without copying a value, whatever its size; that hostile bytes
// give an error, never a panic and never a view outside of them; and that what [Layout.Init] writes
// is read by every Arrow library.
//
// It needs a little-endian machine. It imports no Arrow library: it builds and checks the few
// flatbuffers of the format itself, so that a plugin's binary stays small.
//
// Start at [Plan] to write a table, at [Decode] to read one, and at [NewMemory] and [MapFile] where
// processes share the bytes.
package dataset

import "fmt"

// A Type is the type of a column.
type Type uint8

// The types of columns. No column has nulls.
const (
	Float64 Type = iota + 1
	Int64
	Int32
	Uint8
	Uint64
	Utf8 // strings: 32-bit offsets, then bytes
	List // FixedSizeList<float64>[Width]: row-major points of dimension Width
)

// String returns the type's name in Arrow.
func (t Type) String() string {
	switch t {
	case Float64:
		return "float64"
	case Int64:
		return "int64"
	case Int32:
		return "int32"
	case Uint8:
		return "uint8"
	case Uint64:
		return "uint64"
	case Utf8:
		return "utf8"
	case List:
		return "fixed_size_list<float64>"
	}
	return fmt.Sprintf("type %d", uint8(t))
}

// A Column describes one column of a schema.
type Column struct {
	Name  string
	Type  Type
	Width int // numbers per row of a List, at least 1; 0 for the other types
}

// A KeyValue is one entry of a schema's metadata.
type KeyValue struct{ Key, Value string }

// A Schema says what a table holds. The order of columns and of metadata is kept.
type Schema struct {
	Columns  []Column
	Metadata []KeyValue
}

// Get returns the value of the first metadata entry with that key, and whether there is one.
func (s Schema) Get(key string) (string, bool) {
	for _, kv := range s.Metadata {
		if kv.Key == key {
			return kv.Value, true
		}
	}
	return "", false
}
