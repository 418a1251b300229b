package dataset

import (
	"errors"

	flatbuffers "github.com/google/flatbuffers/go"
)

// ErrColumnType rejects a column of a union or view type.
var ErrColumnType = errors.New("it has a column of a union or view type; write plain types")

// CheckMessage checks the metadata of an Arrow IPC message, which may be any bytes. It rejects
// metadata for which the Arrow library would allocate memory by counts that the bytes cannot
// contain. It supports schemas and record batches. Like the library, it panics if an offset
// points outside.
func CheckMessage(metadata []byte) error {
	if len(metadata) < 8 {
		return errors.New("an Arrow message without metadata")
	}
	const schema, batch = 1, 3
	root := flatbuffers.Table{Bytes: metadata, Pos: flatbuffers.GetUOffsetT(metadata)}
	switch root.GetByteSlot(6, 0) {
	case schema:
		return CheckSchema(&root, 8, false)
	case batch:
		return nil // a message without lengths
	}
	return errors.New("an Arrow message that is neither a schema nor a record batch")
}

// CheckSchema checks the schema in a slot of a table of Arrow's flatbuffers, before the Arrow
// library allocates memory by its counts. It rejects counts that the bytes of the table cannot
// contain. Like the library, it panics if an offset points outside. Columns of view types are allowed
// only if views is true: their record batches hold counts that the library allocates memory by.
func CheckSchema(root *flatbuffers.Table, slot flatbuffers.VOffsetT, views bool) error {
	schema, ok := slotOf(root, slot)
	if !ok {
		return errors.New("it holds no schema")
	}
	w := &schemaWalk{budget: 4*len(root.Bytes) + 1024, views: views}
	w.metadata(&schema, 8)
	w.fields(&schema, 6, 0)
	return w.err
}

// schemaWalk adds up the bytes that the fields of a schema would use if none shared bytes with
// another.
type schemaWalk struct {
	budget int
	views  bool // view types are allowed
	err    error
}

// spend subtracts bytes from the budget, and reports whether the walk continues.
func (w *schemaWalk) spend(bytes int) bool {
	w.budget -= bytes
	if w.budget < 0 {
		w.err = errors.New("its schema states more than its bytes can hold")
	}
	return w.err == nil
}

// fields visits a vector of fields. A field has its name in slot 4, the kind of its type in 8,
// its children in 14, and metadata in 16.
func (w *schemaWalk) fields(t *flatbuffers.Table, slot flatbuffers.VOffsetT, depth int) {
	each(t, slot, w, func(field *flatbuffers.Table) {
		if o := flatbuffers.UOffsetT(field.Offset(4)); o != 0 {
			w.spend(len(field.ByteVector(field.Pos + o)))
		}
		const union, binaryView, utf8View = 14, 23, 24
		if k := field.GetByteSlot(8, 0); k == union || !w.views && (k == binaryView || k == utf8View) {
			w.err = ErrColumnType
		}
		if depth == 64 {
			w.err = errors.New("its columns are nested too deeply")
		}
		if w.err == nil {
			w.metadata(field, 16)
			w.fields(field, 14, depth+1)
		}
	})
}

// metadata visits a vector of key-value pairs.
func (w *schemaWalk) metadata(t *flatbuffers.Table, slot flatbuffers.VOffsetT) {
	each(t, slot, w, func(pair *flatbuffers.Table) {
		for _, slot := range []flatbuffers.VOffsetT{4, 6} {
			if o := flatbuffers.UOffsetT(pair.Offset(slot)); o != 0 {
				w.spend(len(pair.ByteVector(pair.Pos + o)))
			}
		}
	})
}

// each calls visit for the tables of a vector, until w fails.
func each(t *flatbuffers.Table, slot flatbuffers.VOffsetT, w *schemaWalk, visit func(*flatbuffers.Table)) {
	o := flatbuffers.UOffsetT(t.Offset(slot))
	if o == 0 || !w.spend(4*t.VectorLen(o)) {
		return
	}
	start := t.Vector(o)
	for i := range t.VectorLen(o) {
		visit(&flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(start + flatbuffers.UOffsetT(4*i))})
		if w.err != nil {
			return
		}
	}
}

// slotOf returns the table in a slot of another.
func slotOf(t *flatbuffers.Table, slot flatbuffers.VOffsetT) (flatbuffers.Table, bool) {
	o := flatbuffers.UOffsetT(t.Offset(slot))
	if o == 0 {
		return flatbuffers.Table{}, false
	}
	return flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(t.Pos + o)}, true
}
