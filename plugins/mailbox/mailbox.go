// Package mailbox carries the messages of sessions between a host and its plugin in memory that both
// have mapped, in the layout that plugin.proto describes. A request and its answer cost two system
// calls on either side, and no goroutine; where each side answers within microseconds, on a machine
// with more than one core, none. It needs futexes, which only Linux has; elsewhere sessions go by
// gRPC.
//
// The host asks ([Mailbox.Ask]), waits ([Mailbox.Await]) and reads the response; the plugin waits for
// the next request ([Mailbox.Next]) and answers it. The other side may change the memory at any time:
// a message is copied before it is decoded, and lengths are bounded by the layout.
package mailbox

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"google.golang.org/protobuf/proto"

	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// MaxAnswers is the number of answers that a mailbox has room for.
const MaxAnswers = 65_536

// Offsets of the parts, after the header.
const (
	requestAt  = 4096
	responseAt = requestAt + pluginv1.MaxMessage
	valuesAt   = responseAt + pluginv1.MaxMessage
	marksAt    = valuesAt + 8*MaxAnswers

	// Size is that of a mailbox in bytes, of which only what is used costs memory.
	Size = marksAt + MaxAnswers
)

// header lies at the start of a mailbox. The words of either side have a cache line of their own.
type header struct {
	asked         atomic.Uint32
	requestLength atomic.Uint32
	hostAwake     atomic.Uint32 // 1: the host looks at answered before it sleeps; 0: it has to be woken
	_             [52]byte

	answered       atomic.Uint32
	responseLength atomic.Uint32
	begun, done    atomic.Uint32
	beats          atomic.Uint32
	pluginAwake    atomic.Uint32 // 1: the plugin looks at asked before it sleeps
}

// Mailbox is one side's view of a mailbox. It is for one goroutine at a time, but for Beat and the
// words of Counters.
type Mailbox struct {
	*header
	b      []byte
	count  uint32 // requests so far
	copy   []byte // of the message read last
	played []byte // the encoding of the last step or answers

	looks looks
	spun  uint64 // what look computes
}

// Open returns a view of the mailbox in b, or an error if this machine has no futexes. Host and
// plugin both open it, before the first request.
func Open(b []byte) (*Mailbox, error) {
	if len(b) < Size {
		return nil, fmt.Errorf("open mailbox: %d bytes where %d are needed", len(b), Size)
	}
	m := &Mailbox{header: (*header)(unsafe.Pointer(&b[0])), b: b}
	if err := wake(&m.asked); err != nil {
		return nil, fmt.Errorf("open mailbox: %w", err)
	}
	return m, nil
}

// part returns n bytes of the mailbox.
func (m *Mailbox) part(at, n int) []byte { return m.b[at : at+n : at+n] }

// Ask gives the plugin a request. Await must have reported the answer to the one before.
func (m *Mailbox) Ask(q proto.Message) error {
	if n := m.answered.Load(); n != m.count {
		return fmt.Errorf("it answered %d requests when it had been sent %d", n, m.count)
	}
	m.begun.Store(0)
	m.done.Store(0)
	if err := m.write(q, m.part(requestAt, pluginv1.MaxMessage), &m.requestLength); err != nil {
		return err
	}
	m.count++
	m.asked.Store(m.count)
	return wakeUnless(&m.pluginAwake, &m.asked)
}

// Await waits no longer than d for the answer to the last request, and reports whether it is there.
// It may return early without it.
func (m *Mailbox) Await(d time.Duration) (bool, error) {
	n := m.answered.Load()
	if n == m.count-1 {
		m.sleep(&m.hostAwake, &m.answered, n, d)
		n = m.answered.Load()
	}
	if n != m.count && n != m.count-1 {
		return false, fmt.Errorf("it answered %d requests when it had been sent %d", n, m.count)
	}
	return n == m.count, nil
}

// Response decodes the answer to the last request into r.
func (m *Mailbox) Response(r proto.Message) error {
	return m.read(m.part(responseAt, pluginv1.MaxMessage), &m.responseLength, r)
}

// Progress returns the numbers of trials of the present request that the plugin has begun and done,
// and how often it has beaten.
func (m *Mailbox) Progress() (begun, done, beats uint32) {
	return m.begun.Load(), m.done.Load(), m.beats.Load()
}

// Next waits for the next request and decodes it into q.
func (m *Mailbox) Next(q proto.Message) error {
	const long = time.Hour
	for m.asked.Load() == m.count {
		m.sleep(&m.pluginAwake, &m.asked, m.count, long)
	}
	m.count = m.asked.Load()
	return m.read(m.part(requestAt, pluginv1.MaxMessage), &m.requestLength, q)
}

// Answer answers the request that Next returned. After an error nothing is answered yet.
func (m *Mailbox) Answer(r proto.Message) error {
	if err := m.write(r, m.part(responseAt, pluginv1.MaxMessage), &m.responseLength); err != nil {
		return err
	}
	m.answered.Store(m.count)
	return wakeUnless(&m.hostAwake, &m.answered)
}

// Rouse has the present call of Await return early. It may be called from any goroutine.
func (m *Mailbox) Rouse() { _ = wake(&m.answered) }

// manyCores reports whether another process can work while this one looks at a word.
var manyCores = runtime.NumCPU() > 1

// sleep waits until the word no longer holds value, or is woken, and no longer than d. It may return
// early. Where that has paid it looks at the word for a few microseconds first, and then nobody has
// to wake it.
func (m *Mailbox) sleep(awake, word *atomic.Uint32, value uint32, d time.Duration) {
	if manyCores && m.looks.due() && m.looks.note(m.look(word, value)) {
		return
	}
	// Whoever changes the word looks at awake after it, and we at the word after awake: one of the two
	// sees what the other did.
	awake.Store(0)
	wait(word, value, d)
	awake.Store(1)
}

// looks decides which waits begin with a look at the word: all where looks have been enough, and
// ever fewer where they have not, because the other side takes its time, or its turn on this core.
type looks struct {
	misses int // less those that were enough
	skip   int // waits before the next look
}

// due reports whether the next wait begins with a look.
func (l *looks) due() bool {
	if l.skip == 0 {
		return true
	}
	l.skip--
	return false
}

// note notes whether a look was enough, and returns that.
func (l *looks) note(enough bool) bool {
	const most = 10
	if enough {
		l.misses = max(0, l.misses-1)
	} else {
		l.misses = min(most, l.misses+1)
	}
	l.skip = 1<<l.misses - 1
	return enough
}

// look looks at the word for some 5 µs and reports whether it no longer holds value.
func (m *Mailbox) look(word *atomic.Uint32, value uint32) bool {
	const times, pause = 400, 12
	for range times {
		if word.Load() != value {
			return true
		}
		// Multiplications that wait for each other leave the core to its other thread.
		for range pause {
			m.spun = m.spun*6364136223846793005 + 1
		}
	}
	return false
}

// wakeUnless wakes who waits for the word, unless they say that they look at it before they sleep.
func wakeUnless(awake, word *atomic.Uint32) error {
	if awake.Load() == 1 {
		return nil
	}
	return wake(word)
}

// Counters returns the words in which a plugin counts the trials that it has begun and done.
func (m *Mailbox) Counters() (begun, done *atomic.Uint32) { return &m.begun, &m.done }

// Beat tells the host that the plugin lives. It may be called from any goroutine.
func (m *Mailbox) Beat() { m.beats.Add(1) }

// Values returns the memory of the first n answers, at most MaxAnswers. The host copies them before
// it looks at them.
func (m *Mailbox) Values(n int) []float64 {
	b := m.part(valuesAt, 8*MaxAnswers)
	return unsafe.Slice((*float64)(unsafe.Pointer(&b[0])), MaxAnswers)[:n:n]
}

// Marks returns the memory of their marks.
func (m *Mailbox) Marks(n int) []byte { return m.part(marksAt, MaxAnswers)[:n:n] }

// write encodes a message into a part.
func (m *Mailbox) write(message proto.Message, part []byte, length *atomic.Uint32) error {
	b, err := m.encode(part[:0], message)
	if err != nil {
		return err
	}
	if len(b) > len(part) {
		return fmt.Errorf("a message of %d bytes is longer than the limit of %d", len(b), len(part))
	}
	length.Store(uint32(len(b)))
	return nil
}

// read decodes a message that lies in a part.
func (m *Mailbox) read(part []byte, length *atomic.Uint32, to proto.Message) error {
	n := length.Load()
	if uint64(n) > uint64(len(part)) {
		return fmt.Errorf("a message of %d bytes is longer than the limit of %d", n, len(part))
	}
	m.copy = append(m.copy[:0], part[:n]...)
	if err := decode(m.copy, to); err != nil {
		return errors.New("its message cannot be decoded") // proto's text differs from run to run
	}
	return nil
}
