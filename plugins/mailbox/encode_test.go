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
		case f.IsList() && f.Kind() == protoreflect.MessageKind:
			for range rapid.IntRange(0, 3).Draw(t, "messages") {
				fillFields(t, m.Mutable(f).List().AppendMutable().Message())
			}
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
		case f.Kind() == protoreflect.StringKind:
			m.Set(f, protoreflect.ValueOfString(rapid.StringN(0, 30, 90).Draw(t, "text")))
		case f.Kind() == protoreflect.BytesKind:
			m.Set(f, protoreflect.ValueOfBytes(rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "bytes")))
		default:
			t.Fatalf("a new kind of field, %s", f.FullName())
		}
	}
}

// drawMessages returns some requests or some responses, most of them with steps or answers.
func drawMessages(t *rapid.T) (all []proto.Message) {
	requests := rapid.Bool().Draw(t, "requests")
	for range rapid.IntRange(1, 5).Draw(t, "messages") {
		step, answers, other := new(pluginv1.Step), new(pluginv1.Answers), rapid.IntRange(0, 3).Draw(t, "other") == 0
		switch {
		case other && requests:
			all = append(all, &pluginv1.SessionRequest{Request: &pluginv1.SessionRequest_Close{Close: new(pluginv1.Close)}})
		case other:
			all = append(all, &pluginv1.SessionResponse{Response: &pluginv1.SessionResponse_Failure{Failure: "broken"}})
		case requests:
			fillFields(t, step.ProtoReflect())
			all = append(all, &pluginv1.SessionRequest{Request: &pluginv1.SessionRequest_Step{Step: step}})
		default:
			fillFields(t, answers.ProtoReflect())
			all = append(all, &pluginv1.SessionResponse{Response: &pluginv1.SessionResponse_Answers{Answers: answers}})
		}
	}
	return all
}

// A message is encoded as by the library, and decoded, whatever came before it.
func TestEncode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m Mailbox
		all := drawMessages(t)
		to := all[0].ProtoReflect().New().Interface()
		for _, message := range all {
			want, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
			if err != nil {
				t.Fatal(err)
			}
			got, err := m.encode([]byte("before"), message)
			if err != nil || !bytes.Equal(got, append([]byte("before"), want...)) {
				t.Fatalf("%v:\n%x\n%x, %v", message, got, want, err)
			}
			if err := decode(want, to); err != nil || !proto.Equal(to, message) {
				t.Fatalf("%v: decoded %v, %v", message, to, err)
			}
		}
	})
}

// Bytes that are one field and more, or broken, are decoded as by the library.
func TestDecodeOthers(t *testing.T) {
	step := &pluginv1.Step{Counts: []uint32{1, 2}}
	one, err := proto.Marshal(&pluginv1.SessionRequest{Request: &pluginv1.SessionRequest_Step{Step: step}})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range [][]byte{
		nil, one, append(one[:len(one):len(one)], one...), one[:len(one)-1], one[:1], {0x10, 1}, {0xff}, {0x12, 0},
	} {
		var want pluginv1.SessionRequest
		got := stepOf(3)
		wantErr, err := proto.Unmarshal(b, &want), decode(b, got)
		if (err == nil) != (wantErr == nil) || err == nil && !proto.Equal(got, &want) {
			t.Errorf("%x: %v, %v, and by the library %v, %v", b, got, err, &want, wantErr)
		}
	}
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
