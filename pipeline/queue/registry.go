package queue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// registryBucket is the key-value bucket of the registry. A sweep with the id X has the keys
//
//	X          the submission; never changed
//	X.wish     desired state; changed by compare-and-set
//	X.lead     its leader; see LeaderLease
//	X.renewal  stored whenever the leader renews its lease
//	X.ledger   the list of the files that its leader has put on the server
//	X.end      how it ended
const registryBucket = "shatter-sweeps"

// Keys of a sweep in the registry, after its id.
const (
	desiredKey = ".wish"
	leadKey    = ".lead"
	renewalKey = ".renewal"
	ledgerKey  = ".ledger"
	endKey     = ".end"
)

// A Registry lists the sweeps that were submitted to a server. The caller defines its values,
// except leaders. Concurrent use is safe. Methods wait for a connection until their context ends.
type Registry struct {
	c      *Conn
	kv     jetstream.KeyValue
	reread time.Duration // rereadTime, except in tests
}

// An Entry holds the registry's values of one sweep. Values that were never written are nil.
type Entry struct {
	ID         string
	Submission []byte
	Desired    []byte
	Ledger     []byte
	End        []byte
	Leader     *Leader // nil: there is none, or the last one has resigned
}

// Registry opens the registry. If the server has none, it makes one, with the streams that parties
// with limited credentials need and cannot make.
func (c *Conn) Registry(ctx context.Context) (*Registry, error) {
	r := &Registry{c: c, reread: rereadTime}
	err := c.retry(ctx, "open registry", func(ctx context.Context) (err error) {
		if err = c.streams.prepare(ctx); err != nil {
			return err
		}
		if r.kv, err = c.js.KeyValue(ctx, registryBucket); streamGone(err) { // the server has lost its store meanwhile
			err = fmt.Errorf("%w: %w", errNoAnswer, err)
		}
		return err
	})
	return r, err
}

// do calls do until it succeeds. If the server has lost its store, it makes the
// registry again, empty; parties with limited credentials wait until a coordinator has done so.
func (r *Registry) do(ctx context.Context, what string, do func(context.Context) error) error {
	attempt := func(ctx context.Context, _ jetstream.Stream) error { return do(ctx) }
	return r.c.streams.do(ctx, what, registryStream, attempt)
}

var idPattern = regexp.MustCompile(`^[A-Za-z0-9_]{1,64}$`)

// isID reports whether an id is valid for a sweep: it becomes part of subjects, keys and paths. The
// registry ignores other keys.
func isID(id string) bool { return idPattern.MatchString(id) }

// Submit stores a submission under an id, which is permanent. It reports whether the id is new;
// otherwise nothing changes.
func (r *Registry) Submit(ctx context.Context, id string, submission []byte) (added bool, err error) {
	if !isID(id) {
		return false, fmt.Errorf("submit sweep %q: its id has to be 1 to 64 letters, digits and '_'", id)
	}
	err = r.do(ctx, "submit sweep "+id, func(ctx context.Context) error {
		_, err := r.kv.Create(ctx, id, submission)
		return err
	})
	if conflict(err) {
		return false, nil
	}
	return err == nil, err
}

// Replace replaces the submission of an id.
func (r *Registry) Replace(ctx context.Context, id string, submission []byte) error {
	return r.do(ctx, "submit sweep "+id, func(ctx context.Context) error {
		_, err := r.kv.Put(ctx, id, submission)
		return err
	})
}

// Change replaces the desired state of a sweep by the result of change. The argument of change is
// nil if there is none yet. Change calls change again if another party has changed the state
// meanwhile. An error of change ends it.
func (r *Registry) Change(ctx context.Context, id string, change func(desired []byte) ([]byte, error)) error {
	return r.do(ctx, "change the desired state of sweep "+id, func(ctx context.Context) error {
		for {
			var old []byte
			var revision uint64 // 0: there is no value
			found, err := r.get(ctx, id+desiredKey)
			if err != nil {
				return err
			}
			if found != nil {
				old, revision = found.Value(), found.Revision()
			}
			desired, err := change(old)
			if err != nil {
				return err
			}
			_, err = r.set(ctx, id+desiredKey, desired, revision)
			if !conflict(err) {
				return err
			}
		}
	})
}

// get reads the value of a key; nil: there is none. A request that was lost with the stream's
// leader ends soon.
func (r *Registry) get(ctx context.Context, key string) (jetstream.KeyValueEntry, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	found, err := r.kv.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, nil
	}
	return found, err
}

// set stores a value if its key has the given revision (0: no value), and returns the new revision.
func (r *Registry) set(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if revision == 0 {
		return r.kv.Create(ctx, key, value)
	}
	return r.kv.Update(ctx, key, value, revision)
}

// storeWhile stores a message under a key if another key has the given revision. The server
// compares and stores in one step, so a message that arrives late, or from a process that was
// stopped meanwhile, changes nothing.
func (r *Registry) storeWhile(ctx context.Context, key string, m nats.Msg, other string, revision uint64) error {
	m.Subject = registrySubject + key
	_, err := r.c.js.PublishMsg(ctx, &m, jetstream.WithExpectLastSequenceForSubject(revision, registrySubject+other))
	return err
}

// markHeader is the header by which a bucket marks a removed value.
const markHeader = "KV-Operation"

// Delete removes a sweep from the registry if agreed returns true for the desired state. It reports
// whether the sweep was removed. The server accepts each step only while the desired state does not
// change: if another party changes it, the remaining values stay, which represent a sweep that has
// not ended. The leader's key is removed first, so the leader stores nothing more.
func (r *Registry) Delete(ctx context.Context, id string, agreed func(desired []byte) bool) (done bool, err error) {
	err = r.c.retry(ctx, "delete sweep "+id, func(ctx context.Context) error {
		desired, err := r.get(ctx, id+desiredKey)
		if err != nil || desired == nil || !agreed(desired.Value()) {
			return err
		}
		for _, key := range []string{leadKey, renewalKey, endKey, ledgerKey, ""} {
			removed := nats.Msg{Header: nats.Header{markHeader: {"DEL"}}} // the form that KeyValue.Delete writes
			if err := r.storeWhile(ctx, id+key, removed, id+desiredKey, desired.Revision()); err != nil {
				return err
			}
		}
		done = true
		return r.kv.Delete(ctx, id+desiredKey, jetstream.LastRevision(desired.Revision()))
	})
	if conflict(err) {
		return done, nil
	}
	return done, err
}

// DeleteResults removes all jobs and results of an ended or deleted sweep from the server.
func (r *Registry) DeleteResults(ctx context.Context, sweep string) error {
	if err := token("sweep", sweep); err != nil {
		return err
	}
	if err := r.c.streams.purge(ctx, jobStream, jobSubject+sweep+".>"); err != nil {
		return err
	}
	return r.c.streams.purge(ctx, resultStream, resultSubject+sweep+".>")
}

// Clear removes the marks of keys that were removed at least half an hour ago.
func (r *Registry) Clear(ctx context.Context) error {
	return r.c.retry(ctx, "clear the registry", func(ctx context.Context) error { return r.kv.PurgeDeletes(ctx) })
}

// Find returns the entry of the sweep whose id is or begins with prefix. It returns an [*IDError]
// if prefix does not identify one sweep.
func (r *Registry) Find(ctx context.Context, prefix string) (*Entry, error) {
	if isID(prefix) {
		if e, err := r.entry(ctx, prefix); err != nil || e.Submission != nil {
			return e, err
		}
	}
	all, err := r.List(ctx)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(e *Entry) bool { return prefix == "" || !strings.HasPrefix(e.ID, prefix) })
	if len(all) == 1 {
		return all[0], nil
	}
	failed := &IDError{ID: prefix}
	for _, e := range all {
		failed.Known = append(failed.Known, e.ID)
	}
	return nil, failed
}

// entry reads the values of a sweep.
func (r *Registry) entry(ctx context.Context, id string) (e *Entry, err error) {
	err = r.do(ctx, "read sweep "+id, func(ctx context.Context) error {
		e = &Entry{ID: id}
		for _, key := range []string{"", desiredKey, leadKey, renewalKey, ledgerKey, endKey} {
			x, err := r.get(ctx, id+key)
			if err == nil && x != nil {
				err = e.set(key, x)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return e, err
}

// set updates the entry with the value of one of its keys.
func (e *Entry) set(key string, x jetstream.KeyValueEntry) (err error) {
	var data []byte // nil: the value was removed
	if x.Operation() == jetstream.KeyValuePut {
		data = append([]byte{}, x.Value()...)
	}
	switch key {
	case "":
		e.Submission = data
	case desiredKey:
		e.Desired = data
	case ledgerKey:
		e.Ledger = data
	case endKey:
		e.End = data
	case leadKey:
		if e.Leader = nil; data != nil {
			e.Leader, err = decodeLeader(x)
		}
	case renewalKey:
		if e.Leader != nil && x.Revision() > e.Leader.Epoch {
			renewed := *e.Leader
			renewed.Renewal, renewed.Renewed = x.Revision(), x.Created()
			e.Leader = &renewed
		}
	}
	return err
}

// List returns the entries of all sweeps, by id.
func (r *Registry) List(ctx context.Context) (list []*Entry, err error) {
	err = r.do(ctx, "list sweeps", func(ctx context.Context) error {
		return completed(r.follow(ctx, func(all []*Entry) error { list = all; return errComplete }))
	})
	return list, err
}

// errComplete ends watch when all values are read.
var errComplete = errors.New("all values are read")

func completed(err error) error {
	if errors.Is(err, errComplete) {
		return nil
	}
	return err
}

// rereadTime is the time after which Watch reads the whole registry again, in case the client has
// lost a change.
const rereadTime = 20 * time.Second

// Watch calls see with the entry of each submitted sweep: once for all present ones, and whenever an
// entry has changed, possibly without a difference. For a deleted sweep it calls see with an entry
// without a submission, unless it missed that change. It returns when ctx ends, or see returns an
// error.
func (r *Registry) Watch(ctx context.Context, see func(*Entry) error) error {
	for {
		within, cancel := context.WithTimeout(ctx, r.reread)
		err := r.follow(within, func(entries []*Entry) error {
			for _, e := range entries {
				if err := see(e); err != nil {
					return err
				}
			}
			return nil
		})
		over := within.Err() != nil || errors.Is(err, errNoAnswer)
		cancel()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !over {
			return err
		}
	}
}

// follow calls see once with all submitted sweeps, by id, and then with each sweep whose values
// change or are removed. It returns when ctx ends or see returns an error. The caller owns the
// entries.
func (r *Registry) follow(ctx context.Context, see func([]*Entry) error) error {
	found, complete := map[string]*Entry{}, false
	return watch(ctx, r.c, r.kv, func(x jetstream.KeyValueEntry) error {
		if x == nil {
			complete = true
			return see(submitted(found))
		}
		id, key, dotted := strings.Cut(x.Key(), ".")
		if dotted {
			key = "." + key
		}
		if !isID(id) {
			return nil
		}
		e := &Entry{ID: id}
		if found[id] != nil {
			*e = *found[id]
		}
		found[id] = e
		err := e.set(key, x)
		if err == nil && complete && (e.Submission != nil || key == "") {
			err = see([]*Entry{e})
		}
		return err
	})
}

// watch calls see with all values of a bucket, then with nil, and then with each change. It returns
// when ctx ends or see returns an error.
func watch(
	ctx context.Context, c *Conn, kv jetstream.KeyValue, see func(jetstream.KeyValueEntry) error,
) error {
	var w jetstream.KeyWatcher
	err := c.retry(ctx, "watch bucket "+kv.Bucket(), func(answer context.Context) (err error) {
		life, end := context.WithCancel(ctx) // lifetime of the watcher; ends with an attempt without a response
		defer context.AfterFunc(answer, end)()
		w, err = kv.WatchAll(life)
		return err
	})
	if err != nil {
		return err
	}
	defer w.Stop() //nolint:errcheck // it ends with ctx at the latest
	for {
		select {
		case x, ok := <-w.Updates():
			if !ok {
				return fmt.Errorf("watch bucket %s: %w", kv.Bucket(), errNoAnswer)
			}
			if err := see(x); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-c.closed:
			return c.ClosedError()
		}
	}
}

// submitted returns the entries that have a submission, by id.
func submitted(found map[string]*Entry) (list []*Entry) {
	for _, id := range slices.Sorted(maps.Keys(found)) {
		if found[id].Submission != nil {
			list = append(list, found[id])
		}
	}
	return list
}
