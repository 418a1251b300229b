package host

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shatterlab/shatter/pipeline/sandbox"
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

// A question about a setting takes no longer than a trial may, or a few seconds.
func TestCheckHangs(t *testing.T) {
	t.Parallel()
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
