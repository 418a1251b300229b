package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	jobStream    = "shatter-jobs"
	resultStream = "shatter-results"

	jobSubject    = "shatter.job."    // <sweep>.<epoch>.<job>
	resultSubject = "shatter.result." // <sweep>.<worker>.<epoch>.<job>.<part>.<parts>
	offerSubject  = "shatter.offer."  // <sweep>: plain messages to all workers

	mostReplicas = 3 // of a stream, in a cluster of at least as many servers

	// headerRoom is the number of bytes that the headers of a message may take. The server counts them.
	headerRoom = 4 << 10
)

// streamConfigs are all streams that are on the server, with their limits. The number of replicas
// and the kind of storage follow from the server.
var streamConfigs = map[string]jetstream.StreamConfig{
	jobStream: {
		Subjects: []string{jobSubject + ">"}, Description: "Shatter: jobs that are queued or leased",
		Retention: jetstream.WorkQueuePolicy, Discard: jetstream.DiscardNew, MaxMsgs: -1,
		MaxMsgSize: MaxJob + headerRoom, MaxAge: 7 * 24 * time.Hour,
	},
	resultStream: {
		Subjects: []string{resultSubject + ">"}, Description: "Shatter: results of sweeps that have not ended",
		Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew, MaxMsgs: -1,
		MaxMsgSize: MaxResult + headerRoom, MaxAge: 30 * 24 * time.Hour, // for sweeps that are not resumed
	},
	fileStream: {
		// That of an object store, without the headers with which one message could remove all others.
		Subjects:    []string{chunkSubject + ">", metaSubject + ">"},
		Description: "Shatter: files and other content by SHA-256", Discard: jetstream.DiscardNew,
		MaxMsgs: -1, MaxMsgSize: chunkSize + headerRoom, AllowDirect: true,
	},
	registryStream: registryConfig,
	workerStream:   workerConfig,
}

// streams keeps which streams are known to be on the server as streamConfigs has them. Whoever
// comes first makes or changes them.
type streams struct {
	looking turn
	known   sync.Map // jetstream.Stream by name
}

// stream makes a stream of streamConfigs if it is missing. Once it has succeeded, further calls only return the
// stream until forget is called.
func (s *streams) stream(ctx context.Context, c *Conn, name string) (jetstream.Stream, error) {
	if found, ok := s.known.Load(name); ok {
		return found.(jetstream.Stream), nil
	}
	if err := s.looking.take(ctx); err != nil {
		return nil, err
	}
	defer s.looking.give()
	if found, ok := s.known.Load(name); ok {
		return found.(jetstream.Stream), nil
	}
	found, err := c.stream(ctx, name)
	if err == nil {
		s.known.Store(name, found)
	}
	return found, err
}

// forget makes the next calls look again.
func (s *streams) forget() { s.known.Clear() }

// A turn is a lock whose holder may wait for the server. It has room for one holder.
type turn chan struct{}

// take waits until nobody holds the lock, or ctx ends.
func (t turn) take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (t turn) give() { <-t }

// stream finds a stream of streamConfigs, or makes it, or gives it today's limits.
func (c *Conn) stream(ctx context.Context, name string) (jetstream.Stream, error) {
	want := streamConfigs[name]
	want.Name = name
	s, err := c.js.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		if c.limited() {
			return nil, c.unprepared()
		}
		s, err = c.makeStream(ctx, want)
	}
	if few := (*ConnectError)(nil); errors.As(err, &few) {
		return nil, few
	}
	if err != nil {
		return nil, fmt.Errorf("make stream %q: %w", name, err)
	}
	if c.limited() {
		return s, nil
	}
	found := s.CachedInfo().Config
	if found.Retention != want.Retention {
		return nil, fmt.Errorf("use stream %q: it exists with another retention; "+
			`remove it with "nats stream rm %s" when no sweep runs`, name, name)
	}
	if slices.Equal(found.Subjects, want.Subjects) && found.AllowDirect == want.AllowDirect &&
		found.MaxMsgs == want.MaxMsgs && found.MaxMsgSize == want.MaxMsgSize && found.MaxAge == want.MaxAge &&
		found.Replicas == c.replicasAs(found.Replicas) {
		return s, nil
	}
	changed := found
	changed.Subjects, changed.AllowDirect, changed.MaxAge = want.Subjects, want.AllowDirect, want.MaxAge
	changed.MaxMsgs, changed.MaxMsgSize = want.MaxMsgs, want.MaxMsgSize
	changed.Replicas = c.replicasAs(found.Replicas)
	s, err = c.js.UpdateStream(ctx, changed)
	if tooFewServers(err) {
		return nil, c.tooManyReplicas(err)
	}
	if err != nil {
		return nil, fmt.Errorf("give stream %q the limits of this version: %w; "+
			`remove it with "nats stream rm %s" when no sweep runs`, name, err, name)
	}
	return s, nil
}

// unprepared returns the error of those who cannot make what is missing on the server.
func (c *Conn) unprepared() *ConnectError {
	return c.misfit("nothing is prepared on the NATS server", errors.New("no coordinator has served there yet"),
		"start `shatter coordinator --server URL --dir DIR` first")
}

// makeStream makes a stream.
func (c *Conn) makeStream(ctx context.Context, cfg jetstream.StreamConfig) (s jetstream.Stream, err error) {
	if c.local != nil {
		cfg.Storage = jetstream.MemoryStorage
	}
	err = c.replicated(ctx, func(replicas int) (err error) {
		cfg.Replicas = replicas
		s, err = c.js.CreateStream(ctx, cfg)
		return err
	})
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another party made it meanwhile, with other limits
		return c.js.Stream(ctx, cfg.Name)
	}
	return s, err
}

// replicasAs returns the number of replicas that the options ask for, and found where they ask for none.
func (c *Conn) replicasAs(found int) int { return cmp.Or(c.opts.Replicas, found) }

// tooManyReplicas returns the error of a server that cannot have the replicas that the options ask for.
func (c *Conn) tooManyReplicas(err error) error {
	return c.misfit(fmt.Sprintf("no %d replicas on the NATS server", c.opts.Replicas), err,
		fmt.Sprintf("a cluster of %d servers or more is needed, each with JetStream: ask for fewer with --replicas, or for "+
			"none in particular", c.opts.Replicas))
}

// settled is the age of a connection at which it makes what is missing on a server with credentials.
// That server (2.15.2, Account.EnableJetStream) sets up an account when the first party connects:
// it removes the account's folder if that is empty, and lets a second party in meanwhile, whose streams
// then cannot be made or, worse, lose their folder. It does so before it answers the first party.
const settled = time.Second

// settle waits until the connection is old enough to make what is missing on the server.
func (c *Conn) settle(ctx context.Context) error {
	c.mu.Lock()
	left := time.Until(c.born.Add(settled))
	c.mu.Unlock()
	if c.opts.Credentials == "" || left <= 0 {
		return nil
	}
	select {
	case <-time.After(left):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// joining is the time in which the servers of a cluster that has just begun hear of each other. Who asks
// earlier is told that there are too few, and a stream with one replica would stay like that. A cluster
// of two looks like one of three that has just begun, so that each connection waits so long, once.
const joining = 3 * time.Second

// tooFewSince returns when this connection was first told that its cluster has too few servers: now, if it
// was not yet.
func (c *Conn) tooFewSince() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.few.Before(c.born) {
		c.few = time.Now()
	}
	return c.few
}

// replicated calls create, which makes a stream, with the number of replicas that the options ask for,
// or with as many as a cluster of servers can have, at most mostReplicas.
func (c *Conn) replicated(ctx context.Context, create func(replicas int) error) error {
	if err := c.settle(ctx); err != nil {
		return err
	}
	if c.opts.Replicas > 0 || c.nc.ConnectedClusterName() == "" {
		err := create(c.opts.Replicas)
		if c.opts.Replicas > 0 && tooFewServers(err) {
			return c.tooManyReplicas(err)
		}
		return err
	}
	err := create(mostReplicas)
	for tooFewServers(err) && time.Since(c.tooFewSince()) < joining {
		select {
		case <-time.After(joining / 10):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		err = create(mostReplicas)
	}
	if tooFewServers(err) {
		err = create(1)
	}
	return err
}

// tooFewServers reports whether a stream was refused because a cluster has fewer servers than it
// wants replicas.
func tooFewServers(err error) bool {
	const noPeers, replicasUnsupported = 10005, 10074
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == noPeers || api.ErrorCode == replicasUnsupported)
}
