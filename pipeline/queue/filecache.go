package queue

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
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

// Open returns the file with a digest, verified. It is fetched unless a sound copy is there.
func (fc *FileCache) Open(ctx context.Context, c *Conn, digest string) (*CachedFile, error) {
	if err := checkDigest(digest); err != nil {
		return nil, err
	}
	const tries = 3
	path := filepath.Join(fc.Dir, digest)
	for try := 1; ; try++ {
		err := fetchFile(ctx, c, digest, path)
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
		if errors.Is(err, os.ErrNotExist) { // another process has removed it meanwhile
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

// fetchFile makes the file at path unless it is there. It writes to path + ".part", which is locked: other
// processes that need the file wait.
func fetchFile(ctx context.Context, c *Conn, digest, path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := openLocked(ctx, path+".part")
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err = os.Stat(path); err != nil { // else another process has fetched it meanwhile
		if err = c.fetch(ctx, digest, into(f)); err == nil {
			err = errors.Join(f.Chmod(0o444), f.Sync())
		}
		if err == nil {
			return os.Rename(f.Name(), path)
		}
	}
	return errors.Join(err, os.Remove(f.Name()))
}

// openLocked opens or makes a file and locks it. It waits for other holders of the lock, who may rename or remove
// the file.
func openLocked(ctx context.Context, path string) (*os.File, error) {
	for {
		f, err := disk.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if errors.Is(err, os.ErrPermission) { // it is about to be renamed, or was left so
			if err = os.Chmod(path, 0o600); err == nil || errors.Is(err, os.ErrNotExist) {
				continue
			}
		}
		if err != nil {
			return nil, err
		}
		if err := disk.Lock(ctx, f.File, disk.Exclusive); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if same(f.File, path) {
			return f.File, nil
		}
		f.Close()
	}
}

// same reports whether an open file is still the one at path.
func same(f *os.File, path string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(mine, there)
}

// verify returns an error unless the file at path has a digest.
func verify(path, digest string) error {
	f, _, err := disk.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return fmt.Errorf("read %q: %w", path, err)
	}
	return sameDigest(sum.Sum(nil), digest)
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
