//go:build amd64 || arm64

package sandbox

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

// cutVariable names a file that this binary tries to truncate instead of running tests.
const cutVariable = "SANDBOX_TEST_CUT"

func TestMain(m *testing.M) {
	if path := os.Getenv(cutVariable); path != "" {
		f, err := os.OpenFile(path, os.O_RDONLY|os.O_TRUNC, 0)
		fmt.Println(f == nil && errors.Is(err, fs.ErrPermission), errors.Is(os.Truncate(path, 0), fs.ErrPermission))
		return
	}
	os.Exit(m.Run())
}

// output starts the content of a program's file on a machine and returns its output.
func output(t *testing.T, m *machine, p Program, img *image) string {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p.Folder, p.Stdout, p.Stderr = t.TempDir(), w, w
	l, err := m.start(p, img)
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	printed, err := io.ReadAll(r)
	if err != nil {
		t.Error(err)
	}
	_ = l.Cmd.Wait()
	l.Release()
	return string(printed)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

// A script that is replaced after its digest was checked does not run, and the next start rejects
// it. Its interpreter opens the copy, and finds no module in the folder of the script.
func TestReplacedScript(t *testing.T) {
	m, err := thisMachine()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "plugin")
	for _, c := range []struct{ script, prints string }{
		{"#!/bin/sh\necho checked \"$0\" \"$@\"\n", "checked /proc/self/fd/"},
		{"#!/usr/bin/awk -f\nBEGIN { print \"checked\" }\n", "checked\n"},
		{"#!" + testkit.Python(t, "zipfile") + "\nprint('checked')\nimport beside\n", "checked\n"},
	} {
		write(t, path, c.script)
		write(t, filepath.Join(filepath.Dir(path), "beside.py"), "print('a module that was not hashed')")
		digest := fmt.Sprintf("%x", sha256.Sum256([]byte(c.script)))
		img, err := openImage(path, digest)
		if err != nil {
			t.Fatal(err)
		}
		write(t, path, "#!/bin/sh\necho replaced\n")
		text := output(t, m, Program{Path: path, Args: []string{"a"}}, img)
		if !strings.HasPrefix(text, c.prints) || strings.Contains(text, "not hashed") {
			t.Errorf("%q", text)
		}
		var changed *ChangedError
		if _, err := openImage(path, digest); !errors.As(err, &changed) {
			t.Error(err)
		}
	}
}

// A named pipe does not block a start, as a program or as a script's interpreter.
func TestPipes(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o700); err != nil {
		t.Fatal(err)
	}
	if words := FirstLine(pipe); words != nil {
		t.Errorf("its first line is %q", words)
	}
	if _, err := seal(pipe); err == nil || !strings.Contains(err.Error(), "it is a named pipe") {
		t.Errorf("sealed: %v", err)
	}
}

// A program cannot truncate a file that it may only read, even if Landlock does not check
// truncation.
func TestCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "read")
	write(t, path, "text")
	m, err := thisMachine()
	if err != nil {
		t.Fatal(err)
	}
	p := Program{Path: ownFile, Env: []string{cutVariable + "=" + path}}
	p.Policy.Read = []string{path}
	text := output(t, m, p, &image{own: true})
	if kept, err := os.ReadFile(path); text != "true true\n" || err != nil || string(kept) != "text" {
		t.Errorf("%q, %q, %v", text, kept, err)
	}
}

// If a layer that holds on this machine fails at a start, the start returns an error and the
// program does not run.
func TestWeakerStart(t *testing.T) {
	m, err := probe(0)
	if err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	m.layers = append(m.layers, Layer{Name: Processes, Held: true})
	_, err = m.start(Program{Path: ownFile}, &image{own: true})
	if err == nil || !strings.HasPrefix(err.Error(), "enter the sandbox: processes: the kernel refuses a pid namespace") {
		t.Error(err)
	}
}
