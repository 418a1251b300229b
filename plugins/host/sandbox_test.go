package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shatterlab/shatter/pipeline/sandbox"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// A plugin that has changed since it was looked at is not started.
func TestChanged(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "plugin")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := NewCatalog(self("plugin"), file)
	defer c.Close()
	if _, err := c.Digest(file); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("#!/bin/false\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := c.Ask(t.Context(), file, nil)
	var start *StartError
	if !errors.As(err, &start) || !strings.Contains(err.Error(), "has changed since it was looked at (sha256 ") {
		t.Error(err)
	}
}

// A plugin that needs what the sandbox does not let it read names the remedy.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	testkit.Serial(t)
	file := filepath.Join(t.TempDir(), "plugin")
	script := "#!/bin/sh\nexec env " + roleVariable + "=raw " + testBinary() + "\n"
	if err := os.WriteFile(file, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), Command{Path: file})
	if err == nil || !strings.Contains(err.Error(), "add --sandbox-read "+testBinary()+" to let") {
		t.Error(err)
	}
	start(t, Command{Path: file, Sandbox: sandbox.Policy{Read: []string{testBinary()}}})
	start(t, Command{Path: file, Sandbox: sandbox.Policy{Mode: sandbox.Off}})
}

// The last words of a plugin that lacks something lead to the remedy.
func TestHints(t *testing.T) {
	t.Parallel()
	testkit.Serial(t)
	for words, hint := range map[string]string{
		"File \"<frozen os>\", line 679, in __getitem__\nKeyError: 'LICENSE'": "add --plugin-env LICENSE to give",
		"PermissionError: [Errno 13] Permission denied: '/srv/cache'":         "may write to $TMPDIR (HOME) only",
		"OSError: [Errno 30] Read-only file system: 'model.bin'":              "may write to $TMPDIR (HOME) only",
		"_multiprocessing.SemLock(\nPermissionError: Permission denied":       "Semaphores need a /dev/shm",
		"KeyError: 'column'": "",
	} {
		file := filepath.Join(t.TempDir(), "plugin")
		if err := os.WriteFile(file, []byte("#!/bin/sh\ncat >&2 <<'.'\n"+words+"\n.\nexit 1\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		_, err := Start(t.Context(), Command{Path: file})
		_, got, _ := strings.Cut(fmt.Sprint(err), words[len(words)-9:])
		if !strings.Contains(got, hint) || hint == "" && len(got) > 1 {
			t.Errorf("%q: %q", words, got)
		}
	}
}

// A plugin writes to its own HOME and /dev/shm, gets the named variables, and is ended if it does not get ready.
func TestSurroundings(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "plugin")
	script := `#!/bin/sh
mkdir -p $HOME/.cache && echo $TOKEN > $HOME/.cache/token
cp $HOME/.cache/token /dev/shm/token
cat $HOME/.cache/token /dev/shm/token >&2
sleep 100
`
	if err := os.WriteFile(file, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	c := Command{Path: file, Start: 4 * time.Second, Sandbox: sandbox.Policy{Env: []string{"TOKEN=a token"}}}
	_, err := Start(t.Context(), c)
	layers, probed := sandbox.Probe(c.Sandbox)
	want := 2 // one in HOME, one in /dev/shm
	if !slices.ContainsFunc(layers, func(l sandbox.Layer) bool { return l.Name == sandbox.Mounts && l.Held }) {
		want = 1
	}
	if err == nil || probed != nil || !strings.Contains(err.Error(), "it was not ready within 4s; raise limits.start") ||
		strings.Count(err.Error(), "a token") != want {
		t.Error(err, probed)
	}
}

// A question about a setting takes no longer than a trial may, or a few seconds.
func TestCheckHangs(t *testing.T) {
	t.Parallel()
	testkit.Serial(t)
	c := self("plugin")
	c.Trial = time.Second
	p := start(t, c)
	s := request("test/behaving", 1, 1, 1, map[string]any{"do": "check hangs"}).Setting
	_, err := p.Ask(t.Context(), []*pluginv1.Setting{s, s, s})
	var exit *ExitError
	if !errors.As(err, &exit) || exit.Cause != Time || !strings.Contains(exit.Detail, "it took longer than 5s") {
		t.Error(err)
	}
}
