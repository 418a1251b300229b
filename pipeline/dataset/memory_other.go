//go:build unix && !linux

package dataset

import (
	"os"

	"golang.org/x/sys/unix"
)

// nameless makes an empty file without a name.
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

// remap maps the whole file anew.
func (m *Memory) remap(size int) error {
	b, err := unix.Mmap(int(m.file.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return os.NewSyscallError("mmap", err)
	}
	err = unix.Munmap(m.b)
	m.b = b
	return os.NewSyscallError("munmap", err)
}

// seal does nothing: without seals, readers are trusted not to write.
func seal(*os.File) error { return nil }
