package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// A Server is a NATS server inside this process: JetStream in memory, without a listener, a file or
// a signal handler.
type Server struct {
	ns   *server.Server
	opts Options
}

// Embed starts a server and waits until it is ready, which takes milliseconds.
func Embed(o Options) (*Server, error) {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	// Limits in bytes: the first is not reserved, the second not used.
	const memory, store = 4 << 30, 1 << 20
	// JetStream needs a folder at its start but stores nothing in it if every stream is in memory.
	// It is removed immediately, so that a killed process cannot leave it behind.
	dir, err := os.MkdirTemp("", "shatter-queue-")
	if err != nil {
		return nil, fmt.Errorf("start embedded server: %w", err)
	}
	defer os.RemoveAll(dir)
	ns, err := server.NewServer(&server.Options{
		ServerName: "shatter", DontListen: true, NoSigs: true, MaxPayload: MaxResult,
		// No pings: a response needs a lock that a blocked write holds, and a pipe blocks until the
		// other side reads.
		PingInterval: 1000 * time.Hour, DisableShortFirstPing: true,
		JetStream: true, DisableJetStreamBanner: true,
		StoreDir: dir, JetStreamMaxMemory: memory, JetStreamMaxStore: store,
	})
	if err != nil {
		return nil, fmt.Errorf("start embedded server: %w", err)
	}
	log, late := &serverLog{log: o.Log}, errors.New("not ready in time")
	log.last.Store(&late)
	ns.SetLoggerV2(log, false, false, false)
	ns.Start()
	s := &Server{ns: ns, opts: o}
	if !ns.ReadyForConnections(10*time.Second) || !ns.JetStreamEnabled() {
		s.Shutdown()
		return nil, fmt.Errorf("start embedded server: %w", *log.last.Load())
	}
	return s, nil
}

// Dial connects to the server without a socket.
func (s *Server) Dial(ctx context.Context) (*Conn, error) {
	return connect(ctx, "", s.opts, s)
}

// Shutdown stops the server, discards its content, and returns when it has stopped.
func (s *Server) Shutdown() {
	s.ns.Shutdown()
	s.ns.WaitForShutdown()
}

// A serverLog forwards the server's warnings and errors and keeps the last error.
type serverLog struct {
	log  *slog.Logger
	last atomic.Pointer[error]
}

func (l *serverLog) Noticef(string, ...any) {}
func (l *serverLog) Debugf(string, ...any)  {}
func (l *serverLog) Tracef(string, ...any)  {}

func (l *serverLog) Warnf(format string, args ...any) {
	l.log.Warn("embedded server", "text", fmt.Sprintf(format, args...))
}

func (l *serverLog) Errorf(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	l.log.Error("embedded server", "text", err.Error())
	l.last.Store(&err)
}

func (l *serverLog) Fatalf(format string, args ...any) { l.Errorf(format, args...) }
