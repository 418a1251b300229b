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

// ErrNotLeader reports that this party is not, or no longer, the leader of a sweep.
var ErrNotLeader = errors.New("this coordinator does not lead the sweep")

// A Leader is the registry's record of a sweep's leader. The lease ends if it is not renewed for
// Duration.
type Leader struct {
	Name     string        `json:"name"`  // name for display
	Token    string        `json:"token"` // distinguishes leaders with the same name
	Duration time.Duration `json:"duration"`

	Epoch   uint64    `json:"-"` // revision of the election; greater than the epochs of all earlier leaders
	Renewal uint64    `json:"-"` // revision of the last renewal; the epoch if there was none
	Renewed time.Time `json:"-"` // time of the last renewal, by the server's clock
}

// decodeLeader decodes the value of an elected leader. Its duration is positive.
func decodeLeader(x jetstream.KeyValueEntry) (*Leader, error) {
	l := &Leader{}
	err := json.Unmarshal(x.Value(), l)
	if err == nil && l.Duration <= 0 {
		err = fmt.Errorf("its duration is %v", l.Duration)
	}
	if err != nil {
		return nil, fmt.Errorf("read %q of bucket %q: %.100q is no leader: %w", x.Key(), registryBucket, x.Value(), err)
	}
	l.Epoch, l.Renewal, l.Renewed = x.Revision(), x.Revision(), x.Created()
	return l, nil
}

// A LeaderLease is the lease that this party holds as the leader of a sweep. It is renewed until it
// is lost or Resign is called. A second leader is harmless because results are deterministic, so a
// lease need not exclude one. But no earlier leader can change values in the registry, because the
// server accepts them only while the revision of the leader's key equals the writer's epoch.
type LeaderLease struct {
	ID    string
	Epoch uint64 // greater than the epochs of all earlier leaders

	r      *Registry
	leader Leader
	lost   context.Context // ends when the lease is lost or resigned
	end    context.CancelCauseFunc
	done   chan struct{} // closed when renewal has stopped
}

// AcquireLease tries to become the leader of a sweep, with a lease of the given duration. over is
// the leader whose lease the caller has found to be over, or nil if there was none. It returns
// ErrNotLeader if another party was faster.
func (r *Registry) AcquireLease(
	ctx context.Context, id, name string, duration time.Duration, over *Leader,
) (*LeaderLease, error) {
	l := &LeaderLease{
		ID: id, r: r, done: make(chan struct{}), leader: Leader{Name: name, Token: rand.Text(), Duration: duration},
	}
	value, err := json.Marshal(l.leader)
	if err != nil {
		return nil, err
	}
	before := uint64(0)
	if over != nil {
		before = over.Epoch
	}
	began := time.Now()
	err = r.do(ctx, "become the leader of sweep "+id, func(ctx context.Context) (err error) {
		l.Epoch, err = r.set(ctx, id+leadKey, value, before)
		if !conflict(err) {
			return err
		}
		found, err := r.get(ctx, id+leadKey)
		if err != nil {
			return err
		}
		if l.isLeader(found) { // an earlier attempt was stored, and its response was lost
			l.Epoch = found.Revision()
			return nil
		}
		return notLeader(found)
	})
	if err != nil {
		return nil, err
	}
	l.lost, l.end = context.WithCancelCause(context.Background())
	go l.renew(began)
	return l, nil
}

// isLeader reports whether this party has stored the value of a sweep's leader; found is nil if
// there is none.
func (l *LeaderLease) isLeader(found jetstream.KeyValueEntry) bool {
	if found == nil {
		return false
	}
	leader, err := decodeLeader(found)
	return err == nil && leader.Token == l.leader.Token
}

// notLeader returns an ErrNotLeader that names the leader. found is nil if there is none.
func notLeader(found jetstream.KeyValueEntry) error {
	if found == nil {
		return fmt.Errorf("%w: the server has no leader of it any more; it has lost its store, or the sweep was deleted",
			ErrNotLeader)
	}
	leader, err := decodeLeader(found)
	if err != nil {
		return err
	}
	return fmt.Errorf("%w: %s leads it since epoch %d", ErrNotLeader, leader.Name, leader.Epoch)
}

// renew renews the lease after every third of its duration, until the lease ends. began is the time
// of the election.
func (l *LeaderLease) renew(began time.Time) {
	defer close(l.done)
	over := time.AfterFunc(time.Until(began.Add(l.leader.Duration)), func() {
		l.awake()
		l.end(fmt.Errorf("lease on sweep %s lost: it was not renewed for %v", l.ID, l.leader.Duration))
	})
	defer over.Stop()
	tick := time.NewTicker(l.leader.Duration / 3)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			l.awake()
		case <-l.lost.Done():
			return
		}
		began := time.Now()
		if err := l.store(l.lost, "renew the lease of", renewalKey, nil); err != nil {
			l.end(fmt.Errorf("lease on sweep %s lost: %w", l.ID, err))
			return
		}
		over.Reset(time.Until(began.Add(l.leader.Duration)))
	}
}

// awake returns once the process of this party runs, see Options.Awake.
func (l *LeaderLease) awake() {
	if awake := l.r.c.opts.Awake; awake != nil {
		awake()
	}
}

// Context returns a context that ends with the lease. Its cause is the reason.
func (l *LeaderLease) Context() context.Context { return l.lost }

// Ship stores the list of files that the leader has put on the server.
func (l *LeaderLease) Ship(ctx context.Context, list []byte) error {
	return l.store(ctx, "ship", ledgerKey, list)
}

// Finish stores how the sweep ended.
func (l *LeaderLease) Finish(ctx context.Context, end []byte) error {
	return l.store(ctx, "finish", endKey, end)
}

// store stores a value of the sweep while this party is its leader. An attempt takes at most a
// quarter of the lease, so that a lost response does not cost the lease.
func (l *LeaderLease) store(ctx context.Context, what, key string, value []byte) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.lost, func() { cancel(context.Cause(l.lost)) })()
	err := l.r.do(ctx, what+" sweep "+l.ID, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, l.leader.Duration/4)
		defer cancel()
		err := l.r.storeWhile(ctx, l.ID+key, nats.Msg{Data: value}, l.ID+leadKey, l.Epoch)
		if !conflict(err) {
			return err
		}
		found, err := l.r.get(ctx, l.ID+leadKey)
		if err != nil {
			return err
		}
		return notLeader(found)
	})
	if errors.Is(err, ErrNotLeader) {
		l.end(fmt.Errorf("lease on sweep %s lost: %w", l.ID, err))
	}
	return err
}

// Resign returns the lease, so that another party can become the leader immediately.
func (l *LeaderLease) Resign(ctx context.Context) error {
	l.end(errors.New("resigned"))
	<-l.done
	err := l.r.do(ctx, "resign from sweep "+l.ID, func(ctx context.Context) error {
		return l.r.kv.Delete(ctx, l.ID+leadKey, jetstream.LastRevision(l.Epoch))
	})
	if conflict(err) { // another party is the leader, or this one has resigned
		return nil
	}
	return err
}
