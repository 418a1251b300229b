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

// Files are objects of a bucket of JetStream's object store, named by the SHA-256 of their content. An object is
// its chunks, messages of one subject for each upload, and its description, which is stored after them.
//
// The client's ObjectStore reads them, but is not used here. Its Put sends chunks from one buffer without waiting: if
// the stream has no leader for a moment, a chunk is sent again behind later ones, or with their bytes. Its Get makes
// a consumer, which workers may not.

const (
	fileBucket   = "shatter-files"
	fileStream   = "OBJ_" + fileBucket
	chunkSubject = "$O." + fileBucket + ".C." // <upload>
	metaSubject  = "$O." + fileBucket + ".M." // <name in base64>: the description of an object

	chunkSize = 512 << 10 // bytes; the last chunk of an object may be shorter

	// MaxBytes bounds content that is put from memory or fetched into it.
	MaxBytes = 64 << 20

	// fresh is the age above which the description of content that is put again is renewed, for RemoveUnnamed.
	fresh = 10 * time.Minute

	// replicaLag is the time within which the servers of a cluster have what one of them has stored.
	replicaLag = 3 * time.Second
)

// ErrNotStored is in the chain of an error that reports that content is not on the server.
var ErrNotStored = errors.New("it is not on the server; submit or run the sweep that needs it again")

var (
	errDamaged = errors.New("it is damaged on the server; empty the store there (`nats stream purge " + fileStream +
		"`), then submit or run the sweeps that need its files again")
	errIncomplete = fmt.Errorf("a chunk is missing: %w", errDamaged)
	errLost       = errors.New("chunks that the server has stored are gone")
)

// An object is the description of stored content.
type object struct {
	jetstream.ObjectInfo
	seq uint64 // sequence number of the description in the stream; 0: not stored
}

// A source opens content that this process has. size is its length in bytes.
type source func() (content io.ReadCloser, size int64, err error)

// sources holds what this process has put on the server, by digest.
type sources struct {
	mu        sync.Mutex
	by        map[string]source
	restoring sync.Mutex
}

// PutFile makes the file at path available everywhere. digest is the SHA-256 of its content in 64 hex digits. If
// the server has a whole object of that digest and of the file's size, nothing is sent; otherwise PutFile returns an
// error if the content has another digest. [Conn.Restore] reads the file again.
func (c *Conn) PutFile(ctx context.Context, digest, path string) error {
	if err := checkDigest(digest); err != nil {
		return err
	}
	err := c.put(ctx, digest, func() (io.ReadCloser, int64, error) { return opened(disk.Open(path)) })
	if err != nil {
		return fmt.Errorf("send file %q: %w", path, err)
	}
	return nil
}

func opened[T io.ReadCloser](content T, size int64, err error) (io.ReadCloser, int64, error) {
	return content, size, err
}

// PutPrefix makes the first size bytes of the file at path available everywhere, and returns their SHA-256 in hex
// digits. The file may only grow.
func (c *Conn) PutPrefix(ctx context.Context, path string, size int64) (digest string, err error) {
	from := func() (io.ReadCloser, int64, error) {
		f, _, err := disk.Open(path)
		return struct {
			io.Reader
			io.Closer
		}{io.LimitReader(f, size), f}, size, err
	}
	content, _, err := from()
	if err == nil {
		sum := sha256.New()
		_, err = io.CopyN(sum, content, size)
		digest, err = hex.EncodeToString(sum.Sum(nil)), errors.Join(err, content.Close())
	}
	if err == nil {
		err = c.put(ctx, digest, from)
	}
	if err != nil {
		return "", fmt.Errorf("send %d bytes of %q: %w", size, path, err)
	}
	return digest, nil
}

// PutBytes makes data available everywhere and returns its SHA-256 in hex digits. data must not be changed
// afterwards.
func (c *Conn) PutBytes(ctx context.Context, data []byte) (digest string, err error) {
	if len(data) > MaxBytes {
		return "", fmt.Errorf("send %d bytes: %d are the most; put them as a file", len(data), MaxBytes)
	}
	sum := sha256.Sum256(data)
	digest = hex.EncodeToString(sum[:])
	err = c.put(ctx, digest, func() (io.ReadCloser, int64, error) {
		return io.NopCloser(bytes.NewReader(data)), int64(len(data)), nil
	})
	if err != nil {
		return "", fmt.Errorf("send %d bytes: %w", len(data), err)
	}
	return digest, nil
}

// FetchBytes returns the content with this digest, verified. It refuses content of more than MaxBytes.
func (c *Conn) FetchBytes(ctx context.Context, digest string) ([]byte, error) {
	var b bytes.Buffer
	err := c.fetch(ctx, digest, func(size uint64) (io.Writer, error) {
		if size > MaxBytes {
			return nil, fmt.Errorf("its %d bytes are more than the %d that memory may take; fetch it as a file", size, MaxBytes)
		}
		b.Reset()
		return &b, nil
	})
	return b.Bytes(), err
}

// FetchFile makes the file at path of the content with this digest, verified. If it fails, the file may hold anything.
func (c *Conn) FetchFile(ctx context.Context, digest, path string) error {
	if err := checkDigest(digest); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(c.fetch(ctx, digest, into(f)), f.Close())
}

// into returns what fetch calls to begin a file.
func into(f *os.File) func(uint64) (io.Writer, error) {
	return func(uint64) (io.Writer, error) {
		_, err := f.Seek(0, io.SeekStart)
		return f, errors.Join(err, f.Truncate(0))
	}
}

// Restore puts again what this process has put on the server and the server has lost. A call while another one is at
// work does nothing.
func (c *Conn) Restore(ctx context.Context) error {
	if !c.sources.restoring.TryLock() {
		return nil
	}
	defer c.sources.restoring.Unlock()
	c.sources.mu.Lock()
	all := maps.Clone(c.sources.by)
	c.sources.mu.Unlock()
	var failed []error
	for _, digest := range slices.Sorted(maps.Keys(all)) {
		if err := c.put(ctx, digest, all[digest]); err != nil {
			failed = append(failed, fmt.Errorf("put %s again: %w", digest, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(failed...)
}

// restoreLost calls Restore for a server that has lost its store, in the background.
func (c *Conn) restoreLost() {
	go func() {
		if err := c.Restore(context.Background()); err != nil { // it ends with the connection
			c.log.Warn("content was not put again", "error", err.Error())
		}
	}()
}

// Remove removes the content with this digest from the server, if it is there. Restore does not put it again.
func (c *Conn) Remove(ctx context.Context, digest string) error {
	c.sources.mu.Lock()
	delete(c.sources.by, digest)
	c.sources.mu.Unlock()
	o, err := c.find(ctx, digest)
	if o.seq == 0 {
		if errors.Is(err, ErrNotStored) {
			return nil
		}
		return err
	}
	_, err = c.evict(ctx, o)
	return err
}

// RemoveUnnamed removes all content from the server that named does not report and that no process has put there, or
// found there while putting it, for at least idle. It returns the number of removed objects. idle covers the time
// between putting content and naming it.
func (c *Conn) RemoveUnnamed(ctx context.Context, named func(digest string) bool, idle time.Duration) (int, error) {
	rest, err := c.subjects(ctx, ">") // ObjectStore.List does not return if a description is damaged
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
		o, err := c.find(ctx, string(name))
		if o.seq == 0 && !errors.Is(err, ErrNotStored) {
			return removed, err
		}
		delete(rest, subject)
		delete(rest, chunkSubject+o.NUID)
		if o.seq == 0 || named(o.Name) || time.Since(o.ModTime) < idle {
			continue
		}
		gone, err := c.evict(ctx, o)
		if err != nil {
			return removed, err
		}
		if gone {
			removed++
		}
	}
	for subject := range rest { // chunks of uploads that were not finished or were replaced, and foreign messages
		if err := c.removeOld(ctx, subject, idle); err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// removeOld removes the messages of a subject to which none was added for at least idle.
func (c *Conn) removeOld(ctx context.Context, subject string, idle time.Duration) error {
	var last *jetstream.RawStreamMsg
	err := c.onFiles(ctx, "read "+subject, func(ctx context.Context, s jetstream.Stream) (err error) {
		last, err = s.GetLastMsgForSubject(ctx, subject)
		return err
	})
	if errors.Is(err, jetstream.ErrMsgNotFound) || err == nil && time.Since(last.Time) < idle {
		return nil
	}
	if err != nil {
		return err
	}
	return c.purge(ctx, subject)
}

// find returns the description of the object with a name. The error has ErrNotStored in its chain if there is none,
// and errDamaged if it cannot be used.
func (c *Conn) find(ctx context.Context, name string) (o object, err error) {
	err = c.onFiles(ctx, "look for it", func(ctx context.Context, s jetstream.Stream) error {
		m, err := s.GetLastMsgForSubject(ctx, metaOf(name))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return ErrNotStored
		}
		if err != nil {
			return err
		}
		o = object{seq: m.Sequence}
		err = json.Unmarshal(m.Data, &o.ObjectInfo)
		if o.Deleted { // by another client
			return ErrNotStored
		}
		if err != nil || token("upload", o.NUID, false) != nil {
			o.ObjectInfo = jetstream.ObjectInfo{}
			err = errDamaged
		}
		o.Name, o.ModTime = name, m.Time
		return err
	})
	return o, err
}

// evict removes an object unless its description was replaced since it was found. It reports whether it has.
func (c *Conn) evict(ctx context.Context, o object) (gone bool, err error) {
	if err := c.purge(ctx, metaOf(o.Name), jetstream.WithPurgeSequence(o.seq+1)); err != nil {
		return false, err
	}
	left, err := c.count(ctx, metaOf(o.Name))
	if err != nil || left > 0 {
		return false, err
	}
	if o.NUID != "" {
		err = c.purge(ctx, chunkSubject+o.NUID)
	}
	return true, err
}

// purge removes the messages of a subject.
func (c *Conn) purge(ctx context.Context, subject string, limits ...jetstream.StreamPurgeOpt) error {
	return c.onFiles(ctx, "remove "+subject, func(ctx context.Context, s jetstream.Stream) error {
		return s.Purge(ctx, append(limits, jetstream.WithPurgeSubject(subject))...)
	})
}

// count returns the number of messages of a subject, as the leader of the stream has it.
func (c *Conn) count(ctx context.Context, subject string) (n uint64, err error) {
	all, err := c.subjects(ctx, subject)
	return all[subject], err
}

// subjects returns the subjects that match a filter, with the numbers of their messages.
func (c *Conn) subjects(ctx context.Context, filter string) (all map[string]uint64, err error) {
	err = c.onFiles(ctx, "list "+filter, func(ctx context.Context, s jetstream.Stream) error {
		info, err := s.Info(ctx, jetstream.WithSubjectFilter(filter))
		if err == nil {
			all = info.State.Subjects
		}
		return err
	})
	return all, err
}

// put sends content unless the server has it.
func (c *Conn) put(ctx context.Context, digest string, from source) error {
	for {
		content, size, err := from()
		if err != nil {
			return err
		}
		err = errors.Join(c.putOnce(ctx, digest, content, size), content.Close())
		if err == nil {
			break
		}
		if !conflict(err) && !errors.Is(err, errLost) {
			return err
		}
		select { // another process has changed the object, or the server has lost its store
		case <-time.After(firstWait):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if !c.limited() {
		c.sources.mu.Lock()
		defer c.sources.mu.Unlock()
		if c.sources.by == nil {
			c.sources.by = map[string]source{}
		}
		c.sources.by[digest] = from
	}
	return nil
}

// putOnce makes one attempt of put. It may be repeated after a conflict and after errLost.
func (c *Conn) putOnce(ctx context.Context, digest string, content io.Reader, size int64) error {
	o, err := c.find(ctx, digest)
	whole := err == nil && o.Size == uint64(size)
	if whole { // unless the server has lost chunks
		var chunks uint64
		chunks, err = c.count(ctx, chunkSubject+o.NUID)
		whole = chunks == uint64(o.Chunks)
	}
	switch {
	case err != nil && !isAny(err, ErrNotStored, errDamaged):
		return err
	case whole && time.Since(o.ModTime) < fresh:
		return nil
	case whole: // the new date keeps it from RemoveUnnamed
		return c.describe(ctx, o, jetstream.WithExpectLastSequencePerSubject(o.seq))
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
		if last, err = c.sendChunk(ctx, o.NUID, chunk[:n], last); err != nil {
			return err
		}
		sum.Write(chunk[:n])
		o.Size, o.Chunks = o.Size+uint64(n), o.Chunks+1
	}
	if err := sameDigest(sum.Sum(nil), digest); err != nil {
		return err // RemoveUnnamed finds the chunks
	}
	o.Digest = jetstream.GetObjectDigestValue(sum)
	return c.describe(ctx, o, jetstream.WithExpectLastSequenceForSubject(last, chunkSubject+o.NUID))
}

// sendChunk stores a chunk behind the one with the sequence number last, and returns the number of the new one.
func (c *Conn) sendChunk(ctx context.Context, upload string, data []byte, last uint64) (seq uint64, err error) {
	err = c.onFiles(ctx, "send a chunk", func(ctx context.Context, _ jetstream.Stream) error {
		ack, err := c.js.PublishMsg(ctx, &nats.Msg{Subject: chunkSubject + upload, Data: data},
			jetstream.WithExpectLastSequencePerSubject(last))
		if err == nil {
			seq = ack.Sequence
			return nil
		}
		var refused *jetstream.APIError
		if !conflict(err) || !errors.As(err, &refused) {
			return err
		}
		if _, bad := fmt.Sscanf(refused.Description, "wrong last sequence: %d", &seq); bad != nil {
			return fmt.Errorf("%w: %w", errNoAnswer, err) // an earlier attempt is being stored
		}
		if seq <= last {
			return errLost
		}
		return nil // an earlier attempt was stored
	})
	return seq, err
}

// describe stores the description of an object if the server finds what expected states.
func (c *Conn) describe(ctx context.Context, o object, expected jetstream.PublishOpt) error {
	o.ModTime = time.Time{}
	data, err := json.Marshal(o.ObjectInfo)
	if err != nil {
		return err
	}
	return c.onFiles(ctx, "describe it", func(ctx context.Context, _ jetstream.Stream) error {
		_, err := c.js.PublishMsg(ctx, &nats.Msg{Subject: metaOf(o.Name), Data: data}, expected)
		return err
	})
}

// fetch writes content to the writer that begin returns for its size, and verifies it. It calls begin again before
// it starts again. Because a server of a cluster may be behind, fetch waits up to replicaLag for missing content. A
// process that may remove damaged content does so, and puts it again if it has it.
func (c *Conn) fetch(ctx context.Context, digest string, begin func(size uint64) (io.Writer, error)) error {
	if err := checkDigest(digest); err != nil {
		return err
	}
	for began, replaced := time.Now(), false; ; {
		o, err := c.download(ctx, digest, begin)
		switch {
		case err == nil:
			return nil
		case isAny(err, ErrNotStored, errIncomplete) && time.Since(began) < replicaLag:
			select {
			case <-time.After(replicaLag / 30):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		case errors.Is(err, errDamaged) && !c.limited() && !replaced:
			c.log.Warn("damaged content is removed from the server", "digest", digest)
			if replaced, err = c.evict(ctx, o); err == nil {
				err = c.restoreOne(ctx, digest)
			}
			if err != nil {
				return fmt.Errorf("replace damaged %s: %w", digest, err)
			}
		default:
			return fmt.Errorf("fetch %s: %w", digest, err)
		}
	}
}

// restoreOne puts content again if this process has it.
func (c *Conn) restoreOne(ctx context.Context, digest string) error {
	c.sources.mu.Lock()
	from := c.sources.by[digest]
	c.sources.mu.Unlock()
	if from == nil {
		return nil
	}
	return c.put(ctx, digest, from)
}

// download does the work of fetch once. It reads one chunk at a time.
func (c *Conn) download(
	ctx context.Context, digest string, begin func(size uint64) (io.Writer, error),
) (o object, err error) {
	if o, err = c.find(ctx, digest); err != nil {
		return o, err
	}
	w, err := begin(o.Size)
	if err != nil {
		return o, err
	}
	sum, size, last := sha256.New(), uint64(0), uint64(0)
	for size < o.Size {
		var chunk *jetstream.RawStreamMsg
		err := c.onFiles(ctx, "read a chunk", func(ctx context.Context, s jetstream.Stream) (err error) {
			chunk, err = s.GetMsg(ctx, last+1, jetstream.WithGetMsgSubject(chunkSubject+o.NUID))
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				return errIncomplete
			}
			return err
		})
		if err != nil {
			return o, err
		}
		if _, err := w.Write(chunk.Data); err != nil {
			return o, err
		}
		sum.Write(chunk.Data)
		size, last = size+uint64(len(chunk.Data)), chunk.Sequence
	}
	if sameDigest(sum.Sum(nil), digest) != nil {
		return o, errDamaged
	}
	return o, nil
}

// onFiles calls do with the stream of the bucket until it succeeds, as retry does. If the stream is gone, those who
// may make it again do so.
func (c *Conn) onFiles(ctx context.Context, what string, do func(context.Context, jetstream.Stream) error) error {
	return c.retry(ctx, what, func(ctx context.Context) error {
		s, err := c.setup.stream(ctx, c, fileStream)
		if err == nil {
			err = do(ctx, s)
		}
		if streamGone(err) {
			c.setup.forget()
			return fmt.Errorf("%w: %w", errNoAnswer, err)
		}
		return err
	})
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
