package host

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/shatterlab/shatter/pipeline/dataset"
	"github.com/shatterlab/shatter/plugins/mailbox"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// rawMail takes sessions from the mailbox without the SDK, and misbehaves in one way when it is
// asked for answers.
type rawMail struct {
	*mailbox.Mailbox
	kind string
	file *os.File
	b    []byte
}

func init() { serveMail = func(kind string) { openRawMail(kind).serve() } }

func openRawMail(kind string) *rawMail {
	file := os.NewFile(pluginv1.MailboxFD, "mailbox")
	memory, err := dataset.MapWritable(file)
	if err != nil {
		panic(err)
	}
	m, err := mailbox.Open(memory.Bytes())
	if err != nil {
		panic(err)
	}
	return &rawMail{m, kind, file, memory.Bytes()}
}

func (m *rawMail) serve() {
	for {
		var q pluginv1.SessionRequest
		r := new(pluginv1.SessionResponse)
		if err := m.Next(&q); err != nil {
			panic(err)
		}
		switch q.Request.(type) {
		case *pluginv1.SessionRequest_Open:
			r.Response = &pluginv1.SessionResponse_Opened{Opened: &pluginv1.Opened{}}
		case *pluginv1.SessionRequest_Step:
			if r = m.answer(q.GetStep()); r == nil {
				continue
			}
		case *pluginv1.SessionRequest_Close:
			r.Response = &pluginv1.SessionResponse_Closed{Closed: &pluginv1.Closed{}}
		}
		if err := m.Answer(r); err != nil {
			panic(err)
		}
	}
}

// Offsets in the mailbox, as plugin.proto has them.
const (
	answeredAt = 64
	lengthAt   = 68
	responseAt = 4198400
)

// answer returns the answers to a step, or nil where the misbehaviour is all there is.
func (m *rawMail) answer(q *pluginv1.Step) *pluginv1.SessionResponse {
	n := 0
	for _, c := range q.Counts {
		n += int(c)
	}
	a := &pluginv1.Answers{Rows: uint32(n)}
	clear(m.Values(n))
	switch m.kind {
	case "mail dies":
		os.Exit(3)
	case "mail hangs":
		return nil
	case "mail floods":
		for {
			m.Beat()
		}
	case "mail ahead":
		binary.LittleEndian.PutUint32(m.b[answeredAt:], 1000)
		return nil
	case "mail back":
		binary.LittleEndian.PutUint32(m.b[answeredAt:], 0)
		return nil
	case "mail long", "mail garbage":
		binary.LittleEndian.PutUint32(m.b[lengthAt:], map[string]uint32{"mail long": 1 << 31, "mail garbage": 100}[m.kind])
		copy(m.b[responseAt:], strings.Repeat("\xff", 100))
		binary.LittleEndian.PutUint32(m.b[answeredAt:], 2) // and nobody is woken
		return nil
	case "mail rows":
		a.Rows++
	case "mail many rows":
		a.Rows = math.MaxUint32
	case "mail message":
		*a = pluginv1.Answers{Values: make([]byte, 8*n)}
	case "mail failure":
		return &pluginv1.SessionResponse{Response: &pluginv1.SessionResponse_Failure{Failure: "no such rows"}}
	case "mail other":
		return &pluginv1.SessionResponse{Response: &pluginv1.SessionResponse_Closed{Closed: &pluginv1.Closed{}}}
	case "mail flips":
		go m.flip(n)
	case "mail hole":
		m.punch()
	}
	return &pluginv1.SessionResponse{Response: &pluginv1.SessionResponse_Answers{Answers: a}}
}

// flip changes answers that were given, between good ones and bad ones.
func (m *rawMail) flip(n int) {
	for i := 0; ; i++ {
		for j := range m.Values(n) {
			m.Values(n)[j] = float64(i%2) * 7
		}
	}
}

// punch tries to cut the file short, which must fail, and gives its memory back, which is allowed.
func (m *rawMail) punch() {
	if m.file.Truncate(0) == nil {
		panic("the mailbox can be cut short")
	}
	err := unix.Fallocate(int(m.file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 8192, mailbox.Size-8192)
	if err != nil {
		panic(err)
	}
}

// The error about a plugin that misuses the mailbox tells how it did, and its cause is the same as
// by gRPC.
func TestMailProtocol(t *testing.T) {
	t.Parallel()
	tests := []struct {
		kind   string
		cause  Cause // "": no error
		detail string
	}{
		{"mail fine", "", ""},
		{"mail hole", "", ""},
		{"mail dies", Exit, ""},
		{"mail hangs", Time, "took more than the 700ms allowed"},
		{"mail floods", Protocol, "reports of progress where one a second is allowed"},
		{"mail ahead", Protocol, "it answered 1000 requests when it had been sent 2"},
		{"mail back", Protocol, "it answered 0 requests when it had been sent 2"},
		{"mail long", Protocol, "a message of 2147483648 bytes is longer than the limit of 4194304"},
		{"mail garbage", Protocol, "cannot be decoded"},
		{"mail rows", Protocol, "it gave 3 answers to 2 points"},
		{"mail many rows", Protocol, "it gave 4294967295 answers to 2 points"},
		{"mail message", Protocol, "it gave 0 answers to 2 points"},
		{"mail failure", Protocol, "it answered with an error: no such rows"},
		{"mail other", Protocol, `it sent "closed" where "answers" was due`},
	}
	for _, tt := range tests {
		t.Run(tt.kind, func(t *testing.T) {
			c := self("raw", "RAW="+tt.kind)
			if c.Trial = time.Minute; tt.cause == Time {
				c.Trial = 700 * time.Millisecond
			}
			_, err := runIn(t, start(t, c), request("test/raw", 1, 1, 1, nil))
			var exit *ExitError
			if tt.cause == "" && err != nil || tt.cause != "" && (!errors.As(err, &exit) ||
				exit.Cause != tt.cause || exit.Where != "answering" || !strings.Contains(exit.Detail, tt.detail)) {
				t.Errorf("%v", err)
			}
		})
	}
}

// An answer that changes after it was given is either good, for all who look at it, or a fault.
func TestMailFlips(t *testing.T) {
	p := start(t, self("raw", "RAW=mail flips"))
	for range 20 {
		s, _, err := p.Open(t.Context(), request("test/raw", 1, 1, 1, nil), numbered(1))
		if err != nil {
			t.Fatal(err)
		}
		answers, faults, err := s.Step(t.Context(), []uint32{50_000}, func(x []float64) {})
		if err != nil {
			t.Fatal(err)
		}
		for i, a := range answers {
			if a != 0 && len(faults) == 0 {
				t.Fatalf("answer %d is %v", i, a)
			}
		}
		if _, _, err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// outcome is all that a caller sees of a session.
type outcome struct {
	Answers [][]float64
	Marks   []byte
	Metrics map[string][]float64
	Faults  []Fault
	Error   string
}

// play plays a session with a few steps.
func play(t *testing.T, c Command, r OpenRequest) (o outcome) {
	t.Helper()
	p := start(t, c)
	trials := len(r.Seeds) / 2
	fill := func(x []float64) {
		for i := range x {
			x[i] = float64(i % 7)
		}
	}
	note := func(faults []Fault, err error) bool {
		for _, f := range faults {
			f.Message, _, _ = strings.Cut(f.Message, "\n\n") // without stacks
			o.Faults = append(o.Faults, f)
		}
		var exit *ExitError
		if errors.As(err, &exit) {
			o.Error = fmt.Sprintf("%s %s %s %s", exit.Cause, exit.Where, exit.Detail, exit.State)
		} else if err != nil {
			t.Fatal(err)
		}
		return err == nil
	}
	s, faults, err := p.Open(t.Context(), r, numbered(trials))
	for round := 0; note(faults, err) && round < 4; round++ {
		counts := make([]uint32, trials)
		for j := range counts {
			if !s.ended[j] {
				counts[j] = 1
			}
		}
		var answers, truths []float64
		switch r.Setting.Task {
		case pluginv1.Task_TASK_ONLINE:
			if round > 0 {
				truths = make([]float64, len(o.Answers[round-1]))
			}
			answers, faults, err = s.Round(t.Context(), counts, truths, fill)
		case pluginv1.Task_TASK_PREDICT:
			var marks []byte
			answers, marks, faults, err = s.Play(t.Context(), counts, fill)
			o.Marks = append(o.Marks, marks...)
		default:
			answers, faults, err = s.Step(t.Context(), counts, fill)
		}
		o.Answers = append(o.Answers, append([]float64{}, answers...))
	}
	if err == nil {
		o.Metrics, faults, err = s.Close(t.Context())
		note(faults, err)
	}
	return o
}

// A session comes to the same by either transport.
func TestTransports(t *testing.T) {
	t.Parallel()
	online := request("test/remembering", 5, 0, 1, nil)
	online.Setting.Task, online.Setting.Rounds = pluginv1.Task_TASK_ONLINE, 4
	requests := map[string]OpenRequest{"online": online, "queries": withQueries(5, 4, false, false)}
	for _, do := range []string{"", "error", "panic", "metric", "infeasible", "exit", "crash"} {
		requests["learn "+do] = request("test/behaving", 5, 2, 1, map[string]any{"do": do, "at": 3})
		requests["predict "+do] = request("test/behaving", 5, 2, 1, map[string]any{"do": do, "at": 3, "phase": "predict"})
	}
	for name, r := range requests {
		t.Run(name, func(t *testing.T) {
			c := self("plugin")
			mailed := play(t, c, r)
			c.noMailbox = true
			if d := cmp.Diff(play(t, c, r), mailed, cmp.Comparer(func(a, b float64) bool {
				return math.Float64bits(a) == math.Float64bits(b)
			})); d != "" {
				t.Error(d)
			}
		})
	}
}

// A small round allocates next to nothing.
func TestRoundAllocations(t *testing.T) {
	r := request("test/quiet", 1, 0, 1, nil)
	r.Setting.Task, r.Setting.Rounds = pluginv1.Task_TASK_ONLINE, 1<<30
	s, _, err := start(t, self("plugin")).Open(t.Context(), r, nil)
	if err != nil {
		t.Fatal(err)
	}
	counts := []uint32{1}
	if n := testing.AllocsPerRun(1000, func() {
		if _, _, err := s.Round(t.Context(), counts, nil, func([]float64) {}); err != nil {
			t.Fatal(err)
		}
	}); n > 6 {
		t.Errorf("%v allocations", n)
	}
}
