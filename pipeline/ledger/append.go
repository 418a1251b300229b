package ledger

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ErrNoRoom is in the chain of Add's error where the disk took no more. Nothing is lost by it.
var ErrNoRoom = errors.New("make room and run again; all before it is safe")

// append writes one frame at the end of the log. Where it fails the log ends where it did before.
func (l *Ledger) append(kind uint32, msg []byte) (FrameRef, error) {
	if l.broken != nil {
		return FrameRef{}, l.broken
	}
	l.scratch = AppendFrame(l.scratch[:0], kind, msg)
	if err := l.rotate(len(l.scratch)); err != nil {
		return FrameRef{}, err
	}
	last := len(l.files) - 1
	file := l.files[last]
	ref := FrameRef{file: int32(last), at: file.size, length: int32(len(msg))}
	if _, err := file.f.WriteAt(l.scratch, file.size); err != nil {
		if e := file.f.Truncate(file.size); e != nil {
			l.broken = fmt.Errorf("its end is damaged, open it again: %w", e)
		}
		return FrameRef{}, fmt.Errorf("%w: %w", err, ErrNoRoom)
	}
	file.size += int64(len(l.scratch))
	l.dirty = true
	return ref, nil
}

// rotate begins the next file where there is none yet or the last one is full.
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
	f, err := os.OpenFile(l.nextPath(), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if err := SyncDir(l.dir); err != nil {
		f.Close()
		return errors.Join(err, os.Remove(f.Name()))
	}
	l.files = append(l.files, &logFile{f: f})
	return nil
}

// nextPath is one number above the last file's.
func (l *Ledger) nextPath() string {
	number := 1
	if n := len(l.files); n > 0 {
		_, _ = fmt.Sscanf(filepath.Base(l.files[n-1].f.Name()), "%d.log", &number)
		number++
	}
	return filepath.Join(l.dir, fmt.Sprintf("%04d.log", number))
}

// syncDir makes names that were made or changed in dir survive a power cut.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
