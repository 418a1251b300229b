package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Maximum sizes of one message in bytes. A server's max_payload must be at least MaxResult.
const (
	MaxJob       = 256 << 10 // job
	MaxResult    = 1 << 20   // result
	MaxHeartbeat = 128 << 10 // heartbeat of a worker
)

// Options configures a server or a connection. The zero value is ready for use.
type Options struct {
	Name string // name of this party in the server's monitoring

	// Credentials is the path of a NATS credentials file, which is read again for each connection.
	// User and password, or a token, may be in the URL instead.
	Credentials string

	Roles []Role // roles that credentials of `shatter cluster` may have; nil: any
	TLS

	// Patience is the time after which a call fails if the server does not respond, or refuses the
	// call for a transient reason; 0: the call waits until its context ends.
	Patience time.Duration

	Log *slog.Logger // nil: silent

	Dialer nats.CustomDialer // makes the connection in simulations; nil: sockets

	// Awake is called in simulations when a timer of a lease fires; nil: nothing is called. It
	// returns once the process runs, because a simulated process may have been stopped meanwhile.
	Awake func()
}

// TLS names the PEM files of an encrypted connection, which are read again for each connection. With
// the zero value, a connection to a server with TLS uses the authorities that this machine trusts.
type TLS struct {
	CA        string // authority that signed the server's certificate; if set, connections without TLS fail
	Cert, Key string // this party's certificate, if the server requires one
}

// A Conn is the connection of one party to a server. It survives restarts of the server: calls wait
// until their context ends. Concurrent use is safe. All slots of a worker share one Conn, and so
// may a coordinator in the same process.
type Conn struct {
	Files *Files

	nc      *nats.Conn
	js      jetstream.JetStream
	opts    Options
	access  *access
	local   *Server // nil: the server is another process
	streams streams

	closed chan struct{} // closed when the connection is closed permanently

	mu        sync.Mutex
	complaint string // last error that the server or client reported
}

// Dial connects to the server at url (nats://host:port, tls://..., or several separated by commas).
// It takes at most seconds, and every failure is a [*ConnectError].
func Dial(ctx context.Context, url string, o Options) (*Conn, error) {
	return connect(ctx, url, o, nil)
}

func connect(ctx context.Context, url string, o Options, local *Server) (*Conn, error) {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	c := &Conn{
		opts: o, local: local, closed: make(chan struct{}),
		access: &access{url: url, file: o.Credentials, roles: o.Roles},
	}
	c.streams.c, c.Files = c, &Files{c: c, sources: map[string]source{}}
	if local != nil {
		c.access.url = "this process"
	}
	if err := c.access.identify(); err != nil {
		return nil, err
	}
	var err error
	if c.nc, err = nats.Connect(url, natsOptions(c)...); err != nil {
		return nil, c.access.connectError(err)
	}
	if c.js, err = jetstream.New(c.nc); err == nil {
		err = checkServer(ctx, c)
	}
	if err != nil {
		c.nc.Close()
		return nil, err
	}
	return c, nil
}

func natsOptions(c *Conn) []nats.Option {
	inbox := InboxOf("shatter") // permissions can name this prefix
	if c.access.who.Role != "" {
		inbox = InboxOf(c.access.who.Name)
	}
	log, server := c.opts.Log, Redact(c.access.url)
	list := []nats.Option{
		nats.Name(c.opts.Name),
		nats.CustomInboxPrefix(inbox),
		nats.Timeout(3 * time.Second),
		nats.MaxReconnects(-1), // with the default limit, a worker would disappear silently
		nats.ReconnectWait(250 * time.Millisecond),
		nats.ReconnectJitter(250*time.Millisecond, time.Second),
		nats.PingInterval(20 * time.Second),
		nats.DrainTimeout(5 * time.Second),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				log.Warn("connection lost", "server", server, "error", err.Error())
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) {
			log.Info("connected again", "server", server)
			c.mu.Lock()
			c.complaint = ""
			c.mu.Unlock()
		}),
		nats.ClosedHandler(func(*nats.Conn) { close(c.closed) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { c.complain(err) }),
	}
	if c.opts.Credentials != "" { // expired credentials may be renewed
		list = append(list, nats.UserCredentials(c.opts.Credentials), nats.IgnoreAuthErrorAbort())
	}
	if c.opts.CA != "" {
		list = append(list, nats.RootCAs(c.opts.CA))
	}
	if c.opts.Cert != "" {
		list = append(list, nats.ClientCert(c.opts.Cert, c.opts.Key))
	}
	if c.opts.Dialer != nil {
		list = append(list, nats.SetCustomDialer(c.opts.Dialer))
	}
	if c.local != nil {
		list = append(list, nats.InProcessServer(c.local.ns), nats.PingInterval(0)) // see Embed
	}
	return list
}

// complain logs an error that the server or the client reports. It logs a repeated error once.
func (c *Conn) complain(err error) {
	text := err.Error()
	if c.opts.Credentials != "" && isRefusal(err) {
		text = c.access.refused(err).Error()
	}
	c.mu.Lock()
	again := c.complaint == text
	c.complaint = text
	c.mu.Unlock()
	if !again {
		c.opts.Log.Error("nats", "error", text)
	}
}

const (
	electionTime = 15 * time.Second // time in which a server cluster without a leader elects another one
	answerTime   = 3 * time.Second  // time after which a request counts as lost with a leader
	firstWait    = 100 * time.Millisecond
	maxWait      = 2 * time.Second
)

// checkServer returns an error unless the server has JetStream and accepts messages of MaxResult bytes.
func checkServer(ctx context.Context, c *Conn) error {
	ctx, cancel := context.WithTimeout(ctx, electionTime)
	defer cancel()
	var err error
	for began := time.Now(); ; {
		again := c.attempt(ctx, answerTime, func(ctx context.Context) error {
			_, err := c.js.AccountInfo(ctx)
			return err
		})
		if ctx.Err() == nil || err == nil {
			err = again
		}
		settling := noJetStream(err) && c.opts.Credentials != "" && time.Since(began) < settled
		if err == nil || !settling && (noJetStream(err) || !transient(err)) || pause(ctx, firstWait) != nil {
			break
		}
	}
	if err != nil {
		return jetStreamError(c.access.url, err)
	}
	if most := c.nc.MaxPayload(); most < MaxResult {
		return c.access.misfit("messages too small on the NATS server",
			fmt.Errorf("max_payload is %d bytes, %d are needed", most, MaxResult),
			"set max_payload: 1MB in its configuration")
	}
	return nil
}

// Close sends all buffered messages and closes the connection. Waiting calls return an error. Close
// a [Queue] first.
func (c *Conn) Close() {
	if err := c.nc.Drain(); err != nil {
		c.nc.Close()
	}
	<-c.closed
}

// ServerTime returns the time by the server's clock. It requires a registry.
func (c *Conn) ServerTime(ctx context.Context) (time.Time, error) {
	s, err := c.js.Stream(ctx, registryStream)
	if err != nil {
		return time.Time{}, fmt.Errorf("ask for the server's time: %w", err)
	}
	return s.CachedInfo().TimeStamp, nil
}

// Closed returns a channel that is closed when the connection is closed permanently.
func (c *Conn) Closed() <-chan struct{} { return c.closed }

// ClosedError returns the error of calls after the connection was closed permanently.
func (c *Conn) ClosedError() error {
	err := c.nc.LastError()
	if err == nil {
		err = nats.ErrConnectionClosed
	}
	return c.access.misfit("connection closed by the NATS server or this program", err, "start again")
}

// Embedded reports whether the server is in this process.
func (c *Conn) Embedded() bool { return c.local != nil }

// connected waits until there is a connection.
func (c *Conn) connected(ctx context.Context) error {
	for !c.nc.IsConnected() {
		select {
		case <-time.After(firstWait):
			continue
		case <-c.closed:
			return c.ClosedError()
		case <-ctx.Done():
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.complaint != "" {
			return fmt.Errorf("no connection to the NATS server (%s): %w", c.complaint, context.Cause(ctx))
		}
		return fmt.Errorf("no connection to the NATS server: %w", context.Cause(ctx))
	}
	return nil
}

// errPatience is the cause when a call exceeds Options.Patience.
var errPatience = errors.New("gave up")

// retry calls do until it succeeds, fails for a permanent reason, ctx ends, or Options.Patience has
// passed. An attempt without a response may have succeeded, so do must be safe to repeat.
func (c *Conn) retry(ctx context.Context, what string, do func(context.Context) error) error {
	outer := ctx
	if c.opts.Patience > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.opts.Patience, errPatience)
		defer cancel()
	}
	const firstAnswer, maxAnswer = 5 * time.Second, 10 * time.Second
	var last error
	for wait, answer := firstWait, firstAnswer; ; wait, answer = min(2*wait, maxWait), min(2*answer, maxAnswer) {
		err := c.attempt(ctx, answer, do)
		select {
		case <-c.closed:
			if err != nil {
				return c.ClosedError()
			}
		default:
		}
		if err == nil {
			return nil
		}
		if ctx.Err() != nil && last != nil {
			err = fmt.Errorf("%w (last: %w)", err, last)
		}
		switch {
		case outer.Err() == nil && ctx.Err() != nil:
			return c.NoAnswerError(c.opts.Patience, fmt.Errorf("%s: %w", what, err))
		case ctx.Err() != nil || !transient(err):
			return fmt.Errorf("%s: %w", what, err)
		}
		last = err
		c.opts.Log.Warn("server did not take it; trying again", "what", what, "error", err.Error())
		_ = pause(ctx, wait) // the next attempt fails if ctx has ended
	}
}

// attempt calls do with a context that also ends after the time answer.
func (c *Conn) attempt(ctx context.Context, answer time.Duration, do func(context.Context) error) error {
	if err := c.connected(ctx); err != nil {
		return err
	}
	within, cancel := context.WithTimeoutCause(ctx, answer, fmt.Errorf("%w within %v", errNoAnswer, answer))
	defer cancel()
	err := do(within)
	if err != nil && within.Err() != nil {
		return context.Cause(within)
	}
	return err
}

// pause waits for d, or returns the cause when ctx ends earlier.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// notify publishes a plain message that will be repeated later. A broken connection is therefore
// not an error.
func (c *Conn) notify(what string, m *nats.Msg) error {
	err := c.nc.PublishMsg(m)
	switch {
	case err == nil:
		return nil
	case transient(err):
		c.opts.Log.Warn("message not sent", "what", what, "error", err.Error())
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// token returns an error unless s can be one token of a subject.
func token(what, s string) error {
	bad := func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`*>./\`, r) }
	switch {
	case s == "" || len(s) > 128:
		return fmt.Errorf("name %s %q: 1 to 128 bytes are needed, these are %d", what, s, len(s))
	case strings.ContainsFunc(s, bad):
		return fmt.Errorf(`name %s %q: white space, '*', '>', '.', '/' and '\' are not allowed`, what, s)
	}
	return nil
}

// Traffic counts the messages of a connection.
type Traffic struct {
	Connected         bool // present state
	Reconnects        uint64
	Sent, Received    uint64 // numbers of messages
	BytesOut, BytesIn uint64
}

// Traffic returns the counts of this connection.
func (c *Conn) Traffic() Traffic {
	s := c.nc.Stats()
	return Traffic{
		Connected: c.nc.IsConnected(), Reconnects: s.Reconnects,
		Sent: s.OutMsgs, Received: s.InMsgs, BytesOut: s.OutBytes, BytesIn: s.InBytes,
	}
}
