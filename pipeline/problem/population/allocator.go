package population

import (
	"fmt"
	"sync/atomic"

	"github.com/apache/arrow/go/v17/arrow/memory"
	"golang.org/x/sys/unix"
)

// largeBuffer is the size in bytes from which on a buffer is taken from the system.
const largeBuffer = 1 << 20

// mapped is an allocator for the buffers of Arrow files. Large ones are taken from the system, and go
// back to it as soon as they are freed: of a record batch as large as its file there are two copies
// for a moment. It does not suit Parquet's decoders, which read on in buffers that they have freed.
type mapped struct {
	memory.Allocator
	least int // bytes of a large buffer
}

// Allocate returns a buffer of size bytes. Where there is no memory it panics, as the decoders expect.
func (m mapped) Allocate(size int) []byte {
	if size < m.least {
		return m.Allocator.Allocate(size)
	}
	b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		panic(fmt.Errorf("no memory for a buffer of %d bytes: %w", size, err))
	}
	return b
}

// Reallocate returns a buffer of size bytes that begins with those of b, which it frees.
func (m mapped) Reallocate(size int, b []byte) []byte {
	if size < m.least && cap(b) < m.least {
		return m.Allocator.Reallocate(size, b)
	}
	if size <= cap(b) {
		return b[:size]
	}
	larger := m.Allocate(size)
	copy(larger, b)
	m.Free(b)
	return larger
}

// Free gives a buffer back.
func (m mapped) Free(b []byte) {
	if cap(b) < m.least {
		m.Allocator.Free(b)
		return
	}
	if err := unix.Munmap(b[:cap(b)]); err != nil {
		panic(fmt.Errorf("free a buffer of %d bytes: %w", cap(b), err))
	}
}

// limited is an allocator that refuses a single piece a thousand times as large as the file, and more
// pieces than a file of its size needs: lengths come from the file, and running out of memory cannot be
// caught.
type limited struct {
	memory.Allocator
	piece, most int64        // bytes
	live        atomic.Int64 // bytes that were not freed
}

// newLimited returns the allocator for a file of a size.
func newLimited(mem memory.Allocator, fileSize int64) *limited {
	return &limited{Allocator: mem, piece: 1<<20 + 1000*fileSize, most: 64<<20 + 1000*fileSize}
}

// Allocate returns a buffer of size bytes.
func (l *limited) Allocate(size int) []byte {
	l.charge(size, size)
	return l.Allocator.Allocate(size)
}

// Reallocate returns a buffer of size bytes that begins with those of b, which it frees.
func (l *limited) Reallocate(size int, b []byte) []byte {
	l.charge(size, size-len(b))
	return l.Allocator.Reallocate(size, b)
}

// Free gives a buffer back.
func (l *limited) Free(b []byte) {
	l.live.Add(-int64(len(b)))
	l.Allocator.Free(b)
}

// charge counts a piece of a size, by which more bytes are taken.
func (l *limited) charge(size, more int) {
	if size < 0 || int64(size) > l.piece || l.live.Add(int64(more)) > l.most {
		panic(fmt.Errorf("it asks for a buffer of %d bytes", size))
	}
}
