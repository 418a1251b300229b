package dataset

import (
	"encoding/binary"

	flatbuffers "github.com/google/flatbuffers/go"
)

// The Arrow columnar format, version 1.0 and later, as described at
// https://arrow.apache.org/docs/format/Columnar.html. Field numbers are those of Schema.fbs,
// Message.fbs and File.fbs.
const (
	magic        = "ARROW1"
	continuation = 0xFFFFFFFF
	metadataV4   = 3
	metadataV5   = 4

	headerRecordBatch = 3
	headerSchema      = 1

	typeInt           = 2
	typeFloatingPoint = 3
	typeUtf8          = 5
	typeFixedSizeList = 16

	precisionDouble = 2
)

// write returns the bytes before and after the body. The buffers have been placed.
func (l *Layout) write() (head, tail []byte) {
	b := flatbuffers.NewBuilder(1024)
	head = append(make([]byte, 0, 1024), magic...)
	head = append(head, 0, 0)
	message(b, headerSchema, writeSchema(b, l.schema), 0)
	head = appendMessage(head, b.FinishedBytes(), 8)
	batchAt := len(head)

	b.Reset()
	message(b, headerRecordBatch, l.writeBatch(b), l.body.len)
	head = appendMessage(head, b.FinishedBytes(), alignment)

	b.Reset()
	l.writeFooter(b, batchAt, len(head)-batchAt)
	footer := b.FinishedBytes()
	tail = make([]byte, 0, 8+len(footer)+4+len(magic))
	tail = binary.LittleEndian.AppendUint32(tail, continuation)
	tail = binary.LittleEndian.AppendUint32(tail, 0)
	tail = append(tail, footer...)
	tail = binary.LittleEndian.AppendUint32(tail, uint32(len(footer)))
	return head, append(tail, magic...)
}

// appendMessage frames one flatbuffer and pads it so that dst ends on a multiple of to.
func appendMessage(dst, flat []byte, to int) []byte {
	end := pad(len(dst)+8+len(flat), to)
	dst = binary.LittleEndian.AppendUint32(dst, continuation)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(end-len(dst)-4))
	dst = append(dst, flat...)
	return append(dst, make([]byte, end-len(dst))...)
}

func message(b *flatbuffers.Builder, kind byte, header flatbuffers.UOffsetT, body int) {
	b.StartObject(5)
	b.PrependInt64Slot(3, int64(body), 0)
	b.PrependUOffsetTSlot(2, header, 0)
	b.PrependInt16Slot(0, metadataV5, 0)
	b.PrependByteSlot(1, kind, 0)
	b.Finish(b.EndObject())
}

func writeSchema(b *flatbuffers.Builder, s Schema) flatbuffers.UOffsetT {
	fields := make([]flatbuffers.UOffsetT, len(s.Columns))
	for i, c := range s.Columns {
		fields[i] = writeField(b, c)
	}
	columns := writeTables(b, fields)
	var metadata flatbuffers.UOffsetT
	if len(s.Metadata) > 0 {
		entries := make([]flatbuffers.UOffsetT, len(s.Metadata))
		for i, kv := range s.Metadata {
			key, value := b.CreateString(kv.Key), b.CreateString(kv.Value)
			b.StartObject(2)
			b.PrependUOffsetTSlot(0, key, 0)
			b.PrependUOffsetTSlot(1, value, 0)
			entries[i] = b.EndObject()
		}
		metadata = writeTables(b, entries)
	}
	b.StartObject(4) // endianness is left at its default, little
	b.PrependUOffsetTSlot(1, columns, 0)
	b.PrependUOffsetTSlot(2, metadata, 0)
	return b.EndObject()
}

func writeTables(b *flatbuffers.Builder, tables []flatbuffers.UOffsetT) flatbuffers.UOffsetT {
	b.StartVector(4, len(tables), 4)
	for i := len(tables) - 1; i >= 0; i-- {
		b.PrependUOffsetT(tables[i])
	}
	return b.EndVector(len(tables))
}

func writeField(b *flatbuffers.Builder, c Column) flatbuffers.UOffsetT {
	var children []flatbuffers.UOffsetT
	if c.Type == List {
		children = []flatbuffers.UOffsetT{writeField(b, Column{Name: "item", Type: Float64})}
	}
	vector := writeTables(b, children)
	name := b.CreateString(c.Name)
	kind, typ := writeType(b, c)
	b.StartObject(7) // nullable is left at its default, no
	b.PrependUOffsetTSlot(0, name, 0)
	b.PrependUOffsetTSlot(3, typ, 0)
	b.PrependUOffsetTSlot(5, vector, 0)
	b.PrependByteSlot(2, kind, 0)
	return b.EndObject()
}

func writeType(b *flatbuffers.Builder, c Column) (kind byte, typ flatbuffers.UOffsetT) {
	switch c.Type {
	case Float64:
		b.StartObject(1)
		b.PrependInt16Slot(0, precisionDouble, 0)
		return typeFloatingPoint, b.EndObject()
	case Utf8:
		b.StartObject(0)
		return typeUtf8, b.EndObject()
	case List:
		b.StartObject(1)
		b.PrependInt32Slot(0, int32(c.Width), 0)
		return typeFixedSizeList, b.EndObject()
	default:
		b.StartObject(2)
		b.PrependInt32Slot(0, int32(8*c.rowSize()), 0)
		b.PrependBoolSlot(1, c.Type == Int64 || c.Type == Int32, false)
		return typeInt, b.EndObject()
	}
}

func (l *Layout) writeBatch(b *flatbuffers.Builder) flatbuffers.UOffsetT {
	nodes, buffers := l.nodes(), l.buffers()
	b.StartVector(16, len(nodes), 8)
	for i := len(nodes) - 1; i >= 0; i-- {
		b.PrependInt64(0) // nulls
		b.PrependInt64(int64(nodes[i]))
	}
	nodeVector := b.EndVector(len(nodes))
	b.StartVector(16, len(buffers), 8)
	for i := len(buffers) - 1; i >= 0; i-- {
		b.PrependInt64(int64(buffers[i].len))
		b.PrependInt64(int64(buffers[i].at))
	}
	bufferVector := b.EndVector(len(buffers))
	b.StartObject(5)
	b.PrependInt64Slot(0, int64(l.rows), 0)
	b.PrependUOffsetTSlot(1, nodeVector, 0)
	b.PrependUOffsetTSlot(2, bufferVector, 0)
	return b.EndObject()
}

// nodes returns the length of each array, depth first: a list is two arrays.
func (l *Layout) nodes() []int {
	nodes := make([]int, 0, 2*len(l.values))
	for _, c := range l.schema.Columns {
		nodes = append(nodes, l.rows)
		if c.Type == List {
			nodes = append(nodes, l.rows*c.Width)
		}
	}
	return nodes
}

// buffers returns the buffers of each array, depth first: first the validity, which is empty
// because nothing is null.
func (l *Layout) buffers() []span {
	buffers := make([]span, 0, 3*len(l.values))
	for i, c := range l.schema.Columns {
		buffers = append(buffers, span{at: l.values[i].at})
		switch c.Type {
		case List:
			buffers = append(buffers, span{at: l.values[i].at})
		case Utf8:
			buffers = append(buffers, l.offsets[i])
		}
		buffers = append(buffers, l.values[i])
	}
	return buffers
}

func (l *Layout) writeFooter(b *flatbuffers.Builder, batchAt, batchLen int) {
	schema := writeSchema(b, l.schema)
	b.StartVector(24, 0, 8)
	dictionaries := b.EndVector(0)
	b.StartVector(24, 1, 8)
	b.PrependInt64(int64(l.body.len))
	b.Pad(4)
	b.PrependInt32(int32(batchLen))
	b.PrependInt64(int64(batchAt))
	batches := b.EndVector(1)
	b.StartObject(5)
	b.PrependUOffsetTSlot(1, schema, 0)
	b.PrependUOffsetTSlot(2, dictionaries, 0)
	b.PrependUOffsetTSlot(3, batches, 0)
	b.PrependInt16Slot(0, metadataV5, 0)
	b.Finish(b.EndObject())
}
