package queue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Limits of one message, in bytes. A server's max_payload has to be at least MaxResult.
const (
	MaxJob       = 256 << 10 // of a job
	MaxResult    = 1 << 20   // of a result
	MaxHeartbeat = 128 << 10 // of a worker's heartbeat
)

// Options of a server or a connection. The zero value works.
type Options struct {
	Name string // name of this party in the server's monitoring

	// Credentials is the path of a NATS credentials file, which is read again for each connection. User
	// and password, or a token, may be in the URL instead.
	Credentials string

	Roles []Role // of which credentials may be, those of `shatter cluster` at least; nil: of any
	TLS   TLS

	// Replicas of each stream; 0: of those that are made 3 in a cluster of as many servers, else 1.
	Replicas int

	// Patience is the time after which a call gives up where the server takes nothing of this party and
	// answers nothing; 0: it waits for as long as its context allows.
	Patience time.Duration

	Log *slog.Logger // nil: silent

	Dialer nats.CustomDialer // makes the connection, in simulations; nil: sockets

	// Awake is called when a timer of a lease fires, in simulations; nil: nothing. It returns once the
	// process runs, which may have been stopped meanwhile.
	Awake func()
}

func (o Options) logger() *slog.Logger {
	if o.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Log
}

// A Conn is one party's connection to a server. It outlasts restarts of the server: calls wait for
// it as long as their context allows. All methods may be called concurrently. All slots of a worker
// share one Conn, and a coordinator in the same process may use it as well.
type Conn struct {
	nc    *nats.Conn
	js    jetstream.JetStream
	url   string
	opts  Options
	log   *slog.Logger
	local *Server // nil: a server elsewhere
	who   Credential

	closed chan struct{} // closed when the connection is gone for good

	mu   sync.Mutex
	up   chan struct{}      // closed while there is a connection
	born time.Time          // when this connection, or the last, was made
	few  time.Time          // when its server first had too few servers for replicas; before born: not yet
	live context.Context    // ends when this connection is lost
	lost context.CancelFunc // ends live

	failed error  // why it was closed; nil: for another reason
	said   string // last complaint of the server

	answered atomic.Int64 // when a call succeeded last, in Unix nanoseconds

	setup     streams
	sources   sources
	consumers sync.Map // of sweeps' jobs, of which this party leases: jetstream.Consumer by sweep
}

// Dial connects to the server at url (nats://host:port, tls://..., or several separated by commas).
// It takes seconds at most, and every failure is a [*ConnectError].
func Dial(ctx context.Context, url string, o Options) (*Conn, error) {
	return connect(ctx, url, o, nil)
}

func connect(ctx context.Context, url string, o Options, local *Server) (*Conn, error) {
	c := &Conn{url: url, opts: o, log: o.logger(), local: local, closed: make(chan struct{}), up: make(chan struct{})}
	close(c.up)
	c.live, c.lost = context.WithCancel(context.Background())
	c.setup.looking = make(turn, 1)
	if local != nil {
		c.url = "this process"
	} else if err := notNATS(url); err != nil {
		c.lost()
		return nil, err
	}
	if err := c.identify(); err != nil {
		c.lost()
		return nil, err
	}
	nc, err := nats.Connect(url, c.options()...)
	if err != nil {
		c.lost()
		return nil, c.connectError(err)
	}
	c.nc = nc
	c.mu.Lock()
	c.born = time.Now() // or it was made again already
	c.mu.Unlock()
	if err := c.check(ctx); err != nil {
		nc.Close()
		return nil, err
	}
	return c, nil
}

func (c *Conn) options() []nats.Option {
	inbox := InboxOf("shatter") // which permissions can name
	if c.who.Role != "" {
		inbox = InboxOf(c.who.Name)
	}
	list := []nats.Option{
		nats.Name(c.opts.Name),
		nats.CustomInboxPrefix(inbox),
		nats.Timeout(3 * time.Second),
		nats.MaxReconnects(-1), // a worker that gives up would be silently gone
		nats.ReconnectWait(250 * time.Millisecond),
		nats.ReconnectJitter(250*time.Millisecond, time.Second),
		nats.PingInterval(20 * time.Second),
		nats.DrainTimeout(5 * time.Second),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { c.down(err) }),
		nats.ReconnectHandler(func(*nats.Conn) { c.reconnected() }),
		nats.ClosedHandler(func(*nats.Conn) { c.down(nil); close(c.closed) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { c.complain(err) }),
	}
	if c.opts.Credentials != "" { // expired ones may be renewed
		list = append(list, c.credentials(), nats.IgnoreAuthErrorAbort())
	}
	list = append(list, c.opts.TLS.options()...)
	if c.opts.Dialer != nil {
		list = append(list, nats.SetCustomDialer(c.opts.Dialer))
	}
	if c.local != nil {
		list = append(list, nats.InProcessServer(c.local.ns), nats.PingInterval(0)) // see Embed
	}
	return list
}

// complain logs what the server, or the client, has to complain of, once where it is said again and
// again.
func (c *Conn) complain(err error) {
	// What this version asks for as a submitter, the configuration that it writes allows. There is no answer to
	// the request, which would be made for ever.
	if c.who.Role == Submitter && errors.Is(err, nats.ErrPermissionViolation) {
		go c.fail(c.misfit("access refused by the NATS server", err, fmt.Sprintf("its configuration is that of an earlier "+
			"version: `shatter cluster renew %s` writes the new one; give it to the servers and reload them", c.who.Name)))
		return
	}
	text := err.Error()
	if c.opts.Credentials != "" && isRefusal(err) {
		text = c.refused(err).Error()
	}
	c.mu.Lock()
	again := c.said == text
	c.said = text
	c.mu.Unlock()
	if !again {
		c.log.Error("nats", "error", text)
	}
}

const (
	electing  = 15 * time.Second // a cluster of servers that has lost its leader has another one by then
	answering = 3 * time.Second  // after which an answer was lost with a leader
	firstWait = 100 * time.Millisecond
)

// check returns an error unless the server has JetStream and takes messages of MaxResult bytes.
func (c *Conn) check(ctx context.Context) error {
	var err error
	if c.js, err = jetstream.New(c.nc); err != nil {
		return jetStreamError(c.url, err)
	}
	ctx, cancel := context.WithTimeout(ctx, electing)
	defer cancel()
	ask := func() error {
		return c.attempt(ctx, answering, func(ctx context.Context) error { _, err := c.js.AccountInfo(ctx); return err })
	}
	if err = ask(); err != nil && c.opts.Credentials != "" && noJetStream(err) {
		if err = c.settle(ctx); err == nil { // the account may be about to be set up
			err = ask()
		}
	}
	for err != nil && !noJetStream(err) && transient(err) && ctx.Err() == nil {
		select {
		case <-time.After(firstWait):
		case <-ctx.Done():
		}
		if again := ask(); ctx.Err() == nil {
			err = again
		}
	}
	if err != nil {
		return jetStreamError(c.url, err)
	}
	if most := c.nc.MaxPayload(); most < MaxResult {
		return &ConnectError{
			URL: Redact(c.url), Reason: "messages too small on the NATS server",
			Remedy: "set max_payload: 1MB in its configuration",
			Err:    fmt.Errorf("max_payload is %d bytes, %d are needed", most, MaxResult),
		}
	}
	return nil
}

// down notes that the connection is lost.
func (c *Conn) down(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost()
	select {
	case <-c.up:
		c.up = make(chan struct{})
	default:
	}
	if err != nil {
		c.log.Warn("connection lost", "server", Redact(c.url), "error", err.Error())
	}
}

// reconnected notes that there is a connection again.
func (c *Conn) reconnected() {
	c.log.Info("connected again", "server", Redact(c.url))
	c.mu.Lock()
	c.said = ""
	select {
	case <-c.up:
	default:
		c.live, c.lost = context.WithCancel(context.Background())
		c.born = time.Now()
		close(c.up)
	}
	c.mu.Unlock()
}

// Close sends all buffered messages and ends the connection. Waiting calls return with an error. Close a [Queue] first.
func (c *Conn) Close() {
	if err := c.nc.Drain(); err != nil {
		c.nc.Close()
	}
	<-c.closed
}

// Gone returns the error of calls after the connection was closed for good.
func (c *Conn) Gone() error {
	c.mu.Lock()
	failed := c.failed
	c.mu.Unlock()
	if failed != nil {
		return failed
	}
	err := c.nc.LastError()
	if err == nil {
		err = nats.ErrConnectionClosed
	}
	return &ConnectError{
		URL: Redact(c.url), Reason: "connection closed by the NATS server or this program", Err: err, Remedy: "start again",
	}
}

// connected waits until there is a connection.
func (c *Conn) connected(ctx context.Context) error {
	c.mu.Lock()
	up := c.up
	c.mu.Unlock()
	select {
	case <-c.closed:
		return c.Gone()
	default:
	}
	select {
	case <-up:
		return nil
	default:
	}
	select {
	case <-up:
		return nil
	case <-c.closed:
		return c.Gone()
	case <-ctx.Done():
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.said != "" {
			return fmt.Errorf("no connection to the NATS server (%s): %w", c.said, context.Cause(ctx))
		}
		return fmt.Errorf("no connection to the NATS server: %w", context.Cause(ctx))
	}
}

// retry calls do until it succeeds, fails for a reason that waiting does not cure, ctx ends, or the
// patience of the options does. Whether an attempt without an answer succeeded is unknown: do must be
// safe to repeat.
func (c *Conn) retry(ctx context.Context, what string, do func(context.Context) error) error {
	patient, stop := c.patiently(ctx)
	defer stop()
	err := c.persist(patient, what, do)
	switch {
	case err == nil:
		c.answered.Store(time.Now().UnixNano())
	case ctx.Err() == nil && errors.Is(context.Cause(patient), errPatience):
		return c.Silent(c.opts.Patience, err)
	}
	return err
}

// errPatience ends a call when the patience of the options does.
var errPatience = errors.New("gave up")

// patiently returns a context that also ends when no call has succeeded for the patience of the options.
func (c *Conn) patiently(ctx context.Context) (context.Context, func()) {
	if c.opts.Patience == 0 {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	began := time.Now()
	go func() {
		for {
			since := began
			if last := time.Unix(0, c.answered.Load()); last.After(began) {
				since = last
			}
			left := c.opts.Patience - time.Since(since)
			if left <= 0 {
				cancel(errPatience)
				return
			}
			select {
			case <-time.After(left):
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

// persist does the work of retry.
func (c *Conn) persist(ctx context.Context, what string, do func(context.Context) error) error {
	const mostWait = 2 * time.Second
	const firstAnswer, mostAnswer = 10 * time.Second, time.Minute
	wait, answer := firstWait, firstAnswer
	var last error
	for {
		if err := c.connected(ctx); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		err := c.attempt(ctx, answer, do)
		if err == nil {
			return nil
		}
		c.mu.Lock()
		failed := c.failed
		c.mu.Unlock()
		if failed != nil {
			return failed
		}
		if ctx.Err() != nil && last != nil {
			return fmt.Errorf("%s: %w (last: %w)", what, err, last)
		}
		if !transient(err) || ctx.Err() != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		last = err
		c.log.Warn("server did not take it; trying again", "what", what, "error", err.Error())
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return fmt.Errorf("%s: %w (last: %w)", what, context.Cause(ctx), err)
		case <-c.closed:
			return c.Gone()
		}
		wait, answer = min(2*wait, mostWait), min(2*answer, mostAnswer)
	}
}

// attempt calls do with a context that also ends when answer has passed or the connection is lost.
func (c *Conn) attempt(ctx context.Context, answer time.Duration, do func(context.Context) error) error {
	c.mu.Lock()
	live := c.live
	c.mu.Unlock()
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer time.AfterFunc(answer, func() { cancel(fmt.Errorf("%w within %v", errNoAnswer, answer)) }).Stop()
	defer context.AfterFunc(live, func() { cancel(nats.ErrDisconnected) })()
	err := do(within)
	if err != nil && within.Err() != nil {
		return context.Cause(within)
	}
	return err
}

// tell publishes a message whose loss costs no more than a repetition. A broken connection is therefore no error.
func (c *Conn) tell(what string, m *nats.Msg) error {
	err := c.nc.PublishMsg(m)
	switch {
	case err == nil:
		return nil
	case transient(err):
		c.log.Warn("server was not told", "what", what, "error", err.Error())
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// store publishes to a stream and returns when the stream has the message.
func (c *Conn) store(ctx context.Context, what, subject string, data []byte) error {
	return c.retry(ctx, what, func(ctx context.Context) error {
		answer, err := c.nc.RequestWithContext(ctx, subject, data)
		if errors.Is(err, nats.ErrNoResponders) && !c.limited() { // there is no such stream, or no longer
			c.setup.forget()
			if _, bad := c.setup.stream(ctx, c, resultStream); bad != nil {
				return bad
			}
		}
		if err != nil {
			return err
		}
		return refusal(answer)
	})
}

// refusal reads a stream's answer to a message. It returns nil if the message was stored, and
// otherwise why it was not.
func refusal(answer *nats.Msg) error {
	if bytes.HasPrefix(answer.Data, []byte(`{"stream":`)) { // an error begins otherwise
		return nil
	}
	if s := status(answer); s != "" {
		return fmt.Errorf("%w (status %s)", nats.ErrNoResponders, s)
	}
	var ack struct {
		Error *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(answer.Data, &ack); err != nil || ack.Error == nil {
		return fmt.Errorf("read the stream's answer: it is %.100q", answer.Data)
	}
	return ack.Error
}

// status returns the status code of a message from the server itself, and "" for other messages.
func status(m *nats.Msg) string {
	if len(m.Header) == 0 {
		return ""
	}
	return m.Header.Get("Status")
}

// token returns an error unless s can become part of a subject. Dots separate parts, which only ids
// may have.
func token(what, s string, dots bool) error {
	bad := func(r rune) bool { return r <= ' ' || r == 0x7f || r == '*' || r == '>' }
	switch {
	case s == "" || len(s) > 128:
		return fmt.Errorf("name %s %q: 1 to 128 bytes are needed, these are %d", what, s, len(s))
	case strings.ContainsFunc(s, bad) || !dots && strings.ContainsAny(s, `./\`):
		return fmt.Errorf("name %s %q: no white space, '*' or '>', and of a sweep, a worker or a job no '.', '/' or '\\'",
			what, s)
	case strings.HasPrefix(s, ".") || strings.HasSuffix(s, ".") || strings.Contains(s, ".."):
		return fmt.Errorf("name %s %q: no empty part between dots", what, s)
	}
	return nil
}

// Embedded reports whether the server is one inside this process.
func (c *Conn) Embedded() bool { return c.local != nil }

// Closed returns a channel that is closed when the connection is gone for good.
func (c *Conn) Closed() <-chan struct{} { return c.closed }
