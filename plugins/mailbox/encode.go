package mailbox

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// encode appends the encoding of a message. A request with a step, of which a game sends one each
// round, is encoded to the same bytes in an eighth of the time.
func (m *Mailbox) encode(b []byte, message proto.Message) ([]byte, error) {
	q, _ := message.(*pluginv1.SessionRequest)
	s := q.GetStep()
	if s == nil {
		return proto.MarshalOptions{}.MarshalAppend(b, message)
	}
	m.step = appendStep(m.step[:0], s)
	return appendPart(b, 2, m.step), nil
}

func appendStep(b []byte, s *pluginv1.Step) []byte {
	if len(s.Counts) > 0 {
		size := 0
		for _, c := range s.Counts {
			size += protowire.SizeVarint(uint64(c))
		}
		b = protowire.AppendVarint(protowire.AppendTag(b, 1, protowire.BytesType), uint64(size))
		for _, c := range s.Counts {
			b = protowire.AppendVarint(b, uint64(c))
		}
	}
	if s.Points != nil {
		var room [96]byte // for seven numbers
		b = appendPart(b, 2, appendTable(room[:0], s.Points))
	}
	b = appendNumber(b, 3, protowire.EncodeBool(s.Shared))
	b = appendNumber(b, 4, s.FirstRow)
	b = appendNumber(b, 5, protowire.EncodeBool(s.Play))
	if len(s.Truths) > 0 {
		b = appendPart(b, 6, s.Truths)
	}
	return b
}

func appendTable(b []byte, t *pluginv1.Table) []byte {
	b = appendNumber(b, 1, uint64(t.Place))
	b = appendNumber(b, 2, t.Offset)
	b = appendNumber(b, 3, t.Length)
	b = appendNumber(b, 4, t.Rows)
	b = appendNumber(b, 5, uint64(t.Dim))
	b = appendNumber(b, 6, t.XAt)
	return appendNumber(b, 7, t.YAt)
}

// appendNumber appends a field that is a number, or nothing for 0.
func appendNumber(b []byte, field protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

// appendPart appends a field that is a message or bytes.
func appendPart(b []byte, field protowire.Number, part []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), part)
}
