package bus

import (
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
	fileStream   = "shatter-files"
	workers      = "workers" // the consumer of all workers

	jobSubject    = "shatter.job."
	resultSubject = "shatter.result."
	fileSubject   = "shatter.file."
	hungrySubject = "shatter.hungry" // of plain messages that say that a slot waits for a job

	defaultAckWait = 30 * time.Second
	leastAckLimit  = 1024    // least limit of jobs leased at a time, of all sweeps together
	mostWaiting    = 1 << 16 // largest number of slots waiting at a time
)

// streams is what has to be on the server before the first message. Whoever comes first makes it.
// What is there already is left as it is, because its owner may have tuned it.
type streams struct {
	mu      sync.Mutex
	done    bool
	jobs    jetstream.Stream
	results jetstream.Stream
	workers jetstream.Consumer
	ackWait time.Duration
}

// ready makes what is missing. Once it has succeeded, further calls do nothing until forget is
// called.
func (s *streams) ready(ctx context.Context, c *Conn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done {
		return nil
	}
	var err error
	if s.jobs, err = c.stream(ctx, jetstream.StreamConfig{
		Name: jobStream, Subjects: []string{jobSubject + ">"}, Description: "Shatter: jobs not done yet",
		Retention: jetstream.WorkQueuePolicy, Discard: jetstream.DiscardNew, MaxMsgs: 1 << 20, MaxMsgSize: MaxJob,
	}); err != nil {
		return err
	}
	if s.results, err = c.stream(ctx, jetstream.StreamConfig{
		Name: resultStream, Subjects: []string{resultSubject + ">"}, Description: "Shatter: outcomes not in a ledger yet",
		Retention: jetstream.WorkQueuePolicy, Discard: jetstream.DiscardNew, MaxMsgs: 1 << 16, MaxMsgSize: MaxResult,
		MaxAge: 7 * 24 * time.Hour, // for sweeps that nobody resumes
	}); err != nil {
		return err
	}
	if s.workers, err = c.workers(ctx, s.jobs); err != nil {
		return err
	}
	s.ackWait, s.done = s.workers.CachedInfo().Config.AckWait, true
	return nil
}

// known reports whether ready has succeeded.
func (s *streams) known() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.done
}

// forget makes the next call of ready look again.
func (s *streams) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = false
}

// stream finds or makes a stream.
func (c *Conn) stream(ctx context.Context, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	cfg.Storage = jetstream.FileStorage
	if c.local != nil {
		cfg.Storage = jetstream.MemoryStorage
	}
	s, err := c.js.Stream(ctx, cfg.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		s, err = c.js.CreateStream(ctx, cfg)
	}
	if err != nil {
		return nil, fmt.Errorf("make stream %q: %w", cfg.Name, err)
	}
	found := s.CachedInfo().Config
	if found.Retention != cfg.Retention || !slices.Equal(found.Subjects, cfg.Subjects) ||
		found.AllowDirect != cfg.AllowDirect {
		return nil, fmt.Errorf("use stream %q: it exists with another retention, other subjects or without direct reads; "+
			`remove it with "nats stream rm %s" when no sweep runs`, cfg.Name, cfg.Name)
	}
	return s, nil
}

// workers finds or makes the consumer that hands out jobs: one job for each request, redelivered
// after AckWait without limit (faults are counted in the ledger, not here). It has no back-off,
// which would override AckWait.
func (c *Conn) workers(ctx context.Context, jobs jetstream.Stream) (jetstream.Consumer, error) {
	found, err := jobs.Consumer(ctx, workers)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		wait := c.opts.AckWait
		if wait == 0 {
			wait = defaultAckWait
		}
		found, err = jobs.CreateConsumer(ctx, jetstream.ConsumerConfig{
			Durable: workers, AckPolicy: jetstream.AckExplicitPolicy, AckWait: wait, MaxDeliver: -1,
			MaxAckPending: leastAckLimit, MaxWaiting: mostWaiting, MaxRequestBatch: 1,
		})
	}
	if err != nil {
		return nil, fmt.Errorf("make consumer %q of stream %q: %w", workers, jobStream, err)
	}
	return found, nil
}

// allow raises the limit of jobs leased at a time to suit this many slots, and sets AckWait if the
// options name one. Slots of other sweeps count against the same limit, so it is never lowered.
func (s *streams) allow(ctx context.Context, c *Conn, slots int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	info, err := s.workers.Info(ctx) // another coordinator may have raised it since
	if err != nil {
		return fmt.Errorf("read consumer %q of stream %q: %w", workers, jobStream, err)
	}
	cfg := info.Config
	limit, wait := max(cfg.MaxAckPending, 4*slots), cfg.AckWait
	if c.opts.AckWait != 0 {
		wait = c.opts.AckWait
	}
	if limit == cfg.MaxAckPending && wait == cfg.AckWait {
		return nil
	}
	cfg.MaxAckPending, cfg.AckWait = limit, wait
	found, err := s.jobs.UpdateConsumer(ctx, cfg)
	if err != nil {
		return fmt.Errorf("update consumer %q of stream %q: %w", workers, jobStream, err)
	}
	s.workers, s.ackWait = found, wait
	return nil
}

// handles returns what State asks. ready must have succeeded once.
func (s *streams) handles() (jobs, results jetstream.Stream, workers jetstream.Consumer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.jobs, s.results, s.workers
}

// wait returns the consumer's AckWait.
func (s *streams) wait() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ackWait
}
