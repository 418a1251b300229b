package queue

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/shatterlab/shatter/pipeline/disk"
)

// Objects of the bucket are named by the SHA-256 of their content. An object consists of its
// chunks, which are messages with one subject per upload, and of its description, which is stored
// after them.
//
// The client's ObjectStore can read the objects, but this package does not use it. Its Put sends
// chunks from one buffer without waiting: if the stream has no leader for a moment, a chunk is sent
// again after later ones, or with their bytes. Its Get makes a consumer, for which workers have no
// permission. Its List does not return if a description is damaged.

const (
	fileBucket   = "shatter-files"
	fileStream   = "OBJ_" + fileBucket
	chunkSubject = "$O." + fileBucket + ".C." // <upload>
	metaSubject  = "$O." + fileBucket + ".M." // <name in base64>: description of an object

	chunkSize = 512 << 10 // bytes; the last chunk of an object may be shorter

	// MaxBytes is the maximum size of content that is stored from memory or fetched into it.
	MaxBytes = 64 << 20

	// renewAge is the age above which the description of content is stored again when the content is
	// put again, as a protection from RemoveUnnamed.
	renewAge = 10 * time.Minute

	// replicaLag is the time in which all servers of a cluster receive data that one of them has
	// stored.
	replicaLag = 3 * time.Second
)

// ErrNotStored reports that content is not on the server.
var ErrNotStored = errors.New("it is not on the server; submit or run the sweep that needs it again")

var (
	errDamaged = errors.New("it is damaged on the server; empty the store there (`nats stream purge " + fileStream +
		"`), then submit or run the sweeps that need its files again")
	errIncomplete = fmt.Errorf("a chunk is missing: %w", errDamaged)
)

// Files is the object store for files. Concurrent use is safe.
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
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("send file: %w", err)
	}
	from := source{info.Size(), func() (io.ReadCloser, error) {
		content, _, err := disk.Open(path)
		return content, err
	}}
	content, err := from.open()
	if err == nil {
		sum := sha256.New()
		_, err = io.CopyN(sum, content, from.size)
		digest, err = hex.EncodeToString(sum.Sum(nil)), errors.Join(err, content.Close())
	}
	if err == nil {
		err = f.put(ctx, digest, from)
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
	var b bytes.Buffer
	err := f.fetch(ctx, digest, func(size uint64) (io.Writer, error) {
		if size > MaxBytes {
			return nil, fmt.Errorf("its %d bytes are more than the %d that memory may take; fetch it as a file", size, MaxBytes)
		}
		b.Reset()
		return &b, nil
	})
	return b.Bytes(), err
}

// Fetch writes the content with this digest to a file, and verifies it. After an error the file may
// hold anything.
func (f *Files) Fetch(ctx context.Context, digest string, to *os.File) error {
	return f.fetch(ctx, digest, func(uint64) (io.Writer, error) {
		_, err := to.Seek(0, io.SeekStart)
		return to, errors.Join(err, to.Truncate(0))
	})
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
	o, err := f.find(ctx, digest)
	if err != nil && !errors.Is(err, errDamaged) {
		if errors.Is(err, ErrNotStored) {
			return nil
		}
		return err
	}
	if err := f.c.streams.purge(ctx, fileStream, metaOf(digest)); err != nil || o.NUID == "" {
		return err
	}
	return f.c.streams.purge(ctx, fileStream, chunkSubject+o.NUID)
}

// RemoveUnnamed removes all content from the server for which named returns false and which no
// process has put, or found there while putting it, for at least idle. It returns the number of
// subjects whose messages it has removed. idle covers the time between putting content and naming it.
func (f *Files) RemoveUnnamed(
	ctx context.Context, named func(digest string) bool, idle time.Duration,
) (removed int, err error) {
	all, err := f.subjects(ctx, ">")
	if err != nil {
		return 0, err
	}
	for subject := range all {
		encoded, isMeta := strings.CutPrefix(subject, metaSubject)
		name, err := base64.URLEncoding.DecodeString(encoded)
		if !isMeta || err != nil {
			continue
		}
		o, err := f.find(ctx, string(name))
		switch {
		case err != nil && !isAny(err, ErrNotStored, errDamaged):
			return 0, err
		case named(o.Name) || time.Since(o.ModTime) < idle:
			delete(all, subject)
			delete(all, chunkSubject+o.NUID)
		}
	}
	for subject := range all { // also chunks of unfinished or replaced uploads, and foreign messages
		gone := false // the attempts below may be several
		err := f.c.streams.do(ctx, "remove "+subject, fileStream, func(ctx context.Context, s jetstream.Stream) error {
			last, err := s.GetLastMsgForSubject(ctx, subject)
			if errors.Is(err, jetstream.ErrMsgNotFound) || err == nil && time.Since(last.Time) < idle {
				return nil
			}
			if err != nil {
				return err
			}
			gone = true
			return s.Purge(ctx, jetstream.WithPurgeSubject(subject))
		})
		if err != nil {
			return removed, err
		}
		if gone {
			removed++
		}
	}
	return removed, nil
}

// find returns the description of the object with a name. The error wraps ErrNotStored if there is
// none, and errDamaged if it cannot be used.
func (f *Files) find(ctx context.Context, name string) (o jetstream.ObjectInfo, err error) {
	err = f.c.streams.do(ctx, "look for it", fileStream, func(ctx context.Context, s jetstream.Stream) error {
		m, err := s.GetLastMsgForSubject(ctx, metaOf(name))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return ErrNotStored
		}
		if err != nil {
			return err
		}
		err = json.Unmarshal(m.Data, &o)
		if err == nil && o.Deleted { // another client has deleted it
			return ErrNotStored
		}
		if err != nil || token("upload", o.NUID) != nil {
			o, err = jetstream.ObjectInfo{}, errDamaged
		}
		o.Name, o.ModTime = name, m.Time
		return err
	})
	return o, err
}

// subjects returns the subjects that match a filter, with their numbers of messages, from the
// leader of the stream.
func (f *Files) subjects(ctx context.Context, filter string) (all map[string]uint64, err error) {
	err = f.c.streams.do(ctx, "list "+filter, fileStream, func(ctx context.Context, s jetstream.Stream) error {
		info, err := s.Info(ctx, jetstream.WithSubjectFilter(filter))
		if err == nil {
			all = info.State.Subjects
		}
		return err
	})
	return all, err
}

// put sends content unless the server has it.
func (f *Files) put(ctx context.Context, digest string, from source) error {
	o, err := f.find(ctx, digest)
	whole := err == nil && o.Size == uint64(from.size)
	if whole { // the server may have lost chunks
		var chunks map[string]uint64
		chunks, err = f.subjects(ctx, chunkSubject+o.NUID)
		whole = chunks[chunkSubject+o.NUID] == uint64(o.Chunks)
	}
	if err != nil && !isAny(err, ErrNotStored, errDamaged) {
		return err
	}
	if !whole {
		if o, err = f.upload(ctx, digest, from); err != nil {
			return err
		}
	}
	if !whole || time.Since(o.ModTime) > renewAge {
		if err := f.describe(ctx, o); err != nil {
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

// upload stores the chunks of content and returns its description. RemoveUnnamed removes the chunks
// of a failed upload.
func (f *Files) upload(ctx context.Context, digest string, from source) (o jetstream.ObjectInfo, err error) {
	o = jetstream.ObjectInfo{Bucket: fileBucket, NUID: rand.Text(), ObjectMeta: jetstream.ObjectMeta{
		Name: digest, Opts: &jetstream.ObjectMetaOptions{ChunkSize: chunkSize},
	}}
	content, err := from.open()
	if err != nil {
		return o, err
	}
	defer content.Close()
	sum, chunk := sha256.New(), make([]byte, min(chunkSize, from.size))
	for left := from.size; left > 0; left -= int64(len(chunk)) {
		chunk = chunk[:min(chunkSize, left)]
		if _, err := io.ReadFull(content, chunk); err != nil {
			return o, err
		}
		if err := f.sendChunk(ctx, o.NUID, o.Chunks, chunk); err != nil {
			return o, err
		}
		sum.Write(chunk)
		o.Size, o.Chunks = o.Size+uint64(len(chunk)), o.Chunks+1
	}
	o.Digest = jetstream.GetObjectDigestValue(sum)
	return o, sameDigest(sum.Sum(nil), digest)
}

// sendChunk stores a chunk. The server recognizes repeated attempts by the message id.
func (f *Files) sendChunk(ctx context.Context, upload string, index uint32, data []byte) error {
	return f.c.streams.do(ctx, "send a chunk", fileStream, func(ctx context.Context, _ jetstream.Stream) error {
		_, err := f.c.js.PublishMsg(ctx, &nats.Msg{Subject: chunkSubject + upload, Data: data},
			jetstream.WithMsgID(fmt.Sprintf("%s.%d", upload, index)))
		return err
	})
}

// describe stores the description of an object.
func (f *Files) describe(ctx context.Context, o jetstream.ObjectInfo) error {
	o.ModTime = time.Time{}
	data, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return f.c.streams.do(ctx, "describe it", fileStream, func(ctx context.Context, _ jetstream.Stream) error {
		_, err := f.c.js.PublishMsg(ctx, &nats.Msg{Subject: metaOf(o.Name), Data: data})
		return err
	})
}

// fetch writes content to the writer that begin returns for its size, and verifies it. It calls
// begin again for each attempt. Because a server of a cluster may lag behind, fetch waits up to
// replicaLag for missing content.
func (f *Files) fetch(ctx context.Context, digest string, begin func(size uint64) (io.Writer, error)) error {
	if err := checkDigest(digest); err != nil {
		return err
	}
	for began := time.Now(); ; {
		err := f.download(ctx, digest, begin)
		if err == nil {
			return nil
		}
		if !isAny(err, ErrNotStored, errIncomplete) || time.Since(began) > replicaLag {
			return fmt.Errorf("fetch %s: %w", digest, err)
		}
		if err := pause(ctx, firstWait); err != nil {
			return err
		}
	}
}

// download makes one attempt of fetch. It reads one chunk at a time.
func (f *Files) download(ctx context.Context, digest string, begin func(size uint64) (io.Writer, error)) error {
	o, err := f.find(ctx, digest)
	if err != nil {
		return err
	}
	w, err := begin(o.Size)
	if err != nil {
		return err
	}
	sum, size, last := sha256.New(), uint64(0), uint64(0)
	for size < o.Size {
		var chunk *jetstream.RawStreamMsg
		err := f.c.streams.do(ctx, "read a chunk", fileStream, func(ctx context.Context, s jetstream.Stream) (err error) {
			chunk, err = s.GetMsg(ctx, last+1, jetstream.WithGetMsgSubject(chunkSubject+o.NUID))
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				return errIncomplete
			}
			return err
		})
		if err != nil {
			return err
		}
		if _, err := w.Write(chunk.Data); err != nil {
			return err
		}
		sum.Write(chunk.Data)
		size, last = size+uint64(len(chunk.Data)), chunk.Sequence
	}
	if sameDigest(sum.Sum(nil), digest) != nil {
		return errDamaged
	}
	return nil
}

// metaOf returns the subject of the description of the object with a name.
func metaOf(name string) string { return metaSubject + base64.URLEncoding.EncodeToString([]byte(name)) }

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
