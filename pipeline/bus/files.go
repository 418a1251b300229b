package bus

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/shatterlab/shatter/pipeline/disk"
)

const (
	partSize = 512 << 10 // bytes; the last part of a file may be shorter
	inFlight = 8         // number of parts on their way at the same time
)

// A manifest is stored under a file's digest after all of its parts.
type manifest struct {
	Size int64 `json:"size"` // bytes
	Part int64 `json:"part"` // bytes of a part
}

func (m manifest) parts() int64 { return (m.Size + m.Part - 1) / m.Part }

// PutFile makes the file at path available to FetchFile everywhere. digest is the SHA-256 of its
// content in 64 hex digits; PutFile returns an error if it is not. A file that is on the server
// already is not sent again. With an embedded server nothing is copied: FetchFile returns path.
func (c *Conn) PutFile(ctx context.Context, digest, path string) error {
	if err := checkDigest(digest); err != nil {
		return err
	}
	if c.local != nil {
		if known, ok := c.local.file(digest); ok && known == path {
			return nil // verified before
		}
		if err := verify(path, digest); err != nil {
			return err
		}
		c.local.putFile(digest, path)
		return nil
	}
	if err := c.filesReady(ctx); err != nil {
		return err
	}
	if _, err := c.manifest(ctx, digest); !errors.Is(err, errNotStored) {
		return err // nil if the file is there
	}
	size, err := c.sendParts(ctx, digest, path)
	if err != nil {
		return fmt.Errorf("send file %q: %w", path, err)
	}
	data, err := json.Marshal(manifest{Size: size, Part: partSize})
	if err != nil {
		return err
	}
	return c.store(ctx, "send file "+path, fileSubject+digest, data)
}

// FetchFile returns the path of a verified copy of the file with this digest. The copy is
// dir/digest; it is fetched unless it is there. Any number of goroutines and processes may fetch
// one file into one dir: one of them does, and the others wait.
func (c *Conn) FetchFile(ctx context.Context, digest, dir string) (path string, err error) {
	if err := checkDigest(digest); err != nil {
		return "", err
	}
	if c.local != nil {
		if path, ok := c.local.file(digest); ok {
			return path, nil
		}
		return "", fmt.Errorf("fetch file %s: %w", digest, errNotStored)
	}
	path = filepath.Join(dir, digest)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := c.filesReady(ctx); err != nil {
		return "", err
	}
	if err := c.fetch(ctx, digest, path); err != nil {
		return "", fmt.Errorf("fetch file %s: %w", digest, err)
	}
	return path, nil
}

// errNotStored reports that a file is not on the server, or not whole. Workers also see it when
// their sweep has ended and its files were removed.
var errNotStored = errors.New("it is not on the server; the coordinator puts it there before the first job")

// filesReady makes the stream of files if it is missing.
func (c *Conn) filesReady(ctx context.Context) error {
	return c.retry(ctx, "make file store", func(ctx context.Context) error {
		_, err := c.stream(ctx, fileStream)
		return err
	})
}

// sendParts stores the parts of a file, several at a time, and verifies its digest meanwhile. It
// returns the file's size.
func (c *Conn) sendParts(ctx context.Context, digest, path string) (size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var sending sync.WaitGroup
	free := make(chan struct{}, inFlight)
	sum := sha256.New()
	for i := int64(0); ctx.Err() == nil; i++ {
		part := make([]byte, partSize)
		n, err := io.ReadFull(f, part)
		size += int64(n)
		sum.Write(part[:n])
		if n > 0 {
			free <- struct{}{}
			sending.Go(func() {
				defer func() { <-free }()
				if err := c.store(ctx, "send part of file "+path, partSubject(digest, i), part[:n]); err != nil {
					cancel(err)
				}
			})
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			cancel(err)
		}
	}
	sending.Wait()
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	return size, sameDigest(sum.Sum(nil), digest)
}

// fetch writes the file to path + ".part", verifies it and renames it. The partial file is locked:
// whoever comes second waits.
func (c *Conn) fetch(ctx context.Context, digest, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path+".part", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := disk.Lock(ctx, f, disk.Exclusive); err != nil {
		return err
	}
	if _, err := os.Stat(path); err == nil { // somebody else has fetched it
		if err := os.Remove(f.Name()); !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}
	m, err := c.manifest(ctx, digest)
	if err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	if err := c.receive(ctx, digest, m, f); err != nil {
		return err
	}
	if err := errors.Join(f.Chmod(0o444), f.Sync()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// A part is one part of a file as it arrived, or the error of asking for it.
type part struct {
	data []byte
	err  error
}

// receive writes all parts to w, asking for several at a time, and verifies their digest.
func (c *Conn) receive(ctx context.Context, digest string, m manifest, w io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	coming := make(chan chan part, inFlight)
	go func() {
		defer close(coming)
		for i := range m.parts() {
			one := make(chan part, 1)
			select {
			case coming <- one:
			case <-ctx.Done():
				return
			}
			go func() {
				data, err := c.load(ctx, partSubject(digest, i))
				one <- part{data, err}
			}()
		}
	}()
	sum := sha256.New()
	for one := range coming {
		p := <-one
		if p.err != nil {
			return p.err
		}
		sum.Write(p.data)
		if _, err := w.Write(p.data); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return sameDigest(sum.Sum(nil), digest)
}

// manifest asks for a file's manifest. It returns errNotStored if the file is not there, or not
// whole.
func (c *Conn) manifest(ctx context.Context, digest string) (m manifest, err error) {
	data, err := c.load(ctx, fileSubject+digest)
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(data, &m); err != nil || m.Size < 0 || m.Part < 1 || m.Part > MaxResult {
		return m, fmt.Errorf("file %s: its entry %.100q on the server is damaged; purge stream %q", digest, data, fileStream)
	}
	return m, nil
}

// load reads the message of a subject of the file stream.
func (c *Conn) load(ctx context.Context, subject string) (data []byte, err error) {
	err = c.retry(ctx, "read "+subject, func(ctx context.Context) error {
		m, err := c.nc.RequestWithContext(ctx, "$JS.API.DIRECT.GET."+fileStream+"."+subject, nil)
		if err != nil {
			return err
		}
		if code := status(m); code == "404" {
			return errNotStored
		} else if code != "" {
			return fmt.Errorf("%w (status %s)", nats.ErrNoResponders, code)
		}
		data = m.Data
		return nil
	})
	return data, err
}

func partSubject(digest string, i int64) string {
	return fileSubject + digest + "." + strconv.FormatInt(i, 10)
}

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

func verify(path, digest string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("verify file: %w", err)
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return fmt.Errorf("verify file %q: %w", path, err)
	}
	if err := sameDigest(sum.Sum(nil), digest); err != nil {
		return fmt.Errorf("verify file %q: %w", path, err)
	}
	return nil
}
