package queue

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
// no other leader can change the values that one leader stores in the registry, because the server takes
// them only while the lease has the revision that the writer knows.
type Leadership struct {
	ID    string
	Epoch uint64 // greater than those of all leaders before

	r    *Registry
	lost context.Context // ends when the lease is lost or given up
	end  context.CancelCauseFunc
	done chan struct{} // closed when it is renewed no more

	over *time.Timer // ends the leadership unless the lease is renewed in time

	asking   turn // held during each request to the server: it guards what follows
	lead     Leader
	revision uint64 // of the lease, as this party wrote it
}

// Lead tries to become the leader of a sweep, with a lease of the given duration. over is the lease
// that the caller has seen to be over, or nil if it has seen none. Lead returns ErrLed if another party
// was faster.
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

// attempt calls store until it succeeds, at most for a quarter of the lease each time, so that an answer that got
// lost does not cost the lease. store writes while the lease has the revision that l knows. If it has another one as an
// earlier attempt has renewed the lease, and its answer was lost, attempt adopts the revision: with it, store is
// called again if again is set. If another party leads, attempt returns ErrLed.
func (l *Leadership) attempt(ctx context.Context, what string, again bool, store func(context.Context) error) error {
	return l.r.c.retry(ctx, what+" sweep "+l.ID, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeoutCause(ctx, l.lead.Duration/4, errNoAnswer)
		defer cancel()
		if err := l.asking.take(ctx); err != nil {
			return err
		}
		defer l.asking.give()
		for {
			err := store(ctx)
			if !conflict(err) {
				return err
			}
			if err = l.adopt(ctx); err != nil || !again {
				return err
			}
		}
	})
}

// adopt reads the revision of the lease on the server if this party wrote it. Else it returns ErrLed.
func (l *Leadership) adopt(ctx context.Context) error {
	found, err := l.r.get(ctx, l.ID+leadKey)
	if err != nil {
		return err
	}
	if found == nil {
		return ErrLed // another party led and has resigned
	}
	lead, err := decodeLeader(found)
	if err != nil {
		return err
	}
	if lead.Token != l.lead.Token {
		return fmt.Errorf("%w: %s since epoch %d", ErrLed, lead.Name, lead.Epoch)
	}
	l.revision = lead.Revision
	return nil
}

// write stores the lease.
func (l *Leadership) write(ctx context.Context) error {
	value, err := json.Marshal(l.lead)
	if err != nil {
		return err
	}
	return l.attempt(ctx, "lead", false, func(ctx context.Context) error {
		revision, err := l.r.set(ctx, l.ID+leadKey, value, l.revision)
		if err == nil {
			l.revision = revision
		}
		return err
	})
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

// Context returns a context that ends with the leadership, with the reason as its cause.
func (l *Leadership) Context() context.Context { return l.lost }

// Ship stores the list of what was shipped.
func (l *Leadership) Ship(ctx context.Context, list []byte) error {
	return l.put(ctx, "ship", ledgerKey, list)
}

// Finish stores how the sweep ended.
func (l *Leadership) Finish(ctx context.Context, end []byte) error {
	return l.put(ctx, "finish", endKey, end)
}

// put stores a value of the sweep while this party leads it.
func (l *Leadership) put(ctx context.Context, what, key string, value []byte) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.lost, func() { cancel(context.Cause(l.lost)) })()
	err := l.attempt(ctx, what, true, func(ctx context.Context) error {
		return l.r.storeWhile(ctx, l.ID+key, nats.Msg{Data: value}, l.ID+leadKey, l.revision)
	})
	if errors.Is(err, ErrLed) {
		l.end(fmt.Errorf("lease on sweep %s lost: %w", l.ID, err))
	}
	return err
}

// Resign gives the lease back, so that another party may lead at once.
func (l *Leadership) Resign(ctx context.Context) error {
	l.end(errors.New("resigned"))
	<-l.done
	err := l.attempt(ctx, "resign from", true, func(ctx context.Context) error {
		return l.r.kv.Delete(ctx, l.ID+leadKey, jetstream.LastRevision(l.revision))
	})
	if errors.Is(err, ErrLed) {
		return nil
	}
	return err
}
