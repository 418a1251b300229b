package bus

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/shatterlab/shatter/pipeline/disk"
)

// PutRange makes a range of the file at path, of size bytes from offset at on, available to FetchPrivate,
// as PutPrivate does with bytes, and returns the range's SHA-256 in hex digits. It is for files that only
// grow. size is at most MaxBytes.
func (c *Conn) PutRange(ctx context.Context, path string, at, size int64) (digest string, err error) {
	data, err := readRange(path, at, size)
	if err != nil {
		return "", fmt.Errorf("send %d bytes at %d: %w", size, at, err)
	}
	digest, err = c.PutPrivate(ctx, data)
	if err != nil || c.local != nil || size == 0 {
		return digest, err
	}
	return digest, c.hold(private+digest, holding{path: path, at: at, size: size}) // the file is read if need be
}

func readRange(path string, at, size int64) (data []byte, err error) {
	f, _, err := disk.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	data = make([]byte, size)
	_, err = io.ReadFull(io.NewSectionReader(f, at, size), data)
	return data, err
}

// A fileRange reads a range of a file until it is closed.
type fileRange struct {
	*io.SectionReader
	file io.Closer
}

func (r fileRange) Close() error { return r.file.Close() }
