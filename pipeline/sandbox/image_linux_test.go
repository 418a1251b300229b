//go:build amd64 || arm64

package sandbox

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

// output starts the content of a program's file and returns what it prints, with the layer that tells
// of its bytes.
func output(t *testing.T, p Program, img *image) (text string, bytes Layer) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p.Folder, p.Stdout, p.Stderr = t.TempDir(), w, w
	l, err := p.startImage(img)
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	layers, err := l.Layers()
	if err != nil {
		t.Error(err)
	}
	printed, err := io.ReadAll(r)
	if err != nil {
		t.Error(err)
	}
	_ = l.Cmd.Wait()
	Forget(l.Cmd.Process.Pid)
	for _, layer := range layers {
		if layer.Name == Bytes {
			bytes = layer
		}
	}
	return string(printed), bytes
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

// A script that is replaced after its digest was checked is not what runs, and is refused at the next
// start.
func TestReplacedScript(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plugin")
	const script = "#!/bin/sh\necho checked \"$0\" \"$@\"\n"
	write(t, path, script)
	digest := fmt.Sprintf("%x", sha256.Sum256([]byte(script)))
	img, err := openImage(path, digest)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, "#!/bin/sh\necho replaced\n")
	text, layer := output(t, Program{Path: path, Args: []string{"a"}}, img)
	if !strings.HasPrefix(text, "checked /proc/self/fd/") || !strings.HasSuffix(text, " a\n") || !layer.Held {
		t.Errorf("%q, %+v", text, layer)
	}
	var changed *ChangedError
	if _, err := openImage(path, digest); !errors.As(err, &changed) {
		t.Error(err)
	}
}

// A named pipe is waited for neither as a program nor as a script's interpreter.
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

// Modules beside a script in Python are found, but they are no part of what was checked; what an
// unknown interpreter opens by name is not either.
func TestScriptsBytes(t *testing.T) {
	python := testkit.Python(t, "zipfile")
	dir := t.TempDir()
	lone, main := filepath.Join(dir, "lone"), filepath.Join(dir, "many", "main.py")
	write(t, lone, "#!"+python+"\nprint('hello')\n")
	if err := os.Mkdir(filepath.Dir(main), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, main, "#!"+python+"\nimport beside\nprint(beside.hello)\n")
	write(t, filepath.Join(filepath.Dir(main), "beside.py"), "hello = 'hello'\n")
	other := filepath.Join(dir, "other")
	write(t, other, "#!/usr/bin/awk -f\nBEGIN { print \"hello\" }\n")
	for _, tt := range []struct{ path, missing string }{
		{lone, ""},
		{main, "modules beside the script, such as beside.py, are no part of its digest"},
		{other, "awk opens a script by name"},
	} {
		img, err := openImage(tt.path, "")
		if err != nil {
			t.Fatal(err)
		}
		text, layer := output(t, Program{Path: tt.path}, img)
		if text != "hello\n" || layer.Held != (tt.missing == "") || !strings.Contains(layer.How, tt.missing) {
			t.Errorf("%s: %q, %+v", tt.path, text, layer)
		}
	}
}

// A file that a program may read and not write cannot be cut either, not even where Landlock does not ask.
func TestCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "read")
	write(t, path, "text")
	restore := withoutSpaces() // its mounts are read-only
	defer restore()
	img, err := openImage(ownFile, "")
	if err != nil {
		t.Fatal(err)
	}
	p := Program{Path: ownFile, Env: []string{roleVariable + "=cut", "CUT=" + path}, Read: []string{path}}
	text, _ := output(t, p, img)
	if kept, err := os.ReadFile(path); text != "true true\n" || err != nil || string(kept) != "text" {
		t.Errorf("%q, %q, %v", text, kept, err)
	}
}
