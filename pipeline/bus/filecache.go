package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/shatterlab/shatter/pipeline/disk"
)

// A FileCache is a folder of fetched files, named by their SHA-256, that the processes of a machine
// share. A file is fetched once, verified whenever it is opened, fetched again when it was damaged,
// and stays until others need its place.
type FileCache struct {
	Dir string

	// Quota is the number of bytes that files which nobody has open may keep occupied; 0: no limit. The
	// least recently opened ones are removed first, and those that are open never.
	Quota int64
}

// A CachedFile is an open file of a FileCache. It stays where it is until it is closed.
type CachedFile struct {
	Path string
	lock *os.File // nil: it belongs to somebody else
}

// Close lets the file go: it may be removed when others need its place.
func (f *CachedFile) Close() error {
	if f.lock == nil {
		return nil
	}
	return f.lock.Close()
}

// Open returns the file with a digest, verified. It is fetched unless a sound copy is there. While c
// is open and the copy is there, it is offered to those who find it missing on the server.
func (fc *FileCache) Open(ctx context.Context, c *Conn, digest string) (*CachedFile, error) {
	if c.local != nil {
		path, err := c.FetchFile(ctx, digest, fc.Dir)
		return &CachedFile{Path: path}, err
	}
	const tries = 3
	for try := 1; ; try++ {
		path, err := c.FetchFile(ctx, digest, fc.Dir)
		if disk.IsFull(err) && try == 1 {
			if err := fc.trim(0); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		f, err := openCached(ctx, path)
		if errors.Is(err, os.ErrNotExist) { // somebody has removed it meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		bad := verify(path, digest)
		if bad == nil {
			now := time.Now()
			_ = os.Chtimes(path, now, now) // only Trim reads it
			return &CachedFile{Path: path, lock: f}, fc.Trim()
		}
		if err := errors.Join(os.Remove(path), f.Close()); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		c.log.Warn("damaged file removed from the cache", "file", path, "error", bad.Error())
		if try == tries {
			return nil, fmt.Errorf("keep file %s in %q: what is written there comes back as something else; check the disk: %w",
				digest, fc.Dir, bad)
		}
	}
}

// openCached opens a file and takes a shared lock, which keeps Trim away.
func openCached(ctx context.Context, path string) (*os.File, error) {
	f, _, err := disk.Open(path)
	if err != nil {
		return nil, err
	}
	if err := disk.Lock(ctx, f, disk.Shared); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if !same(f, path) {
		f.Close()
		return nil, os.ErrNotExist
	}
	return f, nil
}

// Trim removes files until those that are left take at most Quota bytes: what was begun and left
// unfinished, and the least recently opened ones. Files that are open stay, and those whose names are
// no digests.
func (fc *FileCache) Trim() error {
	if fc.Quota <= 0 {
		return nil
	}
	return fc.trim(fc.Quota)
}

// trim removes files until those that are left take at most so many bytes.
func (fc *FileCache) trim(most int64) error {
	entries, err := os.ReadDir(fc.Dir)
	if err != nil {
		return err
	}
	var files []os.FileInfo
	total := int64(0)
	for _, e := range entries {
		if checkDigest(strings.TrimSuffix(e.Name(), ".part")) != nil {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() { // else it was just removed
			files, total = append(files, info), total+info.Size()
		}
	}
	slices.SortFunc(files, func(a, b os.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	for _, info := range files {
		if total <= most {
			return nil
		}
		if removed, err := removeUnlocked(filepath.Join(fc.Dir, info.Name())); err != nil {
			return err
		} else if removed {
			total -= info.Size()
		}
	}
	return nil
}

// removeUnlocked removes a file unless somebody has it open.
func removeUnlocked(path string) (removed bool, err error) {
	f, _, err := disk.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	switch err := disk.TryLock(f, disk.Exclusive); {
	case errors.Is(err, disk.ErrLocked):
		return false, nil
	case err != nil:
		return false, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	return true, nil
}
