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

// Names that a plugin gives are short and printable: they become columns, and people read them.
func TestNames(t *testing.T) {
	for _, bad := range []string{"", "a\x1b[2Jb", "a\u202eb", "a\xff", "a\nb", strings.Repeat("a", longestName+1)} {
		algorithm := func() *pluginv1.Algorithm {
			return &pluginv1.Algorithm{
				Name: "a/b", Version: "1", Tasks: []pluginv1.Task{pluginv1.Task_TASK_LEARN},
				Parameters: []*pluginv1.Parameter{{
					Name: "x", Default: &pluginv1.Value{Kind: &pluginv1.Value_Int{Int: 1}},
				}},
			}
		}
		name, version, parameter := algorithm(), algorithm(), algorithm()
		name.Name, version.Version, parameter.Parameters[0].Name = bad, bad, bad
		for _, a := range []*pluginv1.Algorithm{name, version, parameter} {
			got := checkDescription(&pluginv1.DescribeResponse{
				ProtocolMin: 1, ProtocolMax: pluginv1.Version, Algorithms: []*pluginv1.Algorithm{a},
			})
			if got == "" || len(got) > 500 || strings.ContainsAny(got, "\x1b\u202e\n") {
				t.Errorf("%q: %q", bad, got)
			}
		}
		if got := checkDescription(&pluginv1.DescribeResponse{
			ProtocolMin: 1, ProtocolMax: pluginv1.Version, Algorithms: []*pluginv1.Algorithm{algorithm()},
		}); got != "" {
			t.Error(got)
		}
	}
}

func TestMetrics(t *testing.T) {
	for _, tt := range []struct{ names, reason string }{
		{"error cell m", ""},
		{"error cell m m", `metric "m" is declared twice`},
		{"m M", `metric "M" is declared twice`},
		{"m ", `"" is no name of a metric`},
		{"a\nb", `"a\nb" is no name of a metric`},
		{"a\u202eb", "is no name of a metric"},
		{strings.Repeat("m", 101), "is no name of a metric"},
		{"0 1 2 3 4 5 6 7 8 9 a b c d e f", ""},
		{"0 1 2 3 4 5 6 7 8 9 a b c d e f g", "17 metrics: at most 16 are possible"},
	} {
		a := &pluginv1.Algorithm{Name: "a/b", Version: "1", Tasks: []pluginv1.Task{pluginv1.Task_TASK_LEARN}}
		for _, name := range strings.Split(tt.names, " ") {
			a.Metrics = append(a.Metrics, &pluginv1.Metric{Name: name})
		}
		d := &pluginv1.DescribeResponse{
			ProtocolMin: 1, ProtocolMax: pluginv1.Version, Algorithms: []*pluginv1.Algorithm{a},
		}
		if got := checkDescription(d); tt.reason == "" && got != "" || !strings.Contains(got, tt.reason) {
			t.Errorf("%q: %q", tt.names, got)
		}
	}
}
