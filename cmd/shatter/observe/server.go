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

// A Server responds to HTTP requests. Listen makes it. A nil Server does nothing.
type Server struct {
	URL string // root URL

	http  http.Server
	ended chan struct{}

	mu      sync.Mutex
	checks  Checks
	metrics http.Handler
	conns   []net.Conn // open connections, the most recently active last
}

const (
	maxConns   = 64 // maximum number of open connections; the process needs file descriptors for other purposes
	maxScrapes = 4  // maximum number of concurrent requests for metrics
)

// Checks reports the state of the process: "" means good, other texts describe the problem. The
// functions must not block.
type Checks struct {
	Healthy func() string // otherwise the process must be restarted
	Ready   func() string // otherwise the process cannot work now
}

// An AddressError reports that the address passed to [Listen] is not usable.
type AddressError struct {
	Address string
	Why     string // with the remedy
}

func (e *AddressError) Error() string { return fmt.Sprintf("--http %s: %s", e.Address, e.Why) }

// Listen starts to respond at address, host:port, which must be a loopback address unless public is
// set. Until Watch is called, the process is healthy and not ready. It returns an [*AddressError].
func Listen(address string, public bool) (*Server, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, &AddressError{address, "host:port is needed, 127.0.0.1:9090 is usual"}
	}
	if ip := net.ParseIP(host); !public && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, &AddressError{address, "it can be reached from other machines, and shows sweeps and " +
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
		_ = s.http.Serve(l) // ends with Close
	}()
	return s, nil
}

// track limits the number of open connections: a new connection closes the least recently active
// one, so that a client with many connections does not block others.
func (s *Server) track(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns = slices.DeleteFunc(s.conns, func(open net.Conn) bool { return open == c })
	if state == http.StateClosed {
		return
	}
	s.conns = append(s.conns, c)
	if len(s.conns) > maxConns {
		_ = s.conns[0].Close() // its pending requests get no response
		s.conns = slices.Delete(s.conns, 0, 1)
	}
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		s.report(w, s.now().Healthy, "healthy")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { s.report(w, s.now().Ready, "ready") })
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

// Watch sets the checks and the registry that the server reports from now on.
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
	metrics := promhttp.HandlerFor(r, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes})
	s.metrics = http.TimeoutHandler(metrics, 20*time.Second, "") // a slow client must not occupy a request slot
}

func (s *Server) now() Checks {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.checks
}

// report responds with the result of a check.
func (s *Server) report(w http.ResponseWriter, check func() string, well string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if wrong := check(); wrong != "" {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprintf(w, "not %s: %s\n", well, wrong)
		return
	}
	_, _ = fmt.Fprintln(w, well)
}

// Close stops the server. Pending responses have one second to finish.
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
