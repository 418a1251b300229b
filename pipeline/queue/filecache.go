package queue

import (
	"context"
	"crypto/sha256"
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

// A FileCache is a folder of fetched files, named by their SHA-256, that the processes of a machine
// share. It fetches damaged files again, and removes files to make room for others.
type FileCache struct {
	Dir   string
	Quota int64 // maximum total size of the files in bytes; the least recently used are removed first; 0: unlimited
}

// keepUsed is the time after its last use during which a file is not removed to make room.
const keepUsed = 10 * time.Minute

// Path returns the path of the verified file with a digest. It fetches the file unless the cache has
// an intact copy.
func (fc *FileCache) Path(ctx context.Context, files *Files, digest string) (path string, err error) {
	if err := checkDigest(digest); err != nil {
		return "", err
	}
	path = filepath.Join(fc.Dir, digest)
	switch err := verify(path, digest); {
	case err == nil:
		MarkUsed(path)
		return path, nil
	case !errors.Is(err, fs.ErrNotExist):
		files.c.opts.Log.Warn("damaged file removed from the cache", "file", path, "error", err.Error())
		if err := removeFile(path); err != nil {
			return "", err
		}
	}
	err = fc.fetch(ctx, files, digest, path)
	if disk.IsFull(err) {
		if err = fc.trim(0); err == nil {
			err = fc.fetch(ctx, files, digest, path)
		}
	}
	if err == nil && fc.Quota > 0 {
		err = fc.trim(fc.Quota)
	}
	return path, err
}

// MarkUsed protects a file of a cache from removal for a while. Its modification time is that of its last use.
func MarkUsed(path string) {
	now := time.Now()
	_ = os.Chtimes(path, now, now)
}

// fetch fetches a file to path. It writes to a file of another name.
func (fc *FileCache) fetch(ctx context.Context, files *Files, digest, path string) error {
	if err := os.MkdirAll(fc.Dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(fc.Dir, digest+".part")
	if err != nil {
		return err
	}
	defer f.Close()
	if err = files.Fetch(ctx, digest, f); err == nil {
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

// trim removes the least recently used files until the rest take at most the given number of bytes. It keeps files in
// use, and files whose names do not begin with a digest.
func (fc *FileCache) trim(most int64) error {
	entries, err := os.ReadDir(fc.Dir)
	if err != nil {
		return err
	}
	var list []fs.FileInfo
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
	slices.SortFunc(list, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, info := range list {
		if total <= most || time.Since(info.ModTime()) < keepUsed {
			return nil
		}
		if err := removeFile(filepath.Join(fc.Dir, info.Name())); err != nil {
			return err
		}
		total -= info.Size()
	}
	return nil
}

// removeFile removes a file, if it exists.
func removeFile(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
