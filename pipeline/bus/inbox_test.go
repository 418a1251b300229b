package bus

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A worker gets the jobs that leaders send to its name, and nobody else's; what it says reaches the
// leader that it is about.
func TestJobsGoByName(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, dial func(Options) *Conn) {
		conn := dial(Options{})
		q := coordinate(t, dial(Options{}), "sweep", 7)
		other := coordinate(t, dial(Options{}), "other", 1)
		in, elsewhere := listen(t, conn, "w"), listen(t, conn, "v")
		send(t, q, "w", "a-64-1")
		send(t, other, "v", "b")
		send(t, q, "nobody", "c")
		j := receive(t, in.Jobs)
		if diff := cmp.Diff(Job{Lead{"sweep", 7}, "a-64-1", []byte("job a-64-1"), true}, j); diff != "" {
			t.Error(diff)
		}
		if j := receive(t, elsewhere.Jobs); j.Sweep != "other" || len(in.Jobs)+len(elsewhere.Jobs) > 0 {
			t.Errorf("%+v, and %d more jobs", j, len(in.Jobs)+len(elsewhere.Jobs))
		}
		must(t, conn.HandBack(j.Lead, "w", j.ID, []byte("why")))
		if diff := cmp.Diff(HandedBack{"w", "a-64-1", []byte("why")}, receive(t, q.HandedBack())); diff != "" {
			t.Error(diff)
		}
		must(t, conn.Announce("w", []byte("here")))
		for _, q := range []*Queue{q, other} {
			if got := receive(t, q.Announcements()); string(got.Data) != "here" || got.Worker != "w" {
				t.Errorf("announcement %q", got)
			}
		}
		if len(other.HandedBack()) > 0 {
			t.Error("another leader's job came back")
		}
	})
}

// A worker that never stops talking fills no leader's memory, and keeps nobody from being heard.
func TestTalker(t *testing.T) {
	t.Parallel()
	conn := embedded(t, Options{})
	q := coordinate(t, conn, "sweep", 1)
	loud, began := make([]byte, MaxResult), time.Now()
	for range 50 {
		must(t, conn.Announce("loud", loud))
		must(t, conn.HandBack(Lead{"sweep", 1}, "loud", "j", loud))
	}
	must(t, conn.Announce("calm", []byte("here")))
	must(t, conn.HandBack(Lead{"sweep", 1}, "calm", "j", []byte("why")))
	must(t, conn.nc.Flush())
	heard, back := 0, 0
	for receive(t, q.Announcements()).Worker == "loud" {
		heard++
	}
	for receive(t, q.HandedBack()).Worker == "loud" {
		back++
	}
	// What is spent comes back while the messages are on their way, however slow this machine is.
	most := saidAtOnce/MaxResult + 1 + int(time.Since(began)/time.Second)
	if heard < 4 || back < 4 || max(heard, back) > most {
		t.Errorf("%d announcements and %d jobs handed back were heard, %d are the most", heard, back, most)
	}
}

// A worker hears of a call to all and of one to itself.
func TestCalls(t *testing.T) {
	t.Parallel()
	conn := embedded(t, Options{})
	in, elsewhere := listen(t, conn, "w"), listen(t, conn, "v")
	q := coordinate(t, conn, "sweep", 1)
	receive(t, in.Calls)
	receive(t, elsewhere.Calls)
	must(t, q.Call("v"))
	receive(t, elsewhere.Calls)
	must(t, q.Call("w"))
	receive(t, in.Calls) // after which the first would have come
	must(t, q.Call("v"))
	receive(t, elsewhere.Calls)
	if len(in.Calls)+len(elsewhere.Calls) > 0 {
		t.Error("a worker hears a call of another one")
	}
}

// Subjects and messages that nobody of this version has written are no jobs, and stop nothing.
func TestStrangeMessages(t *testing.T) {
	t.Parallel()
	conn := embedded(t, Options{})
	in, q := listen(t, conn, "w"), coordinate(t, conn, "sweep", 1)
	receive(t, in.Drops)
	for _, subject := range []string{"job.w.x", "job.w.sweep.one.id", "drop.sweep", "drop.sweep.-1", "drop.sweep.99999999999999999999"} {
		must(t, conn.nc.Publish("shatter."+subject, []byte("{")))
	}
	must(t, conn.nc.Publish("shatter.drop.sweep.1", []byte("{")))
	for _, part := range []string{"w", "w.job.1", "w.job.one.2", "w.job.2.2", "w.job.0.1.2"} {
		must(t, conn.store(soon(t), "publish", "shatter.result.sweep.1."+part, nil))
		if m := next(t, q); m.Part != (Part{}) {
			t.Errorf("%s is taken for %+v", part, m.Part)
		}
	}
	send(t, q, "w", "good")
	if j := receive(t, in.Jobs); j.ID != "good" || len(in.Drops) > 0 {
		t.Errorf("job %+v, %d drops", j, len(in.Drops))
	}
}

// TestServerKilled kills the server while results are published. Every result arrives.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	s := external(t)
	const jobs, kills = 300, 3
	q := coordinate(t, s.dial(t, Options{}), "sweep", 1)
	worker := s.dial(t, Options{})
	published := make(chan error, 1)
	go func() {
		for _, id := range numbers("", jobs) {
			if err := worker.Publish(soon(t), Lead{"sweep", 1}, Part{"w", id, 0, 1}, make([]byte, 2000)); err != nil {
				published <- err
				return
			}
		}
		published <- nil
	}()
	seen := map[string]bool{}
	for killed := 0; len(seen) < jobs; {
		m := next(t, q)
		seen[m.Job] = true
		must(t, m.Ack())
		if killed < kills && len(seen) > jobs*(killed+1)/(kills+1) {
			killed++
			s.kill(t)
			s.start(t)
		}
	}
	must(t, <-published)
}

// TestServerAway checks that calls wait for a server that is away as long as their context allows.
func TestServerAway(t *testing.T) {
	t.Parallel()
	s := external(t)
	conn := s.dial(t, Options{})
	q := coordinate(t, conn, "sweep", 1)
	part := Part{"w", "1", 0, 1}
	s.kill(t)
	over, end := context.WithCancel(t.Context())
	end()
	until(t, soon(t), "the loss is seen", func() bool { return conn.connected(over) != nil })
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	for what, err := range map[string]error{
		"send":    q.Send(short, "w", "2", nil),
		"publish": conn.Publish(short, q.lead, part, nil),
	} {
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s without a server gives %v", what, err)
		}
	}
	published := make(chan error)
	go func() { published <- conn.Publish(soon(t), q.lead, part, []byte("x")) }()
	s.start(t)
	must(t, <-published)
	if m := next(t, q); string(m.Data) != "x" {
		t.Errorf("result is %q, want x", m.Data)
	}
}

// TestPermissions checks that the permissions which the shipped configuration proposes are enough,
// and needed to get in.
func TestPermissions(t *testing.T) {
	shipped, err := os.ReadFile("../../deploy/nats.conf")
	must(t, err)
	text := string(shipped)
	from := strings.Index(text, "# authorization {")
	to := from + strings.Index(text[from:], "\n# }")
	text = text[:from] + strings.ReplaceAll(text[from:to], "\n# ", "\n")[2:] + "\n}" + text[to+len("\n# }"):]
	conf := filepath.Join(t.TempDir(), "nats.conf")
	must(t, os.WriteFile(conf, []byte(text), 0o600))
	t.Setenv("SHATTER_PASSWORD", "secret")
	s := externalWith(t, conf)
	_, err = Dial(t.Context(), s.url(), Options{})
	refused(t, err, "access refused", s.url())
	_, err = Dial(t.Context(), "nats://shatter:wrong@127.0.0.1:"+s.port, Options{})
	refused(t, err, "access refused", "shatter:xxxxx@")

	conn, err := Dial(t.Context(), "nats://shatter:secret@127.0.0.1:"+s.port, Options{})
	connection(t, conn, err)
	q := coordinate(t, conn, "sweep", 1)
	in := listen(t, conn, "w")
	must(t, q.Call(""))
	receive(t, in.Calls)
	must(t, conn.Announce("w", []byte("here")))
	receive(t, q.Announcements())
	send(t, q, "w", "1", "2")
	finish(t, conn, receive(t, in.Jobs))
	must(t, next(t, q).Ack())
	j := receive(t, in.Jobs)
	must(t, conn.HandBack(j.Lead, "w", j.ID, nil))
	receive(t, q.HandedBack())
	file, digest := someFile(t, 3*chunkSize)
	must(t, conn.PutFile(t.Context(), digest, file))
	fetched(t, conn, digest)
	must(t, q.Close(soon(t)))
	r := registry(t, conn)
	_, err = r.Submit(soon(t), "ab12", []byte("sweep"))
	must(t, err)
	must(t, r.Change(soon(t), "ab12", func([]byte) ([]byte, error) { return []byte("run"), nil }))
	leads, err := r.Lead(soon(t), "ab12", "a", time.Minute, nil)
	must(t, err)
	must(t, leads.Ship(soon(t), []byte("segments")))
	stop, err := conn.Answer("ab12", func(question []byte) []byte { return question })
	must(t, err)
	answer, err := conn.Ask(soon(t), "ab12", []byte("?"))
	if err != nil || string(answer) != "?" || string(find(t, r, "ab").Ledger) != "segments" {
		t.Errorf("answer %q, %v", answer, err)
	}
	stop()
	must(t, leads.Resign(soon(t)))
	if err := conn.nc.LastError(); err != nil {
		t.Errorf("a permission is missing: %v", err)
	}
}

func TestDialErrors(t *testing.T) {
	t.Parallel()
	start := func(conf string) string {
		path := filepath.Join(t.TempDir(), "nats.conf")
		must(t, os.WriteFile(path, []byte(conf), 0o600))
		return externalWith(t, path).url()
	}
	for _, test := range []struct {
		name, url string
		options   Options
		want      []string
	}{
		{"nobody there", "nats://127.0.0.1:1", Options{},
			[]string{"no NATS server at nats://127.0.0.1:1: connection refused", "nats-server -c", "check the URL"}},
		{"password", "nats://me:hidden@127.0.0.1:1", Options{}, []string{"me:xxxxx@127.0.0.1:1"}},
		{"token", "nats://hidden@127.0.0.1:1", Options{}, []string{"xxxxx@127.0.0.1:1"}},
		{"no host", "nats://no-such-host.invalid:4222", Options{}, []string{"no NATS server", "no-such-host.invalid"}},
		{"no URL", "nats://[::1", Options{}, []string{"nats://[::1", "check the URL"}},
		{"another service", "nats://127.0.0.1:1,http://me:hidden@127.0.0.1:2", Options{},
			[]string{"no URL of a NATS server", "it begins with http://", "nats://HOST:PORT"}},
		{"no URL with a password", "nats://me:hidden@[::1", Options{}, []string{"xxxxx@[::1"}},
		{"bad password", "nats://me:hidden/#@127.0.0.1:1,nats://127.0.0.1:1", Options{},
			[]string{"xxxxx@127.0.0.1:1", "as %XX"}},
		{"no credentials", "nats://127.0.0.1:1", Options{Credentials: "/no/such/file"}, []string{"/no/such/file"}},
		{"no JetStream", start("max_payload: 1MB"), Options{}, []string{"no JetStream", "-js"}},
		{"small messages", start("jetstream {}\nmax_payload: 512KB"), Options{},
			[]string{"max_payload is 524288 bytes, 1048576 are needed"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Dial(t.Context(), test.url, test.options)
			refused(t, err, test.want...)
			if text := err.Error(); strings.Contains(text, "hidden") {
				t.Errorf("a secret is in %s", text)
			}
		})
	}
}

func refused(t *testing.T, err error, parts ...string) {
	t.Helper()
	var connect *ConnectError
	if !errors.As(err, &connect) {
		t.Fatalf("error is %T (%v), want a ConnectError", err, err)
	}
	wants(t, err, parts...)
}
