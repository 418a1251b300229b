package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/shatterlab/shatter/pipeline/disk"
)

// maxSocketPath is the longest path that a socket can have on this system.
const maxSocketPath = len(syscall.RawSockaddrUnix{}.Path) - 1

// socketDir is a directory for one plugin's socket, private to the user. It is locked as long as
// its owner lives. Directories whose owner died are removed when the next one is made.
type socketDir struct {
	path string
	lock *os.File // the directory itself, open and locked
}

// newSocketDir makes a directory below base.
func newSocketDir(base string) (*socketDir, error) {
	parent, err := filepath.Abs(filepath.Join(base, fmt.Sprintf("shatter-%d", os.Getuid())))
	if err != nil {
		return nil, err
	}
	// MkdirTemp and the plugin each add a random number of at most ten digits.
	if need := len(parent) + len("/p4294967295/plugin4294967295"); need > maxSocketPath {
		return nil, fmt.Errorf("the directory for sockets, %q, is too long: "+
			"a socket in it would have a path of %d bytes, and this system allows %d; "+
			"choose a shorter temporary directory (TMPDIR)", parent, need, maxSocketPath)
	}
	if err := os.MkdirAll(base, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory for sockets: %w", err)
	}
	if err := os.Mkdir(parent, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make the directory for sockets: %w", err)
	}
	if err := checkPrivate(parent); err != nil {
		return nil, err
	}
	guard, err := lockDir(parent, waitForLock) // held while directories come and go
	if err != nil {
		return nil, err
	}
	defer guard.Close()
	sweep(parent)
	d := &socketDir{}
	if d.path, err = os.MkdirTemp(parent, "p"); err != nil {
		return nil, fmt.Errorf("make the directory for sockets: %w", err)
	}
	if d.lock, err = lockDir(d.path, disk.TryLock); err != nil {
		_ = os.Remove(d.path)
		return nil, err
	}
	return d, nil
}

// checkPrivate returns an error about a directory of another user, or that other users may enter.
func checkPrivate(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("look at the directory for sockets: %w", err)
	}
	if !info.IsDir() || !disk.IsOwn(info, 0o077) {
		return fmt.Errorf("the directory for sockets, %q, must be a directory of this user that nobody else may enter "+
			"(mode 0700); remove it", dir)
	}
	return nil
}

// waitForLock waits for a lock without a limit. Other processes hold the parent's lock while they make and remove a few
// directories.
func waitForLock(f *os.File, kind disk.Kind) error { return disk.Lock(context.Background(), f, kind) }

// lockDir opens a directory and locks it. The lock ends when the file is closed.
func lockDir(dir string, lock func(*os.File, disk.Kind) error) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("lock the directory for sockets: %w", err)
	}
	if err := lock(f, disk.Exclusive); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock the directory for sockets: %w", err)
	}
	return f, nil
}

// sweep removes the directories of dead owners.
func sweep(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, e := range entries {
		dir := filepath.Join(parent, e.Name())
		if lock, err := lockDir(dir, disk.TryLock); err == nil {
			_ = os.RemoveAll(dir)
			lock.Close()
		}
	}
}

// holds reports whether the directory holds a socket with a path. An abstract socket has none.
func (d *socketDir) holds(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && filepath.Dir(path) == d.path && info.Mode().Type() == fs.ModeSocket
}

func (d *socketDir) remove() {
	_ = os.RemoveAll(d.path)
	d.lock.Close()
}
