package mailbox

import (
"os"
"runtime"
	"testing"
	"time"

	"github.com/shatterlab/shatter/schemas/pluginv1"
	"google.golang.org/protobuf/proto"
)

func BenchmarkEcho(b *testing.B) {
	mem := make([]byte, Size)
	host, _ := Open(mem)
	plugin, _ := Open(mem)
	go func() {
		if os.Getenv("LOCK") != "" {
			runtime.LockOSThread()
		}
		var q pluginv1.SessionRequest
		for {
			plugin.Next(&q)
			plugin.Answer(&pluginv1.SessionResponse{Response: &pluginv1.SessionResponse_Answers{Answers: &pluginv1.Answers{Rows: 1}}})
		}
	}()
	var r pluginv1.SessionResponse
	q := &pluginv1.SessionRequest{Request: &pluginv1.SessionRequest_Step{Step: &pluginv1.Step{Counts: []uint32{1}, Points: &pluginv1.Table{Length: 1000, Rows: 1, Dim: 1, XAt: 500, Offset: 64, Place: 1}}}}
	b.Run("futex", func(b *testing.B) {
		for b.Loop() {
			host.Ask(q)
			for {
				if ok, err := host.Await(10 * time.Millisecond); err != nil {
					b.Fatal(err)
				} else if ok {
					break
				}
			}
			host.Response(&r)
		}
	})
	b.Run("proto", func(b *testing.B) {
		a := &pluginv1.SessionResponse{Response: &pluginv1.SessionResponse_Answers{Answers: &pluginv1.Answers{Rows: 1}}}
		var x pluginv1.SessionRequest
		buf := make([]byte, 0, 1000)
		for b.Loop() {
			buf, _ = proto.MarshalOptions{}.MarshalAppend(buf[:0], q)
			proto.Unmarshal(buf, &x)
			buf, _ = proto.MarshalOptions{}.MarshalAppend(buf[:0], a)
			proto.Unmarshal(buf, &r)
		}
	})
}
