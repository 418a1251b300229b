// Package disk extends package os: it replaces files atomically, opens files named by users
// safely, locks files between processes, and detects full disks.
//
// After a crash or a power failure at any moment, a file written by WriteFile is either the old
// one or the new one, and a lock ends with the process that holds it, for any cause of its end. Both
// require a local disk. If a file system refuses flock, a lock is a lease file that its holder
// renews, and after a crash another host has to wait until it expires.
package disk

import (
	"bytes"
	"cmp"
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

// Kind is the kind of a lock.
type Kind int

// The kinds of locks.
const (
	Exclusive Kind = unix.LOCK_EX // one holder, and no shared ones
	Shared    Kind = unix.LOCK_SH // any number of shared holders
)

// ErrLocked is in the chain of the error if another holder has the lock.
var ErrLocked = errors.New("another holder has the lock")

// TryLock locks an open file, which may be a folder, without waiting. The lock ends when f is
// closed, and with the process. The error wraps ErrLocked if another open file, of this process
// or another one, holds the lock.
func TryLock(f *os.File, kind Kind) error {
	for {
		err := unix.Flock(int(f.Fd()), int(kind)|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EWOULDBLOCK):
			return fmt.Errorf("lock %q: %w", f.Name(), ErrLocked)
		case noLocks(err):
			return tryLease(f, kind)
		case !errors.Is(err, unix.EINTR):
			return fmt.Errorf("lock %q: %w", f.Name(), err)
		}
	}
}

// lockInterval is the time between two attempts of Lock.
const lockInterval = 20 * time.Millisecond

// Lock is TryLock, except that it waits until the lock is free. If ctx ends first, it returns the
// cause.
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

// CheckOwn returns an error about an existing folder that belongs to another user, or to which other
// users may write.
func CheckOwn(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !IsOwn(info, 0o022) {
		return fmt.Errorf("%q can be changed by other users", path)
	}
	return nil
}

// IsOwn reports whether a file belongs to this user and has none of the forbidden permissions.
func IsOwn(info fs.FileInfo, forbidden fs.FileMode) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid() && info.Mode().Perm()&forbidden == 0
}

// Open opens a file named by a user or a plugin, for reading. It rejects files that are not
// regular, such as a named pipe, which would block the reader, or a device, which has no end.
// size is the present size: read no more, because a file may grow during the read.
func Open(path string) (f *os.File, size int64, err error) {
	f, info, err := open(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// open opens a regular file like os.OpenFile. A file opened for writing must not be a link, which
// could lead out of a folder that another user has created.
func open(path string, flag int, perm fs.FileMode) (*os.File, fs.FileInfo, error) {
	flag |= unix.O_NONBLOCK // opening a named pipe without a writer would block
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

// irregular returns the error for a file that is not regular.
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

// ReadFile reads a file opened by Open. It rejects a file of more than most bytes.
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
	text.Grow(int(size) + bytes.MinRead)              // avoids repeated copies of a large file
	_, err = text.ReadFrom(io.LimitReader(f, most+1)) // size is 0 for files that the system generates
	if err == nil && int64(text.Len()) > most {
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("it has more than %d bytes", most)}
	}
	return text.Bytes(), err
}

// WriteFile creates or replaces the file at path. It writes a temporary file in the same folder,
// syncs it and renames it. After an error the file is unchanged, unless the error is that of the
// last step, the sync of the folder. Only the owner may write to the file, for any umask.
func WriteFile(path string, write func(io.Writer) error) error {
	return writeFile(path, 0o644, write)
}

// WriteSecret is WriteFile for a file that only its owner may read.
func WriteSecret(path string, write func(io.Writer) error) error {
	return writeFile(path, 0o600, write)
}

func writeFile(path string, mode fs.FileMode, write func(io.Writer) error) error {
	if err := writeStaged(path, mode, write); err != nil {
		return err
	}
	if err := Replace(path); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// WriteStaged is the first half of WriteFile: it writes and syncs a temporary file for path, so
// that several files can be replaced after all of them were written. After an error there is no
// temporary file.
func WriteStaged(path string, write func(io.Writer) error) error {
	return writeStaged(path, 0o644, write)
}

func writeStaged(path string, mode fs.FileMode, write func(io.Writer) error) error {
	const replaced = fs.ModeType &^ fs.ModeSymlink // not a device, even if this process could remove it
	if info, err := os.Lstat(path); err == nil && info.Mode()&replaced != 0 {
		return irregular("write", path, info)
	}
	if err := RemoveStaged(path); err != nil { // a leftover, or a link to another file
		return err
	}
	f, err := OpenFile(staged(path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
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

// EditStaged opens the temporary file of WriteStaged for reading and writing, and syncs it after edit.
func EditStaged(path string, edit func(File) error) error {
	f, err := OpenFile(staged(path), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(cmp.Or(edit(f), f.Sync()), f.Close())
}

// Replace renames the temporary file of WriteStaged to path. SyncDir makes the rename durable.
func Replace(path string) error {
	if err := notify(Renaming, path); err != nil {
		return err
	}
	return os.Rename(staged(path), path)
}

// RemoveStaged removes the temporary file of WriteStaged, if there is one.
func RemoveStaged(path string) error {
	if err := os.Remove(staged(path)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func staged(path string) string { return path + ".new" }

// Bytes returns a function for WriteFile that writes b.
func Bytes(b []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	}
}

// SyncDir makes the creation, change or removal of names in a folder durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return err
	}
	return notify(FolderSynced, dir)
}

// Glob returns the paths under a folder that match a pattern, sorted. The name of the folder
// itself is not a pattern: it may be "run[1]". A missing folder has no paths.
func Glob(dir, pattern string) (paths []string, err error) {
	names, err := fs.Glob(os.DirFS(dir), pattern)
	for _, name := range names {
		paths = append(paths, filepath.Join(dir, name))
	}
	return paths, err
}

// CannotSync reports whether err means that a file system does not support fsync.
func CannotSync(err error) bool {
	path, ok := errors.AsType[*fs.PathError](err)
	return ok && path.Op == "sync" && (errors.Is(err, unix.EINVAL) || noLocks(err))
}

// IsFull reports whether err means that a disk is full or a quota exceeded.
func IsFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
