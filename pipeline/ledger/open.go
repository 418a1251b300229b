package ledger

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
	"slices"
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
	l := &Ledger{dir: dir, sweep: sweep, lock: lock, fileSize: maxWrittenFile}
	report, err := l.load()
	if err != nil {
		l.closeFiles()
		lock.Close()
		return nil, nil, fmt.Errorf("open ledger %q: %w", dir, err)
	}
	return l, report, nil
}

// Read opens the ledger in the folder dir for reading only: without its lock, so that a run may
// be using it, and without changing a byte. A torn tail is reported and stays. Adding new
// information and Drop fail.
func Read(dir, sweep string) (*Ledger, *Report, error) {
	l := &Ledger{dir: dir, sweep: sweep, fileSize: maxWrittenFile, readOnly: true}
	report, err := l.load()
	if err != nil {
		l.closeFiles()
		return nil, nil, fmt.Errorf("read ledger %q: %w", dir, err)
	}
	l.dirty, l.broken = false, errors.New("it is open for reading alone")
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
	if err := l.openFiles(); err != nil {
		return nil, err
	}
	r := &Report{}
	var content []byte // buffer for one file after the other
	for i := range l.files {
		var err error
		if content, err = l.loadFile(i, content, r); err != nil {
			return nil, err
		}
	}
	l.dirty = len(l.files) > 0 // a process that was killed may have written more than it synced
	r.Outcomes = l.index.outcomes()
	return r, nil
}

// removeLeftovers removes the files of an interrupted Drop.
func (l *Ledger) removeLeftovers() error {
	paths, err := disk.Glob(l.dir, "*.log.new")
	if err != nil {
		return err
	}
	for _, path := range paths {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

// openFiles opens the log's files in order.
func (l *Ledger) openFiles() error {
	mode := os.O_RDONLY
	if !l.readOnly {
		mode = os.O_RDWR
		if err := l.removeLeftovers(); err != nil {
			return err
		}
	}
	paths, err := disk.Glob(l.dir, "[0-9][0-9][0-9][0-9].log")
	if err != nil {
		return err
	}
	slices.Sort(paths)
	for _, path := range paths {
		f, err := disk.OpenFile(path, mode, 0)
		if err != nil {
			return err
		}
		l.files = append(l.files, &logFile{f: f})
		info, err := f.Stat()
		if err != nil {
			return err
		}
		if info.Size() > maxReadFile {
			return fmt.Errorf("read %q: it has %d bytes, more than %d: it is damaged", path, info.Size(), maxReadFile)
		}
		l.files[len(l.files)-1].size = info.Size()
	}
	return nil
}

func (l *Ledger) closeFiles() {
	for _, f := range l.files {
		f.f.Close()
	}
	l.files = nil
}

// loadFile reads one file into b, which it extends if necessary, and returns it. Only the last
// file can have a torn tail, because a file is synced before the next one is created.
func (l *Ledger) loadFile(i int, b []byte, r *Report) ([]byte, error) {
	file := l.files[i]
	b = slices.Grow(b[:0], int(file.size))[:file.size]
	n, err := file.f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) { // the torn tail of another process may have been removed
		return nil, err
	}
	b = b[:n]
	for f := range Frames(b) {
		damage := Damage{file.f.Name(), int64(f.Offset), int64(f.End - f.Offset), f.Damage}
		switch {
		case f.Damage == "":
			if err := l.loadFrame(i, f); err != nil {
				return nil, fmt.Errorf("read %q at %d: %w", file.f.Name(), f.Offset, err)
			}
			r.Frames++
		case f.End == len(b) && i == len(l.files)-1:
			r.Torn = &damage
			if l.readOnly {
				break
			}
			if err := file.cut(int64(f.Offset)); err != nil {
				return nil, err
			}
		default:
			r.Damaged = append(r.Damaged, damage)
		}
	}
	return b, nil
}

// cut shortens the file to size. The next sync makes that durable; if the tail reappears after a
// power failure before that, it is removed again.
func (f *logFile) cut(size int64) error {
	f.size = size
	return f.f.Truncate(size)
}

// loadFrame adds a frame of the file with the given index to the ledger's index.
func (l *Ledger) loadFrame(file int, f Frame) error {
	b, err := Decode(f.Message)
	if err == nil {
		err = l.checkSweep(b)
	}
	if err != nil {
		return err // its checksum is right: another release or another sweep wrote it
	}
	hashes := hashRows(b)
	ref := frameRef{file: int32(file), at: int64(f.Offset), length: int32(len(f.Message))}
	l.index.commit(l.index.judge(b, hashes), hashes, ref, f.kind)
	return nil
}
