package simulation

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A frame is a command of the NATS protocol with its payload.
type frame struct {
	raw     []byte
	message bool   // a message between parties, as opposed to a command between client and server
	subject string // subject of a message
	reply   string
	body    []byte
	safe    bool // exempt from faults
}

// A framer cuts a stream of the NATS protocol into frames.
type framer struct{ rest []byte }

// cut returns the frames that are complete now that b has arrived. They do not share memory with b.
func (f *framer) cut(b []byte) (list []frame) {
	f.rest = append(f.rest, b...)
	for {
		end := bytes.Index(f.rest, []byte("\r\n"))
		if end < 0 {
			return list
		}
		x, size := frame{}, end+2
		var body int
		if word, _, _ := bytes.Cut(f.rest[:end], []byte(" ")); bytes.HasSuffix(word, []byte("PUB")) ||
			bytes.HasSuffix(word, []byte("MSG")) {
			fields := strings.Fields(string(f.rest[:end]))
			var err error
			if body, err = strconv.Atoi(fields[len(fields)-1]); err != nil {
				panic(err) // neither nats.go nor the server writes such a line
			}
			if size += body + 2; len(f.rest) < size {
				return list
			}
			x.message, x.subject, x.reply = true, fields[1], replyOf(fields)
		}
		x.raw = f.rest[:size:size] // later bytes are appended after it
		if x.message {
			x.body = x.raw[size-2-body : size-2]
		}
		if f.rest = f.rest[size:]; len(f.rest) == 0 {
			f.rest = nil
		}
		list = append(list, x)
	}
}

// replyOf returns the reply subject of PUB subject [reply] n, MSG subject sid [reply] n, and of
// their forms with headers, which have one number more.
func replyOf(fields []string) string {
	numbers, least := 1, 3
	if fields[0][0] == 'H' {
		numbers, least = 2, 4
	}
	if strings.HasSuffix(fields[0], "MSG") {
		least++
	}
	if len(fields) <= least {
		return ""
	}
	return fields[len(fields)-1-numbers]
}

// A link carries frames in one direction.
type link struct {
	mu      sync.Mutex
	rng     *rand.Rand
	last    time.Time // arrival time of the last frame that keeps its order
	atOnce  bool      // no delay during the greeting (until ping or pong): the client holds a lock
	deliver func([]byte)
	node    *node
}

// send carries frames to the other end, subject to the present faults.
func (l *link) send(frames []frame) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	for _, f := range frames {
		if l.atOnce {
			l.atOnce = !bytes.HasPrefix(f.raw, []byte("PING")) && !bytes.HasPrefix(f.raw, []byte("PONG"))
			l.deliver(f.raw)
			continue
		}
		at := now.Add(time.Duration(100+l.rng.IntN(1500)) * time.Microsecond)
		if held := l.node.heldUntil(now); at.Before(held) {
			at = held
		}
		copies := []time.Duration{0}
		if f.message && !f.safe {
			copies = l.node.trouble(now, l.rng)
		}
		if at.Before(l.last) {
			at = l.last
		}
		at = at.Add(1) // no two frames arrive at the same time
		for _, late := range copies {
			if late == 0 {
				l.last = at
			}
			time.AfterFunc(at.Add(late).Sub(now), func() { l.deliver(f.raw) })
		}
	}
}

// A conn is a client's end of a connection to the server.
type conn struct {
	process *process
	server  net.Conn
	out, in *link
	frames  framer // frames that the client writes

	watches watches

	mu       sync.Mutex
	arrived  sync.Cond
	buffer   bytes.Buffer
	closed   bool
	deadline time.Time
	feeding  sync.Mutex // held while bytes go to the server
}

var errRefused = errors.New("connection refused")

// Dial connects to the server. A process implements the dialer of its queue.Options.
func (p *process) Dial(string, string) (net.Conn, error) {
	w := p.node.world
	ns := w.server.Load()
	if p.dead.Load() || ns == nil || p.node.active(time.Now(), "hold", "stop") != nil {
		return nil, &net.OpError{Op: "dial", Net: "simulated", Err: errRefused}
	}
	there, err := ns.InProcessConn()
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: "simulated", Err: err}
	}
	c := &conn{process: p, server: there}
	c.arrived.L = &c.mu
	c.out = &link{rng: w.random("out"), deliver: c.feed, node: p.node, last: time.Now(), atOnce: true}
	c.in = &link{rng: w.random("in"), deliver: c.arrive, node: p.node, last: time.Now(), atOnce: true}
	w.mu.Lock()
	w.conns[c] = true
	w.mu.Unlock()
	w.ending.Go(c.listen)
	return c, nil
}

// listen receives frames from the server.
func (c *conn) listen() {
	var frames framer
	b := make([]byte, 1<<14)
	for {
		n, err := c.server.Read(b)
		for _, f := range frames.cut(b[:n]) {
			c.in.send(c.watches.in(f))
		}
		if err != nil {
			c.cut()
			return
		}
	}
}

// feed writes bytes to the server.
func (c *conn) feed(b []byte) {
	c.feeding.Lock()
	defer c.feeding.Unlock()
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if !closed {
		_, _ = c.server.Write(b) // the server may have closed the connection; listen then notices it
	}
}

// arrive passes bytes to the client.
func (c *conn) arrive(b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.buffer.Write(b)
	c.arrived.Broadcast()
}

// cut closes the connection at both ends. Bytes in transit are lost.
func (c *conn) cut() {
	c.mu.Lock()
	done := c.closed
	c.closed = true
	c.arrived.Broadcast()
	c.mu.Unlock()
	if done {
		return
	}
	_ = c.server.Close()
	w := c.process.node.world
	w.mu.Lock()
	delete(w.conns, c)
	w.mu.Unlock()
}

func (c *conn) Read(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		switch {
		case c.buffer.Len() > 0 && !c.closed:
			return c.buffer.Read(b)
		case c.closed:
			return 0, io.EOF
		case !c.deadline.IsZero() && !time.Now().Before(c.deadline):
			return 0, os.ErrDeadlineExceeded
		}
		c.arrived.Wait()
	}
}

func (c *conn) Write(b []byte) (int, error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return 0, net.ErrClosed
	}
	frames := c.frames.cut(b)
	c.mu.Unlock()
	for i, f := range frames {
		c.process.checkPublished(f)
		c.process.ghost(f)
		frames[i].safe = c.watches.out(f)
	}
	c.out.send(frames)
	return len(b), nil
}

// Close lets earlier writes arrive: the server reads the end of the connection after them.
func (c *conn) Close() error {
	c.out.mu.Lock()
	last := time.Until(c.out.last)
	c.out.mu.Unlock()
	c.mu.Lock()
	c.buffer.Reset()
	c.arrived.Broadcast()
	c.mu.Unlock()
	if c.process.dead.Load() {
		last = 0
	}
	time.AfterFunc(max(last, 0)+1, c.cut)
	return nil
}

func (c *conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	if !t.IsZero() {
		time.AfterFunc(time.Until(t), func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.arrived.Broadcast()
		})
	}
	return nil
}

func (c *conn) SetDeadline(t time.Time) error    { return c.SetReadDeadline(t) }
func (c *conn) SetWriteDeadline(time.Time) error { return nil }
func (c *conn) LocalAddr() net.Addr              { return addr("client") }
func (c *conn) RemoteAddr() net.Addr             { return addr("server") }

type addr string

func (addr) Network() string  { return "simulated" }
func (a addr) String() string { return string(a) }

// watches withholds values of a key-value bucket from a client that requests a watch until it has
// the response. During the request, the client holds a lock that the first value would wait for,
// and a goroutine that waits for a lock stops the clock of a bubble.
type watches struct {
	mu     sync.Mutex
	asked  map[string]bool // pending requests, by the subject of the response
	values []frame
}

// out records a request to watch, and reports whether the frame is one.
func (w *watches) out(f frame) bool {
	if !strings.HasPrefix(f.subject, "$JS.API.CONSUMER.") || !strings.Contains(f.subject, "CREATE.KV_") {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asked == nil {
		w.asked = map[string]bool{}
	}
	w.asked[f.reply] = true
	return true
}

// in returns the frames that may be passed to the client after f has arrived from the server.
func (w *watches) in(f frame) []frame {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.asked[f.subject]:
		delete(w.asked, f.subject)
		f.safe = true
		list := append([]frame{f}, w.values...)
		w.values = nil
		return list
	case len(w.asked) > 0 && strings.HasPrefix(f.reply, "$JS.ACK.KV_"):
		w.values = append(w.values, f)
		return nil
	}
	return []frame{f}
}
