package mailbox

import (
	"runtime"
	"strings"
	"sync/atomic"
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
// overflow, and whether the sides look before they sleep or not.
func TestExchange(t *testing.T) {
	defer func(many bool) { manyCores = many }(manyCores)
	for _, manyCores = range []bool{false, true} {
		testExchange(t)
	}
}

func testExchange(t *testing.T) {
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

// A host that never says that it looks is woken, and one whose plugin has ended can be roused.
func TestRouse(t *testing.T) {
	host, plugin := both(t)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		echo(plugin)
	}()
	var r pluginv1.SessionResponse
	for range 100 {
		host.looks = looks{}
		host.hostAwake.Store(0)
		if err := exchange(host, stepOf(1), &r); err != nil {
			t.Fatal(err)
		}
	}
	if err := host.Ask(&pluginv1.SessionRequest{Request: &pluginv1.SessionRequest_Close{}}); err != nil {
		t.Fatal(err)
	}
	<-ended // without an answer
	var roused atomic.Bool
	go func() {
		for !roused.Load() {
			host.Rouse()
			runtime.Gosched()
		}
	}()
	const long = time.Hour
	began := time.Now()
	there, err := host.Await(long)
	roused.Store(true)
	if there || err != nil || time.Since(began) >= long {
		t.Errorf("after it was roused: %v, %v", there, err)
	}
}

// Looks that are not enough become rare, and common again when they are.
func TestLooks(t *testing.T) {
	var l looks
	count := func(waits int, enough bool) (n int) {
		for range waits {
			if l.due() {
				n++
				l.note(enough)
			}
		}
		return n
	}
	if n := count(10_000, true); n != 10_000 {
		t.Errorf("%d looks in 10,000 waits for which they are enough", n)
	}
	if n := count(10_000, false); n > 20 {
		t.Errorf("%d looks in 10,000 waits for which they are not", n)
	}
	if n := count(10_000, true); n < 7000 {
		t.Errorf("%d looks in 10,000 waits for which they are enough again", n)
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
