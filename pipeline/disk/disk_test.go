package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

func open(t *testing.T, path string) *os.File {
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
	a, b, c := open(t, path), open(t, path), open(t, path)
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
	if err := TryLock(open(t, path), Shared); !errors.Is(err, ErrLocked) {
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
		holder, waiter := open(t, path), open(t, path)
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
	if err := WriteBeside(path, Bytes([]byte("two"))); err != nil || testkit.ReadFile(t, path) != "one" {
		t.Errorf("written beside: %v, %q", err, testkit.ReadFile(t, path))
	}
	if err := Replace(path); err != nil || testkit.ReadFile(t, path) != "two" {
		t.Errorf("replaced: %v, %q", err, testkit.ReadFile(t, path))
	}
	if err := WriteBeside(path, Bytes(nil)); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := RemoveBeside(path); err != nil {
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
	path := open(t, filepath.Join(dir, "a.log")).Name()
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
