//go:build unix

package dataset

import (
	"fmt"
	"math"

	"golang.org/x/sys/unix"
)

// A Growing is a memory file whose size is not known yet. Seal makes a Memory of it. Bytes that were
// never written take no memory.
type Growing struct{ m Memory }

// NewGrowing makes an empty memory file. The name shows only in listings of open files.
func NewGrowing(name string) (*Growing, error) {
	file, err := nameless(name)
	if err != nil {
		return nil, fmt.Errorf("make memory file %q: %w", name, err)
	}
	return &Growing{Memory{file: file}}, nil
}

// Resize makes the file size bytes long, at least 1, and returns a writable mapping of all of it.
// It holds what was written before, then zeros. Earlier mappings must not be used any more.
func (g *Growing) Resize(size int64) ([]byte, error) {
	if size < 1 || size > math.MaxInt {
		return nil, fmt.Errorf("resize memory file %q: size %d: must be at least 1", g.m.file.Name(), size)
	}
	err := g.m.file.Truncate(size)
	if err == nil && g.m.b == nil {
		g.m.b, err = unix.Mmap(int(g.m.file.Fd()), 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	} else if err == nil {
		err = g.m.remap(int(size))
	}
	if err != nil {
		return nil, fmt.Errorf("resize memory file %q to %d bytes: %w", g.m.file.Name(), size, err)
	}
	return g.m.b, nil
}

// Seal returns the file as one of a size that is fixed. g must not be used any more.
func (g *Growing) Seal() (*Memory, error) {
	if err := seal(g.m.file); err != nil {
		return nil, fmt.Errorf("seal memory file %q: %w", g.m.file.Name(), err)
	}
	return &g.m, nil
}

// Close gives the memory back, unless Seal was called.
func (g *Growing) Close() error {
	if g.m.b == nil {
		return g.m.file.Close()
	}
	return g.m.Close()
}
