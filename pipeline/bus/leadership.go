package bus

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// ErrLed reports that another party leads a sweep.
var ErrLed = errors.New("another coordinator leads this sweep")

// A Leadership is the lease of this party on a sweep. It is renewed until it is lost or Resign is
// called. Determinism makes a second leader harmless, so a lease does not have to exclude one; but
// what one leader stores in the registry no other can change, because the server takes it only while
// the lease stands as the writer knows it.
type Leadership struct {
	ID    string
	Epoch uint64 // greater than those of all leaders before

	r    *Registry
	lost context.Context // ends when the lease is lost or given up
	end  context.CancelCauseFunc
	done chan struct{} // closed when it is renewed no more

	over *time.Timer // ends the leadership unless the lease is renewed in time

	asking   turn // of whoever has a request at the server: it guards what follows
	lead     Leader
	revision uint64 // of the lease, as this party wrote it
}

// Lead tries to become the leader of a sweep, with a lease of the given duration. over is the lease
// that the caller has seen to be over, or nil if it has seen none. Lead returns ErrLed if somebody
// else was faster.
func (r *Registry) Lead(
	ctx context.Context, id, name string, duration time.Duration, over *Leader,
) (*Leadership, error) {
	l := &Leadership{
		ID: id, r: r, done: make(chan struct{}), asking: make(turn, 1),
		lead: Leader{Name: name, Token: rand.Text(), Duration: duration},
	}
	if over != nil {
		l.revision = over.Revision
	}
	l.lost, l.end = context.WithCancelCause(context.Background())
	began := time.Now()
	if err := l.write(ctx); err != nil {
		l.end(err)
		return nil, err
	}
	l.Epoch, l.lead.Epoch = l.revision, l.revision
	l.over = time.AfterFunc(time.Until(began.Add(duration)), func() {
		l.awake()
		l.end(fmt.Errorf("lease on sweep %s lost: it was not renewed for %v", id, duration))
	})
	go l.renew()
	return l, nil
}

// write stores the lease, which must stand on the server as l knows it.
func (l *Leadership) write(ctx context.Context) error {
	value, err := json.Marshal(l.lead)
	if err != nil {
		return err
	}
	return l.r.c.retry(ctx, "lead sweep "+l.ID, func(ctx context.Context) error {
		ctx, cancel := l.inTime(ctx)
		defer cancel()
		if err := l.asking.take(ctx); err != nil {
			return err
		}
		defer l.asking.give()
		var revision uint64
		var err error
		if l.revision == 0 {
			revision, err = l.r.kv.Create(ctx, l.ID+leadKey, value)
		} else {
			revision, err = l.r.kv.Update(ctx, l.ID+leadKey, value, l.revision)
		}
		if conflict(err) {
			revision, err = l.own(ctx)
		}
		if err == nil {
			l.revision = revision
		}
		return err
	})
}

// inTime bounds a request, so that one whose answer got lost does not cost the lease.
func (l *Leadership) inTime(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, l.lead.Duration/4, errNoAnswer)
}

// own returns the revision of the lease on the server if an earlier attempt of this party wrote it
// and the answer was lost. Else it returns ErrLed.
func (l *Leadership) own(ctx context.Context) (uint64, error) {
	found, err := l.r.kv.Get(ctx, l.ID+leadKey)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return 0, ErrLed // somebody led and has resigned
	}
	if err != nil {
		return 0, err
	}
	lead, err := readLeader(valueOf(found))
	if err != nil {
		return 0, err
	}
	if lead.Token != l.lead.Token {
		return 0, fmt.Errorf("%w: %s since epoch %d", ErrLed, lead.Name, lead.Epoch)
	}
	return lead.Revision, nil
}

// renew renews the lease at every third of its duration, until the leadership ends.
func (l *Leadership) renew() {
	defer close(l.done)
	defer l.over.Stop()
	tick := time.NewTicker(l.lead.Duration / 3)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			l.awake()
		case <-l.lost.Done():
			return
		}
		began := time.Now()
		if err := l.write(l.lost); err != nil {
			l.end(fmt.Errorf("lease on sweep %s lost: %w", l.ID, err))
			return
		}
		l.over.Reset(time.Until(began.Add(l.lead.Duration)))
	}
}

// awake returns once the process of this party runs, see Options.Awake.
func (l *Leadership) awake() {
	if awake := l.r.c.opts.Awake; awake != nil {
		awake()
	}
}

// Context returns a context that ends with the leadership; its cause says why.
func (l *Leadership) Context() context.Context { return l.lost }

// Ship stores the list of what was shipped.
func (l *Leadership) Ship(ctx context.Context, list []byte) error { return l.put(ctx, ledgerKey, list) }

// Finish stores how the sweep ended.
func (l *Leadership) Finish(ctx context.Context, end []byte) error { return l.put(ctx, endKey, end) }

// put stores a value of the sweep. The server refuses it if the lease is not what this party knows.
func (l *Leadership) put(ctx context.Context, key string, value []byte) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.lost, func() { cancel(context.Cause(l.lost)) })()
	what := fmt.Sprintf("store %s of sweep %s", key[1:], l.ID)
	return l.r.c.retry(ctx, what, func(ctx context.Context) error {
		ctx, cancel := l.inTime(ctx)
		defer cancel()
		if err := l.asking.take(ctx); err != nil {
			return err
		}
		defer l.asking.give()
		for {
			_, err := l.r.c.js.PublishMsg(ctx, &nats.Msg{Subject: registrySubject + l.ID + key, Data: value},
				jetstream.WithExpectLastSequenceForSubject(l.revision, registrySubject+l.ID+leadKey))
			if !conflict(err) {
				return err
			}
			revision, err := l.own(ctx)
			if err != nil {
				l.end(fmt.Errorf("lease on sweep %s lost: %w", l.ID, err))
				return err
			}
			l.revision = revision
		}
	})
}

// Resign gives the lease back, so that another party may lead at once.
func (l *Leadership) Resign(ctx context.Context) error {
	l.end(errors.New("resigned"))
	<-l.done
	return l.r.c.retry(ctx, "resign from sweep "+l.ID, func(ctx context.Context) error {
		for {
			err := l.r.kv.Delete(ctx, l.ID+leadKey, jetstream.LastRevision(l.revision))
			if !conflict(err) {
				return err
			}
			revision, err := l.own(ctx) // a renewal may have been stored whose answer nobody waited for
			if errors.Is(err, ErrLed) {
				return nil
			}
			if err != nil {
				return err
			}
			l.revision = revision
		}
	})
}
