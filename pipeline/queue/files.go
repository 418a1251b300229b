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
	"slices"
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

	// renewAge is the age above which the description of content is renewed when the content is put
	// again, as a protection from RemoveUnnamed.
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

	restoring sync.Mutex // held by Restore
}

// A source opens content that this process can read. size is its length in bytes.
type source func() (content io.ReadCloser, size int64, err error)

// An object is the description of stored content.
type object struct {
	jetstream.ObjectInfo
	seq uint64 // sequence number of the description in the stream; 0: not stored
}

// Put stores the first size bytes of the file at path, which may grow; size -1: the whole file. It
// returns their SHA-256 in hex digits. Content that the server has is not sent again.
// [Files.Restore] reads the file again.
func (f *Files) Put(ctx context.Context, path string, size int64) (digest string, err error) {
	from := func() (io.ReadCloser, int64, error) {
		content, length, err := disk.Open(path)
		if err != nil {
			return nil, 0, err
		}
		if size >= 0 {
			length = size
		}
		return struct {
			io.Reader
			io.Closer
		}{io.LimitReader(content, length), content}, length, nil
	}
	content, length, err := from()
	if err == nil {
		sum := sha256.New()
		_, err = io.CopyN(sum, content, length)
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
	err = f.put(ctx, digest, func() (io.ReadCloser, int64, error) {
		return io.NopCloser(bytes.NewReader(data)), int64(len(data)), nil
	})
	if err != nil {
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
// It does nothing while another call runs.
func (f *Files) Restore(ctx context.Context) error {
	if !f.restoring.TryLock() {
		return nil
	}
	defer f.restoring.Unlock()
	f.mu.Lock()
	all := maps.Clone(f.sources)
	f.mu.Unlock()
	var failed []error
	for _, digest := range slices.Sorted(maps.Keys(all)) {
		if err := f.put(ctx, digest, all[digest]); err != nil {
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
	if o.seq == 0 {
		if errors.Is(err, ErrNotStored) {
			return nil
		}
		return err
	}
	_, err = f.evict(ctx, o)
	return err
}

// RemoveUnnamed removes all content from the server for which named returns false and which no
// process has put, or found there while putting it, for at least idle. It returns the number of
// removed objects. idle covers the time between putting content and naming it.
func (f *Files) RemoveUnnamed(ctx context.Context, named func(digest string) bool, idle time.Duration) (int, error) {
	rest, err := f.subjects(ctx, ">")
	if err != nil {
		return 0, err
	}
	removed := 0
	for subject := range rest {
		encoded, isMeta := strings.CutPrefix(subject, metaSubject)
		name, err := base64.URLEncoding.DecodeString(encoded)
		if !isMeta || err != nil {
			continue
		}
		o, err := f.find(ctx, string(name))
		if o.seq == 0 && !errors.Is(err, ErrNotStored) {
			return removed, err
		}
		delete(rest, subject)
		delete(rest, chunkSubject+o.NUID)
		if o.seq == 0 || named(o.Name) || time.Since(o.ModTime) < idle {
			continue
		}
		gone, err := f.evict(ctx, o)
		if err != nil {
			return removed, err
		}
		if gone {
			removed++
		}
	}
	for subject := range rest { // chunks of unfinished or replaced uploads, and foreign messages
		if err := f.removeOld(ctx, subject, idle); err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// removeOld removes the messages of a subject if none was added to it for at least idle.
func (f *Files) removeOld(ctx context.Context, subject string, idle time.Duration) error {
	return f.c.streams.do(ctx, "remove "+subject, fileStream, func(ctx context.Context, s jetstream.Stream) error {
		last, err := s.GetLastMsgForSubject(ctx, subject)
		if errors.Is(err, jetstream.ErrMsgNotFound) || err == nil && time.Since(last.Time) < idle {
			return nil
		}
		if err != nil {
			return err
		}
		return s.Purge(ctx, jetstream.WithPurgeSubject(subject))
	})
}

// find returns the description of the object with a name. The error wraps ErrNotStored if there is
// none, and errDamaged if it cannot be used.
func (f *Files) find(ctx context.Context, name string) (o object, err error) {
	err = f.c.streams.do(ctx, "look for it", fileStream, func(ctx context.Context, s jetstream.Stream) error {
		m, err := s.GetLastMsgForSubject(ctx, metaOf(name))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return ErrNotStored
		}
		if err != nil {
			return err
		}
		o = object{seq: m.Sequence}
		err = json.Unmarshal(m.Data, &o.ObjectInfo)
		if o.Deleted { // another client has deleted it
			return ErrNotStored
		}
		if err != nil || token("upload", o.NUID) != nil {
			o.ObjectInfo = jetstream.ObjectInfo{}
			err = errDamaged
		}
		o.Name, o.ModTime = name, m.Time
		return err
	})
	return o, err
}

// evict removes an object unless its description was replaced since it was found. It reports
// whether the object was removed.
func (f *Files) evict(ctx context.Context, o object) (gone bool, err error) {
	err = f.c.streams.purge(ctx, fileStream, metaOf(o.Name), jetstream.WithPurgeSequence(o.seq+1))
	if err != nil {
		return false, err
	}
	left, err := f.subjects(ctx, metaOf(o.Name))
	if err != nil || len(left) > 0 {
		return false, err
	}
	if o.NUID != "" {
		err = f.c.streams.purge(ctx, fileStream, chunkSubject+o.NUID)
	}
	return true, err
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

// put sends content unless the server has it. It starts again if another process changes the object
// meanwhile, or if the server loses its store.
func (f *Files) put(ctx context.Context, digest string, from source) error {
	for {
		content, size, err := from()
		if err != nil {
			return err
		}
		err = errors.Join(f.putOnce(ctx, digest, content, size), content.Close())
		if err == nil {
			break
		}
		if !conflict(err) {
			return err
		}
		if err := pause(ctx, firstWait); err != nil {
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

// putOnce makes one attempt of put. It fails with a conflict if the chunks, or the description that
// it has found, are not on the server when it stores the new description.
func (f *Files) putOnce(ctx context.Context, digest string, content io.Reader, size int64) error {
	o, err := f.find(ctx, digest)
	whole := err == nil && o.Size == uint64(size)
	if whole { // the server may have lost chunks
		var chunks map[string]uint64
		chunks, err = f.subjects(ctx, chunkSubject+o.NUID)
		whole = chunks[chunkSubject+o.NUID] == uint64(o.Chunks)
	}
	switch {
	case err != nil && !isAny(err, ErrNotStored, errDamaged):
		return err
	case whole && time.Since(o.ModTime) < renewAge:
		return nil
	case whole: // the new date protects it from RemoveUnnamed
		return f.describe(ctx, o, jetstream.WithExpectLastSequencePerSubject(o.seq))
	}
	o.ObjectInfo = jetstream.ObjectInfo{Bucket: fileBucket, NUID: rand.Text(), ObjectMeta: jetstream.ObjectMeta{
		Name: digest, Opts: &jetstream.ObjectMetaOptions{ChunkSize: chunkSize},
	}}
	sum, chunk, last := sha256.New(), make([]byte, min(chunkSize, size+1)), uint64(0)
	for more := true; more; {
		n, err := io.ReadFull(content, chunk)
		if more = err == nil; !more && !isAny(err, io.EOF, io.ErrUnexpectedEOF) {
			return err
		}
		if n == 0 {
			break
		}
		if last, err = f.sendChunk(ctx, o.NUID, o.Chunks, chunk[:n]); err != nil {
			return err
		}
		sum.Write(chunk[:n])
		o.Size, o.Chunks = o.Size+uint64(n), o.Chunks+1
	}
	if err := sameDigest(sum.Sum(nil), digest); err != nil {
		return err // RemoveUnnamed removes the chunks
	}
	o.Digest = jetstream.GetObjectDigestValue(sum)
	return f.describe(ctx, o, jetstream.WithExpectLastSequenceForSubject(last, chunkSubject+o.NUID))
}

// sendChunk stores a chunk and returns its sequence number. The server recognizes repeated attempts by the message id.
func (f *Files) sendChunk(ctx context.Context, upload string, index uint32, data []byte) (seq uint64, err error) {
	err = f.c.streams.do(ctx, "send a chunk", fileStream, func(ctx context.Context, _ jetstream.Stream) error {
		ack, err := f.c.js.PublishMsg(ctx, &nats.Msg{Subject: chunkSubject + upload, Data: data},
			jetstream.WithMsgID(fmt.Sprintf("%s.%d", upload, index)))
		if err == nil {
			seq = ack.Sequence
		}
		return err
	})
	return seq, err
}

// describe stores the description of an object if the server is in the expected state.
func (f *Files) describe(ctx context.Context, o object, expected jetstream.PublishOpt) error {
	o.ModTime = time.Time{}
	data, err := json.Marshal(o.ObjectInfo)
	if err != nil {
		return err
	}
	return f.c.streams.do(ctx, "describe it", fileStream, func(ctx context.Context, _ jetstream.Stream) error {
		_, err := f.c.js.PublishMsg(ctx, &nats.Msg{Subject: metaOf(o.Name), Data: data}, expected)
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
