//go:build unix

package dataset

import (
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// A Memory is a memory file without a name, mapped for writing, that a worker shares with its
// plugin. The process that inherits its File maps it with [MapFile]; on Linux that process can
// then neither write, shrink nor grow it. The file is sparse: memory is allocated at the first
// write, and freed when the last process has closed the file.
type Memory struct {
	file *os.File
	b    []byte
}

// NewMemory creates a memory file of size bytes, at least 1, and maps it. The name only appears
// in listings of open files.
func NewMemory(name string, size int64) (*Memory, error) {
	if size < 1 || size > math.MaxInt {
		return nil, fmt.Errorf("make memory file %q: size %d: must be at least 1", name, size)
	}
	file, err := nameless(name)
	if err != nil {
		return nil, fmt.Errorf("make memory file %q: %w", name, err)
	}
	m := &Memory{file: file}
	if err := m.open(size); err != nil {
		file.Close()
		return nil, fmt.Errorf("make memory file %q of %d bytes: %w", name, size, err)
	}
	return m, nil
}

func (m *Memory) open(size int64) error {
	if err := m.file.Truncate(size); err != nil {
		return err
	}
	b, err := unix.Mmap(int(m.file.Fd()), 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("map: %w", err)
	}
	m.b = b
	if err := seal(m.file); err != nil { // after this process's writable mapping, the last that the seal permits
		_ = unix.Munmap(b)
		return fmt.Errorf("seal: %w", err)
	}
	return nil
}

// Bytes returns the writable mapping of the whole file, initially zero. It starts at a multiple
// of the page size.
func (m *Memory) Bytes() []byte { return m.b }

// File returns the file to pass to a child process. m remains its owner and closes it.
func (m *Memory) File() *os.File { return m.file }

// Reader opens the file for one of several child processes, which must not share an offset by which they could exchange
// numbers. The caller closes it.
func (m *Memory) Reader() (*os.File, error) {
	f, err := reopen(m.file)
	if err != nil {
		return nil, fmt.Errorf("open memory file again: %w", err)
	}
	return f, nil
}

// Close unmaps and closes the file. Slices of Bytes must not be used afterwards. A second Close
// does nothing.
func (m *Memory) Close() error {
	if m.b == nil {
		return nil
	}
	err := unix.Munmap(m.b)
	m.b = nil
	if e := m.file.Close(); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("close memory file: %w", err)
	}
	return nil
}

// MapFile maps the whole of f, read-only and shared, until the process ends. f may be closed
// afterwards. Writing to the mapping ends the process. If the file can
// still be shrunk, it must not be shrunk while it is mapped, because reading past its new end
// ends the process.
func MapFile(f *os.File) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("map file: %w", err)
	}
	size := info.Size()
	if size < 1 || size > math.MaxInt {
		return nil, fmt.Errorf("map file %q: size %d: must be at least 1", f.Name(), size)
	}
	b, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map file %q of %d bytes: %w", f.Name(), size, err)
	}
	return b, nil
}
