package authority

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/pipeline/testkit"
)

// Only the owner can read the contents of a cluster's folder.
func TestPrivate(t *testing.T) {
	c := create(t)
	_, err := c.Issue("w1", FirstTeam, queue.Worker, 0)
	must(t, err)
	must(t, filepath.WalkDir(c.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	}))
}

// Impossible requests are refused and leave no files.
func TestRefusals(t *testing.T) {
	used, dir := create(t), t.TempDir()
	one := Options{Hosts: []string{"localhost"}}
	_, err := used.Issue("w1", FirstTeam, queue.Worker, 0)
	must(t, err)
	create := func(dir string, o Options) error { _, err := Create(dir, o); return err }
	issue := func(name string) error { _, err := used.Issue(name, FirstTeam, queue.Worker, 0); return err }
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"folder in use", create(used.Dir, one), "holds something already (ca.pem)"},
		{"a file", create(used.path(caFile), one), "choose another folder"},
		{"two servers", create(dir, Options{Hosts: []string{"a", "b"}}), "2 servers: one is needed, or at least three"},
		{"twice", create(dir, Options{Hosts: []string{"a", "b", "a"}}), `"a" is given twice`},
		{"port", create(dir, Options{Hosts: []string{"a/b"}}), "without a port"},
		{"no cluster", func() error { _, err := Open(t.Context(), dir); return err }(), "is no folder of a cluster"},
		{"name in use", issue("w1"), "has been issued to a worker"},
		{"no name", issue("w.1"), `name "w.1"`},
		{"template", issue("{{name()}}"), "letters, digits"},
		{"renew nobody", func() error { _, err := used.Renew("w2", 0); return err }(), "has no credentials"},
		{"revoke nobody", used.Revoke("w2"), "coordinator, submitter, w1"},
	} {
		var input *InputError
		if !errors.As(tt.err, &input) || !strings.Contains(tt.err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.name, tt.err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// Credentials can be revoked even if a server's folder was moved to its machine.
func TestRevokeWithoutServerFolder(t *testing.T) {
	c := create(t)
	must(t, os.RemoveAll(c.ServerDir(c.Hosts[0])))
	must(t, c.Revoke("submitter"))
	must(t, func() error { _, err := os.Stat(filepath.Join(c.ServerDir(c.Hosts[0]), confFile)); return err }())
}

// A keys file that is truncated or of another version is refused.
func TestDamagedKeys(t *testing.T) {
	c := create(t)
	whole := testkit.ReadFile(t, c.path(keysFile))
	for _, text := range []string{whole[:len(whole)/2], "{}"} {
		must(t, os.WriteFile(c.path(keysFile), []byte(text), 0o600))
		var input *InputError
		if _, err := Open(t.Context(), c.Dir); !errors.As(err, &input) || input.Fault != Damaged {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

// A server that has read its configuration again refuses revoked credentials and disconnects their
// holder; other credentials remain valid.
func TestRevoke(t *testing.T) {
	c := create(t)
	for _, name := range []string{"bad", "good"} {
		_, err := c.Issue(name, FirstTeam, queue.Worker, 0)
		must(t, err)
	}
	s := serve(t, c)
	copied := filepath.Join(t.TempDir(), "bad.creds")
	text, err := os.ReadFile(c.Credentials("bad"))
	must(t, err)
	must(t, os.WriteFile(copied, text, 0o600))
	options := queue.Options{Credentials: copied, TLS: queue.TLS{CA: c.path(caFile)}}
	conn, err := queue.Dial(t.Context(), s.ClientURL(), options)
	must(t, err)
	defer conn.Close()
	good := dial(t, c, s, "good")
	opened, err := Open(t.Context(), c.Dir)
	must(t, err)
	must(t, opened.Revoke("bad"))
	opened.Close()
	reload(t, c, s)
	_, err = queue.Dial(t.Context(), s.ClientURL(), options)
	if err == nil || !strings.Contains(err.Error(), "or has revoked it") {
		t.Errorf("a new connection: %v", err)
	}
	side, err := good.Puller("good")
	must(t, err)
	_, stop, err := side.Offers()
	must(t, err)
	stop()
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	side, err = conn.Puller("bad")
	must(t, err)
	err = side.Publish(short, queue.Part{Term: queue.Term{Sweep: "s", Epoch: 1}, Job: "j", Of: 1}, nil)
	// The first error is about the revocation; at later attempts the server reports unknown
	// credentials.
	if err == nil || !strings.Contains(err.Error(), "revoked") {
		t.Errorf("who is connected: %v", err)
	}
}
