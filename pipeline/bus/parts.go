package bus

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	partSize = 512 << 10 // bytes; the last part of a content may be shorter
	sumSize  = 16        // bytes of a part's sum
	inFlight = 8         // number of parts on their way at the same time
	batch    = 64        // number of parts that are put between two looks at what is missing

	// maxSize bounds content, in bytes, so that its manifest fits into one message.
	maxSize = 10 << 30

	// fresh is the age from which on the manifest of content that is put again is renewed, for
	// RemoveUnnamed.
	fresh = 10 * time.Minute
)

// wrongManifest stands among the numbers of damaged parts for the manifest of something else.
const wrongManifest = -1

// errDamaged is in the chain of an error that says that a manifest is not what PutFile writes.
var errDamaged = errors.New("its manifest on the server is damaged")

// errOtherParts says that content does not have the parts that its manifest states.
var errOtherParts = errors.New("its parts are not those of its manifest")

// A manifest says what the parts of a content are. It is stored under the content's digest, after
// all parts. The digest of the whole is verified beside it, so a wrong manifest can do no harm but
// to name the wrong part.
type manifest struct {
	Size int64  `json:"size"` // bytes
	Part int64  `json:"part"` // bytes of a part
	Sums []byte `json:"sums"` // the first 16 bytes of the SHA-256 of each part
}

// decodeManifest reads a manifest. An error has errDamaged in its chain.
func decodeManifest(data []byte) (m manifest, err error) {
	switch err := json.Unmarshal(data, &m); {
	case err != nil:
		return manifest{}, fmt.Errorf("%w: %w", errDamaged, err)
	case m.Size < 0 || m.Size > maxSize:
		return manifest{}, fmt.Errorf("%w: size %d", errDamaged, m.Size)
	case m.Part < 1 || m.Part > MaxResult:
		return manifest{}, fmt.Errorf("%w: parts of %d bytes", errDamaged, m.Part)
	case int64(len(m.Sums)) != m.parts()*sumSize:
		return manifest{}, fmt.Errorf("%w: %d bytes of sums for %d parts", errDamaged, len(m.Sums), m.parts())
	}
	return m, nil
}

// describe reads content of a size, verifies its digest and returns its manifest.
func describe(r io.Reader, size int64, digest string) (m manifest, err error) {
	if size > maxSize {
		return m, fmt.Errorf("its %d bytes are more than the %d that travel", size, int64(maxSize))
	}
	m = manifest{Size: size, Part: partSize}
	whole, part := sha256.New(), make([]byte, min(partSize, size))
	for i := range m.parts() {
		p := part[:m.length(i)]
		if _, err := io.ReadFull(r, p); err != nil {
			return m, err
		}
		whole.Write(p)
		m.Sums = append(m.Sums, sumOf(p)...)
	}
	return m, sameDigest(whole.Sum(nil), digest)
}

func sumOf(part []byte) []byte {
	sum := sha256.Sum256(part)
	return sum[:sumSize]
}

// parts returns the number of parts.
func (m manifest) parts() int64 { return (m.Size + m.Part - 1) / m.Part }

// numbers lists the parts.
func (m manifest) numbers() (list []int64) {
	for i := range m.parts() {
		list = append(list, i)
	}
	return list
}

// length returns the number of bytes of part i.
func (m manifest) length(i int64) int64 { return min(m.Part, m.Size-i*m.Part) }

// verifies reports whether data is part i.
func (m manifest) verifies(i int64, data []byte) bool {
	return int64(len(data)) == m.length(i) && bytes.Equal(sumOf(data), m.Sums[i*sumSize:(i+1)*sumSize])
}

// put puts what the server lacks of a content, and the parts that are said to be damaged there.
func (c *Conn) put(ctx context.Context, digest string, h holding, damaged []int64) error {
	if err := c.filesReady(ctx); err != nil {
		return err
	}
	m, at, err := c.manifestToPut(ctx, digest)
	if slices.Contains(damaged, wrongManifest) {
		err = errDamaged
	}
	if err == nil {
		err = c.putParts(ctx, digest, h, m, damaged)
		if err == nil && time.Since(at) < fresh {
			return nil
		}
	}
	if errors.Is(err, ErrNotStored) || errors.Is(err, errDamaged) || errors.Is(err, errOtherParts) {
		if m, err = h.describe(digestOf(digest)); err != nil {
			return err
		}
		if m.parts() == 1 || c.who.Role == Submitter && m.parts() <= batch {
			// To look for one first, and once it is stored, takes longer. A submitter cannot see which are damaged.
			err = c.sendParts(ctx, digest, h, m, m.numbers())
		} else {
			err = c.putParts(ctx, digest, h, m, damaged)
		}
	}
	if err != nil {
		return err
	}
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return c.storeFile(ctx, subjectOf(digest), data)
}

// manifestToPut returns the manifest of a content that is about to be put, as manifest does. A submitter may
// not read it: others may have put the content before.
func (c *Conn) manifestToPut(ctx context.Context, digest string) (m manifest, at time.Time, err error) {
	if c.who.Role == Submitter {
		return m, at, ErrNotStored
	}
	return c.manifest(ctx, digest)
}

// putParts puts the listed parts and all that the server lacks, in random order, so that several
// processes that do so at once share the work. Parts that are there are not looked at: who fetches
// them does, and asks for damaged ones. It returns errOtherParts if the content does not have
// the parts of m.
func (c *Conn) putParts(ctx context.Context, digest string, h holding, m manifest, listed []int64) error {
	listed = slices.DeleteFunc(slices.Clone(listed), func(i int64) bool { return i < 0 || i >= m.parts() })
	for sent := int64(0); ; {
		if sent > 3*m.parts()+batch {
			return fmt.Errorf("parts of it do not stay on the server; raise max_bytes of stream %q", fileStream)
		}
		sent += int64(len(listed))
		for len(listed) > 0 {
			n := min(batch, len(listed))
			if err := c.sendParts(ctx, digest, h, m, listed[:n]); err != nil {
				return err
			}
			listed = listed[n:]
		}
		missing, err := c.missing(ctx, digest, m)
		if err != nil || len(missing) == 0 {
			return err
		}
		rand.Shuffle(len(missing), func(i, j int) { missing[i], missing[j] = missing[j], missing[i] })
		listed = missing[:min(batch, len(missing))]
	}
}

// sendParts stores parts, several at a time.
func (c *Conn) sendParts(ctx context.Context, digest string, h holding, m manifest, parts []int64) error {
	r, _, err := h.open()
	if err != nil {
		return err
	}
	defer r.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int64, len(parts))
	for _, i := range parts {
		next <- i
	}
	close(next)
	var sending sync.WaitGroup
	for range min(inFlight, len(parts)) {
		sending.Go(func() {
			for i := range next {
				if err := c.sendPart(ctx, digest, r, m, i); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	sending.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// sendPart stores one part, once it is verified.
func (c *Conn) sendPart(ctx context.Context, digest string, r io.ReaderAt, m manifest, i int64) error {
	part := make([]byte, m.length(i))
	if _, err := r.ReadAt(part, i*m.Part); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if !m.verifies(i, part) {
		return errOtherParts
	}
	return c.storeFile(ctx, partSubject(digest, i), part)
}

// missing returns the parts that are not on the server.
func (c *Conn) missing(ctx context.Context, digest string, m manifest) (list []int64, err error) {
	there, err := c.subjects(ctx, subjectOf(digest)+".*")
	if err != nil {
		return nil, err
	}
	for i := range m.parts() {
		if _, ok := there[partSubject(digest, i)]; !ok {
			list = append(list, i)
		}
	}
	return list, nil
}

// manifest asks for a content's manifest, and when it was stored. The error has ErrNotStored or
// errDamaged in its chain where there is no usable one.
func (c *Conn) manifest(ctx context.Context, digest string) (m manifest, at time.Time, err error) {
	found, err := c.load(ctx, subjectOf(digest))
	if err != nil {
		return m, at, err
	}
	m, err = decodeManifest(found.data)
	return m, found.at, err
}

// A stored is a message of the file stream.
type stored struct {
	data []byte
	seq  uint64    // in the stream
	at   time.Time // when it was stored
}

// load reads the message of a subject of the file stream.
func (c *Conn) load(ctx context.Context, subject string) (s stored, err error) {
	err = c.retry(ctx, "read "+subject, func(ctx context.Context) error {
		m, err := c.nc.RequestWithContext(ctx, "$JS.API.DIRECT.GET."+fileStream+"."+subject, nil)
		if err != nil {
			return c.filesAgain(ctx, err)
		}
		if code := status(m); code == "404" {
			return ErrNotStored
		} else if code != "" {
			return fmt.Errorf("%w (status %s)", nats.ErrNoResponders, code)
		}
		s.data = m.Data
		s.seq, _ = strconv.ParseUint(m.Header.Get(jetstream.SequenceHeader), 10, 64) // 0: nothing has it
		s.at, _ = time.Parse(time.RFC3339Nano, m.Header.Get(jetstream.TimeStampHeaer))
		return nil
	})
	return s, err
}

// storeFile publishes to the file stream and returns when the stream has the message.
func (c *Conn) storeFile(ctx context.Context, subject string, data []byte) error {
	return c.retry(ctx, "send "+subject, func(ctx context.Context) error {
		answer, err := c.nc.RequestWithContext(ctx, subject, data)
		if err != nil {
			return c.filesAgain(ctx, err)
		}
		return refusal(answer)
	})
}

// subjects lists those of the file stream that match a filter.
func (c *Conn) subjects(ctx context.Context, filter string) (list map[string]uint64, err error) {
	err = c.onFiles(ctx, "list "+filter, func(ctx context.Context, s jetstream.Stream) error {
		info, err := s.Info(ctx, jetstream.WithSubjectFilter(filter))
		if err == nil {
			list = info.State.Subjects
		}
		return err
	})
	return list, err
}

// discard removes one message of the file stream, which is damaged. A later one of its subject
// stays. Who cannot remove it leaves it to those who are asked for the content.
func (c *Conn) discard(ctx context.Context, subject string, seq uint64) error {
	if c.limited() {
		return nil
	}
	return c.onFiles(ctx, "remove damaged "+subject, func(ctx context.Context, s jetstream.Stream) error {
		if err := s.DeleteMsg(ctx, seq); !gone(err) {
			return err
		}
		return nil // another one was faster
	})
}

// gone reports whether a message could not be deleted because it is not there.
func gone(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.Code == 400 || api.Code == 404)
}

// purge removes content: its manifest first, so that what is left of it counts as nothing.
func (c *Conn) purge(ctx context.Context, digest string) error {
	return c.onFiles(ctx, "remove "+digest, func(ctx context.Context, s jetstream.Stream) error {
		if err := s.Purge(ctx, jetstream.WithPurgeSubject(subjectOf(digest))); err != nil {
			return err
		}
		return s.Purge(ctx, jetstream.WithPurgeSubject(subjectOf(digest)+".*"))
	})
}

// onFiles calls do with the file stream until it succeeds, as retry does. A server that has lost its
// store since the stream was found gets a new one.
func (c *Conn) onFiles(ctx context.Context, what string, do func(context.Context, jetstream.Stream) error) error {
	attempt := func(ctx context.Context) error {
		s, err := c.setup.readyFiles(ctx, c)
		if err != nil {
			return err
		}
		return do(ctx, s)
	}
	return c.retry(ctx, what, func(ctx context.Context) error {
		err := attempt(ctx)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			c.setup.forget()
			err = attempt(ctx)
		}
		return err
	})
}

// filesReady makes the stream of files if this party has not found it yet. Those whose credentials do not
// let them look take it to be there.
func (c *Conn) filesReady(ctx context.Context) error {
	if c.limited() {
		return nil
	}
	return c.onFiles(ctx, "make file store", func(context.Context, jetstream.Stream) error { return nil })
}

// filesAgain makes the stream of files again if err says that it is gone, and returns err.
func (c *Conn) filesAgain(ctx context.Context, err error) error {
	if errors.Is(err, nats.ErrNoResponders) && !c.limited() {
		c.setup.forget()
		if _, bad := c.setup.readyFiles(ctx, c); bad != nil {
			return bad
		}
	}
	return err
}

func partSubject(digest string, i int64) string {
	return subjectOf(digest) + "." + strconv.FormatInt(i, 10)
}

// mostAsked bounds the numbers of parts that are asked for at a time. The others are in the next round.
const mostAsked = 10 * batch

// partNumbers reads the numbers of parts, which stand one a line.
func partNumbers(data []byte) (list []int64) {
	for line := range strings.Lines(string(data)) {
		if len(list) == mostAsked {
			break
		}
		if i, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64); err == nil {
			list = append(list, i)
		}
	}
	return list
}
