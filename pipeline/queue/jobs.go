package queue

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A Term identifies the term of a leader in subjects and messages: by its sweep and the epoch of
// its lease. If two leaders of a sweep exist, the one with the greater epoch is valid.
type Term struct {
	Sweep string
	Epoch uint64
}

func (t Term) String() string { return fmt.Sprintf("%s.%d", t.Sweep, t.Epoch) }

// AckWait is the length of a lease. If a worker does not extend its lease for this time, the server
// delivers the job to another worker.
const AckWait = 10 * time.Second

// A Job is a job that a worker has leased.
type Job struct {
	Term  // leader that published the job
	ID    string
	Data  []byte
	Tries int // number of deliveries including this one, according to the server; at least 1

	m jetstream.Msg
}

// Extend extends the lease. Losing this message is harmless if another one arrives within AckWait.
func (j *Job) Extend() error { return j.m.InProgress() }

// Done ends the lease and removes the job. Its results must be stored already.
func (j *Job) Done() error { return j.m.Ack() }

// Return ends the lease, so that a worker can lease the job again after a delay.
func (j *Job) Return(delay time.Duration) error {
	if delay == 0 {
		return j.m.Nak()
	}
	return j.m.NakWithDelay(delay)
}

// A Puller is a worker's side of the queue: a pull consumer of the jobs of all sweeps. Concurrent
// use is safe.
type Puller struct {
	c         *Conn
	worker    string
	consumers sync.Map // jetstream.Consumer by sweep
}

// Puller returns the queue's side of the named worker.
func (c *Conn) Puller(worker string) (*Puller, error) {
	return &Puller{c: c, worker: worker}, token("worker", worker)
}

// Lease leases at most the given number of jobs of a sweep, and calls take with each as it arrives.
// It returns when it has that many, or after the wait; 0: it leases only jobs that are available
// now. A sweep without a leader has no jobs. Lease returns an error only if the server does not
// respond or refuses the request.
func (p *Puller) Lease(ctx context.Context, sweep string, most int, wait time.Duration, take func(*Job)) error {
	batch, err := p.request(ctx, sweep, most, wait)
	if err == nil {
		for m := range batch.Messages() {
			take(newJob(sweep, m))
		}
		err = batch.Error()
	}
	if noConsumer(err) {
		p.consumers.Delete(sweep)
		return nil
	}
	if err != nil {
		return fmt.Errorf("lease jobs of sweep %q: %w", sweep, err)
	}
	return nil
}

func (p *Puller) request(
	ctx context.Context, sweep string, most int, wait time.Duration,
) (jetstream.MessageBatch, error) {
	consumer, err := p.consumer(ctx, sweep)
	switch {
	case err != nil:
		return nil, err
	case wait == 0:
		return consumer.FetchNoWait(most)
	}
	return consumer.Fetch(most, jetstream.FetchMaxWait(wait))
}

// consumer returns the consumer of a sweep's jobs, which its leader has made.
func (p *Puller) consumer(ctx context.Context, sweep string) (jetstream.Consumer, error) {
	if known, ok := p.consumers.Load(sweep); ok {
		return known.(jetstream.Consumer), nil
	}
	if err := token("sweep", sweep); err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	found, err := p.c.js.Consumer(within, jobStream, sweep)
	if err == nil {
		p.consumers.Store(sweep, found)
	}
	return found, err
}

// noConsumer reports whether a sweep has no consumer of its jobs.
func noConsumer(err error) bool {
	return isAny(err, jetstream.ErrConsumerNotFound, jetstream.ErrConsumerDeleted, jetstream.ErrStreamNotFound,
		nats.ErrNoResponders)
}

func newJob(sweep string, m jetstream.Msg) *Job {
	number, id, _ := strings.Cut(strings.TrimPrefix(m.Subject(), jobSubject+sweep+"."), ".")
	epoch, _ := strconv.ParseUint(number, 10, 64) // 0 for a subject that no leader has made
	j := &Job{Term: Term{sweep, epoch}, ID: id, Data: m.Data(), Tries: 1, m: m}
	if meta, err := m.Metadata(); err == nil {
		j.Tries = int(meta.NumDelivered)
	}
	return j
}

// An Offer is a leader's message about its sweep. The leader repeats it about once per second.
type Offer struct {
	Sweep string
	Data  []byte
}

// unreadOffers is the maximum number of offers that wait for a worker. Further ones are lost, which
// is harmless because offers are repeated.
const unreadOffers = 1 << 12

// Offers subscribes to the offers of all leaders. stop ends the subscription.
func (p *Puller) Offers() (offers <-chan Offer, stop func(), err error) {
	ch := make(chan Offer, unreadOffers)
	sub, err := p.c.nc.Subscribe(offerSubject+"*", func(m *nats.Msg) {
		sendOrDrop(ch, Offer{strings.TrimPrefix(m.Subject, offerSubject), m.Data})
	})
	if err == nil {
		err = p.c.nc.Flush() // later offers arrive
	}
	if err != nil {
		return nil, nil, fmt.Errorf("listen to the leaders of sweeps: %w", err)
	}
	return ch, func() { _ = sub.Unsubscribe() }, nil // fails only if the connection is closed
}

// sendOrDrop sends a value to a channel unless it is full.
func sendOrDrop[T any](ch chan<- T, v T) {
	select {
	case ch <- v:
	default:
	}
}
