package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/shatterlab/shatter/cmd/shatter/observe"
	"github.com/shatterlab/shatter/coordinator"
	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/coordinator/lead"
	"github.com/shatterlab/shatter/coordinator/meter"
	"github.com/shatterlab/shatter/coordinator/pool"
	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/worker"
)

// httpFlags configures the HTTP server for pages, health checks and metrics.
type httpFlags struct {
	observe.Options
	cert, key, tokenFile, controlFile string
}

func (f *httpFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.Address, "http", "",
		"`host:port` for a page that shows the work, /healthz, /readyz and metrics at /metrics (default none)")
	flags.BoolVar(&f.Public, "http-public", false,
		"permission to use an address for --http that other machines reach")
	flags.StringVar(&f.cert, "http-cert", "", "`file` with the certificate for --http, in PEM (default no encryption)")
	flags.StringVar(&f.key, "http-key", "", "`file` with the key of that certificate, in PEM")
	flags.StringVar(&f.tokenFile, "http-token-file", "",
		"`file` with the password of the page, which other machines need (default none)")
}

// registerControl adds the flag of a process whose page can change sweeps.
func (f *httpFlags) registerControl(flags *pflag.FlagSet) {
	flags.StringVar(&f.controlFile, "http-control-token-file", "",
		"`file` with the password for pausing, resuming and cancelling on the page (default none)")
}

// listen begins to answer at --http. Without it, it returns nil.
func (f *httpFlags) listen(log *slog.Logger) (*observe.Server, error) {
	if f.Address == "" {
		return nil, nil
	}
	var err error
	if f.TLS, err = serverTLS(f.cert, f.key, "--http-cert", "--http-key"); err != nil {
		return nil, err
	}
	if f.tokenFile != "" {
		if f.Token, err = readToken(f.tokenFile, "--http-token-file"); err != nil {
			return nil, err
		}
	}
	if f.controlFile != "" {
		if f.Control, err = readToken(f.controlFile, "--http-control-token-file"); err != nil {
			return nil, err
		}
	}
	s, err := observe.Listen(f.Options)
	if err != nil {
		return nil, usageError{err}
	}
	log.Info("observable", "http", s.URL)
	return s, nil
}

// mostSilence is the time without activity after which a loop counts as hanging.
const mostSilence = time.Minute

// check returns the checks of a process whose loop was heard of last at the time that heard returns,
// or the zero time if it has not begun.
func check(conn *queue.Conn, heard func() time.Time) observe.Checks {
	return observe.Checks{
		Healthy: func() string {
			if last := heard(); !last.IsZero() && time.Since(last) > mostSilence {
				return fmt.Sprintf("its loop was last heard of %v ago", time.Since(last).Round(time.Second))
			}
			return ""
		},
		Ready: func() string {
			switch {
			case !conn.Traffic().Connected:
				return "no connection to the NATS server"
			case heard().IsZero():
				return "it is starting"
			}
			return ""
		},
	}
}

// watchCoordinator publishes checks, metrics and pages of a coordinator whose folders are in dir.
func watchCoordinator(s *observe.Server, conn *queue.Conn, m *lead.Monitor, dir string) {
	s.Watch(check(conn, func() time.Time { return m.Overview().Active }), observe.Registry(observe.Sources{
		Version: version(), Traffic: conn.Traffic, Leads: m.Overview, Counts: m.Counts,
	}))
	s.Show(newClusterPages(conn, dir).page)
}

// watchWorker publishes checks and metrics of a worker.
func watchWorker(s *observe.Server, conn *queue.Conn, m *worker.Monitor) {
	checks := check(conn, func() time.Time { return m.Overview().HeartbeatAt })
	connected := checks.Ready
	checks.Ready = func() string {
		if m.Overview().Heartbeat.Leaving {
			return "it is leaving"
		}
		return connected()
	}
	s.Watch(checks, observe.Registry(observe.Sources{Version: version(), Traffic: conn.Traffic, Works: m.Overview}))
}

// runMonitor watches a run with workers of its own.
type runMonitor struct {
	meter.Meter
	workers worker.Monitor
	display *display
	log     *slog.Logger

	dir     string // output folder
	results knownPages

	mu      sync.Mutex
	leading lead.Leading
	heard   time.Time
	ended   string // how the run has ended; "": it has not
}

// newRunMonitor returns a monitor of the run of a sweep, which shows its progress on d as well.
func newRunMonitor(f *folder.Folder, d *display, log *slog.Logger) *runMonitor {
	l := lead.Leading{ID: f.ID, Name: f.Plan.Name, Cells: len(f.Plan.Cells)}
	return &runMonitor{display: d, log: log, leading: l, dir: f.Dir}
}

// config returns the configuration of a coordinator that m watches.
func (m *runMonitor) config(s *session, slots int) coordinator.Config {
	return coordinator.Config{
		Config: pool.Config{Meter: &m.Meter, Log: m.log}, Folder: s.folder, Slots: slots, Progress: m.show,
	}
}

// show takes in the progress of the run.
func (m *runMonitor) show(p coordinator.Progress) {
	m.mu.Lock()
	m.leading.Progress, m.leading.Reason, m.heard = &p, p.Stuck, time.Now()
	m.mu.Unlock()
	m.display.show(p)
}

func (m *runMonitor) overview() lead.Overview {
	m.mu.Lock()
	defer m.mu.Unlock()
	return lead.Overview{Active: m.heard, Sweeps: map[string]int{"led here": 1}, Leading: []lead.Leading{m.leading}}
}

// watch publishes checks, metrics and the page of the run.
func (m *runMonitor) watch(s *observe.Server, conn *queue.Conn) {
	checks := check(conn, func() time.Time { return m.overview().Active })
	checks.Healthy = nil // writing the result may take any time
	s.Watch(checks, observe.Registry(observe.Sources{
		Version: version(), Traffic: conn.Traffic, Leads: m.overview, Counts: m.Counts, Works: m.workers.Overview,
	}))
	s.Show(m.page)
}

// logFlags configures the log of a process.
type logFlags struct{ format, level string }

func (f *logFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.format, "log-format", "text", "`format` of the log: text or json, one line per event")
	flags.StringVar(&f.level, "log-level", "info",
		"least `level` that is logged: debug (every job), info, warn or error")
}

// logger returns a logger that writes to w.
func (f *logFlags) logger(w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.level)); err != nil {
		return nil, wrong("--log-level %q: debug, info, warn or error is needed", f.level)
	}
	o := &slog.HandlerOptions{Level: level}
	switch f.format {
	case "text":
		return slog.New(slog.NewTextHandler(w, o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, o)), nil
	}
	return nil, wrong("--log-format %q: text or json is needed", f.format)
}

// logFile returns a logger that appends to the file at path, and what closes it. Without a path it is
// silent.
func (f *logFlags) logFile(path string) (*slog.Logger, func() error, error) {
	if path == "" {
		log, err := f.logger(io.Discard)
		if err == nil {
			log = slog.New(slog.DiscardHandler)
		}
		return log, func() error { return nil }, err
	}
	const flag = os.O_APPEND | os.O_CREATE | os.O_WRONLY | syscall.O_NONBLOCK // a named pipe may have no reader
	file, err := os.OpenFile(path, flag, 0o666)
	if err != nil {
		return nil, nil, wrong("--log %s: the file cannot be written (%w); choose another", path, err)
	}
	log, err := f.logger(file)
	return log, file.Close, err
}

// processFlags holds the flags of processes that serve until they are interrupted.
type processFlags struct {
	server serverFlags
	http   httpFlags
	logs   logFlags
}

func (f *processFlags) register(flags *pflag.FlagSet) {
	f.server.register(flags)
	f.http.register(flags)
	f.logs.register(flags)
}

// A service is a process with a connection that is watched on HTTP. Close it.
type service struct {
	conn *queue.Conn
	http *observe.Server // nil without --http
	log  *slog.Logger
}

func (s *service) close() { s.http.Close(); s.conn.Close() }

// serve connects to the server. The process reports at --http already that it is waiting.
func (f *processFlags) serve(c *cobra.Command, role queue.Role) (*service, error) {
	log, err := f.logs.logger(c.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	if err := f.server.check(); err != nil {
		return nil, err
	}
	server, err := f.http.listen(log)
	if err != nil {
		return nil, err
	}
	options := f.server.options(fmt.Sprintf("shatter %s %s", role, workerName()), log, role)
	conn, err := dialPatiently(c.Context(), f.server.url, options)
	if err != nil {
		server.Close()
		return nil, err
	}
	return &service{conn, server, log}, nil
}
