// Package disk holds what several rooms need of the file system beyond package os: files that are
// replaced whole or not at all, files named by others, locks between processes, and errors of a disk
// that is full.
//
// It promises that a file written by WriteFile is, after a crash or a power cut at any moment, the
// old one or the new one, and that a lock ends with the process that holds it, however that ends.
// It needs a local disk: network file systems keep neither promise.
package disk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Kind says who may hold a lock at the same time.
type Kind int

// The kinds of locks.
const (
	Exclusive Kind = unix.LOCK_EX // one holder, and no shared ones
	Shared    Kind = unix.LOCK_SH // any number of shared holders
)

// ErrLocked is in the chain of an error that says that another holder has the lock.
var ErrLocked = errors.New("another holder has the lock")

// TryLock takes the lock of an open file, which may be a folder, without waiting. The lock ends
// when f is closed, and with the process. The error has ErrLocked in its chain where another open
// file, of this process or another one, holds it.
func TryLock(f *os.File, kind Kind) error {
	for {
		err := unix.Flock(int(f.Fd()), int(kind)|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EWOULDBLOCK):
			return fmt.Errorf("lock %q: %w", f.Name(), ErrLocked)
		case !errors.Is(err, unix.EINTR):
			return fmt.Errorf("lock %q: %w", f.Name(), err)
		}
	}
}

// lockInterval is the time between two attempts of Lock.
const lockInterval = 20 * time.Millisecond

// Lock takes the lock like TryLock, but waits until it is free. It returns the cause of ctx's end
// if that comes first.
func Lock(ctx context.Context, f *os.File, kind Kind) error {
	for {
		err := TryLock(f, kind)
		if !errors.Is(err, ErrLocked) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(lockInterval):
		}
	}
}

// Open opens a file that a person or a plugin has named, for reading. It refuses what is no regular
// file, such as a named pipe, whose reader would wait, or a device, which has no end. The size is that
// of now: read no more, as a file may grow while it is read.
func Open(path string) (f *os.File, size int64, err error) {
	f, info, err := open(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// open opens a regular file as os.OpenFile does. One that may be written to is no link either, which
// could lead out of a folder that somebody else has made.
func open(path string, flag int, perm fs.FileMode) (*os.File, fs.FileInfo, error) {
	flag |= unix.O_NONBLOCK // a named pipe without a writer would keep open itself waiting
	if flag&(os.O_WRONLY|os.O_RDWR) != 0 {
		flag |= unix.O_NOFOLLOW
	}
	f, err := os.OpenFile(path, flag, perm)
	if err != nil {
		if link, e := os.Lstat(path); e == nil && errors.Is(err, unix.ELOOP) {
			err = irregular("open", path, link)
		}
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = irregular("open", path, info)
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, nil, err
	}
	return f, info, nil
}

// irregular returns the error that says what is no regular file.
func irregular(op, path string, info fs.FileInfo) error {
	kind := "a device"
	switch mode := info.Mode(); {
	case mode.IsDir():
		kind = "a folder"
	case mode&fs.ModeNamedPipe != 0:
		kind = "a named pipe"
	case mode&fs.ModeSocket != 0:
		kind = "a socket"
	case mode&fs.ModeSymlink != 0:
		kind = "a symbolic link"
	}
	return &fs.PathError{Op: op, Path: path, Err: fmt.Errorf("it is %s; a regular file is needed", kind)}
}

// ReadFile reads the file that Open opens. It refuses one of more than most bytes.
func ReadFile(path string, most int64) ([]byte, error) {
	f, size, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size > most {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("it has %d bytes, more than %d", size, most)}
	}
	var text bytes.Buffer
	text.Grow(int(size) + bytes.MinRead)              // or a large file is copied again and again as it is read
	_, err = text.ReadFrom(io.LimitReader(f, most+1)) // size is 0 of files that the system makes up
	if err == nil && int64(text.Len()) > most {
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("it has more than %d bytes", most)}
	}
	return text.Bytes(), err
}

// WriteFile replaces the file at path, or makes it, by way of a file beside it that is synced
// before it is renamed. After an error the file is as it was, but where the error is that of the
// last step, the sync of the folder. Nobody but its owner may write to the file, whatever the umask.
func WriteFile(path string, write func(io.Writer) error) error {
	return writeFile(path, 0o644, write)
}

// WriteSecret writes a file as WriteFile does that nobody else may read.
func WriteSecret(path string, write func(io.Writer) error) error {
	return writeFile(path, 0o600, write)
}

func writeFile(path string, mode fs.FileMode, write func(io.Writer) error) error {
	if err := writeBeside(path, mode, write); err != nil {
		return err
	}
	if err := Replace(path); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// WriteBeside does the first half of WriteFile: it writes and syncs a file beside path, so that
// several files can be replaced after all were written. After an error there is none.
func WriteBeside(path string, write func(io.Writer) error) error {
	return writeBeside(path, 0o644, write)
}

func writeBeside(path string, mode fs.FileMode, write func(io.Writer) error) error {
	const replaced = fs.ModeType &^ fs.ModeSymlink // no device, even if this process might remove it
	if info, err := os.Lstat(path); err == nil && info.Mode()&replaced != 0 {
		return irregular("write", path, info)
	}
	if err := RemoveBeside(path); err != nil { // what was left there, or a link to another file
		return err
	}
	f, err := OpenFile(beside(path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	if err = write(f); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// Replace renames the file that WriteBeside has left to path. SyncDir makes that last.
func Replace(path string) error {
	if err := tell(Renaming, path); err != nil {
		return err
	}
	return os.Rename(beside(path), path)
}

// RemoveBeside removes the file that WriteBeside has left, if there is one.
func RemoveBeside(path string) error {
	if err := os.Remove(beside(path)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func beside(path string) string { return path + ".new" }

// Bytes returns a function for WriteFile that writes b.
func Bytes(b []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	}
}

// SyncDir makes the names that were made, changed or removed in a folder survive a power cut.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return err
	}
	return tell(FolderSynced, dir)
}

// Glob returns the paths under a folder that match a pattern, sorted. The folder's own name is no
// pattern: it may be "run[1]". A folder that is missing has no paths.
func Glob(dir, pattern string) (paths []string, err error) {
	names, err := fs.Glob(os.DirFS(dir), pattern)
	for _, name := range names {
		paths = append(paths, filepath.Join(dir, name))
	}
	return paths, err
}

// IsFull reports whether err says that a disk is full or a quota used up.
func IsFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
