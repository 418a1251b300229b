package observe

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
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

	token    string        // secret of clients that may see pages; "": loopback only
	controls string        // secret of clients that may also control sweeps; "": none may
	loopback bool          // only this machine can connect
	streams  chan struct{} // holds an element for each page that is followed
	closing  chan struct{} // closed when the server is about to close

	mu      sync.Mutex
	pages   PageSource // nil: none
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

// Options configures a [Server]. Address is required.
type Options struct {
	Address string      // host:port; it must be a loopback address unless Public is set
	Public  bool        // permission to listen on any address
	TLS     *tls.Config // nil: no encryption
	Token   string      // secret of clients that may see pages; "": none
	Control string      // secret of clients that may also control sweeps; "": none
}

// Listen starts to respond. Until Watch is called, the process is healthy and not ready; it has no
// page until Show is called. It returns an [*AddressError].
func Listen(o Options) (*Server, error) {
	address := o.Address
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, &AddressError{address, "host:port is needed, 127.0.0.1:9090 is usual"}
	}
	if !o.Public && !isLoopback(host) {
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
	addr, _ := l.Addr().(*net.TCPAddr)
	s := &Server{
		URL: "http://" + l.Addr().String(), ended: make(chan struct{}), closing: make(chan struct{}), token: o.Token,
		controls: o.Control, loopback: addr != nil && addr.IP.IsLoopback(),
		streams: make(chan struct{}, maxStreams),
	}
	switch {
	case o.TLS != nil:
		s.URL, l = "https://"+l.Addr().String(), tls.NewListener(l, o.TLS)
	case o.Token+o.Control != "" && !s.loopback:
		_ = l.Close()
		return nil, &AddressError{address, "a token would cross the network in the clear; add --http-cert and --http-key"}
	}
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
	mux.HandleFunc("GET /{$}", s.showPage)
	mux.HandleFunc("GET /sweeps/{id}", s.showPage)
	mux.HandleFunc("GET /events", s.follow)
	mux.HandleFunc("GET /control", s.controlled(showAgain))
	for _, question := range []string{"/query", "/compare", "/sweeps/{id}/query"} {
		mux.HandleFunc("POST "+question, s.showPage)
	}
	for _, action := range []string{"pause", "resume", "cancel"} {
		mux.HandleFunc("POST /sweeps/{id}/"+action, s.controlled(s.showPage))
	}
	// Browsers add a password to the forms of other sites too.
	return http.NewCrossOriginProtection().Handler(mux)
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

// Close stops the server. Pages that are followed get their last state. Pending responses have two
// seconds to finish.
func (s *Server) Close() {
	if s == nil {
		return
	}
	close(s.closing)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		_ = s.http.Close()
	}
	<-s.ended
}
