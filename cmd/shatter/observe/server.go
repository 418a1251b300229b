package observe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Server answers on HTTP. Make it with Listen, and close it. A nil one does nothing.
type Server struct {
	URL string // of its root

	http  http.Server
	ended chan struct{}

	mu      sync.Mutex
	checks  Checks
	metrics http.Handler
	conns   []net.Conn // that are open, the one that was heard of last at the end
}

const (
	mostConns  = 64 // that are open: the process needs descriptors for other things
	mostAsking = 4  // requests for metrics that are being answered
)

// Checks say how the process is: "" where all is well, or else in words what is wrong. They must not
// wait for anything.
type Checks struct {
	Healthy func() string // else it has to be started again
	Ready   func() string // else it cannot work now
}

// AddressError blames the address that Listen was given.
type AddressError struct {
	Address string
	Why     string // with what to do
}

func (e *AddressError) Error() string { return fmt.Sprintf("--http %s: %s", e.Address, e.Why) }

// Listen begins to answer at address, host:port, which has to be of this machine alone unless public
// is set. Until Watch is called the process is healthy and not ready. It fails with an
// *AddressError.
func Listen(address string, public bool) (*Server, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, &AddressError{address, "host:port is needed, 127.0.0.1:9090 is usual"}
	}
	if ip := net.ParseIP(host); !public && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, &AddressError{address, "it can be reached from other machines, and tells whoever asks of sweeps and " +
			"their names; listen on 127.0.0.1, or add --http-public"}
	}
	l, err := net.Listen("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, &AddressError{address, "another program uses this port; choose another, or port 0 for any that is free"}
	case err != nil:
		return nil, &AddressError{address, fmt.Sprintf("no program can listen there (%v); choose another address", err)}
	}
	s := &Server{URL: "http://" + l.Addr().String(), ended: make(chan struct{})}
	s.Watch(Checks{}, prometheus.NewRegistry())
	s.http = http.Server{
		Handler: s.handler(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		ConnState: s.track, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	go func() {
		defer close(s.ended)
		_ = s.http.Serve(l) // it ends with Close
	}()
	return s, nil
}

// track keeps the open connections few: a new one closes the one that was not heard of for longest, so
// that whoever holds many keeps nobody from asking.
func (s *Server) track(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns = slices.DeleteFunc(s.conns, func(open net.Conn) bool { return open == c })
	if state == http.StateClosed {
		return
	}
	s.conns = append(s.conns, c)
	if len(s.conns) > mostConns {
		_ = s.conns[0].Close() // its requests have no answer
		s.conns = slices.Delete(s.conns, 0, 1)
	}
}

// handler answers requests.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { s.say(w, s.now().Healthy, "healthy") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { s.say(w, s.now().Ready, "ready") })
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		h := s.metrics
		s.mu.Unlock()
		h.ServeHTTP(w, r)
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "shatter: /healthz /readyz /metrics\n")
	})
	return mux
}

// Watch has the server tell of what the checks and the registry say from now on.
func (s *Server) Watch(c Checks, r *prometheus.Registry) {
	if s == nil {
		return
	}
	if c.Healthy == nil {
		c.Healthy = func() string { return "" }
	}
	if c.Ready == nil {
		c.Ready = func() string { return "waiting for the NATS server" }
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checks = c
	metrics := promhttp.HandlerFor(r, promhttp.HandlerOpts{MaxRequestsInFlight: mostAsking})
	s.metrics = http.TimeoutHandler(metrics, 20*time.Second, "") // a client that does not read is no request in flight
}

func (s *Server) now() Checks {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.checks
}

// say answers whether a check finds all well.
func (s *Server) say(w http.ResponseWriter, check func() string, well string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if wrong := check(); wrong != "" {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprintf(w, "not %s: %s\n", well, wrong)
		return
	}
	_, _ = fmt.Fprintln(w, well)
}

// Close ends the server. Answers on their way have a second.
func (s *Server) Close() {
	if s == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		_ = s.http.Close()
	}
	<-s.ended
}
