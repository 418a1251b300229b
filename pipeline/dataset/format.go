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
	metadataV5   = 4

	headerRecordBatch = 3
	headerSchema      = 1

	typeFloatingPoint = 3
	typeFixedSizeList = 16

	precisionDouble = 2
)

// A column is the schema of a column and the position of its numbers in the body.
type column struct {
	name    string
	dim     int // size of a FixedSizeList of float64; 0: a float64
	at, len int
}

// write returns the bytes before and after the body of a file.
func write(columns []column, rows, body int) (head, tail []byte) {
	b := flatbuffers.NewBuilder(1024)
	head = append(make([]byte, 0, 1024), magic...)
	head = append(head, 0, 0)
	message(b, headerSchema, writeSchema(b, columns), 0)
	head = appendMessage(head, b.FinishedBytes(), 8)
	batchAt := len(head)

	b.Reset()
	message(b, headerRecordBatch, writeBatch(b, columns, rows), body)
	head = appendMessage(head, b.FinishedBytes(), alignment)

	b.Reset()
	writeFooter(b, columns, batchAt, len(head)-batchAt, body)
	footer := b.FinishedBytes()
	tail = make([]byte, 0, 8+len(footer)+4+len(magic))
	tail = binary.LittleEndian.AppendUint32(tail, continuation)
	tail = binary.LittleEndian.AppendUint32(tail, 0)
	tail = append(tail, footer...)
	tail = binary.LittleEndian.AppendUint32(tail, uint32(len(footer)))
	return head, append(tail, magic...)
}

// appendMessage frames one flatbuffer and pads it so that dst ends at a multiple of to.
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

func writeSchema(b *flatbuffers.Builder, columns []column) flatbuffers.UOffsetT {
	fields := make([]flatbuffers.UOffsetT, len(columns))
	for i, c := range columns {
		fields[i] = writeField(b, c)
	}
	vector := writeTables(b, fields)
	b.StartObject(4) // endianness has its default, little
	b.PrependUOffsetTSlot(1, vector, 0)
	return b.EndObject()
}

func writeTables(b *flatbuffers.Builder, tables []flatbuffers.UOffsetT) flatbuffers.UOffsetT {
	b.StartVector(4, len(tables), 4)
	for i := len(tables) - 1; i >= 0; i-- {
		b.PrependUOffsetT(tables[i])
	}
	return b.EndVector(len(tables))
}

func writeField(b *flatbuffers.Builder, c column) flatbuffers.UOffsetT {
	var children []flatbuffers.UOffsetT
	if c.dim > 0 {
		children = []flatbuffers.UOffsetT{writeField(b, column{name: "item"})}
	}
	vector := writeTables(b, children)
	name := b.CreateString(c.name)
	kind := byte(typeFloatingPoint)
	b.StartObject(1)
	if c.dim > 0 {
		kind = typeFixedSizeList
		b.PrependInt32Slot(0, int32(c.dim), 0)
	} else {
		b.PrependInt16Slot(0, precisionDouble, 0)
	}
	typ := b.EndObject()
	b.StartObject(7) // nullable has its default, no
	b.PrependUOffsetTSlot(0, name, 0)
	b.PrependUOffsetTSlot(3, typ, 0)
	b.PrependUOffsetTSlot(5, vector, 0)
	b.PrependByteSlot(2, kind, 0)
	return b.EndObject()
}

// writeBatch writes the header of the record batch: the lengths of its arrays and the positions
// of their buffers, depth first. A list is two arrays. The first buffer of each array, its
// validity, is empty because nothing is null.
func writeBatch(b *flatbuffers.Builder, columns []column, rows int) flatbuffers.UOffsetT {
	type pair struct{ first, second int64 }
	var nodes, buffers []pair
	for _, c := range columns {
		at := int64(c.at)
		nodes, buffers = append(nodes, pair{int64(rows), 0}), append(buffers, pair{at, 0})
		if c.dim > 0 {
			nodes, buffers = append(nodes, pair{int64(rows * c.dim), 0}), append(buffers, pair{at, 0})
		}
		buffers = append(buffers, pair{at, int64(c.len)})
	}
	vector := func(pairs []pair) flatbuffers.UOffsetT {
		b.StartVector(16, len(pairs), 8)
		for i := len(pairs) - 1; i >= 0; i-- {
			b.PrependInt64(pairs[i].second)
			b.PrependInt64(pairs[i].first)
		}
		return b.EndVector(len(pairs))
	}
	nodeVector, bufferVector := vector(nodes), vector(buffers)
	b.StartObject(5)
	b.PrependInt64Slot(0, int64(rows), 0)
	b.PrependUOffsetTSlot(1, nodeVector, 0)
	b.PrependUOffsetTSlot(2, bufferVector, 0)
	return b.EndObject()
}

func writeFooter(b *flatbuffers.Builder, columns []column, batchAt, batchLen, body int) {
	schema := writeSchema(b, columns)
	b.StartVector(24, 0, 8)
	dictionaries := b.EndVector(0)
	b.StartVector(24, 1, 8)
	b.PrependInt64(int64(body))
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
