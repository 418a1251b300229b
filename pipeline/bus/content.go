package bus

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/shatterlab/shatter/pipeline/disk"
)

// MaxBytes bounds content that FetchBytes returns.
const MaxBytes = 64 << 20

// ErrNotStored is in the chain of an error that says that content is not on the server, or not
// whole, and that nobody who is connected has it.
var ErrNotStored = errors.New("it is not on the server, and no process that has it is connected")

// PutFile makes the file at path available to FetchFile everywhere. digest is the SHA-256 of its
// content in 64 hex digits; PutFile returns an error if it is not. Only what the server lacks is
// sent. As long as c is open and the file stays as it is, parts of it that others find missing or
// damaged on the server are put there again. With an embedded server nothing is copied: FetchFile
// returns path.
func (c *Conn) PutFile(ctx context.Context, digest, path string) error {
	if err := checkDigest(digest); err != nil {
		return err
	}
	h := holding{path: path}
	if c.local != nil {
		if known, ok := c.local.held.get(digest); ok && known.path == path {
			return nil // verified before
		}
		if _, err := h.describe(digest); err != nil {
			return fmt.Errorf("verify file: %w", err)
		}
		c.local.held.set(digest, h)
		return nil
	}
	if err := c.put(ctx, digest, h, nil); err != nil {
		return fmt.Errorf("send file %q: %w", path, err)
	}
	return c.hold(digest, h)
}

// PutBytes makes data available to FetchBytes and FetchFile everywhere, as PutFile does with a
// file, and returns its SHA-256 in hex digits. data must not be changed afterwards.
func (c *Conn) PutBytes(ctx context.Context, data []byte) (digest string, err error) {
	if len(data) > MaxBytes {
		return "", fmt.Errorf("send %d bytes: %d are the most; put them as a file", len(data), MaxBytes)
	}
	sum := sha256.Sum256(data)
	digest = hex.EncodeToString(sum[:])
	h := holding{data: data}
	if c.local != nil {
		c.local.held.set(digest, h)
		return digest, nil
	}
	if err := c.put(ctx, digest, h, nil); err != nil {
		return "", fmt.Errorf("send %d bytes: %w", len(data), err)
	}
	return digest, c.hold(digest, h)
}

// FetchFile returns the path of a verified copy of the file with this digest. The copy is
// dir/digest; it is fetched unless it is there. Any number of goroutines and processes may fetch
// one file into one dir: one of them does, and the others wait. A [FileCache] also verifies copies
// that are there, and bounds their size.
func (c *Conn) FetchFile(ctx context.Context, digest, dir string) (path string, err error) {
	if err := checkDigest(digest); err != nil {
		return "", err
	}
	path = filepath.Join(dir, digest)
	if c.local != nil {
		h, ok := c.local.held.get(digest)
		if ok && h.path != "" {
			return h.path, nil
		}
		if !ok {
			return "", fmt.Errorf("fetch file %s: %w", digest, ErrNotStored)
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", err
		}
		return path, disk.WriteFile(path, disk.Bytes(h.data))
	}
	if _, err := os.Stat(path); err != nil {
		if err := c.fetchFile(ctx, digest, path); err != nil {
			return "", fmt.Errorf("fetch file %s: %w", digest, err)
		}
	}
	return path, c.hold(digest, holding{path: path})
}

// FetchBytes returns the content with this digest, verified. It refuses content of more than
// MaxBytes.
func (c *Conn) FetchBytes(ctx context.Context, digest string) (data []byte, err error) {
	if err := checkDigest(digest); err != nil {
		return nil, err
	}
	if c.local != nil {
		h, ok := c.local.held.get(digest)
		if !ok {
			return nil, fmt.Errorf("fetch %s: %w", digest, ErrNotStored)
		}
		return h.bytes(digest)
	}
	var b buffer
	if err := c.fetch(ctx, digest, &b); err != nil {
		return nil, fmt.Errorf("fetch %s: %w", digest, err)
	}
	return b.data, nil
}

// Has reports whether the content with this digest, private or not, is on the server, with all of its
// parts. Whether they are sound shows when they are fetched.
func (c *Conn) Has(ctx context.Context, digest string) (bool, error) {
	if err := checkDigest(digest); err != nil {
		return false, err
	}
	if c.local != nil {
		_, ok := c.local.held.get(digest)
		return ok, nil
	}
	if err := c.filesReady(ctx); err != nil {
		return false, err
	}
	for _, name := range []string{digest, private + digest} {
		if has, err := c.hasNamed(ctx, name); has || err != nil {
			return has, err
		}
	}
	return false, nil
}

// hasNamed reports whether the content with a name is on the server, with all of its parts.
func (c *Conn) hasNamed(ctx context.Context, name string) (bool, error) {
	m, _, err := c.manifest(ctx, name)
	if errors.Is(err, ErrNotStored) || errors.Is(err, errDamaged) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	missing, err := c.missing(ctx, name, m)
	return err == nil && len(missing) == 0, err
}

// Remove removes the content with this digest from the server, if it is there, and lets go of what
// this process has of it. Somebody else who has it may still put it again.
func (c *Conn) Remove(ctx context.Context, digest string) error {
	if err := checkDigest(digest); err != nil {
		return err
	}
	if c.local != nil {
		c.local.held.remove(digest)
		return nil
	}
	c.held.remove(digest)
	return c.purge(ctx, digest)
}

// RemoveUnnamed removes all content from the server that named does not report, and that nobody has
// put there, or found there while putting it, for at least idle. It returns how many were removed.
// idle covers the time between putting content and naming it. Whoever still has what was removed, and
// is connected, puts it again when somebody asks for it.
func (c *Conn) RemoveUnnamed(ctx context.Context, named func(digest string) bool, idle time.Duration) (int, error) {
	if c.local != nil {
		return 0, nil // nothing is copied there
	}
	if err := c.filesReady(ctx); err != nil {
		return 0, err
	}
	subjects, err := c.subjects(ctx, ">")
	if err != nil {
		return 0, err
	}
	newest := map[string]string{} // a subject that tells the age of a content: the manifest's, or a part's
	for subject := range subjects {
		digest, isPart := nameOf(subject)
		if _, ok := newest[digest]; (!ok || !isPart) && !named(digestOf(digest)) {
			newest[digest] = subject
		}
	}
	removed := 0
	for digest, subject := range newest {
		found, err := c.load(ctx, subject)
		if errors.Is(err, ErrNotStored) || err == nil && time.Since(found.at) < idle {
			continue
		}
		if err != nil {
			return removed, err
		}
		same, err := c.evict(ctx, digest, found.seq)
		if err != nil {
			return removed, err
		}
		if same {
			removed++
		}
	}
	return removed, nil
}

// evict removes content as long as the message that told its age is there: whoever puts the content
// meanwhile puts another one in its place. It reports whether it has.
func (c *Conn) evict(ctx context.Context, digest string, seq uint64) (same bool, err error) {
	err = c.onFiles(ctx, "remove "+digest, func(ctx context.Context, s jetstream.Stream) error {
		err := s.DeleteMsg(ctx, seq)
		if same = err == nil; same || gone(err) {
			return nil
		}
		return err
	})
	if err != nil || !same {
		return false, err
	}
	c.held.remove(digest)
	return true, c.purge(ctx, digest)
}

// A holding is content that this process has: a file, a range of one, or bytes in memory.
type holding struct {
	path string
	data []byte // where path is empty

	at, size int64 // of a range of the file; size 0: all of it
}

// A readerCloser reads at any place until it is closed.
type readerCloser interface {
	io.ReaderAt
	io.Closer
}

// open opens the content for reading. An error names the file.
func (h holding) open() (r readerCloser, size int64, err error) {
	if h.path == "" {
		return inMemory{bytes.NewReader(h.data)}, int64(len(h.data)), nil
	}
	f, size, err := disk.Open(h.path)
	if err != nil {
		return nil, 0, err
	}
	if h.size > 0 {
		return fileRange{io.NewSectionReader(f, h.at, h.size), f}, h.size, nil
	}
	return f, size, nil
}

// describe verifies that the content has a digest, and returns its manifest.
func (h holding) describe(digest string) (m manifest, err error) {
	r, size, err := h.open()
	if err != nil {
		return m, err
	}
	defer r.Close()
	if m, err = describe(io.NewSectionReader(r, 0, size), size, digest); err != nil && h.path != "" {
		return m, fmt.Errorf("%q: %w", h.path, err)
	}
	return m, err
}

// verify returns an error unless the file at path has a digest.
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

// bytes returns the content, verified.
func (h holding) bytes(digest string) ([]byte, error) {
	data := h.data
	if h.path != "" {
		var err error
		if data, err = disk.ReadFile(h.path, MaxBytes); err != nil {
			return nil, err
		}
	}
	sum := sha256.Sum256(data)
	return data, sameDigest(sum[:], digest)
}

type inMemory struct{ *bytes.Reader }

func (inMemory) Close() error { return nil }

func checkDigest(digest string) error {
	if b, err := hex.DecodeString(digest); err != nil || len(b) != sha256.Size || hex.EncodeToString(b) != digest {
		return fmt.Errorf("name file %q: 64 lower case hex digits of its SHA-256 are needed", digest)
	}
	return nil
}

func sameDigest(sum []byte, digest string) error {
	if found := hex.EncodeToString(sum); found != digest {
		return fmt.Errorf("its content has SHA-256 %s, not %s: it was changed", found, digest)
	}
	return nil
}
