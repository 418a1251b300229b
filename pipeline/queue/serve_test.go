package queue

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"go.uber.org/goleak"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

// serverVariable makes this test binary a NATS server, which accepts the arguments of nats-server.
const serverVariable = "SHATTER_QUEUE_TEST_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(serverVariable) != "" {
		serveNATS()
		return
	}
	testkit.Overlap()
	goleak.VerifyTestMain(m)
}

// serveNATS behaves like the program nats-server.
func serveNATS() {
	o, err := server.ConfigureOptions(flag.NewFlagSet("nats-server", flag.ExitOnError), os.Args[1:], nil, nil, nil)
	if err != nil {
		server.PrintAndDie(err.Error())
	}
	s, err := server.NewServer(o)
	if err != nil {
		server.PrintAndDie(err.Error())
	}
	s.ConfigureLogger()
	if err := server.Run(s); err != nil {
		server.PrintAndDie(err.Error())
	}
	s.WaitForShutdown()
}

// embedded returns a connection to an embedded server that ends with the test.
func embedded(t testing.TB, o Options) *Conn {
	t.Helper()
	s, err := Embed(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Shutdown)
	c, err := s.Dial(t.Context())
	return connection(t, c, err)
}

func connection(t testing.TB, c *Conn, err error) *Conn {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// A natsServer is a process that runs the real server.
type natsServer struct {
	dir  string
	conf string
	port string
	cmd  *exec.Cmd

	ended <-chan struct{}
}

// external starts a server with the configuration that this project ships.
func external(t testing.TB) *natsServer {
	t.Helper()
	conf, err := filepath.Abs("../../deploy/nats.conf")
	if err != nil {
		t.Fatal(err)
	}
	return externalWith(t, conf)
}

// externalWith starts a server with a configuration file, on a free port and in a separate folder.
func externalWith(t testing.TB, conf string) *natsServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err := errors.Join(err, l.Close()); err != nil {
		t.Fatal(err)
	}
	s := &natsServer{dir: t.TempDir(), conf: conf, port: port}
	s.start(t)
	t.Cleanup(func() {
		s.kill(t)
		if t.Failed() {
			t.Logf("server's log:\n%s", s.log())
		}
	})
	return s
}

// start returns when the server accepts connections. The server keeps its files in its own folder.
func (s *natsServer) start(t testing.TB) {
	t.Helper()
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	must(t, err)
	defer log.Close()
	self, err := os.Executable()
	must(t, err)
	s.cmd = exec.Command(self, "-c", s.conf, "-a", "127.0.0.1", "-p", s.port)
	s.cmd.Env = append(os.Environ(), serverVariable+"=1")
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = s.dir, log, log
	must(t, s.cmd.Start())
	ended := make(chan struct{})
	go func() { _ = s.cmd.Wait(); close(ended) }() // the log has the reason
	s.ended = ended
	until(t, soon(t), "the server listens", func() bool {
		select {
		case <-ended:
			t.Fatalf("nats-server ended:\n%s", s.log())
		default:
		}
		c, err := net.Dial("tcp", "127.0.0.1:"+s.port)
		if err != nil {
			return false
		}
		return c.Close() == nil
	})
}

// kill ends the server without warning.
func (s *natsServer) kill(t testing.TB) {
	t.Helper()
	if err := s.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
	<-s.ended
}

func (s *natsServer) log() []byte {
	text, _ := os.ReadFile(filepath.Join(s.dir, "log"))
	return text
}

func (s *natsServer) url() string { return "nats://127.0.0.1:" + s.port }

func (s *natsServer) dial(t testing.TB, o Options) *Conn {
	t.Helper()
	c, err := Dial(t.Context(), s.url(), o)
	return connection(t, c, err)
}

// everywhere runs a test against the embedded server and against a process over TCP. dial makes
// another connection.
func everywhere(t *testing.T, test func(t *testing.T, dial func(Options) *Conn)) {
	t.Run("embedded", func(t *testing.T) {
		s, err := Embed(Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Shutdown)
		test(t, func(o Options) *Conn {
			s.opts = o
			c, err := s.Dial(t.Context())
			return connection(t, c, err)
		})
	})
	t.Run("external", func(t *testing.T) {
		s := external(t)
		test(t, func(o Options) *Conn { return s.dial(t, o) })
	})
}

// until polls a condition, and fails when ctx ends first.
func until(t testing.TB, ctx context.Context, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waiting until %s: %v", what, context.Cause(ctx))
		}
	}
}

// soon returns a context for operations that take milliseconds, unless the machine is very busy.
func soon(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func coordinate(t testing.TB, c *Conn, sweep string, epoch uint64) *Queue {
	t.Helper()
	q, err := c.Coordinate(soon(t), Term{sweep, epoch})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func publish(t testing.TB, q *Queue, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if err := q.Publish(soon(t), id, []byte("job "+id)); err != nil {
			t.Fatal(err)
		}
	}
}

func puller(t testing.TB, c *Conn) *Puller {
	t.Helper()
	p, err := c.Puller("w")
	must(t, err)
	return p
}

// lease waits for jobs of a sweep.
func lease(t testing.TB, c *Conn, sweep string, n int) (jobs []*Job) {
	t.Helper()
	for len(jobs) < n {
		err := puller(t, c).Lease(soon(t), sweep, n-len(jobs), time.Second, func(j *Job) { jobs = append(jobs, j) })
		if err != nil {
			t.Fatal(err)
		}
	}
	return jobs
}

// receive returns the next value of a channel.
func receive[T any](t testing.TB, ch <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-ch:
	case <-soon(t).Done():
		t.Fatalf("no %T came", v)
	}
	return v
}

// finish publishes the only part of a job's results.
func finish(t testing.TB, c *Conn, j *Job) {
	t.Helper()
	must(t, puller(t, c).Publish(soon(t), Part{j.Term, "w", j.ID, 0, 1}, append([]byte("result of "), j.Data...)))
	must(t, j.Done())
}

func next(t testing.TB, q *Queue) *Message {
	t.Helper()
	return receive(t, q.Results)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// stores waits until the server has these jobs of a leader.
func stores(t testing.TB, q *Queue, want ...string) {
	t.Helper()
	until(t, soon(t), fmt.Sprint("the server has the jobs ", want), func() bool {
		ids, _, err := q.Jobs(soon(t))
		if err != nil {
			t.Fatal(err)
		}
		return slices.Equal(slices.Sorted(maps.Keys(ids)), want)
	})
}

func numbers(prefix string, n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("%s%d", prefix, i)
	}
	return ids
}

func wants(t testing.TB, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
}
