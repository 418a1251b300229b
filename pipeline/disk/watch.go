package disk

import (
	"os"
	"sync/atomic"
)

// A Step is what happens to a file, or to a folder, that a Watch is told of.
type Step int

// The steps. A watch may fail those that are about to happen.
const (
	Writing      Step = iota // bytes are about to be written to the file, or cut off
	Syncing                  // the file is about to be synced
	Synced                   // the file was synced
	Renaming                 // the file beside path is about to take its name
	FolderSynced             // the folder was synced
)

// A Watch is told of the steps of all files that OpenFile has opened, and of this package's own. A
// step fails with the error that it returns. It is for simulations of crashes and of failing disks.
type Watch func(step Step, path string) error

// watch is the watch of this process.
var watch atomic.Pointer[Watch]

// SetWatch has w told of every step from now on; nil: nobody.
func SetWatch(w Watch) {
	if w == nil {
		watch.Store(nil)
		return
	}
	watch.Store(&w)
}

func tell(step Step, path string) error {
	if w := watch.Load(); w != nil {
		return (*w)(step, path)
	}
	return nil
}

// A File is an open file whose writes and syncs a Watch is told of.
type File struct{ *os.File }

// OpenFile opens a file as os.OpenFile does, if it is a regular one, as Open does. To be written to, it
// must be no symbolic link either.
func OpenFile(path string, flag int, perm os.FileMode) (File, error) {
	f, _, err := open(path, flag, perm)
	return File{f}, err
}

// Write writes as os.File does.
func (f File) Write(b []byte) (int, error) { return f.write(b, f.File.Write) }

// WriteAt writes as os.File does.
func (f File) WriteAt(b []byte, at int64) (int, error) {
	return f.write(b, func(b []byte) (int, error) { return f.File.WriteAt(b, at) })
}

// write writes b, or half of it where the step fails, as a disk does that gets full.
func (f File) write(b []byte, write func([]byte) (int, error)) (int, error) {
	if failed := tell(Writing, f.Name()); failed != nil {
		n, err := write(b[:len(b)/2])
		if err != nil {
			return n, err
		}
		return n, failed
	}
	return write(b)
}

// Truncate changes the size as os.File does.
func (f File) Truncate(size int64) error {
	if err := tell(Writing, f.Name()); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

// Sync waits for the disk as os.File does.
func (f File) Sync() error {
	if err := tell(Syncing, f.Name()); err != nil {
		return err
	}
	if err := f.File.Sync(); err != nil {
		return err
	}
	return tell(Synced, f.Name())
}
