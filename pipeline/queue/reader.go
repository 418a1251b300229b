package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// A reader reads the results of a sweep in the order in which they were stored. It makes consumers that need no
// acknowledgements, and a new one if a message was lost on the way. The client's OrderedConsumer does not notice that a
// stream was made again with other sequences, and has stopped after restarts (github.com/nats-io/nats.go/issues/1370).
type reader struct {
	q    *Queue
	made time.Time // when the stream was made: another one counts from 1 again
	last uint64    // sequence of the last result that was read
}

const (
	readAtOnce = 32                     // results in one request, which the server may send at once
	readPoll   = time.Second            // longest time that a request waits for results
	readRest   = 200 * time.Millisecond // pause after an error
)

// readAll passes results on until the queue is closed.
func (q *Queue) readAll() {
	r := &reader{q: q}
	for q.open.Err() == nil {
		err := r.read(q.open)
		if err == nil || q.open.Err() != nil {
			continue
		}
		q.c.complain(fmt.Errorf("read results of sweep %s: %w", q.lead.Sweep, err))
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
		if last, err := r.q.Last(ctx); err != nil || last > r.last { // there are results, and none has come
			return err
		}
	}
	return nil
}

// errGap ends the use of a consumer.
var errGap = errors.New("a message was lost on the way; reading it again")

// fetch reads the results that a consumer delivers within a while. delivered is the number of those before.
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
		select {
		case r.q.results <- newMessage(m, meta):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := batch.Error(); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// consumer makes a consumer of the results after the last that was read.
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
		FilterSubject: resultSubject + r.q.lead.Sweep + ".>", AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true,
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: r.last + 1, InactiveThreshold: time.Minute,
	})
}
