package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

func openLock(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestTryLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	a, b, c := openLock(t, path), openLock(t, path), openLock(t, path)
	if err := errors.Join(TryLock(a, Shared), TryLock(b, Shared)); err != nil {
		t.Error("shared:", err)
	}
	if err := TryLock(c, Exclusive); !errors.Is(err, ErrLocked) {
		t.Error("exclusive beside shared:", err)
	}
	a.Close()
	b.Close()
	if err := TryLock(c, Exclusive); err != nil {
		t.Error("exclusive alone:", err)
	}
	if err := TryLock(openLock(t, path), Shared); !errors.Is(err, ErrLocked) {
		t.Error("shared beside exclusive:", err)
	}
	c.Close()
	if err := TryLock(c, Exclusive); err == nil || errors.Is(err, ErrLocked) {
		t.Error("a closed file:", err)
	}
}

// Lock waits for the holder, or for the end of its context.
func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	synctest.Test(t, func(t *testing.T) {
		holder, waiter := openLock(t, path), openLock(t, path)
		if err := Lock(t.Context(), holder, Exclusive); err != nil {
			t.Fatal(err)
		}
		tired := errors.New("tired")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 10*lockInterval, tired)
		defer cancel()
		if err := Lock(ctx, waiter, Exclusive); !errors.Is(err, tired) {
			t.Error("held:", err)
		}
		got := make(chan error)
		go func() { got <- Lock(t.Context(), waiter, Exclusive) }()
		synctest.Wait()
		holder.Close()
		if err := <-got; err != nil {
			t.Error("given back:", err)
		}
	})
}

// A file that is written to must be regular; files that another user put in its place are
// rejected.
func TestWritesRegularFiles(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	err := errors.Join(
		os.WriteFile(path("other"), []byte("other"), 0o600),
		os.Symlink("other", path("link")), os.Symlink("other", path("file.new")), os.Link(path("other"), path("twin.new")),
		syscall.Mkfifo(path("pipe"), 0o600), syscall.Mkfifo(path("piped.new"), 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"link": "a symbolic link", "pipe": "a named pipe", ".": "is a directory"} {
		f, err := OpenFile(path(name), os.O_RDWR|os.O_CREATE, 0o600)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("opened %s: %v, %v, want %q", name, f, err, want)
		}
	}
	for _, name := range []string{"file", "twin", "piped", "link"} {
		if err := WriteFile(path(name), Bytes([]byte("new"))); err != nil || testkit.ReadFile(t, path(name)) != "new" {
			t.Errorf("%s: %v, %q", name, err, testkit.ReadFile(t, path(name)))
		}
	}
	if text := testkit.ReadFile(t, path("other")); text != "other" {
		t.Errorf("another file was changed: %q", text)
	}
	if err := WriteFile(path("pipe"), Bytes(nil)); err == nil || !strings.Contains(err.Error(), "it is a named pipe") {
		t.Errorf("a pipe was replaced: %v", err)
	}
	if left, _ := Glob(dir, "*.new"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := WriteFile(path, Bytes([]byte("one"))); err != nil {
		t.Fatal(err)
	}
	failed := errors.New("failed")
	err := WriteFile(path, func(w io.Writer) error {
		_, err := io.WriteString(w, "tw")
		return errors.Join(err, failed)
	})
	if !errors.Is(err, failed) || testkit.ReadFile(t, path) != "one" {
		t.Errorf("after a failure: %v, %q", err, testkit.ReadFile(t, path))
	}
	if err := WriteStaged(path, Bytes([]byte("two"))); err != nil || testkit.ReadFile(t, path) != "one" {
		t.Errorf("written beside: %v, %q", err, testkit.ReadFile(t, path))
	}
	if err := Replace(path); err != nil || testkit.ReadFile(t, path) != "two" {
		t.Errorf("replaced: %v, %q", err, testkit.ReadFile(t, path))
	}
	if err := WriteStaged(path, Bytes(nil)); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := RemoveStaged(path); err != nil {
			t.Error(err)
		}
	}
	if names, err := Glob(dir, "*"); err != nil || !slices.Equal(names, []string{path}) {
		t.Errorf("%v, %v", names, err)
	}
	if err := SyncDir(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestGlob(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run[1]*?")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	path := openLock(t, filepath.Join(dir, "a.log")).Name()
	if got, err := Glob(dir, "*.log"); err != nil || !slices.Equal(got, []string{path}) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := Glob(filepath.Join(dir, "none"), "*"); got != nil || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}

func TestIsFull(t *testing.T) {
	full := fmt.Errorf("write: %w", &os.PathError{Op: "write", Path: "f", Err: syscall.ENOSPC})
	if !IsFull(full) || !IsFull(syscall.EDQUOT) || IsFull(syscall.EIO) || IsFull(nil) {
		t.Error("IsFull is wrong")
	}
}

// Files that are not regular, or too large, are rejected at once.
func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	err := errors.Join(
		os.WriteFile(path("file"), []byte("12345"), 0o600),
		os.WriteFile(path("sparse"), nil, 0o600), os.Truncate(path("sparse"), 1<<40),
		syscall.Mkfifo(path("pipe"), 0o600),
		os.Symlink("/dev/zero", path("zero")), os.Symlink("file", path("link")),
	)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", path("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, tt := range []struct {
		name string
		most int64
		want string // required substring of the error; empty: no error
	}{
		{"file", 5, ""},
		{"link", 5, ""},
		{"file", 4, "it has 5 bytes, more than 4"},
		{"sparse", 1 << 20, "more than 1048576"},
		{"zero", 1 << 20, "it is a device"},
		{"pipe", 1 << 20, "it is a named pipe"},
		{"socket", 1 << 20, "socket"},
		{".", 1 << 20, "it is a folder"},
		{"none", 1 << 20, "no such file"},
	} {
		text, err := ReadFile(path(tt.name), tt.most)
		switch {
		case tt.want == "" && (err != nil || string(text) != "12345"):
			t.Errorf("%s: %q, %v", tt.name, text, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}
