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
	"time"

	"github.com/shatterlab/shatter/pipeline/disk"
)

// A FileCache is a folder of fetched files, named by their SHA-256, that the processes of a machine
// share. It verifies a file whenever it is opened, fetches a damaged file again, and removes files
// to make room for others.
type FileCache struct {
	Dir string

	// Quota is the maximum total size, in bytes, of files that no process has open; 0: unlimited.
	// The least recently opened ones are removed first, open ones never.
	Quota int64
}

// A CachedFile is an open file of a [FileCache]. The cache does not remove it until it is closed.
type CachedFile struct {
	Path string
	lock *os.File // nil: the file is not in a cache
}

// Close permits the cache to remove the file.
func (f *CachedFile) Close() error {
	if f.lock == nil {
		return nil
	}
	return f.lock.Close()
}

// Open returns the verified file with a digest. It fetches the file unless the cache has an intact
// copy.
func (fc *FileCache) Open(ctx context.Context, files *Files, digest string) (*CachedFile, error) {
	if err := checkDigest(digest); err != nil {
		return nil, err
	}
	const maxTries = 3
	path := filepath.Join(fc.Dir, digest)
	for try := 1; ; try++ {
		f, err := openVerified(ctx, path, digest)
		switch {
		case err == nil:
			now := time.Now()
			_ = os.Chtimes(path, now, now) // only trim reads this time
			if fc.Quota > 0 {
				err = fc.trim(fc.Quota)
			}
			return &CachedFile{Path: path, lock: f}, err
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case !errors.Is(err, os.ErrNotExist):
			files.c.opts.Log.Warn("damaged file removed from the cache", "file", path, "error", err.Error())
			if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
				return nil, err
			}
		}
		if try > maxTries {
			return nil, fmt.Errorf("keep file %s in %q: the disk returns other content than was written, or another "+
				"process removes it; check the disk: %w", digest, fc.Dir, err)
		}
		if err := fc.fetch(ctx, files, digest, path); disk.IsFull(err) && try == 1 {
			if err := fc.trim(0); err != nil {
				return nil, err
			}
		} else if err != nil {
			return nil, err
		}
	}
}

// fetch fetches a file to path. It writes to a file of another name, which it keeps locked.
func (fc *FileCache) fetch(ctx context.Context, files *Files, digest, path string) error {
	if err := os.MkdirAll(fc.Dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(fc.Dir, digest+".part")
	if err != nil {
		return err
	}
	defer f.Close()
	err = disk.Lock(ctx, f, disk.Exclusive)
	if err == nil {
		err = files.Fetch(ctx, digest, f)
	}
	if err == nil {
		err = errors.Join(f.Chmod(0o444), f.Sync())
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// openVerified opens the file at path, verifies its digest, and locks it against trim.
func openVerified(ctx context.Context, path, digest string) (*os.File, error) {
	f, _, err := disk.Open(path)
	if err == nil {
		err = disk.Lock(ctx, f, disk.Shared)
	}
	if err == nil {
		err = verify(path, digest)
	}
	if err != nil && f != nil {
		f.Close()
	}
	return f, err
}

// verify returns an error unless the file at path has the given digest.
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

// trim removes the least recently opened files until the rest take at most the given number of
// bytes. It skips open files, and files whose names do not begin with a digest.
func (fc *FileCache) trim(most int64) error {
	entries, err := os.ReadDir(fc.Dir)
	if err != nil {
		return err
	}
	var list []os.FileInfo
	total := int64(0)
	for _, e := range entries {
		name := e.Name()
		if checkDigest(name[:min(len(name), 2*sha256.Size)]) != nil {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() { // otherwise it was just removed
			list, total = append(list, info), total+info.Size()
		}
	}
	slices.SortFunc(list, func(a, b os.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	for _, info := range list {
		if total <= most {
			return nil
		}
		removed, err := removeUnlocked(filepath.Join(fc.Dir, info.Name()))
		if err != nil {
			return err
		}
		if removed {
			total -= info.Size()
		}
	}
	return nil
}

// removeUnlocked removes a file unless a process has it open.
func removeUnlocked(path string) (removed bool, err error) {
	f, _, err := disk.Open(path)
	if err == nil {
		defer f.Close()
		err = disk.TryLock(f, disk.Exclusive)
	}
	if err == nil {
		err = os.Remove(path)
	}
	switch {
	case errors.Is(err, disk.ErrLocked):
		return false, nil
	case errors.Is(err, os.ErrNotExist):
		return true, nil
	}
	return err == nil, err
}
