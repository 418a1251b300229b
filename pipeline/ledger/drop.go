package ledger

import (
	"errors"
	"fmt"

	"github.com/shatterlab/shatter/pipeline/disk"
)

// Drop removes the messages that match, with all of their rows, by rewriting the files that
// contain one. All other bytes are unchanged. An error may leave some files rewritten; calling
// Drop again completes the removal.
func (l *Ledger) Drop(match func(*Batch) bool) error {
	defer l.lockAll()()
	err := l.broken
	for i := 0; i < len(l.files) && err == nil; i++ {
		err = l.dropFrom(l.files[i], match)
	}
	l.closeFiles()
	if _, e := l.load(); e != nil {
		l.broken = e
		err = errors.Join(err, e)
	}
	if err != nil {
		return fmt.Errorf("drop results from ledger %q: %w", l.dir, err)
	}
	return nil
}

// dropFrom rewrites one file without the messages that match.
func (l *Ledger) dropFrom(file *logFile, match func(*Batch) bool) error {
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
