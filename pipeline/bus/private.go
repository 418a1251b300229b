package bus

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Content that workers have no use for is private: their credentials do not reach it. What credentials reach can
// be fetched without knowing its digest, because a server takes a wildcard for the subject of a message that is
// asked for.

// private is what the name of private content has before its digest. The name of any other content is its digest,
// and so the functions that put, fetch and repair content take either for a digest.
const private = "private."

// digestOf returns the digest of the content with a name.
func digestOf(name string) string { return strings.TrimPrefix(name, private) }

// subjectOf returns the subject of the manifest of the content with a name.
func subjectOf(name string) string {
	if rest, ok := strings.CutPrefix(name, private); ok {
		return privateSubject + rest
	}
	return fileSubject + name
}

// nameOf returns the name of the content that a subject of the stream of files belongs to, and whether
// that is a part.
func nameOf(subject string) (name string, isPart bool) {
	rest, ok := strings.CutPrefix(subject, privateSubject)
	if !ok {
		rest = strings.TrimPrefix(subject, fileSubject)
	}
	prefix := ""
	if ok {
		prefix = private
	}
	digest, _, isPart := strings.Cut(rest, ".")
	return prefix + digest, isPart
}

// PutPrivate makes data available to FetchPrivate for coordinators and submitters, but for no worker, and returns
// its SHA-256 in hex digits. data must not be changed afterwards.
func (c *Conn) PutPrivate(ctx context.Context, data []byte) (digest string, err error) {
	if c.local != nil {
		return c.PutBytes(ctx, data)
	}
	if len(data) > MaxBytes {
		return "", fmt.Errorf("send %d bytes: %d are the most", len(data), MaxBytes)
	}
	sum := sha256.Sum256(data)
	digest = hex.EncodeToString(sum[:])
	h := holding{data: data}
	if err := c.put(ctx, private+digest, h, nil); err != nil {
		return "", fmt.Errorf("send %d bytes: %w", len(data), err)
	}
	return digest, c.hold(private+digest, h)
}

// FetchPrivate returns the private content with this digest, verified; or else content that an earlier version has
// put where workers reach it. It refuses content of more than MaxBytes.
func (c *Conn) FetchPrivate(ctx context.Context, digest string) ([]byte, error) {
	if c.local != nil {
		return c.FetchBytes(ctx, digest)
	}
	if err := checkDigest(digest); err != nil {
		return nil, err
	}
	var b buffer
	err := c.fetch(ctx, private+digest, &b)
	if errors.Is(err, ErrNotStored) {
		return c.FetchBytes(ctx, digest)
	}
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", digest, err)
	}
	return b.data, nil
}
