package ledger

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/shatterlab/shatter/pipeline/disk"
)

// A log is the sequence of a ledger's files. It is not safe for concurrent use.
type log struct {
	dir      string
	readOnly bool
	fileSize int64 // maxWrittenFile, or less in tests
	files    []*logFile
	scratch  []byte
	dirty    bool  // the last file has unsynced frames
	broken   error // reason why nothing can be appended; nil: none
}

// logFile is one file of the log.
type logFile struct {
	f    disk.File
	size int64
}

// Limits of a file of the log in bytes, for writing and for reading. A single message may be larger.
const (
	maxWrittenFile = 64 << 20
	maxReadFile    = 2 * maxWrittenFile
)

// A WriteError reports that the log could not grow: its disk is full or failing, or a limit on
// the size of files was reached. Its message names the remedy. Batches added earlier are not
// affected.
type WriteError struct{ Err error }

func (e *WriteError) Error() string {
	remedy := "check the disk"
	switch {
	case disk.IsFull(e.Err):
		remedy = "make room"
	case errors.Is(e.Err, syscall.EFBIG):
		remedy = "raise the limit on the size of files (ulimit -f)"
	}
	return fmt.Sprintf("%v: %s and run again; all before it is safe", e.Err, remedy)
}

func (e *WriteError) Unwrap() error { return e.Err }

// append writes one frame at the end of the log. After an error the log ends where it did before.
func (l *log) append(kind uint32, msg []byte) (frameRef, error) {
	if l.broken != nil {
		return frameRef{}, l.broken
	}
	l.scratch = appendFrame(l.scratch[:0], kind, msg)
	if err := l.rotate(len(l.scratch)); err != nil {
		return frameRef{}, err
	}
	last := len(l.files) - 1
	file := l.files[last]
	ref := frameRef{file: int32(last), at: file.size, length: int32(len(msg))}
	if _, err := file.f.WriteAt(l.scratch, file.size); err != nil {
		if e := file.f.Truncate(file.size); e != nil {
			l.broken = fmt.Errorf("its end is damaged, open it again: %w", e)
		}
		return frameRef{}, &WriteError{err}
	}
	file.size += int64(len(l.scratch))
	l.dirty = true
	return ref, nil
}

// rotate starts a new file if the log has none yet, or if the next frame, of the given number of
// bytes, would make the last file too large.
func (l *log) rotate(next int) error {
	number := 0
	if n := len(l.files); n > 0 {
		last := l.files[n-1]
		if last.size == 0 || last.size+int64(next) <= l.fileSize {
			return nil
		}
		if err := last.f.Sync(); err != nil {
			l.broken = fmt.Errorf("sync: %w: open it again", err)
			return l.broken
		}
		_, _ = fmt.Sscanf(filepath.Base(last.f.Name()), "%d.log", &number)
	}
	path := filepath.Join(l.dir, fmt.Sprintf("%04d.log", number+1))
	f, err := disk.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if err := disk.SyncDir(l.dir); err != nil {
		f.Close()
		return errors.Join(err, os.Remove(f.Name()))
	}
	l.files = append(l.files, &logFile{f: f})
	return nil
}

// load opens the files and calls add for each sound frame, in order. Only the last file can have a torn tail, because a
// file is synced before the next one is created.
func (l *log) load(add func(Frame, frameRef) error) (*Report, error) {
	if err := l.open(); err != nil {
		return nil, err
	}
	r := &Report{}
	var b []byte
	for i, file := range l.files {
		b = slices.Grow(b[:0], int(file.size))[:file.size]
		n, err := file.f.ReadAt(b, 0)
		if err != nil && !errors.Is(err, io.EOF) { // the torn tail of another process may have been removed
			return nil, err
		}
		for f := range Frames(b[:n]) {
			damage := Damage{file.f.Name(), int64(f.Offset), int64(f.End - f.Offset), f.Damage}
			switch {
			case f.Damage == "":
				if err := add(f, frameRef{file: int32(i), at: damage.Offset, length: int32(len(f.Message))}); err != nil {
					return nil, fmt.Errorf("read %q at %d: %w", damage.File, f.Offset, err)
				}
				r.Frames++
			case f.End == n && i == len(l.files)-1:
				r.Torn = &damage
				if l.readOnly {
					break
				}
				// The next sync makes the cut durable; if the tail reappears before that, it is removed again.
				file.size = damage.Offset
				if err := file.f.Truncate(file.size); err != nil {
					return nil, err
				}
			default:
				r.Damaged = append(r.Damaged, damage)
			}
		}
	}
	l.dirty = len(l.files) > 0 && !l.readOnly // a process that was killed may have written more than it synced
	return r, nil
}

// open opens the files in order. It removes those of an interrupted Drop.
func (l *log) open() error {
	mode := os.O_RDONLY
	if !l.readOnly {
		mode = os.O_RDWR
		leftovers, err := disk.Glob(l.dir, "*.log.new")
		for _, path := range leftovers {
			err = errors.Join(err, os.Remove(path))
		}
		if err != nil {
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

func (l *log) close() {
	for _, f := range l.files {
		f.f.Close()
	}
	l.files = nil
}

// drop rewrites the file without the messages that match.
func (file *logFile) drop(match func(*Batch) bool) error {
	path, b := file.f.Name(), make([]byte, file.size)
	if _, err := file.f.ReadAt(b, 0); err != nil {
		return err
	}
	kept := make([]byte, 0, len(b))
	for f := range Frames(b) {
		if f.Damage == "" {
			batch, err := Decode(f.Message)
			if err != nil {
				return fmt.Errorf("read %q at %d: %w", path, f.Offset, err)
			}
			if match(batch) {
				continue
			}
		}
		kept = append(kept, b[f.Offset:f.End]...)
	}
	if len(kept) == len(b) {
		return nil
	}
	return disk.WriteFile(path, disk.Bytes(kept))
}
