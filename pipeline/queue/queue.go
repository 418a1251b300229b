package queue

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A Queue is a leader's side of one sweep. Concurrent use is safe.
type Queue struct {
	Results    <-chan *Message  // results in the order of storage, also of jobs of earlier leaders
	Heartbeats <-chan Heartbeat // heartbeats of workers

	c       *Conn
	term    Term
	results chan<- *Message
	beats   *nats.Subscription

	open context.Context // ends with Close
	stop context.CancelFunc
	read chan struct{} // closed when reading of results has stopped
}

const (
	unreadResults    = 64      // number of results that are read ahead of the coordinator
	unreadHeartbeats = 1 << 9  // maximum number of heartbeats that wait for the coordinator; further ones are lost
	maxLeased        = 1 << 16 // maximum number of leased jobs of a sweep
)

// Coordinate opens the queue of a sweep for its leader in an epoch, at least 1. It removes the jobs
// of earlier leaders, and reads all stored results of the sweep from the first one.
func (c *Conn) Coordinate(ctx context.Context, term Term) (*Queue, error) {
	if err := token("sweep", term.Sweep); err != nil {
		return nil, err
	}
	results, heartbeats := make(chan *Message, unreadResults), make(chan Heartbeat, unreadHeartbeats)
	q := &Queue{
		Results: results, Heartbeats: heartbeats, c: c, term: term, results: results, read: make(chan struct{}),
	}
	var err error
	q.beats, err = c.nc.Subscribe(workerSubject+"*", func(m *nats.Msg) {
		sendOrDrop(heartbeats, heartbeat(m))
	})
	if err == nil {
		if err = q.prepare(ctx); err != nil {
			_ = q.beats.Unsubscribe()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("coordinate sweep %q: %w", term.Sweep, err)
	}
	q.open, q.stop = context.WithCancel(context.Background())
	go func() { defer close(q.read); q.readAll() }()
	go func() {
		defer q.stop()
		select {
		case <-c.closed:
		case <-q.open.Done():
		}
	}()
	return q, nil
}

// prepare makes the streams and the sweep's consumer of jobs on the server, and removes the sweep's jobs.
func (q *Queue) prepare(ctx context.Context) error {
	for _, name := range []string{resultStream, workerStream} {
		err := q.c.streams.do(ctx, "prepare the server", name, func(context.Context, jetstream.Stream) error { return nil })
		if err != nil {
			return err
		}
	}
	subjects := jobSubject + q.term.Sweep + ".>"
	return q.c.streams.do(ctx, "prepare the server", jobStream, func(ctx context.Context, jobs jetstream.Stream) error {
		if err := jobs.Purge(ctx, jetstream.WithPurgeSubject(subjects)); err != nil {
			return err
		}
		_, err := jobs.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
			Durable: q.term.Sweep, FilterSubject: subjects, AckPolicy: jetstream.AckExplicitPolicy, AckWait: AckWait,
			MaxDeliver: -1, MaxAckPending: maxLeased, InactiveThreshold: time.Hour,
		})
		return err
	})
}

// Publish queues a job under an id that is new in this epoch. It waits for a connection but not for
// a response: Jobs returns the jobs that the server has.
func (q *Queue) Publish(ctx context.Context, id string, payload []byte) error {
	err := errors.Join(token("job", id), checkSize("job", id, payload, MaxJob))
	if err != nil {
		return err
	}
	err = q.c.connected(ctx)
	if err == nil {
		if _, err = q.c.js.PublishAsync(jobSubject+q.term.String()+"."+id, payload); transient(err) {
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("publish job %s: %w", id, err)
	}
	return nil
}

// Offer publishes the needs of the sweep to all workers. Losing this message is harmless because it
// is repeated.
func (q *Queue) Offer(data []byte) error {
	return q.c.notify("offer the sweep", &nats.Msg{Subject: offerSubject + q.term.Sweep, Data: data})
}

// Closed returns a channel that is closed when the connection is closed permanently.
func (q *Queue) Closed() <-chan struct{} { return q.c.closed }

// Jobs returns the ids of this leader's jobs on the server, and the number of those that are
// neither queued nor leased: a server may forget a lease if the job of a younger lease is dropped
// (observed with nats-server 2.15.2). If the server has lost its store, Jobs recreates the streams,
// returns no jobs, and puts the files again in the background.
func (q *Queue) Jobs(ctx context.Context) (ids map[string]bool, stranded int, err error) {
	ids, stranded, err = q.list(ctx)
	if noConsumer(err) {
		q.c.opts.Log.Warn("the server has lost its store; making streams again", "sweep", q.term.Sweep, "error", err.Error())
		if err = q.recreate(ctx); err == nil {
			ids, stranded, err = q.list(ctx)
		}
	}
	if err != nil {
		return nil, 0, fmt.Errorf("list jobs of sweep %q: %w", q.term.Sweep, err)
	}
	return ids, stranded, nil
}

// recreate makes the streams again on a server that has lost its store, and puts the files again in
// the background.
func (q *Queue) recreate(ctx context.Context) error {
	q.c.streams.invalidate()
	go func() {
		if err := q.c.Files.Restore(context.Background()); err != nil { // ends with the connection
			q.c.opts.Log.Warn("content was not put again", "error", err.Error())
		}
	}()
	return q.prepare(ctx)
}

func (q *Queue) list(ctx context.Context) (ids map[string]bool, stranded int, err error) {
	consumer, err := q.c.js.Consumer(ctx, jobStream, q.term.Sweep) // another leader may have recreated the stream
	if err != nil {
		return nil, 0, err
	}
	stream, err := q.c.streams.open(ctx, jobStream)
	if err != nil {
		return nil, 0, err
	}
	prefix := jobSubject + q.term.String() + "."
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(prefix+">"))
	if err != nil {
		return nil, 0, err
	}
	ids = map[string]bool{}
	for subject := range info.State.Subjects {
		ids[strings.TrimPrefix(subject, prefix)] = true
	}
	known := consumer.CachedInfo() // requested before the jobs, some of which may have ended meanwhile
	return ids, max(0, len(ids)-int(known.NumPending)-known.NumAckPending), nil
}

// Drop removes jobs of this leader from the queue. It does not notify workers that have leased
// them; offers list the dropped jobs.
func (q *Queue) Drop(ctx context.Context, ids ...string) error {
	for _, id := range ids {
		if err := q.c.streams.purge(ctx, jobStream, jobSubject+q.term.String()+"."+id); err != nil {
			return err
		}
	}
	return nil
}

// DeleteResults removes the sweep's results up to a sequence number from the server.
func (q *Queue) DeleteResults(ctx context.Context, sequence uint64) error {
	return q.c.streams.purge(ctx, resultStream, resultSubject+q.term.Sweep+".>", jetstream.WithPurgeSequence(sequence+1))
}

// Last returns the sequence number of the sweep's last result on the server; 0: there is none.
func (q *Queue) Last(ctx context.Context) (uint64, error) {
	stream, err := q.c.streams.open(ctx, resultStream)
	if err != nil {
		return 0, err
	}
	m, err := stream.GetLastMsgForSubject(ctx, resultSubject+q.term.Sweep+".>")
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return m.Sequence, nil
}

// Close removes the jobs of this leader from the queue, and stops reading results. Results stay on
// the server for the sweep's next Coordinate.
func (q *Queue) Close(ctx context.Context) error {
	q.stop()
	<-q.read
	_ = q.beats.Unsubscribe() // fails only if the connection is closed
	return q.c.streams.purge(ctx, jobStream, jobSubject+q.term.String()+".>")
}
