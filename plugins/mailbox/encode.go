package mailbox

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// played returns what a round of a game is carried by, the step of a request or the answers of a
// response; nil: the message holds something else.
func played(message proto.Message) proto.Message {
	switch message := message.(type) {
	case *pluginv1.SessionRequest:
		if s := message.GetStep(); s != nil {
			return s
		}
	case *pluginv1.SessionResponse:
		if a := message.GetAnswers(); a != nil {
			return a
		}
	}
	return nil
}

// playedField is the number that the field of either has in its message.
const playedField = 2

// encode appends the encoding of a message: to the same bytes as the library does, but in an eighth of
// the time for a step.
func (m *Mailbox) encode(b []byte, message proto.Message) (_ []byte, err error) {
	switch part := played(message).(type) {
	case *pluginv1.Step:
		m.played = appendStep(m.played[:0], part)
	case *pluginv1.Answers:
		if m.played, err = (proto.MarshalOptions{}).MarshalAppend(m.played[:0], part); err != nil {
			return nil, err
		}
	default:
		return proto.MarshalOptions{}.MarshalAppend(b, message)
	}
	return appendPart(b, playedField, m.played), nil
}

// decode decodes a message. Where to holds a step or answers, others take their place: for the library
// they would be new each time, at twice the cost.
func decode(b []byte, to proto.Message) error {
	if part := played(to); part != nil {
		field, kind, n := protowire.ConsumeTag(b)
		if field == playedField && kind == protowire.BytesType {
			if v, size := protowire.ConsumeBytes(b[n:]); n+size == len(b) {
				return proto.Unmarshal(v, part)
			}
		}
	}
	return proto.Unmarshal(b, to)
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
