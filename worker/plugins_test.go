package worker

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"

	"github.com/shatterlab/shatter/pipeline/fleet"
	"github.com/shatterlab/shatter/pipeline/pluginfile"
	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/pipeline/queue/queuetest"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/plugins/host"
)

// dial returns a connection to a separate server.
func dial(t *testing.T) *queue.Conn {
	t.Helper()
	s := queuetest.Serve(t, &server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true,
	})
	conn, err := queue.Dial(t.Context(), s.ClientURL(), queue.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// put writes a file, puts it on the server and returns its digest.
func put(t *testing.T, conn *queue.Conn, text string) (digest string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	digest = fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
	if _, err := conn.Files.Put(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	return digest
}

// pluginNeed returns the demand for a third party's plugin.
func pluginNeed(digest string) fleet.Need {
	return (&trial.Cell{Plugin: "/there/acme"}).Need(digest)
}

const script = "#!/bin/sh\nexit 7\n"

// A plugin is fetched once even if several slots request it, has only read and execute permission,
// and is fetched again when its copy has changed, before or after this worker began.
func TestFetchesPlugins(t *testing.T) {
	t.Parallel()
	conn, cache := dial(t), t.TempDir()
	digest := put(t, conn, script)
	copied := filepath.Join(cache, "plugins", digest)
	damage := func() {
		t.Helper()
		if err := errors.Join(os.Remove(copied), os.WriteFile(copied, []byte("#!/bin/sh\nexit 8\n"), 0o500)); err != nil {
			t.Fatal(err)
		}
	}
	for _, allow := range []string{AllowAny, digest} {
		ps := newPlugins(t.Context(), Config{Conn: conn, Cache: cache, Allow: []string{"x", allow}})
		var opened atomic.Int64
		path := ps.path
		ps.path = func(digest string) (string, error) {
			opened.Add(1)
			return path(digest)
		}
		get := func(want int64) {
			t.Helper()
			opened.Store(0)
			var slots sync.WaitGroup
			for range 8 {
				slots.Go(func() {
					if c, err := ps.get(t.Context(), pluginNeed(digest)); err != nil || c.Path != copied {
						t.Errorf("%+v, %v", c, err)
					}
				})
			}
			slots.Wait()
			if got, err := os.ReadFile(copied); err != nil || string(got) != script || opened.Load() != want {
				t.Errorf("opened %d times, want %d: %q, %v", opened.Load(), want, got, err)
			}
		}
		if len(ps.available()) != 0 {
			t.Errorf("%v is here before it was fetched", ps.available())
		}
		get(1) // the second round starts with a damaged copy
		get(0)
		damage()
		get(1)
		if err := os.Remove(copied); err != nil {
			t.Fatal(err)
		}
		get(1)
		if info, err := os.Stat(copied); err != nil || info.Mode() != 0o500 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
		if d := cmp.Diff([]string{digest}, ps.available()); d != "" {
			t.Error(d)
		}
		damage()
	}
}

// For a set of plugin files, only the file for this machine is fetched.
func TestFetchesSets(t *testing.T) {
	t.Parallel()
	conn, cache, other := dial(t), t.TempDir(), strings.Repeat("0", 64)
	mine := put(t, conn, script)
	arch := map[string]string{"amd64": "arm64", "arm64": "amd64"}[runtime.GOARCH]
	lines := []string{runtime.GOOS + "/amd64 " + mine, runtime.GOOS + "/arm64 " + other}
	if arch == "amd64" {
		lines = []string{runtime.GOOS + "/amd64 " + other, runtime.GOOS + "/arm64 " + mine}
	}
	const head = "shatter plugin set 1\n"
	set := put(t, conn, head+strings.Join(lines, "\n")+"\n")
	ps := newPlugins(t.Context(), Config{Conn: conn, Cache: cache, Allow: []string{set}})
	if c, err := ps.get(t.Context(), pluginNeed(set)); err != nil || c.Path != filepath.Join(cache, "plugins", mine) {
		t.Errorf("%+v, %v", c, err)
	}
	if d := cmp.Diff([]string{set}, ps.available()); d != "" {
		t.Error(d)
	}
	ps.allow = []string{AllowAny}
	const elf = "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xf3\x00\x01\x00\x00\x00"
	for text, want := range map[string]string{
		head + runtime.GOOS + "/" + arch + " " + other + "\n": "it has files for " + runtime.GOOS + "/" + arch +
			", and this machine is " + pluginfile.Here,
		elf + strings.Repeat("\x00", 40): "it has files for linux/EM_RISCV, and this machine is ",
		head:                             "is empty",
		head + "mine\n":                  `the line "mine" is wrong`,
	} {
		digest := put(t, conn, text)
		_, err := ps.get(t.Context(), pluginNeed(digest))
		lasting := strings.Contains(want, "machine")
		var e *PluginError
		if !errors.As(err, &e) || e.Permanent != lasting || !strings.Contains(err.Error(), want) ||
			lasting && !strings.Contains(err.Error(), "start a worker on a machine that it is for") {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
		again := ps.unavailable(pluginNeed(digest))
		if (again != nil) != lasting {
			t.Errorf("%q: %v, then %v", text, err, again)
		}
	}
}

// A missing plugin that may not be fetched is refused with the remedy, without a request to the
// server.
func TestRefusesPlugins(t *testing.T) {
	t.Parallel()
	digest := strings.Repeat("ab", 32)
	builtin := (&trial.Cell{Algorithm: "baseline/erm"}).Need(digest)
	given := map[string]host.Command{"given": {Path: "/here"}}
	for name, test := range map[string]struct {
		config Config
		need   fleet.Need
		want   string
	}{
		"given": {Config{}, pluginNeed("given"), ""},
		"not allowed": {
			Config{Cache: "/c", Allow: []string{"x"}}, pluginNeed(digest), "--allow-plugins " + digest,
		},
		"built in": {Config{Cache: "/c", Allow: []string{AllowAny}}, builtin, "the built-in baseline/erm"},
		"no cache": {
			Config{Allow: []string{AllowAny}}, pluginNeed(digest), "plugin /there/acme (sha256 abab",
		},
	} {
		test.config.Plugins, test.config.Conn = given, new(queue.Conn)
		ps := newPlugins(t.Context(), test.config)
		_, err := ps.get(t.Context(), test.need)
		var e *PluginError
		if errors.As(err, &e) != (test.want != "") || e != nil && !(e.Permanent && strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
}

// A plugin that is not on the server is refused, and fetched later. A slot that is stopped while it waits returns.
func TestMissingPlugin(t *testing.T) {
	t.Parallel()
	conn := dial(t)
	ps := newPlugins(t.Context(), Config{Conn: conn, Cache: t.TempDir(), Allow: []string{AllowAny}})
	digest := fmt.Sprintf("%x", sha256.Sum256([]byte(script)))
	_, err := ps.get(t.Context(), pluginNeed(digest))
	var e *PluginError
	if !errors.As(err, &e) || e.Permanent || !strings.Contains(err.Error(), "not on the server") {
		t.Errorf("%v", err)
	}
	path, goOn := ps.path, make(chan struct{})
	ps.path = func(digest string) (string, error) {
		<-goOn
		return path(digest)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := ps.get(stopped, pluginNeed(digest)); !errors.Is(err, context.Canceled) {
		t.Errorf("a slot that waits: %v", err)
	}
	put(t, conn, script)
	close(goOn)
	if _, err := ps.get(t.Context(), pluginNeed(digest)); err != nil {
		t.Error(err)
	}
}
