package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/pipeline/testkit"
)

// startAttachable starts a plugin as a person does who wants to debug it, and returns the value for --attach that
// it prints and a function that ends it.
func startAttachable(t *testing.T, c *exec.Cmd) (socket string, end func()) {
	t.Helper()
	c.Env = append(os.Environ(), "SHATTER_ATTACH=1", "TMPDIR="+shortDir(t))
	stderr, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	end = func() {
		_ = c.Process.Signal(os.Interrupt)
		_ = c.Wait()
	}
	t.Cleanup(end)
	line, err := bufio.NewReader(stderr).ReadString('\n')
	_, socket, found := strings.Cut(strings.TrimSpace(line), "--attach ")
	if err != nil || !found {
		t.Fatalf("it printed %q, %v", line, err)
	}
	return socket, end
}

// shortDir returns a folder whose path leaves room for that of a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sh")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// A plugin that a person has started gives the same tables, to the bit, as one that shatter starts.
func TestAttach(t *testing.T) {
	testkit.Long(t)
	plugin := thirdparty(t)
	checkAttached(t, plugin, "third/print", exec.Command(plugin))
}

// So does one in Python, and a breakpoint in learn stops it.
func TestAttachPython(t *testing.T) {
	testkit.Long(t)
	interpreter := testkit.Python(t, "grpc, google.protobuf, numpy")
	sdk, err := filepath.Abs("../../plugins/python")
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile(filepath.Join(sdk, "testdata", "mean.py"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	write(t, "mean.py", string(script))
	useInterpreter(t, interpreter)
	if out, errs, code := shatter(t, "plugin", "build", "mean.py"); code != 0 {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	t.Setenv("PYTHONPATH", sdk)
	built, err := filepath.Abs("mean")
	if err != nil {
		t.Fatal(err)
	}
	c, said := exec.Command(interpreter, "-m", "pdb", "mean.py"), &strings.Builder{}
	c.Stdin, c.Stdout = strings.NewReader("break mean.py:21\ncontinue\nclear 1\ncontinue\n"), said
	checkAttached(t, built, "python/mean", c)
	if !strings.Contains(said.String(), "mean.py(21)learn()") {
		t.Errorf("pdb said %s", said)
	}
}

// checkAttached compares a run and a trial of an algorithm in a plugin file with those of the process that c starts.
func checkAttached(t *testing.T, plugin, algorithm string, c *exec.Cmd) {
	dir := t.TempDir()
	there, debugged, named := filepath.Join(dir, "there"), filepath.Join(dir, "debugged"), filepath.Join(dir, "named")
	if err := os.Symlink(plugin, named); err != nil {
		t.Fatal(err)
	}
	file := write(t, filepath.Join(dir, "third.yaml"), fmt.Sprintf(thirdSweep, named, algorithm, 20, 1))
	_, want, code := shatter(t, "run", file, "--out", there, "--workers", "1")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, want)
	}
	socket, end := startAttachable(t, c)
	// The process that is attached has to serve: the file that the sweep names no longer can.
	if err := os.Remove(named); err != nil {
		t.Fatal(err)
	}
	write(t, named, "#!/bin/false\n")
	if err := os.Chmod(named, 0o700); err != nil {
		t.Fatal(err)
	}
	cached := filepath.Join(dir, "cache")
	_, got, code := shatter(t, "run", file, "--out", debugged, "--attach", socket, "--cache", cached)
	if code != 0 || !strings.Contains(got, "attached to "+socket+": no limits of time and memory, no sandbox") {
		t.Fatalf("exit %d: %s", code, got)
	}
	if a, b := digest(t, want), digest(t, got); a != b {
		t.Errorf("digest %s of an ordinary run, %s of the attached process", a, b)
	}
	if _, err := os.Stat(cached); !os.IsNotExist(err) {
		t.Errorf("the cache was used: %v", err)
	}
	if facts := folder.ReadManifest(debugged).Facts; facts["attached"] != socket {
		t.Errorf("the manifest says %v", facts)
	}
	id := fmt.Sprint(table(t, there)[0]["cell"]) + "/5/3"
	if out, errs, code := shatter(t, "trial", there, id, "--attach", socket); code != 0 ||
		!strings.Contains(out, "equal to the last bit") {
		t.Errorf("trial: exit %d: %s%s", code, out, errs)
	}
	out, errs, code := shatter(t, "plugin", "test", "--attach", socket, "--run", algorithm+"/(answers|same|alone)",
		"--setting", "class=thresholds,domain=64")
	if code != 0 || !strings.Contains(out, "  same-seed-same-answers") {
		t.Errorf("plugin test: exit %d: %s%s", code, out, errs)
	}
	end()
	if _, err := os.Stat(filepath.Dir(socket)); !os.IsNotExist(err) {
		t.Errorf("the folder of the socket is left: %v", err)
	}
	_, errs, code = shatter(t, "run", file, "--out", there, "--attach", socket)
	checkRefusal(t, errs, code, "the plugin that listened there has ended; start the plugin again with SHATTER_ATTACH=1")
}

// checkRefusal checks that a command line was refused with one message.
func checkRefusal(t *testing.T, errs string, code int, says string) {
	t.Helper()
	if code != exitUsage || !strings.Contains(errs, says) || strings.Count(errs, "\n") != 1 {
		t.Errorf("exit %d, want one line with %q: %s", code, says, errs)
	}
}

// What cannot be attached to is refused with one message that names the remedy.
func TestAttachRefuses(t *testing.T) {
	t.Chdir(shortDir(t))
	const again = "start the plugin again with SHATTER_ATTACH=1"
	write(t, "file", "")
	if err := os.Mkdir("foreign", 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", "foreign/socket")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	stale, err := net.Listen("unix", "stale")
	if err != nil {
		t.Fatal(err)
	}
	stale.(*net.UnixListener).SetUnlinkOnClose(false)
	stale.Close()
	for line, says := range map[string]string{
		"none": again, "file": "it is no socket; " + again, "stale": again,
	} {
		_, errs, code := shatter(t, "plugin", "test", "--attach", line)
		checkRefusal(t, errs, code, says)
	}
	for _, path := range []string{"one", "two"} {
		write(t, path, "#!/bin/false\n")
		if err := os.Chmod(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(t, "two.yaml", fmt.Sprintf(thirdSweep, "./one, ./two", "third/plus", 5, 1))
	write(t, "none.yaml", strings.Replace(fmt.Sprintf(thirdSweep, "", "expmech/em", 5, 1), "plugins: []", "", 1))
	for _, c := range []struct{ line, sweep, says string }{
		{"foreign/socket", "two.yaml", "the sweep file names 2 plugins: say which one is attached, as in --attach "},
		{"three=foreign/socket", "two.yaml", "three\" is not among those of the sweep file: "},
		{"foreign/socket", "none.yaml", "add that of the plugin to its plugins"},
	} {
		_, errs, code := shatter(t, "run", c.sweep, "--attach", c.line)
		_, errs, _ = strings.Cut(errs, "nothing is cached\n")
		checkRefusal(t, errs, code, c.says)
	}
	_, errs, code := shatter(t, "run", "two.yaml", "--attach", "foreign/socket", "--server", "nats://127.0.0.1:1")
	_, errs, _ = strings.Cut(errs, "nothing is cached\n")
	checkRefusal(t, errs, code, "leave out --server")
	if os.Chown("foreign/socket", 12345, -1) != nil {
		t.Skip("NOT RUN: only root can give a socket to another user")
	}
	_, errs, code = shatter(t, "plugin", "test", "--attach", "foreign/socket")
	checkRefusal(t, errs, code, "it belongs to another user (number 12345): run both as the same one")
}
