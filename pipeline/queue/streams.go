package queue

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	jobStream    = "shatter-jobs"
	resultStream = "shatter-results"

	jobSubject    = "shatter.job."    // <sweep>.<epoch>.<job>
	resultSubject = "shatter.result." // <sweep>.<worker>.<epoch>.<job>.<part>.<parts>
	offerSubject  = "shatter.offer."  // <sweep>: plain messages to all workers

	// headerRoom is the number of bytes reserved for the headers of a message. The server counts
	// them.
	headerRoom = 4 << 10
)

// streamConfigs holds all streams on the server, with their limits. The server determines the
// number of replicas and the kind of storage.
var streamConfigs = map[string]jetstream.StreamConfig{
	jobStream: {
		Subjects: []string{jobSubject + ">"}, Description: "Shatter: jobs that are queued or leased",
		Retention: jetstream.WorkQueuePolicy, Discard: jetstream.DiscardNew, MaxMsgs: -1,
		MaxMsgSize: MaxJob + headerRoom, MaxAge: 7 * 24 * time.Hour,
	},
	resultStream: {
		Subjects: []string{resultSubject + ">"}, Description: "Shatter: results of sweeps that have not ended",
		Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew, MaxMsgs: -1,
		MaxMsgSize: MaxResult + headerRoom, MaxAge: 30 * 24 * time.Hour, // for abandoned sweeps
	},
	fileStream: {
		Subjects:    []string{fileSubject + "*.*"},
		Description: "Shatter: files and other content by SHA-256", Discard: jetstream.DiscardNew,
		MaxMsgs: -1, MaxMsgsPerSubject: 1, MaxMsgSize: chunkSize + headerRoom, AllowDirect: true,
	},
	// nats.go would make the bucket with AllowDirect: then any server of a cluster responds to a
	// read, perhaps with an old value. Without it the stream's leader responds, so a read returns
	// every earlier write. Without AllowRollup no message can remove the other values.
	registryStream: {
		Subjects: []string{registrySubject + ">"}, Description: "Shatter: sweeps that were submitted",
		MaxMsgs: -1, MaxMsgsPerSubject: 1, MaxMsgSize: -1, Discard: jetstream.DiscardNew, DenyDelete: true,
	},
	workerStream: {
		Subjects: []string{workerSubject + ">"}, Description: "Shatter: heartbeats of workers",
		MaxMsgs: -1, MaxMsgsPerSubject: 1, MaxMsgSize: MaxHeartbeat + headerRoom, MaxAge: workerTTL,
		Storage: jetstream.MemoryStorage, Discard: jetstream.DiscardNew, DenyDelete: true,
	},
}

// streams opens the streams of streamConfigs, and makes missing ones if the credentials permit it.
type streams struct {
	c        *Conn
	known    sync.Map    // jetstream.Stream by name
	prepared atomic.Bool // the registry was there; if the server loses it, a coordinator makes it again
}

// open returns a stream. After its first success, calls use the cached stream until invalidate is
// called.
func (s *streams) open(ctx context.Context, name string) (jetstream.Stream, error) {
	if found, ok := s.known.Load(name); ok {
		return found.(jetstream.Stream), nil
	}
	found, err := s.ensure(ctx, name)
	if err == nil {
		s.known.Store(name, found)
	}
	return found, err
}

// invalidate empties the cache of streams.
func (s *streams) invalidate() { s.known.Clear() }

// do calls do with a stream until it succeeds, like retry. If the stream does not exist any more,
// it is made again.
func (s *streams) do(
	ctx context.Context, what, name string, do func(context.Context, jetstream.Stream) error,
) error {
	return s.c.retry(ctx, what, func(ctx context.Context) error {
		stream, err := s.open(ctx, name)
		if err == nil {
			err = do(ctx, stream)
		}
		if streamGone(err) {
			s.invalidate()
			return fmt.Errorf("%w: %w", errNoAnswer, err)
		}
		return err
	})
}

// purge removes the messages of a subject from a stream.
func (s *streams) purge(ctx context.Context, name, subject string, limits ...jetstream.StreamPurgeOpt) error {
	return s.do(ctx, "remove "+subject, name, func(ctx context.Context, stream jetstream.Stream) error {
		return stream.Purge(ctx, append(limits, jetstream.WithPurgeSubject(subject))...)
	})
}

// prepare requests all streams from the server, and makes missing ones. If the credentials do not
// permit that, it only checks that a coordinator has made the registry.
func (s *streams) prepare(ctx context.Context) error {
	s.invalidate()
	names := []string{registryStream}
	if !s.c.access.limited() {
		names = append(names, jobStream, resultStream, workerStream, fileStream)
	}
	for _, name := range names {
		if _, err := s.open(ctx, name); err != nil {
			return err
		}
	}
	s.prepared.Store(true)
	return nil
}

// ensure opens or makes a stream, and sets the limits of this version.
func (s *streams) ensure(ctx context.Context, name string) (jetstream.Stream, error) {
	want := streamConfigs[name]
	want.Name = name
	found, err := s.c.js.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		if s.c.access.limited() {
			missing := s.c.access.unprepared()
			missing.Waits = s.prepared.Load()
			return nil, missing
		}
		found, err = s.create(ctx, want)
	}
	if err != nil {
		return nil, fmt.Errorf("make stream %q: %w", name, err)
	}
	if s.c.access.limited() {
		return found, nil
	}
	have := found.CachedInfo().Config
	if have.Retention != want.Retention {
		return nil, fmt.Errorf("use stream %q: it exists with another retention; "+
			`remove it with "nats stream rm %s" when no sweep runs`, name, name)
	}
	next := have
	next.Subjects, next.AllowDirect, next.MaxAge = want.Subjects, want.AllowDirect, want.MaxAge
	next.MaxMsgs, next.MaxMsgSize = want.MaxMsgs, want.MaxMsgSize
	if reflect.DeepEqual(next, have) {
		return found, nil
	}
	if found, err = s.c.js.UpdateStream(ctx, next); err != nil {
		return nil, fmt.Errorf("give stream %q the limits of this version: %w; "+
			`remove it with "nats stream rm %s" when no sweep runs`, name, err, name)
	}
	return found, nil
}

const (
	maxReplicas = 3 // maximum number of replicas of a stream

	// joining is the time in which the servers of a newly started cluster connect to each other.
	// Before that, they report that they are too few, and a stream with one replica would keep it.
	// A cluster of two reports the same.
	joining = 3 * time.Second

	// settled is the pause before the first stream is made with credentials. The server (2.15.2,
	// Account.EnableJetStream) sets up an account when the first party connects: it removes the
	// account's folder if that is empty, and meanwhile accepts a second party, whose streams then
	// cannot be made or, worse, lose their folder.
	settled = time.Second
)

// create makes a stream with as many replicas as a server cluster permits, at most maxReplicas.
func (s *streams) create(ctx context.Context, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	if s.c.local != nil {
		cfg.Storage = jetstream.MemoryStorage
	}
	first := true
	s.known.Range(func(any, any) bool { first = false; return false })
	if first && s.c.opts.Credentials != "" {
		if err := pause(ctx, settled); err != nil {
			return nil, err
		}
	}
	if s.c.nc.ConnectedClusterName() != "" {
		cfg.Replicas = maxReplicas
	}
	if cfg.Name == registryStream {
		// Epochs are revisions. They must grow even if the server loses its store: a late message
		// of an earlier leader must not match a new leader's epoch.
		cfg.FirstSeq = uint64(time.Now().UnixMilli())
	}
	for began := time.Now(); ; {
		made, err := s.c.js.CreateStream(ctx, cfg)
		switch {
		case errors.Is(err, jetstream.ErrStreamNameAlreadyInUse): // another party made it meanwhile, with other limits
			return s.c.js.Stream(ctx, cfg.Name)
		case !tooFewServers(err):
			return made, err
		case time.Since(began) >= joining:
			cfg.Replicas = 1
		}
		if err := pause(ctx, joining/10); err != nil {
			return nil, err
		}
	}
}

// tooFewServers reports whether a stream was refused because it has more replicas than the cluster
// has servers.
func tooFewServers(err error) bool {
	const noPeers, replicasUnsupported = 10005, 10074
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == noPeers || api.ErrorCode == replicasUnsupported)
}

// streamGone reports whether no server has responded to a request to a stream: it does not exist,
// or has no leader at present.
func streamGone(err error) bool {
	return isAny(err, nats.ErrNoResponders, nats.ErrStreamNotFound, jetstream.ErrNoStreamResponse,
		jetstream.ErrStreamNotFound, jetstream.ErrBucketNotFound)
}

// conflict reports whether the server refused a message because another one was stored meanwhile.
func conflict(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
		api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}
