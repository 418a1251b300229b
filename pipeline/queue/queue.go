package queue

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A Queue is a leader's side of one sweep. All methods may be called concurrently.
type Queue struct {
	c    *Conn
	lead Lead

	results    chan *Message
	heartbeats chan Heartbeat
	heard      *nats.Subscription

	open context.Context // ends with Close
	stop context.CancelFunc
	read chan struct{} // closed when no more results are read

	mu   sync.Mutex
	jobs jetstream.Consumer
}

const (
	unreadResults    = 64      // results that are read ahead of the coordinator
	unreadHeartbeats = 1 << 9  // heartbeats that may wait for the coordinator; further ones are lost
	mostLeased       = 1 << 16 // jobs of a sweep that are leased at a time
)

// Coordinate takes up a sweep as its leader of an epoch, at least 1. It removes the jobs that earlier leaders
// have left, and reads the results of the sweep from the first that is stored on.
func (c *Conn) Coordinate(ctx context.Context, lead Lead) (*Queue, error) {
	if err := token("sweep", lead.Sweep, false); err != nil {
		return nil, err
	}
	q := &Queue{
		c: c, lead: lead, results: make(chan *Message, unreadResults), heartbeats: make(chan Heartbeat, unreadHeartbeats),
		read: make(chan struct{}),
	}
	q.open, q.stop = context.WithCancel(context.Background())
	var err error
	q.heard, err = c.nc.Subscribe(workerSubject+"*", func(m *nats.Msg) {
		if len(m.Data) <= MaxHeartbeat {
			offer(q.heartbeats, heartbeat(m))
		}
	})
	if err == nil {
		err = c.retry(ctx, "prepare the server", q.prepare)
	}
	if err != nil {
		close(q.read)
		q.end()
		return nil, fmt.Errorf("coordinate sweep %q: %w", lead.Sweep, err)
	}
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

// prepare makes what the sweep needs on the server.
func (q *Queue) prepare(ctx context.Context) error {
	err := q.makeStreams(ctx)
	if errors.Is(err, jetstream.ErrStreamNotFound) { // the server has lost its store since they were found
		q.c.setup.forget()
		err = q.makeStreams(ctx)
	}
	return err
}

func (q *Queue) makeStreams(ctx context.Context) error {
	stream, err := q.c.setup.stream(ctx, q.c, jobStream)
	if err != nil {
		return err
	}
	for _, name := range []string{resultStream, workerStream} {
		if _, err = q.c.setup.stream(ctx, q.c, name); err != nil {
			return err
		}
	}
	subjects := jobSubject + q.lead.Sweep + ".>"
	if err = stream.Purge(ctx, jetstream.WithPurgeSubject(subjects)); err != nil {
		return err
	}
	jobs, err := stream.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: q.lead.Sweep, FilterSubject: subjects, AckPolicy: jetstream.AckExplicitPolicy, AckWait: AckWait,
		MaxDeliver: -1, MaxAckPending: mostLeased, InactiveThreshold: time.Hour,
	})
	if err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.jobs = jobs
	return nil
}

// Publish queues a job under an id that was not used before in this epoch. It waits for a connection but
// for no answer: Jobs lists which jobs the server has.
func (q *Queue) Publish(ctx context.Context, id string, payload []byte) error {
	if err := token("job", id, false); err != nil {
		return err
	}
	if len(payload) > MaxJob {
		return &SizeError{What: "job", ID: id, Size: len(payload), Limit: MaxJob}
	}
	if err := q.c.connected(ctx); err != nil {
		return fmt.Errorf("publish job %s: %w", id, err)
	}
	if _, err := q.c.js.PublishAsync(jobSubject+q.lead.String()+"."+id, payload); err != nil && !transient(err) {
		return fmt.Errorf("publish job %s: %w", id, err)
	}
	return nil
}

// Offer publishes the needs of the sweep to all workers. Losing this message is harmless: it is repeated.
func (q *Queue) Offer(data []byte) error {
	return q.c.tell("offer the sweep", &nats.Msg{Subject: offerSubject + q.lead.Sweep, Data: data})
}

// Results returns the channel of the sweep's results, in the order in which they were stored, whatever leader
// their jobs are of.
func (q *Queue) Results() <-chan *Message { return q.results }

// Heartbeats returns the channel of the workers' heartbeats.
func (q *Queue) Heartbeats() <-chan Heartbeat { return q.heartbeats }

// Closed returns a channel that is closed when the connection is gone for good.
func (q *Queue) Closed() <-chan struct{} { return q.c.closed }

// Jobs returns the ids of this leader's jobs that are queued or leased. If the server has lost its store, it
// makes again what the sweep needs, and calls Restore in the background; then there are none.
func (q *Queue) Jobs(ctx context.Context) (ids map[string]bool, err error) {
	ids, err = q.list(ctx)
	if noConsumer(err) {
		q.c.log.Warn("the server has lost its store; making streams again", "sweep", q.lead.Sweep, "error", err.Error())
		q.c.setup.forget()
		q.c.restoreLost()
		if err = q.c.retry(ctx, "prepare the server", q.prepare); err == nil {
			ids, err = q.list(ctx)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("list jobs of sweep %q: %w", q.lead.Sweep, err)
	}
	return ids, nil
}

func (q *Queue) list(ctx context.Context) (ids map[string]bool, err error) {
	q.mu.Lock()
	jobs := q.jobs
	q.mu.Unlock()
	if _, err := jobs.Info(ctx); err != nil { // the stream may have been made again by another leader
		return nil, err
	}
	stream, err := q.c.setup.stream(ctx, q.c, jobStream)
	if err != nil {
		return nil, err
	}
	prefix := jobSubject + q.lead.String() + "."
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(prefix+">"))
	if err != nil {
		return nil, err
	}
	ids = map[string]bool{}
	for subject := range info.State.Subjects {
		ids[strings.TrimPrefix(subject, prefix)] = true
	}
	return ids, nil
}

// Drop removes jobs of this leader from the queue. Workers that have leased them do not learn of it: offers
// list them.
func (q *Queue) Drop(ctx context.Context, ids ...string) error {
	for _, id := range ids {
		if err := q.purge(ctx, jobStream, jetstream.WithPurgeSubject(jobSubject+q.lead.String()+"."+id)); err != nil {
			return err
		}
	}
	return nil
}

// Forget removes the sweep's results up to a sequence from the server.
func (q *Queue) Forget(ctx context.Context, sequence uint64) error {
	return q.purge(ctx, resultStream, jetstream.WithPurgeSubject(resultSubject+q.lead.Sweep+".>"),
		jetstream.WithPurgeSequence(sequence+1))
}

// Last returns the sequence of the sweep's last result on the server; 0: there is none.
func (q *Queue) Last(ctx context.Context) (uint64, error) {
	stream, err := q.c.setup.stream(ctx, q.c, resultStream)
	if err != nil {
		return 0, err
	}
	m, err := stream.GetLastMsgForSubject(ctx, resultSubject+q.lead.Sweep+".>")
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return m.Sequence, nil
}

func (q *Queue) purge(ctx context.Context, name string, options ...jetstream.StreamPurgeOpt) error {
	stream, err := q.c.setup.stream(ctx, q.c, name)
	if err == nil {
		err = stream.Purge(ctx, options...)
	}
	if err != nil {
		return fmt.Errorf("purge stream %q: %w", name, err)
	}
	return nil
}

// Close removes the jobs of this leader from the queue, and ends what reads results. Results stay on the server
// for the sweep's next Coordinate.
func (q *Queue) Close(ctx context.Context) error {
	q.end()
	return q.purge(ctx, jobStream, jetstream.WithPurgeSubject(jobSubject+q.lead.String()+".>"))
}

// end stops deliveries in this process.
func (q *Queue) end() {
	q.stop()
	<-q.read
	if q.heard != nil {
		q.c.unsubscribe(q.heard)
	}
}

// ForgetResults removes all jobs and results of a sweep from the server: it has ended, or is forgotten.
func (c *Conn) ForgetResults(ctx context.Context, sweep string) error {
	if err := token("sweep", sweep, false); err != nil {
		return err
	}
	for name, subject := range map[string]string{jobStream: jobSubject, resultStream: resultSubject} {
		err := c.retry(ctx, "remove jobs and results of sweep "+sweep, func(ctx context.Context) error {
			stream, err := c.js.Stream(ctx, name)
			if err == nil {
				err = stream.Purge(ctx, jetstream.WithPurgeSubject(subject+sweep+".>"))
			}
			if errors.Is(err, jetstream.ErrStreamNotFound) {
				return nil
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
