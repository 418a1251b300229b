package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// registryBucket is the key-value bucket of the registry. A sweep with the id X has the keys
//
//	X         what was submitted; never changed
//	X.wish    what people want of it; changed by compare-and-swap
//	X.lead    the lease of its leader; see Leadership
//	X.ledger  what its leader has shipped
//	X.end     how it ended
const registryBucket = "shatter-sweeps"

// Keys of a sweep in the registry, after its id.
const (
	wishKey   = ".wish"
	leadKey   = ".lead"
	ledgerKey = ".ledger"
	endKey    = ".end"
)

// Registry lists the sweeps that were submitted to a server. The values that it stores are the
// caller's, but for leases. Its methods may be called concurrently. They wait for a connection for
// as long as their context allows.
type Registry struct {
	c  *Conn
	kv jetstream.KeyValue // nil: this party submits sweeps, and may not make or watch the bucket

	anew time.Duration                                        // watchAnew, but in tests
	read func(ctx context.Context, key string) (value, error) // get, but in tests
}

// Entry is what the registry holds of one sweep. Values that nobody has written are nil.
type Entry struct {
	ID         string
	Submission []byte
	Wish       []byte
	Ledger     []byte
	End        []byte
	Leader     *Leader // nil: it has none, or the last one has resigned
}

// Leader is who leads a sweep. Its lease is over when it was not renewed for Duration.
type Leader struct {
	Name     string        `json:"name"`            // for people
	Epoch    uint64        `json:"epoch,omitempty"` // greater than those of all leaders before; 0: see Revision
	Token    string        `json:"token"`           // tells leaders of one name apart
	Duration time.Duration `json:"duration"`

	Revision uint64    `json:"-"` // of the lease: each renewal has another, and the first one's is the epoch
	Renewed  time.Time `json:"-"` // by the server's clock
}

// Registry opens the registry, which it makes where there is none, with the streams that holders of
// limited credentials need and cannot make. It begins anew where the server loses its store meanwhile.
func (c *Conn) Registry(ctx context.Context) (*Registry, error) {
	for {
		r, err := c.openRegistry(ctx)
		if err != nil || c.limited() {
			return r, err
		}
		err = c.retry(ctx, "prepare the server", c.prepare)
		if !errors.Is(err, jetstream.ErrStreamNotFound) {
			return r, err
		}
		c.setup.forget()
	}
}

// openRegistry does the work of Registry, but for the streams.
func (c *Conn) openRegistry(ctx context.Context) (*Registry, error) {
	r := &Registry{c: c, anew: watchAnew}
	r.read = r.get
	err := c.retry(ctx, "open registry", func(ctx context.Context) (err error) {
		if c.limited() {
			if _, err = c.js.Stream(ctx, registryStream); streamGone(err) {
				return c.unprepared()
			}
			return err
		}
		r.kv, err = c.bucket(ctx)
		return err
	})
	return r, err
}

// bucket finds the bucket of the registry, or makes it.
func (c *Conn) bucket(ctx context.Context) (jetstream.KeyValue, error) {
	kv, err := c.js.KeyValue(ctx, registryBucket)
	switch {
	case !errors.Is(err, jetstream.ErrBucketNotFound):
		return kv, err
	case c.limited():
		return nil, c.unprepared()
	}
	storage := jetstream.FileStorage
	if c.local != nil {
		storage = jetstream.MemoryStorage
	}
	err = c.replicated(ctx, func(replicas int) (err error) {
		kv, err = c.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: registryBucket, Description: "Shatter: sweeps that were submitted", Storage: storage, Replicas: replicas,
		})
		return err
	})
	if errors.Is(err, jetstream.ErrBucketExists) { // somebody made it meanwhile, and has prepared it
		return c.js.KeyValue(ctx, registryBucket)
	}
	return kv, err
}

// reach calls do until it succeeds, as retry does, for those who submit sweeps and ask for them. Where
// the server has lost its store, it makes the registry again, empty; holders of limited credentials wait
// for a coordinator to do so.
func (r *Registry) reach(ctx context.Context, what string, do func(context.Context) error) error {
	return r.c.retry(ctx, what, func(ctx context.Context) error {
		err := do(ctx)
		if !streamGone(err) {
			return err
		}
		if r.c.limited() {
			missing := r.c.unprepared()
			missing.Waits = true
			return missing
		}
		r.c.setup.forget()
		if _, err := r.c.bucket(ctx); err != nil {
			return err
		}
		if err := r.c.prepare(ctx); err != nil {
			return err
		}
		if err = do(ctx); streamGone(err) { // again, or none of the servers that have it leads it now
			return fmt.Errorf("%w: %w", errNoAnswer, err)
		}
		return err
	})
}

// streamGone reports whether nobody on the server has answered a request to a stream: it is gone, or has
// no leader at the moment.
func streamGone(err error) bool {
	return isAny(err, nats.ErrNoResponders, jetstream.ErrNoStreamResponse, jetstream.ErrStreamNotFound,
		jetstream.ErrBucketNotFound)
}

// prepare makes the streams that are missing, and gives all the replicas that are asked for. It takes
// from the registry's that a header of one message removes all others, as a bucket lets it: a submitter
// could send it.
func (c *Conn) prepare(ctx context.Context) error {
	if _, err := c.setup.ready(ctx, c); err != nil {
		return err
	}
	if _, err := c.setup.readyFiles(ctx, c); err != nil {
		return err
	}
	s, err := c.js.Stream(ctx, registryStream)
	if err != nil {
		return err
	}
	config := s.CachedInfo().Config
	if !config.AllowRollup && config.AllowDirect && config.Replicas == c.replicasAs(config.Replicas) {
		return nil
	}
	config.AllowRollup, config.AllowDirect, config.Replicas = false, true, c.replicasAs(config.Replicas)
	if _, err = c.js.UpdateStream(ctx, config); tooFewServers(err) {
		return c.tooManyReplicas(err)
	}
	return err
}

// Silent returns the error of a call that the server did not answer in time, or refused again and again.
func (c *Conn) Silent(after time.Duration, err error) error {
	if missing := (*ConnectError)(nil); errors.As(err, &missing) {
		return missing
	}
	e := &ConnectError{
		URL: Redact(c.url), Reason: fmt.Sprintf("no answer within %v from JetStream on the NATS server", after), Err: err,
		Remedy: "its disk may be full or have been full (make room, and start it again), or too few servers of its " +
			"cluster run: see their logs, or try again",
	}
	if noRoom(err) {
		e.Reason = fmt.Sprintf("no room for %v on the NATS server", after)
		e.Remedy = "make room on its disk, raise max_file_store in its configuration, or forget sweeps " +
			"(shatter forget ID; a coordinator removes what they had a day later)"
	}
	return e
}

// Submit stores what was submitted under an id, once for all. It reports whether the id is new; if it
// is not, nothing changes.
func (r *Registry) Submit(ctx context.Context, id string, submission []byte) (added bool, err error) {
	if !isID(id) {
		return false, fmt.Errorf("submit sweep %q: its id has to be 1 to 64 letters, digits and '_'", id)
	}
	err = r.reach(ctx, "submit sweep "+id, func(ctx context.Context) error {
		return r.create(ctx, id, submission)
	})
	if conflict(err) {
		return false, nil
	}
	return err == nil, err
}

// Replace stores what was submitted under an id in place of something else that somebody has put there.
func (r *Registry) Replace(ctx context.Context, id string, submission []byte) error {
	return r.reach(ctx, "submit sweep "+id, func(ctx context.Context) error {
		_, err := r.c.js.Publish(ctx, registrySubject+id, submission)
		return err
	})
}

var idPattern = regexp.MustCompile(`^[A-Za-z0-9_]{1,64}$`)

// isID reports whether an id can be that of a sweep: it becomes part of subjects, keys and paths. The registry
// ignores other keys.
func isID(id string) bool { return idPattern.MatchString(id) }

// A value is what the registry holds under a key.
type value struct {
	key      string
	data     []byte // nil: none is there, or no longer
	revision uint64 // 0: none ever was
	at       time.Time
}

// get reads a value, from any server that has it.
func (r *Registry) get(ctx context.Context, key string) (v value, err error) {
	v.key = key
	m, err := r.c.nc.RequestWithContext(ctx, directGet+registryStream+"."+registrySubject+key, nil)
	if err != nil {
		return v, err
	}
	if code := status(m); code == "404" {
		return v, nil
	} else if code != "" {
		return v, fmt.Errorf("%w (status %s)", nats.ErrNoResponders, code)
	}
	if v.revision, err = strconv.ParseUint(m.Header.Get(jetstream.SequenceHeader), 10, 64); err != nil {
		return v, fmt.Errorf("read %q of the registry: %w", key, err)
	}
	if v.at, err = time.Parse(time.RFC3339Nano, m.Header.Get(jetstream.TimeStampHeaer)); err != nil {
		return v, fmt.Errorf("read %q of the registry: %w", key, err)
	}
	if m.Header.Get(markHeader) == "" {
		v.data = append([]byte{}, m.Data...)
	}
	return v, nil
}

// put stores a value while the key has a revision, and returns the new one.
func (r *Registry) put(ctx context.Context, key string, data []byte, revision uint64) (uint64, error) {
	m := &nats.Msg{Subject: registrySubject + key, Data: data}
	ack, err := r.c.js.PublishMsg(ctx, m, jetstream.WithExpectLastSequencePerSubject(revision))
	if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}

// create stores a value where none is.
func (r *Registry) create(ctx context.Context, key string, data []byte) error {
	_, taken := r.put(ctx, key, data, 0)
	if !conflict(taken) {
		return taken
	}
	v, err := r.get(ctx, key)
	if err == nil && v.data == nil && v.revision > 0 { // the mark of one that was removed
		_, err = r.put(ctx, key, data, v.revision)
		return err
	}
	return taken
}

// IDError reports that an id, or the beginning of one, does not name one sweep.
type IDError struct {
	ID    string
	Known []string // ids that it could stand for; none: there is no such sweep
}

func (e *IDError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("no sweep %q on this server; `shatter sweeps` lists what there is", e.ID)
	}
	return fmt.Sprintf("sweep %q could be any of %s; give more of its id", e.ID, strings.Join(e.Known, ", "))
}

// behind is the time in which the servers of a cluster hear of what one of them has taken in. Values are
// read from any of them.
const behind = 3 * time.Second

// Find returns the entry of the sweep whose id is or begins with prefix. It returns an *IDError
// where that is not one sweep. It waits a little for one that is listed and cannot be read: the server
// that was asked has not heard of it yet.
func (r *Registry) Find(ctx context.Context, prefix string) (*Entry, error) {
	if isID(prefix) {
		if e, err := r.entry(ctx, prefix); err != nil || e.Submission != nil {
			return e, err
		}
	}
	for began := time.Now(); ; {
		e, late, err := r.findListed(ctx, prefix)
		var none *IDError
		if !late || !errors.As(err, &none) || len(none.Known) > 0 || time.Since(began) > behind {
			return e, err
		}
		select {
		case <-time.After(behind / 30):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// findListed looks for a sweep in the list of all, which is never behind. late says that the list has one
// which prefix may stand for, and which nobody has forgotten, but that it could not be read.
func (r *Registry) findListed(ctx context.Context, prefix string) (found *Entry, late bool, err error) {
	all, err := r.ids(ctx)
	if err != nil {
		return nil, false, err
	}
	failed := &IDError{ID: prefix}
	for _, id := range all {
		if prefix == "" || !strings.HasPrefix(id, prefix) {
			continue
		}
		e, err := r.entry(ctx, id)
		if err != nil {
			return nil, false, err
		}
		if e.Submission != nil {
			found, failed.Known = e, append(failed.Known, id)
			continue
		}
		removed, err := r.removed(ctx, id)
		if err != nil {
			return nil, false, err
		}
		late = late || !removed
	}
	if len(failed.Known) != 1 {
		return nil, late, failed
	}
	return found, late, nil
}

// removed reports whether a sweep was forgotten: its mark is there, or nothing is there any more.
func (r *Registry) removed(ctx context.Context, id string) (removed bool, err error) {
	err = r.reach(ctx, "read sweep "+id, func(ctx context.Context) error {
		v, err := r.get(ctx, id)
		removed = v.data == nil && v.revision > 0
		return err
	})
	return removed, err
}

// List returns the entries of all sweeps, by id.
func (r *Registry) List(ctx context.Context) ([]*Entry, error) {
	ids, err := r.ids(ctx)
	if err != nil {
		return nil, err
	}
	all, errs := make([]*Entry, len(ids)), make([]error, len(ids))
	var reading sync.WaitGroup
	const mostReading = 16
	free := make(chan struct{}, mostReading)
	for i, id := range ids {
		free <- struct{}{}
		reading.Go(func() {
			defer func() { <-free }()
			all[i], errs[i] = r.entry(ctx, id)
		})
	}
	reading.Wait()
	all = slices.DeleteFunc(all, func(e *Entry) bool { return e != nil && e.Submission == nil })
	return all, errors.Join(errs...)
}

// ids returns the ids of all sweeps, ascending, and of some that are forgotten.
func (r *Registry) ids(ctx context.Context) (all []string, err error) {
	err = r.reach(ctx, "list sweeps", func(ctx context.Context) error {
		s, err := r.c.js.Stream(ctx, registryStream)
		if err != nil {
			return err
		}
		info, err := s.Info(ctx, jetstream.WithSubjectFilter(registrySubject+"*"))
		if err != nil {
			return err
		}
		all = all[:0]
		for subject := range info.State.Subjects {
			if id := strings.TrimPrefix(subject, registrySubject); isID(id) {
				all = append(all, id)
			}
		}
		slices.Sort(all)
		return nil
	})
	return all, err
}

// entry reads the values of a sweep.
func (r *Registry) entry(ctx context.Context, id string) (*Entry, error) {
	found := entries{id: {ID: id}}
	err := r.reach(ctx, "read sweep "+id, func(ctx context.Context) error {
		for _, key := range []string{"", wishKey, leadKey, ledgerKey, endKey} {
			v, err := r.read(ctx, id+key)
			if err == nil {
				_, err = found.take(v)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return found[id], err
}

// watchAnew is the time after which Watch reads the registry anew, in case that the client has lost
// a change.
const watchAnew = time.Minute

// Watch calls see with the entry of each sweep that was submitted: once for all that are there, and
// whenever one has changed, perhaps without a difference. Of one that was forgotten it calls see with
// an entry without a submission, if it hears of that. It returns when ctx ends, or see returns an error.
func (r *Registry) Watch(ctx context.Context, see func(*Entry) error) error {
	for {
		if err := r.watch(ctx, see); err != nil {
			return err
		}
	}
}

func (r *Registry) watch(ctx context.Context, see func(*Entry) error) error {
	within, cancel := context.WithTimeout(ctx, r.anew)
	defer cancel()
	var w jetstream.KeyWatcher
	err := r.c.retry(within, "watch sweeps", func(answer context.Context) (err error) {
		life, end := context.WithCancel(within) // of the watcher, which ends with it, if the call is answered
		defer context.AfterFunc(answer, end)()
		w, err = r.kv.WatchAll(life)
		return err
	})
	switch {
	case err != nil && within.Err() != nil:
		return context.Cause(ctx) // nil: try anew
	case err != nil:
		return err
	}
	defer w.Stop() //nolint:errcheck // it ends with within at the latest
	found, complete := entries{}, false
	for {
		select {
		case x, ok := <-w.Updates():
			switch {
			case !ok:
				return context.Cause(ctx)
			case x == nil: // what follows are changes
				complete = true
				for _, e := range found.submitted() {
					if err := see(e); err != nil {
						return err
					}
				}
				continue
			}
			e, err := found.take(valueOf(x))
			if err == nil && complete && (e.Submission != nil || x.Key() == e.ID) {
				copied := *e
				err = see(&copied)
			}
			if err != nil {
				return err
			}
		case <-within.Done():
			return context.Cause(ctx) // nil: read anew
		case <-r.c.closed:
			return r.c.Gone()
		}
	}
}

// entries are those of all sweeps by id.
type entries map[string]*Entry

// take takes in the value of one key, and returns the entry to which it belongs.
func (all entries) take(v value) (*Entry, error) {
	id, key := v.key, ""
	if dot := strings.IndexByte(id, '.'); dot >= 0 {
		id, key = id[:dot], id[dot:]
	}
	if !isID(id) {
		return &Entry{ID: id}, nil
	}
	e := all[id]
	if e == nil {
		e = &Entry{ID: id}
		all[id] = e
	}
	switch key {
	case "":
		e.Submission = v.data
	case wishKey:
		e.Wish = v.data
	case ledgerKey:
		e.Ledger = v.data
	case endKey:
		e.End = v.data
	case leadKey:
		if e.Leader = nil; v.data == nil {
			break
		}
		l, err := readLeader(v)
		if err != nil {
			return nil, err
		}
		e.Leader = l
	}
	return e, nil
}

// submitted returns copies of the entries that have a submission, by id.
func (all entries) submitted() (list []*Entry) {
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if e := *all[id]; e.Submission != nil {
			list = append(list, &e)
		}
	}
	return list
}

// valueOf returns the value of an entry of the bucket.
func valueOf(x jetstream.KeyValueEntry) value {
	v := value{key: x.Key(), revision: x.Revision(), at: x.Created()}
	if x.Operation() == jetstream.KeyValuePut {
		v.data = x.Value()
	}
	return v
}

func readLeader(v value) (*Leader, error) {
	l, err := decodeLeader(v.data)
	if err != nil {
		return nil, fmt.Errorf("read %q of bucket %q: %.100q is no lease: %w", v.key, registryBucket, v.data, err)
	}
	l.Revision, l.Renewed = v.revision, v.at
	if l.Epoch == 0 {
		l.Epoch = l.Revision
	}
	return l, nil
}

// decodeLeader reads a lease. Its duration is positive.
func decodeLeader(value []byte) (*Leader, error) {
	l := &Leader{}
	if err := json.Unmarshal(value, l); err != nil {
		return nil, err
	}
	if l.Duration <= 0 {
		return nil, fmt.Errorf("its duration is %v", l.Duration)
	}
	return l, nil
}

// Change replaces the wish for a sweep by what change makes of it, nil where there is none yet. It
// calls change again if somebody else has changed the wish meanwhile. An error of change ends it.
func (r *Registry) Change(ctx context.Context, id string, change func(wish []byte) ([]byte, error)) error {
	return r.reach(ctx, "change wish for sweep "+id, func(ctx context.Context) error {
		for {
			found, err := r.get(ctx, id+wishKey)
			if err != nil {
				return err
			}
			wish, err := change(found.data)
			if err != nil {
				return err
			}
			if _, err = r.put(ctx, id+wishKey, wish, found.revision); !conflict(err) {
				return err
			}
		}
	})
}

// conflict reports whether the server refused a value because another one was stored meanwhile.
func conflict(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
		api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}
