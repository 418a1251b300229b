package bus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A Queue is a coordinator's side of one sweep. All methods may be called concurrently.
type Queue struct {
	c     *Conn
	sweep string

	results chan *Message
	hungry  chan struct{}
	stop    chan struct{} // closed by Close
	closing sync.Once

	inbox   string // where the server pushes this sweep's results
	replies string // where streams answer Submit
	subs    []*nats.Subscription

	mu      sync.Mutex
	pushed  jetstream.PushConsumer
	asked   time.Time // when the stream's answer was asked for last
	refused error     // the stream's first refusal that no Submit has returned yet
}

// A State is what the server held a moment ago.
type State struct {
	Jobs    int // number of this sweep's jobs, leased or not
	Results int // number of this sweep's results that are not acknowledged yet
	Pending int // number of jobs of all sweeps that are not leased
	Unacked int // number of jobs of all sweeps that are leased
	Waiting int // number of slots that wait for a job
	Limit   int // largest number of jobs leased at a time: at Unacked == Limit slots get none
}

// A Message is one result.
type Message struct {
	ID   string // id under which it was published
	Data []byte

	c     *Conn
	reply string
}

// Ack deletes the result from the server. Call it after the outcomes are durable. The result comes
// again if Ack is not called, or if the acknowledgement is lost with the connection.
func (m *Message) Ack() error { return m.c.respond("acknowledge result "+m.ID, m.reply, ackDone) }

const (
	unreadResults  = 64      // number of results read ahead of the coordinator
	unackedResults = 1 << 14 // number of results that may wait for their acknowledgement
)

// Coordinate takes up a sweep. It makes what is missing on the server, removes jobs that an earlier
// run left in the queue, and has the results that it left delivered first. No two coordinators may
// use one sweep name at the same time, because each would take results of the other. slots is the
// number of slots that will work at the same time, as far as it is known.
func (c *Conn) Coordinate(ctx context.Context, sweep string, slots int) (*Queue, error) {
	if err := token("sweep", sweep, false); err != nil {
		return nil, err
	}
	q := &Queue{
		c: c, sweep: sweep, inbox: c.nc.NewInbox(), replies: c.nc.NewInbox(),
		results: make(chan *Message, unreadResults), hungry: make(chan struct{}, 1), stop: make(chan struct{}),
	}
	if err := q.open(ctx, slots); err != nil {
		q.end()
		return nil, fmt.Errorf("coordinate sweep %q: %w", sweep, err)
	}
	return q, nil
}

// open subscribes, sets up the server and removes old jobs.
func (q *Queue) open(ctx context.Context, slots int) error {
	handlers := map[string]nats.MsgHandler{q.inbox: q.deliver, q.replies: q.answered, hungrySubject: q.wake}
	for subject, handle := range handlers {
		sub, err := q.c.nc.Subscribe(subject, handle)
		if err != nil {
			return err
		}
		if err := sub.SetPendingLimits(-1, -1); err != nil { // bounded by the server's flow control
			return err
		}
		if subject == q.inbox {
			sub.SetClosedHandler(func(string) { close(q.results) }) // after the last delivery
		}
		q.subs = append(q.subs, sub)
	}
	if err := q.c.setup.ready(ctx, q.c); err != nil {
		return err
	}
	if err := q.c.setup.allow(ctx, q.c, slots); err != nil {
		return err
	}
	jobs, _, _ := q.c.setup.handles()
	if err := q.purge(ctx, jobs, jobSubject); err != nil {
		return err
	}
	// A new consumer delivers at once what the old one's coordinator had taken and not acknowledged.
	err := q.c.js.DeleteConsumer(ctx, resultStream, q.sweep)
	if err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return err
	}
	return q.subscribe(ctx)
}

// subscribe makes the consumer of this sweep's results. They are pushed, with flow control, because
// a request for each result would cost more.
func (q *Queue) subscribe(ctx context.Context) error {
	wait := q.c.opts.AckWait
	if wait == 0 {
		wait = defaultAckWait
	}
	pushed, err := q.c.js.CreateOrUpdatePushConsumer(ctx, resultStream, jetstream.ConsumerConfig{
		Durable: q.sweep, DeliverSubject: q.inbox, FilterSubject: resultSubject + q.sweep + ".>",
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: wait, MaxDeliver: -1, MaxAckPending: unackedResults,
		FlowControl: true, IdleHeartbeat: 30 * time.Second, InactiveThreshold: 7 * 24 * time.Hour,
	})
	if err != nil {
		return fmt.Errorf("make consumer %q of stream %q: %w", q.sweep, resultStream, err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.pushed = pushed
	return nil
}

// deliver passes a pushed message on to the reader of the results. One goroutine calls it for each
// message, in order.
func (q *Queue) deliver(m *nats.Msg) {
	if status(m) != "" {
		q.flow(m)
		return
	}
	id := strings.TrimPrefix(m.Subject, resultSubject+q.sweep+".")
	message := &Message{ID: id, Data: m.Data, c: q.c, reply: m.Reply}
	select {
	case q.results <- message:
	case <-q.stop:
	case <-q.c.closed:
	}
}

// flow answers the server's question whether everything so far was read.
func (q *Queue) flow(m *nats.Msg) {
	reply := m.Reply
	if reply == "" {
		reply = m.Header.Get("Nats-Consumer-Stalled") // the question was lost
	}
	if reply == "" {
		return
	}
	if err := q.c.nc.Publish(reply, nil); err != nil {
		q.c.log.Warn("flow control not answered", "sweep", q.sweep, "error", err.Error())
	}
}

// answered reads one of the stream's answers to Submit, and keeps the first refusal for the next
// Submit.
func (q *Queue) answered(m *nats.Msg) {
	err := refusal(m)
	if err == nil {
		return
	}
	q.c.log.Warn("job not queued", "sweep", q.sweep, "error", err.Error())
	if errors.Is(err, nats.ErrNoResponders) {
		return // the server is coming back; State will show what is missing
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.refused == nil {
		q.refused = err
	}
}

// wake passes a hungry slot's message on to Hungry.
func (q *Queue) wake(*nats.Msg) {
	select {
	case q.hungry <- struct{}{}:
	default:
	}
}

// Submit queues a job under an id that was not used before in this sweep; a second attempt needs
// another id. It waits for a connection but not for the server's answer. A job that got lost on the
// way shows in State. If the stream takes no more (a full disk), a later Submit returns that error.
func (q *Queue) Submit(ctx context.Context, id string, payload []byte) error {
	if err := token("job", id, true); err != nil {
		return err
	}
	if len(payload) > MaxJob {
		return &SizeError{What: "job", ID: id, Size: len(payload), Limit: MaxJob}
	}
	replies, err := q.replyTo()
	if err != nil {
		return fmt.Errorf("queue jobs of sweep %q: %w", q.sweep, err)
	}
	m := &nats.Msg{Subject: jobSubject + q.sweep + "." + id, Reply: replies, Data: payload}
	return q.c.send(ctx, "queue job "+id, m)
}

// replyTo returns where the stream shall answer a job. Most jobs get no answer, because one answer
// a second is enough to learn that the stream is full. It returns the error of a job that was
// refused before.
func (q *Queue) replyTo() (inbox string, refused error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if refused, q.refused = q.refused, nil; refused != nil {
		return "", refused
	}
	if now := time.Now(); now.Sub(q.asked) >= time.Second {
		q.asked, inbox = now, q.replies
	}
	return inbox, nil
}

// Results returns the channel of this sweep's results. Each arrives at least once. The channel is
// closed by Close, and when the connection is gone for good.
func (q *Queue) Results() <-chan *Message { return q.results }

// Next waits for one result. It returns io.EOF if Results is closed.
func (q *Queue) Next(ctx context.Context) (*Message, error) {
	select {
	case m, ok := <-q.results:
		if !ok {
			return nil, io.EOF
		}
		return m, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Hungry returns a channel that receives a value when a slot of any worker has waited a moment for
// a job: one value for any number of slots, so ask State. Slots that find a job at once send
// nothing.
func (q *Queue) Hungry() <-chan struct{} { return q.hungry }

// State asks the server for its state: three or four requests, well under a millisecond of work; a
// few times a second is fine. If somebody removed a stream, State makes it again, empty.
func (q *Queue) State(ctx context.Context) (State, error) {
	s, err := q.state(ctx)
	if errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrConsumerNotFound) {
		q.c.log.Warn("streams are gone; making them again", "sweep", q.sweep, "error", err.Error())
		if err = q.restore(ctx); err == nil {
			s, err = q.state(ctx)
		}
	}
	if err != nil {
		return State{}, fmt.Errorf("read state of sweep %q: %w", q.sweep, err)
	}
	return s, nil
}

// state reads jobs before results: a job that is gone from the first has its result in the second,
// or its result was acknowledged.
func (q *Queue) state(ctx context.Context) (s State, err error) {
	jobs, results, workers := q.c.setup.handles()
	if s.Jobs, err = q.count(ctx, jobs, jobSubject); err != nil {
		return s, err
	}
	leased, err := workers.Info(ctx)
	if err != nil {
		return s, err
	}
	s.Pending, s.Unacked = int(leased.NumPending), leased.NumAckPending
	s.Waiting, s.Limit = leased.NumWaiting, leased.Config.MaxAckPending
	if s.Results, err = q.count(ctx, results, resultSubject); err != nil || s.Results == 0 {
		return s, err
	}
	q.mu.Lock()
	pushed := q.pushed
	q.mu.Unlock()
	_, err = pushed.Info(ctx) // an error if no consumer delivers them
	return s, err
}

// count returns the number of this sweep's messages in a stream.
func (q *Queue) count(ctx context.Context, s jetstream.Stream, subject string) (n int, err error) {
	info, err := s.Info(ctx, jetstream.WithSubjectFilter(subject+q.sweep+".>"))
	if err != nil {
		return 0, err
	}
	for _, messages := range info.State.Subjects {
		n += int(messages)
	}
	return n, nil
}

// restore makes what is missing on the server.
func (q *Queue) restore(ctx context.Context) error {
	q.c.setup.forget()
	if err := q.c.setup.ready(ctx, q.c); err != nil {
		return err
	}
	return q.subscribe(ctx)
}

// Close removes this sweep's jobs and results from the server and ends deliveries. A worker that
// still runs one of its jobs may publish later; those results wait for the sweep's next Coordinate.
func (q *Queue) Close(ctx context.Context) error {
	q.end()
	if err := q.remove(ctx); err != nil {
		return fmt.Errorf("close sweep %q: %w", q.sweep, err)
	}
	return nil
}

// remove deletes jobs, consumer and results from the server.
func (q *Queue) remove(ctx context.Context) error {
	jobs, results, _ := q.c.setup.handles()
	err := q.purge(ctx, jobs, jobSubject)
	if gone := q.c.js.DeleteConsumer(ctx, resultStream, q.sweep); !errors.Is(gone, jetstream.ErrConsumerNotFound) {
		err = errors.Join(err, gone)
	}
	return errors.Join(err, q.purge(ctx, results, resultSubject))
}

// purge deletes this sweep's messages from a stream.
func (q *Queue) purge(ctx context.Context, s jetstream.Stream, subject string) error {
	return s.Purge(ctx, jetstream.WithPurgeSubject(subject+q.sweep+".>"))
}

// end stops deliveries in this process.
func (q *Queue) end() {
	q.closing.Do(func() {
		close(q.stop)
		for _, sub := range q.subs {
			if err := sub.Unsubscribe(); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
				q.c.log.Warn("unsubscribe", "sweep", q.sweep, "error", err.Error())
			}
		}
	})
}
