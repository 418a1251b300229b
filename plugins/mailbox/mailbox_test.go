package mailbox

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// both returns the two sides' views of one mailbox.
func both(t testing.TB) (host, plugin *Mailbox) {
	t.Helper()
	b := make([]byte, Size)
	if runtime.GOOS != "linux" {
		if _, err := Open(b); err == nil {
			t.Fatal("a mailbox without futexes")
		}
		t.Skip("NOT RUN: a mailbox needs Linux")
	}
	var err error
	if host, err = Open(b); err == nil {
		plugin, err = Open(b)
	}
	if err != nil {
		t.Fatal(err)
	}
	return host, plugin
}

func stepOf(trials int) *pluginv1.SessionRequest {
	return &pluginv1.SessionRequest{Request: &pluginv1.SessionRequest_Step{
		Step: &pluginv1.Step{Counts: make([]uint32, trials)},
	}}
}

func rowsOf(n int) *pluginv1.SessionResponse {
	answers := &pluginv1.Answers{Rows: uint32(n)}
	return &pluginv1.SessionResponse{Response: &pluginv1.SessionResponse_Answers{Answers: answers}}
}

// echo answers each request with the number of its counts.
func echo(m *Mailbox) {
	var q pluginv1.SessionRequest
	for m.Next(&q) == nil && q.GetClose() == nil {
		if m.Answer(rowsOf(len(q.GetStep().Counts))) != nil {
			return
		}
	}
}

// exchange asks and waits for the answer.
func exchange(m *Mailbox, q *pluginv1.SessionRequest, r *pluginv1.SessionResponse) error {
	if err := m.Ask(q); err != nil {
		return err
	}
	for {
		if there, err := m.Await(10 * time.Millisecond); err != nil {
			return err
		} else if there {
			return m.Response(r)
		}
	}
}

// Every request gets its own answer, however the two sides are scheduled, also when the counters
// overflow.
func TestExchange(t *testing.T) {
	host, plugin := both(t)
	for _, m := range []*Mailbox{host, plugin} {
		m.count = 1<<32 - 100
		m.asked.Store(m.count)
		m.answered.Store(m.count)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		echo(plugin)
	}()
	var r pluginv1.SessionResponse
	for trials := range 300 {
		if err := exchange(host, stepOf(trials), &r); err != nil || int(r.GetAnswers().Rows) != trials {
			t.Fatal(trials, r.GetAnswers(), err)
		}
	}
	if err := host.Ask(&pluginv1.SessionRequest{Request: &pluginv1.SessionRequest_Close{}}); err != nil {
		t.Fatal(err)
	}
	<-ended
	if there, err := host.Await(time.Millisecond); there || err != nil {
		t.Error("an answer that nobody gave:", there, err)
	}
}

func TestTooLong(t *testing.T) {
	host, plugin := both(t)
	long := strings.Repeat("x", pluginv1.MaxMessage)
	q := &pluginv1.SessionRequest{Request: &pluginv1.SessionRequest_Open{
		Open: &pluginv1.Open{Setting: &pluginv1.Setting{Algorithm: long}},
	}}
	if err := host.Ask(q); err == nil || !strings.Contains(err.Error(), "longer than the limit of 4194304") {
		t.Error(err)
	}
	if err := host.Ask(stepOf(1)); err != nil {
		t.Fatal("after one that was too long:", err)
	}
	r := &pluginv1.SessionResponse{Response: &pluginv1.SessionResponse_Failure{Failure: long}}
	if err := plugin.Answer(r); err == nil || !strings.Contains(err.Error(), "longer than the limit of 4194304") {
		t.Error(err)
	}
	if _, err := Open(make([]byte, Size-1)); err == nil {
		t.Error("a mailbox that is too small was opened")
	}
}

// Whatever a plugin writes, the host gets a message within the limits, or an error, or goes on
// waiting.
func FuzzAnswer(f *testing.F) {
	b, err := proto.Marshal(rowsOf(7))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b, uint32(len(b)), uint32(1))
	f.Add(b, uint32(1<<31), uint32(1))
	f.Add(b, uint32(pluginv1.MaxMessage), uint32(1))
	f.Add([]byte{0xff}, uint32(1), uint32(1))
	f.Add(b, uint32(len(b)), uint32(0))
	f.Add(b, uint32(len(b)), uint32(2))
	host, plugin := both(f)
	f.Fuzz(func(t *testing.T, b []byte, length, answered uint32) {
		host.count = 0
		host.answered.Store(0)
		if err := host.Ask(stepOf(1)); err != nil {
			t.Fatal(err)
		}
		copy(plugin.part(responseAt, pluginv1.MaxMessage), b)
		plugin.responseLength.Store(length)
		plugin.answered.Store(answered)
		there, err := host.Await(time.Microsecond)
		if there != (answered == 1) || (err != nil) != (answered > 1) {
			t.Fatalf("answered %d: %v, %v", answered, there, err)
		}
		var r pluginv1.SessionResponse
		if err := host.Response(&r); length > pluginv1.MaxMessage && err == nil || proto.Size(&r) > pluginv1.MaxMessage {
			t.Errorf("%d bytes: %v, %v", length, &r, err)
		}
	})
}

// BenchmarkExchange measures a small request and its answer, within one process.
func BenchmarkExchange(b *testing.B) {
	host, plugin := both(b)
	go echo(plugin)
	q := stepOf(1)
	var r pluginv1.SessionResponse
	b.ReportAllocs()
	for b.Loop() {
		if err := exchange(host, q, &r); err != nil {
			b.Fatal(err)
		}
	}
}
