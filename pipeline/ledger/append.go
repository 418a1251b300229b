package ledger

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/shatterlab/shatter/pipeline/disk"
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
func (l *Ledger) append(kind uint32, msg []byte) (frameRef, error) {
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
func (l *Ledger) rotate(next int) error {
	if n := len(l.files); n > 0 {
		last := l.files[n-1]
		if last.size == 0 || last.size+int64(next) <= l.fileSize {
			return nil
		}
		if err := last.f.Sync(); err != nil {
			l.broken = fmt.Errorf("sync: %w: open it again", err)
			return l.broken
		}
	}
	f, err := disk.OpenFile(l.nextPath(), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
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

// nextPath returns the path of a new file. Its number is one above that of the last file.
func (l *Ledger) nextPath() string {
	number := 1
	if n := len(l.files); n > 0 {
		_, _ = fmt.Sscanf(filepath.Base(l.files[n-1].f.Name()), "%d.log", &number)
		number++
	}
	return filepath.Join(l.dir, fmt.Sprintf("%04d.log", number))
}
