package host

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

// TestStartMessages pins what people read when a file cannot be started as a plugin.
func TestStartMessages(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	dir := t.TempDir()
	write := func(name, content string, mode os.FileMode) Command {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return Command{Path: path}
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o700); err != nil {
		t.Fatal(err)
	}
	named := func(path string) Command { return Command{Path: path} }
	tests := []struct {
		name string
		c    Command
	}{
		{"missing", named(filepath.Join(dir, "nothing"))},
		{"unnamed", named("")},
		{"directory", named(dir)},
		{"not executable", write("notes", "#!/bin/sh\n", 0o600)},
		{"no program", write("text", "some text\n", 0o700)},
		{"no interpreter", write("script", "#!/usr/bin/nothing\n", 0o700)},
		{"a pipe as interpreter", write("piped", "#!"+pipe+"\n", 0o700)},
		{"a folder as interpreter", write("folder", "#!/usr\n", 0o700)},
		{"another program", write("hello", "#!/bin/sh\necho hello\n", 0o700)},
		{"a silent program", write("true", "#!/bin/sh\nexit 0\n", 0o700)},
		{"prints first", self("print")},
		{"prints without end", self("long")},
		{"exits", self("exit")},
		{"invalid algorithm", self("invalid")},
		{"newer", self("newer")},
		{"older", self("older")},
		{"core version", self("core")},
		{"tcp", self("tcp")},
		{"a socket of others", self("afar")},
		{"an abstract socket", self("nowhere")},
		{"net/rpc", self("netrpc")},
		{"tls", self("tls")},
		{"protocol range", self("raw", "RAW=range")},
		{"served twice", self("raw", "RAW=twice")},
		{"nothing served", self("raw", "RAW=nothing")},
		{"long socket directory", Command{Path: testBinary(), SocketDir: "/tmp/" + strings.Repeat("long", 30)}},
	}
	var got strings.Builder
	for _, tt := range tests {
		p, err := Start(t.Context(), tt.c)
		if err == nil {
			p.Stop()
			t.Errorf("%s: started", tt.name)
			continue
		}
		var start *StartError
		if !errors.As(err, &start) && tt.name != "long socket directory" {
			t.Errorf("%s: %T: %v", tt.name, err, err)
		}
		text := strings.NewReplacer(strings.Repeat("x", 200), "x*200",
			testBinary(), "/bin/plugin", dir, "/dir", "shatter-"+uid(), "shatter-UID").Replace(err.Error())
		got.WriteString("== " + tt.name + "\n" + text + "\n\n")
	}
	testkit.Golden(t, "start.txt", []byte(got.String()))
}

func uid() string { return strings.TrimPrefix(filepath.Base(mustParent()), "shatter-") }

// mustParent returns the parent of the private directories.
func mustParent() string {
	d, err := newSocketDir(os.TempDir())
	if err != nil {
		panic(err)
	}
	defer d.remove()
	return filepath.Dir(d.path)
}

func TestStartCancelled(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"silent", "stopped"} {
		ctx, cancel := context.WithCancel(t.Context())
		c := self(role)
		go cancel()
		_, err := Start(ctx, c)
		var exit *ExitError
		if !errors.As(err, &exit) || exit.Cause != Cancelled || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", role, err)
		}
	}
}

// A plugin gets only the allowed variables and the variables of its command.
func TestEnvironment(t *testing.T) {
	t.Setenv("SECRET_TOKEN", "hunter2")
	t.Setenv("LANG", "C")
	script := filepath.Join(t.TempDir(), "plugin")
	text := "#!/bin/sh\nenv >&2\necho I am $0. >&2\nls -l /proc/self/fd >&2 || true\ncat\n"
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), Command{Path: script, Env: []string{"MINE=yes"}, Threads: 3})
	var start *StartError
	if !errors.As(err, &start) {
		t.Fatal(err)
	}
	if strings.Contains(start.Stderr, "SECRET_TOKEN") {
		t.Errorf("a secret got through:\n%s", start.Stderr)
	}
	for _, want := range []string{
		"MINE=yes\n", "LANG=C\n", "GOMAXPROCS=3\n", "OPENBLAS_NUM_THREADS=3\n", "PATH=", "SHATTER_PLUGIN=",
		"I am " + script + ".",
	} {
		if !strings.Contains(start.Stderr, want) {
			t.Errorf("no %q in:\n%s", want, start.Stderr)
		}
	}
}

// The directory of a dead owner is removed, that of a living one is
// not.
func TestSocketDirs(t *testing.T) {
	base := t.TempDir()
	living, err := newSocketDir(base)
	if err != nil {
		t.Fatal(err)
	}
	dead, err := newSocketDir(base)
	if err != nil {
		t.Fatal(err)
	}
	dead.lock.Close() // as the system does it for a process that ends
	if err := os.WriteFile(filepath.Join(dead.path, "plugin1"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	third, err := newSocketDir(base)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Dir(living.path))
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if d := cmp.Diff(sorted(filepath.Base(living.path), filepath.Base(third.path)), left); d != "" {
		t.Error(d)
	}
	if info, err := os.Stat(living.path); err != nil || info.Mode().Perm() != 0o700 {
		t.Error(info.Mode(), err)
	}
	living.remove()
	third.remove()

	parent := filepath.Dir(living.path)
	if err := os.Chmod(parent, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := newSocketDir(base); err == nil || !strings.Contains(err.Error(), "0700") {
		t.Errorf("a directory that others may enter: %v", err)
	}
}

func sorted(a, b string) []string {
	if a > b {
		a, b = b, a
	}
	return []string{a, b}
}
