package mailbox

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// fillFields sets some of all fields that a message has, so that a new one is not forgotten.
func fillFields(t *rapid.T, m protoreflect.Message) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if !rapid.Bool().Draw(t, string(f.FullName())) {
			continue
		}
		switch {
		case f.IsList():
			for _, c := range rapid.SliceOfN(rapid.Uint32(), 0, 300).Draw(t, "counts") {
				m.Mutable(f).List().Append(protoreflect.ValueOfUint32(c))
			}
		case f.Kind() == protoreflect.MessageKind:
			fillFields(t, m.Mutable(f).Message())
		case f.Kind() == protoreflect.BoolKind:
			m.Set(f, protoreflect.ValueOfBool(rapid.Bool().Draw(t, "bool")))
		case f.Kind() == protoreflect.EnumKind:
			m.Set(f, protoreflect.ValueOfEnum(protoreflect.EnumNumber(rapid.Int32Range(0, 300).Draw(t, "enum"))))
		case f.Kind() == protoreflect.Uint32Kind:
			m.Set(f, protoreflect.ValueOfUint32(rapid.Uint32().Draw(t, "number")))
		case f.Kind() == protoreflect.Uint64Kind:
			m.Set(f, protoreflect.ValueOfUint64(rapid.Uint64().Draw(t, "number")))
		case f.Kind() == protoreflect.BytesKind:
			m.Set(f, protoreflect.ValueOfBytes(rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "bytes")))
		default:
			t.Fatalf("a new kind of field, %s", f.FullName())
		}
	}
}

// A step is encoded as by the library.
func TestEncodeStep(t *testing.T) {
	var m Mailbox
	rapid.Check(t, func(t *rapid.T) {
		s := new(pluginv1.Step)
		fillFields(t, s.ProtoReflect())
		q := &pluginv1.SessionRequest{Request: &pluginv1.SessionRequest_Step{Step: s}}
		want, err := proto.MarshalOptions{Deterministic: true}.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.encode([]byte("before"), q)
		if err != nil || !bytes.Equal(got, append([]byte("before"), want...)) {
			t.Fatalf("%v:\n%x\n%x, %v", q, got, want, err)
		}
	})
}

func BenchmarkEncodeStep(b *testing.B) {
	var m Mailbox
	q := stepOf(1)
	q.GetStep().Points = &pluginv1.Table{Place: 1, Length: 1000, Rows: 1, Dim: 1, XAt: 640}
	q.GetStep().Truths = make([]byte, 8)
	out := make([]byte, 0, 1000)
	b.Run("here", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = m.encode(out, q)
		}
	})
	b.Run("library", func(b *testing.B) {
		for b.Loop() {
			_, _ = proto.MarshalOptions{}.MarshalAppend(out, q)
		}
	})
}
