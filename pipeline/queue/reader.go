package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// A reader reads the results of a sweep in the order in which they were stored. It uses consumers
// without acknowledgements, and makes a new consumer if a message was lost in transit. The client's
// OrderedConsumer does not notice that a stream was recreated with other sequence numbers, and has
// stopped after restarts (github.com/nats-io/nats.go/issues/1370).
type reader struct {
	q    *Queue
	made time.Time // creation time of the stream; another stream counts from 1 again
	last uint64    // sequence number of the last result that was read
}

const (
	readAtOnce = 32                     // number of results per request
	readPoll   = time.Second            // maximum time that a request waits for results
	readRest   = 200 * time.Millisecond // pause after an error
)

// readAll forwards results until the queue is closed.
func (q *Queue) readAll() {
	r := &reader{q: q}
	for q.open.Err() == nil {
		err := r.read(q.open)
		if err == nil || q.open.Err() != nil {
			continue
		}
		q.c.complain(fmt.Errorf("read results of sweep %s: %w", q.term.Sweep, err))
		_ = pause(q.open, readRest)
	}
}

// read reads with one consumer until it fails or stalls.
func (r *reader) read(ctx context.Context) error {
	consumer, err := r.consumer(ctx)
	if err != nil {
		return err
	}
	for delivered := uint64(0); ctx.Err() == nil; {
		before := r.last
		if err := r.fetch(ctx, consumer, &delivered); err != nil {
			return err
		}
		if r.last > before {
			continue
		}
		if last, err := r.q.Last(ctx); err != nil || last > r.last { // there are results, and none has arrived
			return err
		}
	}
	return nil
}

// errGap ends the use of a consumer.
var errGap = errors.New("a message was lost on the way; reading it again")

// fetch reads the results that a consumer delivers within readPoll. delivered counts the deliveries
// of the consumer.
func (r *reader) fetch(ctx context.Context, consumer jetstream.Consumer, delivered *uint64) error {
	within, cancel := context.WithTimeout(ctx, readPoll)
	defer cancel()
	batch, err := consumer.Fetch(readAtOnce, jetstream.FetchContext(within))
	if err != nil {
		return err
	}
	for m := range batch.Messages() {
		meta, err := m.Metadata()
		if err != nil {
			return err
		}
		if *delivered++; meta.Sequence.Consumer != *delivered {
			return errGap
		}
		r.last = meta.Sequence.Stream
		part, _ := ParsePart(m.Subject())
		next := &Message{Part: part, Data: m.Data(), Sequence: r.last, Pending: meta.NumPending}
		select {
		case r.q.results <- next:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := batch.Error(); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// consumer makes a consumer of the results after the last one that was read.
func (r *reader) consumer(ctx context.Context) (jetstream.Consumer, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	stream, err := r.q.c.js.Stream(ctx, resultStream)
	if err != nil {
		return nil, err
	}
	if made := stream.CachedInfo().Created; !made.Equal(r.made) {
		r.made, r.last = made, 0
	}
	return stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		FilterSubject: resultSubject + r.q.term.Sweep + ".>", AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true,
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: r.last + 1, InactiveThreshold: time.Minute,
	})
}
