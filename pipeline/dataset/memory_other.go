//go:build unix && !linux

package dataset

import (
	"os"

	"golang.org/x/sys/unix"
)

// nameless creates an empty file without a name.
func nameless(name string) (*os.File, error) {
	f, err := os.CreateTemp("", "shatter-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// seal does nothing: without seals, readers are trusted not to write.
func seal(*os.File) error { return nil }

// reopen duplicates the descriptor: a file without a name cannot be opened again.
func reopen(f *os.File) (*os.File, error) {
	fd, err := unix.Dup(int(f.Fd()))
	if err != nil {
		return nil, err
	}
	unix.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), f.Name()), nil
}
