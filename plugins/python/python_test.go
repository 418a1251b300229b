package python_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/plugins/plugintest"
	"github.com/shatterlab/shatter/plugins/python"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// needed lists what a plugin in Python imports.
const needed = "grpc, numpy, google.protobuf"

// build packs a file for an interpreter into a program, and returns its path.
func build(t testing.TB, interpreter, path string) string {
	t.Helper()
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(source, []byte("\n"))
	name := filepath.Base(path)
	program, err := python.Build(python.File{Name: name, Text: append([]byte("#!"+interpreter+"\n"), rest...)})
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), strings.TrimSuffix(name, ".py"))
	if err := os.WriteFile(out, program, 0o700); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestAccepted runs the acceptance suite on a plugin that uses the SDK, in all tasks.
func TestAccepted(t *testing.T) {
	t.Parallel()
	line := algo.Problem{Class: "thresholds", Domain: 256, Dim: 1, Noise: "none", Realizable: true}
	settings := []plugintest.Setting{
		{Problem: line},
		{Problem: line, Task: algo.Predict, Epsilon: 8, Offline: true},
		{Problem: line, Task: algo.Online},
	}
	plugin := build(t, testkit.Python(t, needed), "testdata/tasks.py")
	results := plugintest.Test(t.Context(), host.Command{Path: plugin}, settings...)
	for _, r := range results {
		if r.Err != nil {
			t.Errorf("%s, %s, %s: %v", r.Algorithm, r.Setting, r.Check, r.Err)
		}
	}
	if len(results) < 13*len(settings) {
		t.Errorf("%d checks were done", len(results))
	}
}

// TestManyAccepted runs the acceptance suite on a plugin whose trials learn at once.
func TestManyAccepted(t *testing.T) {
	testkit.Long(t)
	setting := plugintest.Setting{
		Problem: algo.Problem{Class: "thresholds", Domain: 256, Dim: 1, Noise: "none", Realizable: true}, Epsilon: 1,
	}
	plugin := build(t, testkit.Python(t, needed), "testdata/many.py")
	for _, r := range plugintest.Test(t.Context(), host.Command{Path: plugin}, setting) {
		if r.Err != nil {
			t.Errorf("%s: %v", r.Check, r.Err)
		}
	}
}

// TestUnits runs the SDK's own tests.
func TestUnits(t *testing.T) {
	t.Parallel()
	c := exec.Command(testkit.Python(t, needed), "-m", "unittest", "-q", "tests")
	c.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestInstalls installs the package as its page says, with nothing but what is on the machine, and runs a plugin that
// finds it there.
func TestInstalls(t *testing.T) {
	testkit.Long(t)
	interpreter := testkit.Python(t, needed+", venv, setuptools, wheel")
	dir := t.TempDir()
	source, env := filepath.Join(dir, "python"), filepath.Join(dir, "env") // pip writes into the folder that it installs
	if err := os.CopyFS(source, os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	there := filepath.Join(env, "bin", "python")
	for _, args := range [][]string{
		{interpreter, "-m", "venv", "--system-site-packages", env},
		{there, "-m", "pip", "install", "--no-index", "--no-build-isolation", source},
		{there, "-c", "import importlib.resources as r, shatter; assert r.files(shatter).joinpath('py.typed').is_file()"},
	} {
		c := exec.Command(args[0], args[1:]...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	script, err := os.ReadFile(filepath.Join("testdata", "mean.py"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(script, []byte("\n"))
	plugin := filepath.Join(dir, "mean.py")
	if err := os.WriteFile(plugin, append([]byte("#!"+there+"\n"), rest...), 0o700); err != nil {
		t.Fatal(err)
	}
	p, err := host.Start(t.Context(), host.Command{Path: plugin})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	if got := p.Describe().GetAlgorithms()[0].GetName(); got != "python/mean" {
		t.Errorf("it serves %q", got)
	}
}

// TestWithout starts a plugin with a Python that has nothing installed.
func TestWithout(t *testing.T) {
	t.Parallel()
	interpreter := testkit.Python(t, needed) + " -S"
	if exec.Command("sh", "-c", interpreter+" -c 'import numpy'").Run() == nil {
		t.Skip("NOT RUN: this Python finds numpy without its site packages")
	}
	_, err := host.Start(t.Context(), host.Command{Path: build(t, interpreter, "testdata/tasks.py")})
	const needs, remedy = "a plugin in Python needs grpcio, protobuf and numpy, in /", "apt-get install python3-grpcio"
	if err == nil || !strings.Contains(err.Error(), needs) || !strings.Contains(err.Error(), remedy) {
		t.Errorf("the error is %v", err)
	}
}

// TestBuild checks that the same files give the same bytes, and that wrong names are refused.
func TestBuild(t *testing.T) {
	text := []byte("print('hello')\n")
	first, err := python.Build(python.File{Name: "a.py", Text: text}, python.File{Name: "b.py", Text: text})
	if err != nil {
		t.Fatal(err)
	}
	again, err := python.Build(python.File{Name: "a.py", Text: text}, python.File{Name: "b.py", Text: text})
	if err != nil || !bytes.Equal(first, again) {
		t.Errorf("the same files give other bytes, and the error %v", err)
	}
	if !bytes.HasPrefix(first, []byte("#!/usr/bin/env python3\nPK")) {
		t.Errorf("the program begins with %.40q", first)
	}
	for _, name := range []string{"a", "a-b.py", "../a.py", "__main__.py", "shatter.py", "b.py", "shatter"} {
		files := []python.File{{Name: name, Text: text}, {Name: "b.py", Text: text}}
		if _, err := python.Build(files...); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%q is taken, with the error %v", name, err)
		}
	}
}

// TestShowsWhereItHangs asks a process that learns without end where it is, as a host does before it ends one that
// takes too long.
func TestShowsWhereItHangs(t *testing.T) {
	t.Parallel()
	log := new(testkit.Log)
	c := host.Command{Path: build(t, testkit.Python(t, needed), "testdata/hang.py"), Output: log}
	p, err := host.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	w := &pluginv1.Setting{
		Algorithm: "python/hang", Task: pluginv1.Task_TASK_LEARN, N: 1,
		Problem: &pluginv1.Problem{Class: "thresholds", Domain: 16, Dim: 1},
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, _, err := p.Open(ctx, host.OpenRequest{Setting: w, Seeds: []uint64{1, 2}}, func(x, y []float64) {
			x[0], y[0] = 1, 1
		})
		ended <- err
	}()
	for !strings.Contains(log.String(), "in learn") {
		select {
		case err := <-ended:
			t.Fatalf("it did not hang: %v\n%s", err, log.String())
		case <-time.After(50 * time.Millisecond):
		}
		if err := syscall.Kill(p.Pid(), syscall.SIGQUIT); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(log.String(), "hang.py\", line 10 in learn") {
		t.Errorf("it does not name the line:\n%s", log.String())
	}
}
