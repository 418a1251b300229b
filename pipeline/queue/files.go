package queue

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/shatterlab/shatter/pipeline/disk"
)

// Content is named by its SHA-256 and stored in chunks, one message and subject for each. All
// chunks have chunkSize bytes except the last one, which has fewer, perhaps none. The last chunk is
// stored after the others. Sending a chunk again changes nothing, so several parties may store the
// same content at the same time, and an upload needs no transaction.
//
// The client's ObjectStore is not used. Its Put sends chunks without waiting: if the stream has no
// leader for a moment, a chunk is sent again after later ones, or with their bytes. Its Get makes a
// consumer, for which workers have no permission.

const (
	fileStream  = "shatter-files"
	fileSubject = "shatter.file." // <SHA-256>.<index of the chunk>

	chunkSize = 512 << 10 // bytes

	// MaxBytes is the maximum size of content that is stored from memory or fetched into it.
	MaxBytes = 64 << 20

	// renewAge is the age above which the last chunk of content is stored again when the content is
	// put again, as a protection from RemoveUnnamed.
	renewAge = 10 * time.Minute

	// replicaLag is the time in which all servers of a cluster receive data that one of them has
	// stored.
	replicaLag = 3 * time.Second
)

// ErrNotStored reports that content is not on the server.
var ErrNotStored = errors.New("it is not on the server; submit or run the sweep that needs it again")

var errDamaged = errors.New("it is damaged on the server; empty the store there (`nats stream purge " + fileStream +
	"`), then submit or run the sweeps that need its files again")

// Files is the store for files. Concurrent use is safe.
type Files struct {
	c *Conn

	mu      sync.Mutex
	sources map[string]source // content that this process has put, by digest
}

// A source is content that this process can read.
type source struct {
	size int64 // bytes that are read
	open func() (io.ReadCloser, error)
}

// Put stores the present content of the file at path, which may grow, and returns its SHA-256 in hex
// digits. Content that the server has is not sent again. [Files.Restore] reads the file again.
func (f *Files) Put(ctx context.Context, path string) (digest string, err error) {
	content, size, err := disk.Open(path)
	if err != nil {
		return "", fmt.Errorf("send file: %w", err)
	}
	sum := sha256.New()
	_, err = io.CopyN(sum, content, size)
	digest = hex.EncodeToString(sum.Sum(nil))
	if err = errors.Join(err, content.Close()); err == nil {
		err = f.put(ctx, digest, source{size, func() (io.ReadCloser, error) {
			content, _, err := disk.Open(path)
			return content, err
		}})
	}
	if err != nil {
		return "", fmt.Errorf("send file %q: %w", path, err)
	}
	return digest, nil
}

// PutBytes stores data and returns its SHA-256 in hex digits. data must not be changed afterwards.
func (f *Files) PutBytes(ctx context.Context, data []byte) (digest string, err error) {
	if len(data) > MaxBytes {
		return "", fmt.Errorf("send %d bytes: %d are the most; put them as a file", len(data), MaxBytes)
	}
	sum := sha256.Sum256(data)
	digest = hex.EncodeToString(sum[:])
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	if err := f.put(ctx, digest, source{int64(len(data)), open}); err != nil {
		return "", fmt.Errorf("send %d bytes: %w", len(data), err)
	}
	return digest, nil
}

// FetchBytes returns the verified content with this digest. It returns an error for more than
// MaxBytes.
func (f *Files) FetchBytes(ctx context.Context, digest string) ([]byte, error) {
	var b memory
	err := f.Fetch(ctx, digest, &b)
	return b.content.Bytes(), err
}

// A memory holds content of at most MaxBytes.
type memory struct{ content bytes.Buffer }

func (m *memory) Write(b []byte) (int, error) {
	if m.content.Len()+len(b) > MaxBytes {
		return 0, fmt.Errorf("it has more than the %d bytes that memory may take; fetch it as a file", MaxBytes)
	}
	return m.content.Write(b)
}

// Restore puts content again that this process has put on the server and that the server has lost.
func (f *Files) Restore(ctx context.Context) error {
	f.mu.Lock()
	all := maps.Clone(f.sources)
	f.mu.Unlock()
	var failed []error
	for digest, from := range all {
		if err := f.put(ctx, digest, from); err != nil {
			failed = append(failed, fmt.Errorf("put %s again: %w", digest, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(failed...)
}

// Remove removes the content with this digest from the server, if it is there. Restore does not put
// it again.
func (f *Files) Remove(ctx context.Context, digest string) error {
	f.mu.Lock()
	delete(f.sources, digest)
	f.mu.Unlock()
	return f.c.streams.purge(ctx, fileStream, fileSubject+digest+".*")
}

// RemoveUnnamed removes all content from the server for which named returns false and which no
// process has put, or found there while putting it, for at least idle. It returns the number of
// removed files. idle covers the time between putting content and naming it.
func (f *Files) RemoveUnnamed(
	ctx context.Context, named func(digest string) bool, idle time.Duration,
) (removed int, err error) {
	all, err := f.subjects(ctx, "*")
	if err != nil {
		return 0, err
	}
	chunks := map[string][]string{} // subjects by digest
	for subject := range all {
		digest, _, _ := strings.Cut(strings.TrimPrefix(subject, fileSubject), ".")
		chunks[digest] = append(chunks[digest], subject)
	}
	for digest, subjects := range chunks {
		young := named(digest)
		for i := 0; i < len(subjects) && !young; i++ {
			_, stored, err := f.message(ctx, subjects[i])
			if err != nil && !errors.Is(err, ErrNotStored) {
				return removed, err
			}
			young = err == nil && time.Since(stored) < idle
		}
		if young {
			continue
		}
		if err := f.c.streams.purge(ctx, fileStream, fileSubject+digest+".*"); err != nil {
			return removed, err
		}
		removed++
	}
	return removed, nil
}

// chunkSubject returns the subject of a chunk.
func chunkSubject(digest string, index int64) string {
	return fileSubject + digest + "." + strconv.FormatInt(index, 10)
}

// subjects returns the subjects of the stored chunks of content, from the leader of the stream.
func (f *Files) subjects(ctx context.Context, digest string) (all map[string]uint64, err error) {
	err = f.c.streams.do(ctx, "list "+digest, fileStream, func(ctx context.Context, s jetstream.Stream) error {
		info, err := s.Info(ctx, jetstream.WithSubjectFilter(fileSubject+digest+".*"))
		if err == nil {
			all = info.State.Subjects
		}
		return err
	})
	return all, err
}

// message returns the message of a subject, and the time when it was stored. The error wraps
// ErrNotStored if there is none.
func (f *Files) message(ctx context.Context, subject string) (data []byte, stored time.Time, err error) {
	err = f.c.streams.do(ctx, "read a chunk", fileStream, func(ctx context.Context, s jetstream.Stream) error {
		m, err := s.GetLastMsgForSubject(ctx, subject)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return ErrNotStored
		}
		if err == nil {
			data, stored = m.Data, m.Time
		}
		return err
	})
	return data, stored, err
}

// put sends the chunks of content that the server needs.
func (f *Files) put(ctx context.Context, digest string, from source) error {
	all, err := f.subjects(ctx, digest)
	if err != nil {
		return err
	}
	first, last := int64(0), from.size/chunkSize
	if int64(len(all)) == last+1 {
		_, stored, err := f.message(ctx, chunkSubject(digest, last))
		if err != nil && !errors.Is(err, ErrNotStored) {
			return err
		}
		if first = last; err == nil && time.Since(stored) < renewAge {
			first = last + 1 // nothing to send
		}
	}
	if first <= last {
		if err := f.send(ctx, digest, from, first); err != nil {
			return err
		}
	}
	if !f.c.access.limited() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.sources[digest] = from
	}
	return nil
}

// send sends the chunks of content from the first index on. It sends the last one only if the
// content has the digest.
func (f *Files) send(ctx context.Context, digest string, from source, first int64) error {
	content, err := from.open()
	if err != nil {
		return err
	}
	defer content.Close()
	sum, chunk, last := sha256.New(), make([]byte, min(chunkSize, from.size)), from.size/chunkSize
	for index := range last + 1 {
		chunk = chunk[:min(chunkSize, from.size-index*chunkSize)]
		if _, err := io.ReadFull(content, chunk); err != nil {
			return err
		}
		sum.Write(chunk)
		if index == last {
			if err := sameDigest(sum.Sum(nil), digest); err != nil {
				return err
			}
		}
		if index < first {
			continue
		}
		err := f.c.streams.do(ctx, "send a chunk", fileStream, func(ctx context.Context, _ jetstream.Stream) error {
			_, err := f.c.js.PublishMsg(ctx, &nats.Msg{Subject: chunkSubject(digest, index), Data: chunk})
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Fetch writes the content with this digest to a writer, and verifies it. After an error the writer
// may have received anything.
func (f *Files) Fetch(ctx context.Context, digest string, to io.Writer) error {
	err := checkDigest(digest)
	sum := sha256.New()
	for index, more := int64(0), err == nil; more; index++ {
		var chunk []byte
		chunk, err = f.chunk(ctx, chunkSubject(digest, index))
		if errors.Is(err, ErrNotStored) && index > 0 {
			err = fmt.Errorf("chunk %d is missing: %w", index, errDamaged)
		}
		if err == nil {
			sum.Write(chunk)
			_, err = to.Write(chunk)
		}
		more = err == nil && len(chunk) == chunkSize
	}
	if err == nil && sameDigest(sum.Sum(nil), digest) != nil {
		err = errDamaged
	}
	if err != nil {
		return fmt.Errorf("fetch %s: %w", digest, err)
	}
	return nil
}

// chunk reads a chunk. Because a server of a cluster may lag behind, it waits up to replicaLag for a
// missing one.
func (f *Files) chunk(ctx context.Context, subject string) ([]byte, error) {
	for began := time.Now(); ; {
		data, _, err := f.message(ctx, subject)
		if !errors.Is(err, ErrNotStored) || time.Since(began) > replicaLag {
			return data, err
		}
		if err := pause(ctx, firstWait); err != nil {
			return nil, err
		}
	}
}

func checkDigest(digest string) error {
	b, err := hex.DecodeString(digest)
	if err != nil || len(b) != sha256.Size || strings.ToLower(digest) != digest {
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
