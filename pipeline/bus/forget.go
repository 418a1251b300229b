package bus

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Forget removes a sweep from the registry if agreed says so of the wish for it, nil where there is
// none. It reports whether it has. The server takes each step only while nobody changes the wish: if
// somebody does, the rest stays, which is a sweep that has not ended. A leader loses its lease first,
// so that it stores nothing more.
func (r *Registry) Forget(ctx context.Context, id string, agreed func(wish []byte) bool) (done bool, err error) {
	err = r.c.retry(ctx, "forget sweep "+id, func(ctx context.Context) error {
		wish, err := r.kv.Get(ctx, id+wishKey)
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			return nil
		}
		if err != nil || !agreed(wish.Value()) {
			return err
		}
		for _, key := range []string{leadKey, endKey, ledgerKey, ""} {
			if err := r.remove(ctx, id, key, wish.Revision()); err != nil {
				return err
			}
		}
		done = true
		return r.kv.Delete(ctx, id+wishKey, jetstream.LastRevision(wish.Revision()))
	})
	if conflict(err) {
		return done, nil
	}
	return done, err
}

// markHeader is the header of what a bucket keeps in place of a value that was removed.
const markHeader = "KV-Operation"

// remove removes a value of a sweep, if it is there, while the wish has a revision. As a deletion of
// the bucket would, it leaves a mark, which those who watch see.
func (r *Registry) remove(ctx context.Context, id, key string, wish uint64) error {
	if _, err := r.kv.Get(ctx, id+key); err != nil {
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			return nil
		}
		return err
	}
	m := &nats.Msg{Subject: registrySubject + id + key, Header: nats.Header{markHeader: {"DEL"}}}
	wishAt := registrySubject + id + wishKey
	_, err := r.c.js.PublishMsg(ctx, m, jetstream.WithExpectLastSequenceForSubject(wish, wishAt))
	return err
}

// Clear removes the marks of what was removed from the registry half an hour ago or before.
func (r *Registry) Clear(ctx context.Context) error {
	return r.c.retry(ctx, "clear the registry", func(ctx context.Context) error { return r.kv.PurgeDeletes(ctx) })
}
