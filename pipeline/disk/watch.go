package disk

import (
	"os"
	"sync/atomic"
)

// A Step is an operation on a file or a folder that is reported to a Watch.
type Step int

// The steps. A watch may make the steps fail that have not happened yet.
const (
	Writing      Step = iota // bytes will be written to the file, or it will be truncated
	Syncing                  // the file will be synced
	Synced                   // the file was synced
	Renaming                 // the temporary file for path will be renamed to it
	FolderSynced             // the folder was synced
)

// A Watch is called for the steps of all files opened by OpenFile, and of this package's own
// files. A step fails with the error that the Watch returns. It serves to simulate crashes and
// failing disks.
type Watch func(step Step, path string) error

// watch is the watch of this process.
var watch atomic.Pointer[Watch]

// SetWatch sets the watch of this process; nil: none.
func SetWatch(w Watch) {
	if w == nil {
		watch.Store(nil)
		return
	}
	watch.Store(&w)
}

func notify(step Step, path string) error {
	if w := watch.Load(); w != nil {
		return (*w)(step, path)
	}
	return nil
}

// A File is an open file whose writes and syncs are reported to a Watch.
type File struct{ *os.File }

// OpenFile opens a file like os.OpenFile, if it is a regular one, as Open does. A file opened for
// writing must not be a symbolic link.
func OpenFile(path string, flag int, perm os.FileMode) (File, error) {
	f, _, err := open(path, flag, perm)
	return File{f}, err
}

// Write is os.File.Write.
func (f File) Write(b []byte) (int, error) { return f.write(b, f.File.Write) }

// WriteAt is os.File.WriteAt.
func (f File) WriteAt(b []byte, at int64) (int, error) {
	return f.write(b, func(b []byte) (int, error) { return f.File.WriteAt(b, at) })
}

// write writes b, or half of it if the step fails, like a disk that becomes full.
func (f File) write(b []byte, write func([]byte) (int, error)) (int, error) {
	if failed := notify(Writing, f.Name()); failed != nil {
		n, err := write(b[:len(b)/2])
		if err != nil {
			return n, err
		}
		return n, failed
	}
	return write(b)
}

// Truncate is os.File.Truncate.
func (f File) Truncate(size int64) error {
	if err := notify(Writing, f.Name()); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

// Sync is os.File.Sync.
func (f File) Sync() error {
	if err := notify(Syncing, f.Name()); err != nil {
		return err
	}
	if err := f.File.Sync(); err != nil {
		return err
	}
	return notify(Synced, f.Name())
}
