package queue

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A Lead names a leader: the sweep that it leads, and the number of its leadership. Of two leaders
// of one sweep the one of the greater epoch is the true one.
type Lead struct {
	Sweep string
	Epoch uint64
}

// String returns the lead as a part of subjects.
func (l Lead) String() string { return fmt.Sprintf("%s.%d", l.Sweep, l.Epoch) }

// AckWait is the length of a lease: a job whose worker has not extended its lease for so long is
// delivered to another one.
const AckWait = 10 * time.Second

// A Job is a job that a worker has leased.
type Job struct {
	Lead  // of the leader that published it
	ID    string
	Data  []byte
	Tries int // deliveries, this one included, as far as the server knows; at least 1

	m jetstream.Msg
}

// Extend extends the lease. Losing this message is harmless as long as another one arrives within AckWait.
func (j *Job) Extend() error { return j.m.InProgress() }

// Done ends the lease and removes the job. Call it when its results are stored.
func (j *Job) Done() error { return j.m.Ack() }

// Return ends the lease, for a worker to lease the job after a delay.
func (j *Job) Return(delay time.Duration) error {
	if delay == 0 {
		return j.m.Nak()
	}
	return j.m.NakWithDelay(delay)
}

// Lease leases up to most jobs of a sweep, and calls take with each as it arrives. It returns when it has
// so many, or after the wait; 0: it takes those that are available now. A sweep without a leader has no jobs.
// It returns an error only if the server does not answer or refuses the request.
func (c *Conn) Lease(ctx context.Context, sweep string, most int, wait time.Duration, take func(*Job)) error {
	batch, err := c.request(ctx, sweep, most, wait)
	if err == nil {
		for m := range batch.Messages() {
			take(newJob(sweep, m))
		}
		err = batch.Error()
	}
	if noConsumer(err) {
		c.consumers.Delete(sweep)
		return nil
	}
	if err != nil {
		return fmt.Errorf("lease jobs of sweep %q: %w", sweep, err)
	}
	return nil
}

func (c *Conn) request(
	ctx context.Context, sweep string, most int, wait time.Duration,
) (jetstream.MessageBatch, error) {
	consumer, err := c.consumer(ctx, sweep)
	switch {
	case err != nil:
		return nil, err
	case wait == 0:
		return consumer.FetchNoWait(most)
	}
	return consumer.Fetch(most, jetstream.FetchMaxWait(wait))
}

// consumer returns the consumer of a sweep's jobs, which its leader has made.
func (c *Conn) consumer(ctx context.Context, sweep string) (jetstream.Consumer, error) {
	if known, ok := c.consumers.Load(sweep); ok {
		return known.(jetstream.Consumer), nil
	}
	if err := token("sweep", sweep, false); err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, answering)
	defer cancel()
	found, err := c.js.Consumer(within, jobStream, sweep)
	if err == nil {
		c.consumers.Store(sweep, found)
	}
	return found, err
}

// noConsumer reports whether a sweep has no consumer of its jobs, or not any more.
func noConsumer(err error) bool {
	return isAny(err, jetstream.ErrConsumerNotFound, jetstream.ErrConsumerDeleted, jetstream.ErrStreamNotFound,
		nats.ErrNoResponders)
}

func newJob(sweep string, m jetstream.Msg) *Job {
	number, id, _ := strings.Cut(strings.TrimPrefix(m.Subject(), jobSubject+sweep+"."), ".")
	epoch, _ := strconv.ParseUint(number, 10, 64) // of a subject that no leader has made it is 0
	j := &Job{Lead: Lead{sweep, epoch}, ID: id, Data: m.Data(), Tries: 1, m: m}
	if meta, err := m.Metadata(); err == nil {
		j.Tries = int(meta.NumDelivered)
	}
	return j
}

// An Offer is what a leader publishes about its sweep, about once a second.
type Offer struct {
	Sweep string
	Data  []byte
}

// unreadOffers is the number of offers that may wait for a worker. Further ones are lost: they are repeated.
const unreadOffers = 1 << 12

// Offers returns the channel of what leaders offer, and what ends it.
func (c *Conn) Offers() (offers <-chan Offer, stop func(), err error) {
	ch := make(chan Offer, unreadOffers)
	sub, err := c.nc.Subscribe(offerSubject+"*", func(m *nats.Msg) {
		offer(ch, Offer{strings.TrimPrefix(m.Subject, offerSubject), m.Data})
	})
	if err == nil {
		err = c.confirm(offerSubject + "*")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("listen to the leaders of sweeps: %w", err)
	}
	return ch, func() { c.unsubscribe(sub) }, nil
}

// offer passes a value on to whoever reads ch, unless too many wait there already.
func offer[T any](ch chan<- T, v T) {
	select {
	case ch <- v:
	default:
	}
}

func (c *Conn) unsubscribe(sub *nats.Subscription) {
	if err := sub.Unsubscribe(); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
		c.log.Warn("unsubscribe", "subject", sub.Subject, "error", err.Error())
	}
}
