package bus

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/shatterlab/shatter/pipeline/disk"
)

// patience is how long a fetch goes on without a new sound part while somebody who has the content
// answers, unless the options ask for less.
const patience = 10 * time.Minute

// A target is where content is fetched to. What it holds already is verified and not fetched again.
type target interface {
	io.ReaderAt
	io.WriterAt
	// resize prepares the target for content of a size in bytes.
	resize(size int64) error
}

// fetchFile writes the file to path + ".part", verifies it and renames it. The partial file is
// locked: whoever comes second waits.
func (c *Conn) fetchFile(ctx context.Context, digest, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := openLocked(ctx, path+".part")
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := os.Stat(path); err == nil { // somebody else has fetched it
		if err := os.Remove(f.Name()); !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}
	if err := c.fetch(ctx, digest, partial{f}); err != nil {
		return err
	}
	if err := errors.Join(f.Chmod(0o444), f.Sync()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// openLocked opens or makes a file and locks it. It waits for other holders of the lock, who may
// rename or remove the file.
func openLocked(ctx context.Context, path string) (*os.File, error) {
	for {
		f, err := disk.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if errors.Is(err, os.ErrPermission) { // it is about to be renamed, or was left so
			if err = os.Chmod(path, 0o600); err == nil || errors.Is(err, os.ErrNotExist) {
				continue
			}
		}
		if err != nil {
			return nil, err
		}
		if err := disk.Lock(ctx, f.File, disk.Exclusive); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if same(f.File, path) {
			return f.File, nil
		}
		f.Close()
	}
}

// same reports whether an open file is still the one at path.
func same(f *os.File, path string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(mine, there)
}

// fetch fetches content into to, part by part. Parts that are missing or damaged on the server are
// asked for among the processes that have them.
func (c *Conn) fetch(ctx context.Context, digest string, to target) error {
	if err := c.filesReady(ctx); err != nil {
		return err
	}
	const firstWait, mostWait = 50 * time.Millisecond, 2 * time.Second
	least, since, wait := int64(-1), time.Now(), firstWait
	for {
		bad, lacking, err := c.round(ctx, digest, to)
		if err != nil || lacking == 0 {
			return err
		}
		if least < 0 || lacking < least {
			least, since, wait = lacking, time.Now(), firstWait
		}
		if most := cmp.Or(c.opts.Patience, patience); time.Since(since) > most {
			return fmt.Errorf("%w: who has it did not put it there for %v", ErrNotStored, most)
		}
		if err := c.ask(ctx, digest, bad); err != nil {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		wait = min(2*wait, mostWait)
	}
}

// round fetches what to does not hold yet. It returns the parts that are missing or damaged on the
// server, and how many are lacking, 0 if the content is complete and verified. Without a manifest
// all of them are lacking.
func (c *Conn) round(ctx context.Context, digest string, to target) (bad []int64, lacking int64, err error) {
	const all = maxSize
	m, _, err := c.manifest(ctx, digest)
	if errors.Is(err, ErrNotStored) || errors.Is(err, errDamaged) {
		return nil, all, nil
	}
	if err != nil {
		return nil, 0, err
	}
	if err := to.resize(m.Size); err != nil {
		return nil, 0, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	whole := sha256.New()
	for p := range c.coming(ctx, digest, m, to) {
		switch {
		case p.err != nil:
			return nil, 0, p.err
		case p.data == nil:
			bad = append(bad, p.number)
			continue
		case !p.local:
			if _, err := to.WriteAt(p.data, p.number*m.Part); err != nil {
				return nil, 0, err
			}
		}
		whole.Write(p.data)
	}
	if err := ctx.Err(); err != nil {
		return nil, 0, context.Cause(ctx)
	}
	if len(bad) == 0 && sameDigest(whole.Sum(nil), digestOf(digest)) != nil { // the manifest is that of something else
		c.log.Warn("wrong manifest on the server", "digest", digest)
		return []int64{wrongManifest}, all, c.discardLast(ctx, subjectOf(digest))
	}
	return bad, int64(len(bad)), nil
}

// A part is one part of some content as it was found, or the error of asking for it.
type part struct {
	number int64
	data   []byte // verified; nil: the part is missing or damaged on the server
	local  bool   // the target held it already
	err    error
}

// coming returns all parts in order, several of which it asks for at a time.
func (c *Conn) coming(ctx context.Context, digest string, m manifest, have io.ReaderAt) func(func(part) bool) {
	return func(yield func(part) bool) {
		ctx, cancel := context.WithCancel(ctx)
		queue := make(chan chan part, inFlight)
		go func() {
			defer close(queue)
			for i := range m.parts() {
				one := make(chan part, 1)
				select {
				case queue <- one:
				case <-ctx.Done():
					return
				}
				go func() { one <- c.part(ctx, digest, m, i, have) }()
			}
		}()
		defer func() {
			cancel()
			for one := range queue { // parts read have, which is closed next
				<-one
			}
		}()
		for one := range queue {
			if !yield(<-one) {
				return
			}
		}
	}
}

// part returns one part: the target's own if that is sound, and else the server's. A damaged one is
// removed there.
func (c *Conn) part(ctx context.Context, digest string, m manifest, i int64, have io.ReaderAt) part {
	own := make([]byte, m.length(i))
	if _, err := have.ReadAt(own, i*m.Part); (err == nil || errors.Is(err, io.EOF)) && m.verifies(i, own) {
		return part{number: i, data: own, local: true}
	}
	found, err := c.load(ctx, partSubject(digest, i))
	switch {
	case errors.Is(err, ErrNotStored):
		return part{number: i}
	case err != nil:
		return part{number: i, err: err}
	case m.verifies(i, found.data):
		return part{number: i, data: found.data}
	}
	c.log.Warn("damaged part on the server", "digest", digest, "part", i, "of", m.parts())
	return part{number: i, err: c.discard(ctx, partSubject(digest, i), found.seq)}
}

// discardLast removes the message of a subject.
func (c *Conn) discardLast(ctx context.Context, subject string) error {
	found, err := c.load(ctx, subject)
	if errors.Is(err, ErrNotStored) {
		return nil
	}
	if err != nil {
		return err
	}
	return c.discard(ctx, subject, found.seq)
}

// partial is a file that is being fetched, perhaps by an earlier process until that ended.
type partial struct{ *os.File }

// resize cuts what is too long; writing makes the file longer.
func (p partial) resize(size int64) error {
	info, err := p.Stat()
	if err != nil || info.Size() <= size {
		return err
	}
	return p.Truncate(size)
}

// buffer is a target in memory.
type buffer struct{ data []byte }

func (b *buffer) resize(size int64) error {
	if size > MaxBytes {
		return fmt.Errorf("its %d bytes are more than the %d that are kept in memory; fetch it as a file", size, MaxBytes)
	}
	if int64(len(b.data)) != size {
		b.data = make([]byte, size)
	}
	return nil
}

func (b *buffer) ReadAt(p []byte, at int64) (int, error) { return copy(p, b.data[at:]), nil }

func (b *buffer) WriteAt(p []byte, at int64) (int, error) { return copy(b.data[at:], p), nil }
