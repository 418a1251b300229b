package queue

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPermissions checks that the permissions which the shipped configuration proposes are
// sufficient, and required for access.
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
	offers, end, err := puller(t, conn).Offers()
	must(t, err)
	defer end()
	must(t, q.Offer([]byte("work")))
	receive(t, offers)
	must(t, puller(t, conn).Beat([]byte("here")))
	receive(t, q.Heartbeats)
	publish(t, q, "1")
	finish(t, conn, lease(t, conn, "sweep", 1)[0])
	must(t, q.DeleteResults(soon(t), next(t, q).Sequence))
	file, digest := someFile(t, 3*chunkSize)
	must(t, put(t.Context(), conn, digest, file))
	fetched(t, conn, digest)
	must(t, q.Close(soon(t)))
	r := registry(t, conn)
	_, err = r.Submit(soon(t), "ab12", []byte("sweep"))
	must(t, err)
	must(t, r.Change(soon(t), "ab12", func([]byte) ([]byte, error) { return []byte("run"), nil }))
	leads, err := r.AcquireLease(soon(t), "ab12", "a", time.Minute, nil)
	must(t, err)
	must(t, leads.Ship(soon(t), []byte("segments")))
	stop, err := conn.Respond("ab12", func(question []byte) []byte { return question })
	must(t, err)
	answer, err := conn.RequestLeader(soon(t), "ab12", []byte("?"))
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
		{"another service", "nats://127.0.0.1:1,http://me:hidden@127.0.0.1:2", Options{}, []string{"check the URL"}},
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
