package observe

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"

	"github.com/shatterlab/shatter/coordinator"
	"github.com/shatterlab/shatter/coordinator/lead"
	"github.com/shatterlab/shatter/coordinator/meter"
	"github.com/shatterlab/shatter/pipeline/fleet"
	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/pipeline/result/report"
	"github.com/shatterlab/shatter/worker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// everything returns sources with a value for every metric and the given number of sweeps.
func everything(sweeps int) Sources {
	o := lead.Overview{Sweeps: map[string]int{"led here": sweeps}}
	for i := range sweeps {
		l := lead.Leading{ID: fmt.Sprintf("%012x", i), Name: strings.Repeat("\xff\"\n", 100)}
		if i > 0 {
			l.Progress = &coordinator.Progress{TimeLeft: &coordinator.Remaining{}}
		}
		o.Leading = append(o.Leading, l)
	}
	return Sources{
		Version: "test",
		Traffic: func() queue.Traffic { return queue.Traffic{Connected: true} },
		Leads:   func() lead.Overview { return o },
		Counts: func() meter.Counts {
			one := map[string]int64{"one": 1}
			return meter.Counts{Trials: one, Back: one, Dropped: one}
		},
		Works: func() worker.Overview {
			return worker.Overview{
				Heartbeat: fleet.Worker{Held: []fleet.Held{{Running: 1}, {}}},
				Jobs:      map[string]int64{"done": 1}, Trials: map[string]int64{"ok": 1},
			}
		},
	}
}

// The collector reports every metric of the list, and names and labels follow the rules of
// Prometheus.
func TestMetrics(t *testing.T) {
	r := prometheus.NewPedanticRegistry()
	if err := r.Register(collector{everything(2)}); err != nil {
		t.Fatal(err)
	}
	problems, err := testutil.GatherAndLint(r)
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	found, err := r.Gather()
	if err != nil || len(found) != len(metrics) {
		t.Errorf("%d metrics of %d were put, %v", len(found), len(metrics), err)
	}
}

// The number of series stays small for any number of sweeps.
func TestFewSeries(t *testing.T) {
	found, err := Registry(everything(10_000)).Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := 0
	for _, f := range found {
		series += len(f.Metric)
	}
	if most := maxSweeps*20 + 200; series > most {
		t.Errorf("%d series, %d are the most", series, most)
	}
}

// Every metric that deploy mentions exists.
func TestDeployNamesMetrics(t *testing.T) {
	known := map[string]bool{}
	for _, name := range names() {
		known[name] = true
	}
	found, err := Registry(everything(1)).Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found { // includes those of the process
		known[f.GetName()] = true
	}
	named := regexp.MustCompile(`\b(shatter|process|go)_[a-z_]+`)
	for file, least := range map[string]int{
		"grafana/shatter.json": 20, "prometheus/alerts.yaml": 6, "kubernetes/scaling.yaml": 1, "monitoring.md": 6,
	} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "deploy", file))
		if err != nil {
			t.Fatal(err)
		}
		count := map[string]bool{}
		for _, name := range named.FindAllString(string(text), -1) {
			if count[name] = true; !known[name] {
				t.Errorf("%s: there is no metric %s", file, name)
			}
		}
		if len(count) < least {
			t.Errorf("%s names %d metrics, at least %d are expected", file, len(count), least)
		}
	}
}

func TestListenRefuses(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, tt := range []struct {
		address string
		public  bool
		want    string // expected part of the message
	}{
		{"9090", false, "127.0.0.1:9090 is usual"},
		{":0", false, "add --http-public"},
		{"0.0.0.0:0", false, "add --http-public"},
		{"[::]:0", false, "add --http-public"},
		{"example.org:0", false, "add --http-public"},
		{l.Addr().String(), false, "another program uses this port"},
		{l.Addr().String(), true, "another program uses this port"},
		{"127.0.0.1:port", false, "choose another address"},
	} {
		s, err := Listen(Options{Address: tt.address, Public: tt.public})
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q, public %v: %v, want a line with %q", tt.address, tt.public, err, tt.want)
		}
	}
	s, err := Listen(Options{Address: ":0", Public: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
}

func TestHealth(t *testing.T) {
	s, err := Listen(Options{Address: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	client := http.Client{Timeout: time.Minute}
	defer client.CloseIdleConnections()
	is := func(path string, code int, body string) {
		t.Helper()
		r, err := client.Get(s.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil || r.StatusCode != code || !strings.Contains(string(text), body) {
			t.Errorf("%s: %d %q, %v; want %d %q", path, r.StatusCode, text, err, code, body)
		}
	}
	is("/healthz", 200, "healthy\n")
	is("/readyz", 503, "not ready: waiting for the NATS server\n")
	is("/", 404, "/metrics")
	is("/secret", 404, "")
	s.Watch(Checks{
		Healthy: func() string { return "it hangs" }, Ready: func() string { return "" },
	}, Registry(everything(1)))
	is("/healthz", 503, "not healthy: it hangs\n")
	is("/readyz", 200, "ready\n")
	is("/metrics", 200, `shatter_worker_jobs_total{end="done"} 1`)
}

// A client with many connections does not block others, and uses few file descriptors.
func TestManyConnections(t *testing.T) {
	s, err := Listen(Options{Address: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 3 * maxConns {
		held, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer held.Close()
		if _, err := io.WriteString(held, "GET /healthz HTTP/1.1\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	client := http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	for range 8 {
		r, err := client.Get(s.URL + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.StatusCode != http.StatusOK {
			t.Error(r.Status)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.conns) > maxConns {
		t.Errorf("%d connections are open, %d are the most", len(s.conns), maxConns)
	}
}

// An unread is the response to a client that does not read it.
type unread struct {
	header         http.Header
	writes, closed chan struct{}
}

func (u unread) Header() http.Header { return u.header }
func (u unread) WriteHeader(int)     {}
func (u unread) Write(b []byte) (int, error) {
	u.writes <- struct{}{}
	<-u.closed
	return len(b), nil
}

// Clients that do not read their responses do not block others.
func TestUnreadAnswers(t *testing.T) {
	s := &Server{}
	s.Watch(Checks{}, Registry(everything(1)))
	h := s.handler()
	request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	w := unread{writes: make(chan struct{}), closed: make(chan struct{})}
	var clients sync.WaitGroup
	for range maxScrapes {
		clients.Go(func() {
			h.ServeHTTP(unread{http.Header{}, w.writes, w.closed}, request)
		})
		<-w.writes
	}
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, request)
	if answer.Code != http.StatusOK {
		t.Errorf("%d: %.100q", answer.Code, answer.Body)
	}
	close(w.closed)
	clients.Wait()
}

// names returns the names of all metrics of Shatter; for a histogram, the names of its series.
func names() (list []string) {
	for _, m := range metrics {
		if m.name == fsyncs {
			list = append(list, fsyncs+"_bucket", fsyncs+"_sum", fsyncs+"_count")
			continue
		}
		list = append(list, m.name)
	}
	return list
}

// Every HTTP request gets a response, and only the known pages contain information.
func FuzzRequest(f *testing.F) {
	s := &Server{}
	s.Watch(Checks{}, Registry(everything(2)))
	for _, path := range []string{"/", "/healthz", "/readyz", "/metrics", "/metrics?name[]=x", "/../etc/passwd", "//x"} {
		f.Add(fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n", path))
	}
	f.Add([]byte("POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"))
	h := s.handler()
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(raw)))
		if err != nil {
			return
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		known := r.URL.Path == "/" || r.URL.Path == "/healthz" || r.URL.Path == "/readyz" || r.URL.Path == "/metrics"
		if w.Code == http.StatusOK && (!known || r.Method != http.MethodGet && r.Method != http.MethodHead) {
			t.Errorf("%s %q: %s", r.Method, r.URL.Path, w.Body)
		}
	})
}

// Pages are for this machine, under its own names, or for clients with the token.
func TestWhoSeesPages(t *testing.T) {
	const token = "0123456789abcdef"
	for _, tt := range []struct {
		options    Options
		host, auth string
		want       int
	}{
		{Options{Address: "127.0.0.1:0"}, "127.0.0.1:9090", "", 200},
		{Options{Address: "127.0.0.1:0"}, "localhost", "", 200},
		{Options{Address: "127.0.0.1:0"}, "[::1]:80", "", 200},
		{Options{Address: "127.0.0.1:0"}, "evil.example", "", 403},
		{Options{Address: ":0", Public: true}, "127.0.0.1", "", 403},
		{Options{Address: ":0", Public: true, TLS: &tls.Config{}}, "127.0.0.1", "", 403},
		{Options{Address: ":0", Public: true, TLS: &tls.Config{}, Token: token}, "me.example", token, 200},
		{Options{Address: ":0", Public: true, TLS: &tls.Config{}, Token: token}, "me.example", token + "x", 401},
		{Options{Address: "127.0.0.1:0", Token: token}, "127.0.0.1", "", 401},
		{Options{Address: "127.0.0.1:0", Control: token}, "127.0.0.1", "", 200},
		{Options{Address: "127.0.0.1:0", Control: token}, "127.0.0.1", token, 200},
		{Options{Address: "127.0.0.1:0", Token: "f" + token, Control: token}, "127.0.0.1", "", 401},
		{Options{Address: ":0", Public: true, TLS: &tls.Config{}, Control: token}, "me.example", "", 401},
		{Options{Address: ":0", Public: true, TLS: &tls.Config{}, Control: token}, "me.example", token, 200},
	} {
		s, err := Listen(tt.options)
		if err != nil {
			t.Fatal(err)
		}
		s.Show(func(context.Context, Request) (*report.Page, error) { return &report.Page{Ended: true}, nil })
		for _, path := range []string{"/", "/sweeps/x", "/events"} {
			r := httptest.NewRequest(http.MethodGet, path, nil)
			if r.Host = tt.host; tt.auth != "" {
				r.SetBasicAuth("any", tt.auth)
			}
			w := httptest.NewRecorder()
			s.handler().ServeHTTP(w, r)
			if w.Code != tt.want {
				t.Errorf("%+v, host %s, token %q: %s: %d, want %d", tt.options, tt.host, tt.auth, path, w.Code, tt.want)
			}
		}
		s.Close()
	}
	for _, o := range []Options{{Token: token}, {Control: token}} {
		o.Address, o.Public = ":0", true
		if _, err := Listen(o); err == nil || !strings.Contains(err.Error(), "--http-cert") {
			t.Errorf("a token without TLS: %v", err)
		}
	}
}

// Only clients with the token for it control sweeps, and no other site can send their forms.
func TestWhoControls(t *testing.T) {
	const view, control = "0123456789abcdef", "fedcba9876543210"
	for _, tt := range []struct {
		options            Options
		path, token, site  string
		want               int
		action, redirected string
	}{
		{Options{}, "POST /sweeps/x/pause", "", "", 403, "", ""},
		{Options{Token: view}, "POST /sweeps/x/pause", view, "", 403, "", ""},
		{Options{Control: control}, "POST /sweeps/x/pause", "", "", 401, "", ""},
		{Options{Token: view, Control: control}, "POST /sweeps/x/pause", view, "same-origin", 401, "", ""},
		{Options{Control: control}, "POST /sweeps/x/pause", control, "same-origin", 303, "pause", "/sweeps/x"},
		{Options{Control: control}, "POST /sweeps/x/cancel", control, "", 303, "cancel", "/sweeps/x"},
		{Options{Control: control}, "POST /sweeps/x/cancel", control, "cross-site", 403, "", ""},
		{Options{Control: control}, "POST /sweeps/x/delete", control, "", 404, "", ""},
		{Options{Control: control}, "GET /sweeps/x/pause", control, "", 405, "", ""},
		{Options{}, "POST /compare", "", "same-origin", 303, "compare", "/"},
		{Options{}, "POST /compare", "", "same-site", 403, "", ""},
		{Options{Token: view}, "POST /query", "", "", 401, "", ""},
		{Options{}, "GET /control", "", "", 403, "", ""},
		{Options{Control: control}, "GET /control", "", "", 401, "", ""},
		{Options{Token: view, Control: control}, "GET /control?sweep=x", view, "", 401, "", ""},
		{Options{Control: control}, "GET /control?sweep=//evil.example", control, "", 303, "", "/sweeps/%2F%2Fevil.example"},
	} {
		tt.options.Address = "127.0.0.1:0"
		s, err := Listen(tt.options)
		if err != nil {
			t.Fatal(err)
		}
		action := ""
		s.Show(func(_ context.Context, r Request) (*report.Page, error) {
			action = r.Action
			return nil, nil
		})
		method, path, _ := strings.Cut(tt.path, " ")
		r := httptest.NewRequest(method, path, nil)
		if r.Host = "127.0.0.1"; tt.token != "" {
			r.SetBasicAuth("any", tt.token)
		}
		if tt.site != "" {
			r.Header.Set("Sec-Fetch-Site", tt.site)
		}
		w := httptest.NewRecorder()
		s.http.Handler.ServeHTTP(w, r)
		if to := w.Header().Get("Location"); w.Code != tt.want || action != tt.action || to != tt.redirected {
			t.Errorf("%+v: %d, %q, to %q", tt, w.Code, action, to)
		}
		s.Close()
	}
}
