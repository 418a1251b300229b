package ledger

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Drop removes the messages that match, with all of their rows, by rewriting the files that hold one. All other bytes stay
// as they are. A failure may leave some files rewritten: the same Drop goes on.
func (l *Ledger) Drop(match func(*Batch) bool) error {
	l.reading.Lock()
	defer l.reading.Unlock()
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.broken
	for i := 0; i < len(l.files) && err == nil; i++ {
		err = l.dropFrom(l.files[i].f.Name(), match)
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
func (l *Ledger) dropFrom(path string, match func(*Batch) bool) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	kept := make([]byte, 0, len(b))
	for at := 0; at < len(b); {
		p := NextPiece(b, at)
		at = p.End
		if p.Reason == "" {
			batch, err := l.decode(p.Msg)
			if err != nil {
				return fmt.Errorf("read %q at %d: %w", path, p.At, err)
			}
			if match(batch) {
				continue
			}
		}
		kept = append(kept, b[p.At:p.End]...)
	}
	if len(kept) == len(b) {
		return nil
	}
	return ReplaceFile(path, kept)
}

// replaceFile writes beside path, syncs, and renames.
func ReplaceFile(path string, content []byte) error {
	beside := path + ".new"
	if err := writeSynced(beside, content); err != nil {
		return errors.Join(err, os.Remove(beside))
	}
	if err := os.Rename(beside, path); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

func writeSynced(path string, content []byte) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
