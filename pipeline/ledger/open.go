package ledger

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/shatterlab/shatter/pipeline/disk"
)

// A LockedError reports that another process has opened the ledger.
type LockedError struct{ Holder string } // description of that process: "process 12 on host x"

func (e *LockedError) Error() string { return e.Holder + " holds it: wait for that or stop it" }

// Open opens the ledger in the folder dir, which it creates if it does not exist, and takes its
// lock. It rejects a folder with messages of another sweep, or whose lock another process holds
// (see LockedError). It removes a torn tail and does not change other damage.
func Open(dir, sweep string) (*Ledger, *Report, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, nil, fmt.Errorf("open ledger: %w", err)
	}
	lock, err := takeLock(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("open ledger %q: %w", dir, err)
	}
	l := &Ledger{sweep: sweep, lock: lock, log: log{dir: dir, fileSize: maxWrittenFile}}
	report, err := l.load()
	if err != nil {
		l.log.close()
		lock.Close()
		return nil, nil, fmt.Errorf("open ledger %q: %w", dir, err)
	}
	return l, report, nil
}

// Read opens the ledger in the folder dir for reading only: without its lock, so that a run may
// be using it, and without changing a byte. A torn tail is reported and stays. Adding new
// information and Drop fail.
func Read(dir, sweep string) (*Ledger, *Report, error) {
	l := &Ledger{sweep: sweep, log: log{dir: dir, readOnly: true}}
	report, err := l.load()
	if err != nil {
		l.log.close()
		return nil, nil, fmt.Errorf("read ledger %q: %w", dir, err)
	}
	l.log.broken = errors.New("it is open for reading alone")
	return l, report, nil
}

// lockTimeout is the time to wait for the lock, which InUse holds for an instant.
const lockTimeout = 100 * time.Millisecond

// InUse reports whether a process has opened the ledger in the folder dir, other than by Read.
func InUse(dir string) (bool, error) {
	f, _, err := disk.Open(filepath.Join(dir, "lock"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	if err = disk.TryLock(f, disk.Shared); errors.Is(err, disk.ErrLocked) {
		return true, nil
	}
	return false, err
}

// takeLock locks the file "lock" of the folder, to which the holder writes its name.
func takeLock(dir string) (*os.File, error) {
	file, err := disk.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	f := file.File
	ctx, cancel := context.WithTimeout(context.Background(), lockTimeout)
	defer cancel()
	if err := disk.Lock(ctx, f, disk.Exclusive); err != nil {
		defer f.Close()
		if ctx.Err() == nil {
			return nil, err
		}
		holder := make([]byte, 256)
		n, _ := f.ReadAt(holder, 0)
		return nil, &LockedError{Holder: cmp.Or(string(bytes.TrimSpace(holder[:n])), "another process")}
	}
	host, _ := os.Hostname()
	name := fmt.Sprintf("process %d on host %s", os.Getpid(), host)
	_, _ = f.WriteAt(fmt.Appendf(nil, "%-255s\n", name), 0) // the lock is valid without it
	return f, nil
}

// load reads all files into a new index.
func (l *Ledger) load() (*Report, error) {
	l.index = newIndex()
	r, err := l.log.load(func(f Frame, ref frameRef) error {
		b, err := Decode(f.Message)
		if err == nil {
			err = b.checkSweep(l.sweep)
		}
		if err != nil {
			return err // its checksum is right: another release or another sweep wrote it
		}
		l.index.commit(l.index.judge(b), ref, f.kind)
		return nil
	})
	if err == nil {
		r.Outcomes = l.index.outcomes()
	}
	return r, err
}
