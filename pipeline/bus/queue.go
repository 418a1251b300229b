package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A Queue is a leader's side of one sweep. All methods may be called concurrently.
type Queue struct {
	c    *Conn
	lead Lead

	results       chan *Message
	announcements chan Announcement
	handedBack    chan HandedBack
	said, gaveUp  budget        // announcements and jobs handed back
	stop          chan struct{} // closed by Close
	closing       sync.Once

	inbox string // where the server pushes this sweep's results
	subs  []*nats.Subscription

	mu      sync.Mutex
	pushed  jetstream.PushConsumer
	cleared time.Time // when clear last looked
}

// A Message is one part of a job's results.
type Message struct {
	Part
	Epoch uint64 // of the leader that sent the job
	Data  []byte

	c       *Conn
	sub     *nats.Subscription
	reply   string
	after   int           // number of results that came with this one and follow it
	unacked *atomic.Int32 // number of results that came together and are not acknowledged; nil: this one came alone
}

// Ack deletes the result from the server. Call it once, after the outcomes are durable. The result comes
// again if Ack is not called for it, or for one that came with it, or if the acknowledgement is lost with
// the connection.
func (m *Message) Ack() error {
	if m.unacked != nil && m.unacked.Add(-1) > 0 {
		return nil
	}
	return m.c.respond("acknowledge result of job "+m.Job, m.reply, ackDone)
}

// Sequence returns a number for the message: whoever has taken in this one, and all before it, has all
// results up to this number among those of all sweeps on the server; 0 if it is not known.
func (m *Message) Sequence() uint64 {
	meta, err := (&nats.Msg{Reply: m.reply, Sub: m.sub}).Metadata()
	if err != nil {
		return 0
	}
	if m.after > 0 {
		return meta.Sequence.Stream - 1
	}
	return meta.Sequence.Stream
}

// ackDone is JetStream's word for a message that is done with.
var ackDone = []byte("+ACK")

// A HandedBack is a job that a worker does not run.
type HandedBack struct {
	Worker, Job string
	Reason      []byte
}

// A DeposedError reports that somebody else leads the sweep with a greater epoch.
type DeposedError struct {
	Lead
	Other uint64
}

func (e *DeposedError) Error() string {
	return fmt.Sprintf("lead sweep %s: another coordinator has taken it over (epoch %d, here %d); "+
		"it goes on there, and what finished here is not lost", e.Sweep, e.Other, e.Epoch)
}

const (
	unreadResults  = 64      // number of results read ahead of the coordinator
	unackedResults = 1 << 14 // number of results that may wait for their acknowledgement
	unreadNews     = 1 << 12 // announcements and jobs handed back that may wait for the coordinator, each

	ackWait = 30 * time.Second // after which a result that was delivered and not acknowledged comes again
)

// Coordinate takes up a sweep as its leader of an epoch, at least 1. Leaders of smaller epochs get no
// results any more; what they have left is delivered first. It returns a *DeposedError if there is
// one of a greater epoch, which it leaves alone.
func (c *Conn) Coordinate(ctx context.Context, lead Lead) (*Queue, error) {
	if err := token("sweep", lead.Sweep, false); err != nil {
		return nil, err
	}
	q := &Queue{
		c: c, lead: lead, inbox: c.nc.NewInbox(), stop: make(chan struct{}),
		results: make(chan *Message, unreadResults), announcements: make(chan Announcement, unreadNews),
		handedBack: make(chan HandedBack, unreadNews),
	}
	if err := q.open(ctx); err != nil {
		q.end()
		return nil, fmt.Errorf("coordinate sweep %q: %w", lead.Sweep, err)
	}
	return q, nil
}

// open subscribes and sets up the server.
func (q *Queue) open(ctx context.Context) error {
	back := backSubject + q.lead.String() + "."
	handlers := map[string]nats.MsgHandler{
		q.inbox: q.deliver,
		fleetSubject + "*": func(m *nats.Msg) {
			if a := announcement(m); q.said.allows(a.Worker, a.Data) {
				offer(q.announcements, a)
			}
		},
		back + ">": func(m *nats.Msg) {
			worker, job, _ := strings.Cut(strings.TrimPrefix(m.Subject, back), ".")
			if q.gaveUp.allows(worker, m.Data) {
				offer(q.handedBack, HandedBack{worker, job, m.Data})
			}
		},
	}
	for subject, handle := range handlers {
		sub, err := q.c.nc.Subscribe(subject, handle)
		if err != nil {
			return err
		}
		if subject == q.inbox {
			if err := sub.SetPendingLimits(-1, -1); err != nil { // bounded by the server's flow control
				return err
			}
			sub.SetClosedHandler(func(string) { close(q.results) }) // after the last delivery
		}
		q.subs = append(q.subs, sub)
	}
	if err := q.c.retry(ctx, "make the consumer of its results", q.subscribe); err != nil {
		return err
	}
	if err := q.Drop(Lead{q.lead.Sweep, q.lead.Epoch - 1}); err != nil {
		return err
	}
	return q.Call("")
}

// subscribe makes the consumer of this sweep's results in place of those of smaller epochs, whose
// leaders may have taken results and not acknowledged them: a new consumer delivers them at once.
// Results are pushed, with flow control, because a request for each would cost more. A server that has
// lost its store since the stream was found gets a new one.
func (q *Queue) subscribe(ctx context.Context) error {
	err := q.subscribeTo(ctx)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		q.c.setup.forget()
		err = q.subscribeTo(ctx)
	}
	return err
}

// subscribeTo does the work of subscribe for a stream that is there.
func (q *Queue) subscribeTo(ctx context.Context) error {
	stream, err := q.c.setup.ready(ctx, q.c)
	if err != nil {
		return err
	}
	if err := q.depose(ctx, stream); err != nil {
		return err
	}
	pushed, err := q.c.js.CreateOrUpdatePushConsumer(ctx, resultStream, jetstream.ConsumerConfig{
		Durable: q.consumer(), DeliverSubject: q.inbox, FilterSubject: resultSubject + q.lead.Sweep + ".>",
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: ackWait, MaxDeliver: -1, MaxAckPending: unackedResults,
		FlowControl: true, IdleHeartbeat: 30 * time.Second, InactiveThreshold: 7 * 24 * time.Hour,
	})
	if err != nil {
		return fmt.Errorf("make consumer %q of stream %q: %w", q.consumer(), resultStream, err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.pushed = pushed
	return nil
}

// consumer returns the name of this leader's consumer of results.
func (q *Queue) consumer() string {
	return q.lead.Sweep + "-" + strconv.FormatUint(q.lead.Epoch, 10)
}

// depose deletes the consumers of leaders of smaller epochs, unless there is one of a greater epoch.
func (q *Queue) depose(ctx context.Context, stream jetstream.Stream) error {
	var old []string
	names := stream.ConsumerNames(ctx)
	for name := range names.Name() {
		number, ok := strings.CutPrefix(name, q.lead.Sweep+"-")
		epoch, err := strconv.ParseUint(number, 10, 64)
		switch {
		case name == q.lead.Sweep: // of versions without epochs
			old = append(old, name)
		case !ok || err != nil || epoch == q.lead.Epoch:
		case epoch > q.lead.Epoch:
			return &DeposedError{q.lead, epoch}
		default:
			old = append(old, name)
		}
	}
	if err := names.Err(); err != nil {
		return err
	}
	for _, name := range old {
		if err := q.c.js.DeleteConsumer(ctx, resultStream, name); err != nil &&
			!errors.Is(err, jetstream.ErrConsumerNotFound) {
			return err
		}
	}
	return nil
}

// deliver passes the results in a pushed message on to their reader. One goroutine calls it for each
// message, in order.
func (q *Queue) deliver(m *nats.Msg) {
	if status(m) != "" {
		q.flow(m)
		return
	}
	lead, results, ok := ResultsOf(m.Subject, m.Data)
	if !ok {
		results = []Result{{Data: m.Data}} // without a part it answers no job of this leader
	}
	var unacked *atomic.Int32
	if len(results) > 1 {
		unacked = new(atomic.Int32)
		unacked.Store(int32(len(results)))
	}
	for i, r := range results {
		message := &Message{
			Part: r.Part, Epoch: lead.Epoch, Data: r.Data,
			c: q.c, sub: m.Sub, reply: m.Reply, after: len(results) - 1 - i, unacked: unacked,
		}
		select {
		case q.results <- message:
		case <-q.stop:
			return
		case <-q.c.closed:
			return
		}
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
		q.c.log.Warn("flow control not answered", "sweep", q.lead.Sweep, "error", err.Error())
	}
}

// Send sends a job to a worker, under an id that was not used before in this epoch. It waits for a
// connection but for nobody's answer: a job that got lost on the way is missing from the worker's
// announcements.
func (q *Queue) Send(ctx context.Context, worker, id string, payload []byte) error {
	if err := errors.Join(token("worker", worker, false), token("job", id, false)); err != nil {
		return err
	}
	if len(payload) > MaxJob {
		return &SizeError{What: "job", ID: id, Size: len(payload), Limit: MaxJob}
	}
	m := order(jobSubject+worker+"."+q.lead.String()+"."+id, payload)
	return q.c.send(ctx, "send job "+id, m)
}

// orderHeader marks what leaders send to workers. The answer of a server has no such header. Without
// it, a worker could have an answer sent to another one that this takes for a job, or for a word that
// nobody needs its jobs.
const orderHeader = "Shatter-Order"

func order(subject string, data []byte) *nats.Msg {
	return &nats.Msg{Subject: subject, Data: data, Header: nats.Header{orderHeader: {togetherHeader}}}
}

// Call asks a worker, or all of them where none is named, to announce itself.
func (q *Queue) Call(worker string) error {
	return q.c.respond("call workers", callSubject, []byte(worker))
}

// Drop tells workers that the given jobs of this leader are not needed any more, or, without ids,
// all those of a leader of this sweep and of its predecessors. Who has begun such a job may end it.
func (q *Queue) Drop(of Lead, ids ...string) error {
	var data []byte
	if len(ids) > 0 {
		var err error
		if data, err = json.Marshal(ids); err != nil {
			return err
		}
	}
	return q.c.tell("drop jobs", order(dropSubject+of.String(), data))
}

// Results returns the channel of this sweep's results. Each arrives at least once. The channel is
// closed by Close, and when the connection is gone for good.
func (q *Queue) Results() <-chan *Message { return q.results }

// Announcements returns the channel of what workers say of themselves.
func (q *Queue) Announcements() <-chan Announcement { return q.announcements }

// HandedBack returns the channel of jobs of this leader that workers do not run.
func (q *Queue) HandedBack() <-chan HandedBack { return q.handedBack }

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

// Unread returns the number of this sweep's results on the server that are not acknowledged, and the
// number of the last result of any sweep. It takes two requests, well under a millisecond of work.
// If the stream is gone, Unread makes it again, empty, and calls Restore in the background; if another leader has
// taken the sweep over, it returns a *DeposedError.
func (q *Queue) Unread(ctx context.Context) (n int, last uint64, err error) {
	n, last, err = q.count(ctx)
	if errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrConsumerNotFound) {
		q.c.log.Warn("stream or consumer is gone; making it again", "sweep", q.lead.Sweep, "error", err.Error())
		q.c.restoreLost()
		if err = q.c.retry(ctx, "make the consumer of its results", q.subscribe); err == nil {
			n, last, err = q.count(ctx)
		}
	}
	if err != nil {
		return 0, 0, fmt.Errorf("count results of sweep %q: %w", q.lead.Sweep, err)
	}
	return n, last, nil
}

// count does the work of Unread for a consumer that is there. The last result is looked up first.
func (q *Queue) count(ctx context.Context) (n int, last uint64, err error) {
	stream, err := q.c.setup.ready(ctx, q.c)
	if err != nil {
		return 0, 0, err
	}
	results, err := stream.Info(ctx)
	if err != nil {
		return 0, 0, err
	}
	if err := q.clear(ctx, stream, results); err != nil {
		return 0, 0, err
	}
	q.mu.Lock()
	pushed := q.pushed
	q.mu.Unlock()
	info, err := pushed.Info(ctx)
	if err != nil {
		return 0, 0, err
	}
	return int(info.NumPending) + info.NumAckPending, results.State.LastSeq, nil
}

// Close tells workers that the jobs of this leader are not needed any more, removes the results of
// its epoch from the server and ends deliveries. What a worker publishes later waits for the sweep's
// next Coordinate. If another leader has taken over, Close leaves everything to it.
func (q *Queue) Close(ctx context.Context) error {
	q.end()
	if err := q.remove(ctx); err != nil {
		return fmt.Errorf("close sweep %q: %w", q.lead.Sweep, err)
	}
	return nil
}

// remove deletes consumer and results from the server.
func (q *Queue) remove(ctx context.Context) error {
	if err := q.Drop(q.lead); err != nil {
		return err
	}
	stream, err := q.c.setup.ready(ctx, q.c)
	if err != nil {
		return err
	}
	gone := q.c.js.DeleteConsumer(ctx, resultStream, q.consumer())
	if errors.Is(gone, jetstream.ErrConsumerNotFound) || gone == nil {
		gone = q.depose(ctx, stream)
	}
	if deposed := (*DeposedError)(nil); errors.As(gone, &deposed) {
		return nil
	}
	return errors.Join(gone, stream.Purge(ctx, jetstream.WithPurgeSubject(resultSubject+q.lead.String()+".>")))
}

// end stops deliveries in this process.
func (q *Queue) end() {
	q.closing.Do(func() {
		close(q.stop)
		for _, sub := range q.subs {
			if err := sub.Unsubscribe(); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
				q.c.log.Warn("unsubscribe", "sweep", q.lead.Sweep, "error", err.Error())
			}
		}
	})
}
