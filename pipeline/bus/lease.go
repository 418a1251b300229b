package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// JetStream's words for what a worker answers to a leased message.
var (
	ackDone     = []byte("+ACK")
	ackProgress = []byte("+WPI")
	ackReturn   = []byte("-NAK")
)

// A Lease is one job in work. It ends with Done, Release or Refuse. Without a sign of life for
// AckWait the job is handed out again, although this worker may still run it; that costs time but
// no outcome.
type Lease struct {
	Sweep, ID string
	Data      []byte

	// Deliveries counts how often the job was handed out, this time included. It may be too small
	// after a crash of the server.
	Deliveries int

	AckWait time.Duration // call Extend at least three times in it

	c     *Conn
	reply string
}

// Lease waits for a job. Call it once for each free slot; the calls share one subscription. If ctx
// ends, a job that arrives too late goes back to the queue.
func (c *Conn) Lease(ctx context.Context) (*Lease, error) {
	if !c.setup.known() {
		if err := c.retry(ctx, "lease a job", func(ctx context.Context) error { return c.setup.ready(ctx, c) }); err != nil {
			return nil, err
		}
	}
	m, err := c.pulls.wait(ctx)
	if err != nil {
		return nil, err
	}
	meta, err := m.Metadata()
	if err != nil {
		return nil, fmt.Errorf("lease a job: read where message %q comes from: %w", m.Subject, err)
	}
	sweep, id, _ := strings.Cut(strings.TrimPrefix(m.Subject, jobSubject), ".")
	return &Lease{
		Sweep: sweep, ID: id, Data: m.Data, Deliveries: int(meta.NumDelivered), AckWait: c.setup.wait(), c: c, reply: m.Reply,
	}, nil
}

// Extend tells the server that the job is still in work. An error means that the server could not
// be told; if that lasts for AckWait, the job is handed out to another slot as well.
func (l *Lease) Extend() error {
	what := "extend lease of job " + l.ID
	if !l.c.nc.IsConnected() { // the client would buffer the word and send it too late
		return fmt.Errorf("%s: %w", what, nats.ErrDisconnected)
	}
	return l.c.respond(what, l.reply, ackProgress)
}

// Done takes the job off the queue. Call it after Publish has returned nil for all of the job's
// results. It waits for a connection but not for the server's answer: if the message is lost, the
// job runs a second time.
func (l *Lease) Done(ctx context.Context) error {
	return l.c.send(ctx, "acknowledge job "+l.ID, &nats.Msg{Subject: l.reply, Data: ackDone})
}

// Release hands the job back, to be handed out again at once: for a worker that drains.
func (l *Lease) Release() error { return l.c.respond("release job "+l.ID, l.reply, ackReturn) }

// Refuse hands the job back, to be handed out again after delay: for a worker that cannot run it.
func (l *Lease) Refuse(delay time.Duration) error {
	word := fmt.Appendf(nil, `%s {"delay": %d}`, ackReturn, delay.Nanoseconds())
	return l.c.respond("refuse job "+l.ID, l.reply, word)
}

// Publish stores a result of a sweep and returns nil when the server has it. It goes on through
// restarts of the server and while the stream is full, until ctx ends. The result may be stored
// more than once; the ledger recognises the copies.
func (c *Conn) Publish(ctx context.Context, sweep, id string, result []byte) error {
	if err := errors.Join(token("sweep", sweep, false), token("result", id, true)); err != nil {
		return err
	}
	if len(result) > MaxResult {
		return &SizeError{What: "result", ID: id, Size: len(result), Limit: MaxResult}
	}
	return c.store(ctx, "publish result "+id, resultSubject+sweep+"."+id, result)
}

// A puller asks for jobs on behalf of all waiting slots: one request for each slot, all answered on
// one subscription. Which request a job answers does not matter, so it goes to the slot that has
// waited longest.
//
// Requests are empty, which means: one job, and wait for as long as somebody listens. A request
// with an expiry would cost the server a JSON decoder for each job. A request may get lost, so
// after each loss of the connection, and after a minute of silence, a new inbox takes the place of
// the old one, and the server drops the requests of the old one.
type puller struct {
	c *Conn

	mu      sync.Mutex
	sub     *nats.Subscription
	inbox   string
	slots   []chan *nats.Msg // that wait, longest first; each takes one message
	asked   int              // number of requests that the server has for this inbox, as far as known
	heard   time.Time        // time of the last message of any kind
	mending bool             // whether repair will be called
	stopped bool
}

const (
	hungryAfter  = 10 * time.Millisecond // after this time a waiting slot tells the coordinators
	silenceAfter = time.Minute           // after this time without a message requests are made anew
	askSubject   = "$JS.API.CONSUMER.MSG.NEXT." + jobStream + "." + workers
)

// wait returns the job that this slot gets.
func (p *puller) wait(ctx context.Context) (*nats.Msg, error) {
	slot := make(chan *nats.Msg, 1)
	if err := p.join(slot); err != nil {
		return nil, fmt.Errorf("lease a job: %w", err)
	}
	timer, began := time.NewTimer(hungryAfter), time.Now()
	defer timer.Stop()
	for {
		select {
		case m := <-slot:
			return m, nil
		case <-timer.C:
			p.hungry(ctx, time.Since(began))
			timer.Reset(silenceAfter)
		case <-ctx.Done():
			p.leave(slot)
			return nil, context.Cause(ctx)
		case <-p.c.closed:
			return nil, p.c.gone()
		}
	}
}

// join puts a slot at the end of the queue.
func (p *puller) join(slot chan *nats.Msg) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return p.c.gone()
	}
	if p.sub == nil {
		if err := p.renew(); err != nil {
			return err
		}
	}
	p.slots = append(p.slots, slot)
	p.ask()
	return nil
}

// leave takes a slot out of the queue. A job that the slot was given in this moment goes back.
func (p *puller) leave(slot chan *nats.Msg) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.slots, slot); i >= 0 {
		p.slots = slices.Delete(p.slots, i, i+1)
		return
	}
	select {
	case m := <-slot:
		p.giveBack(m)
	default: // stopped
	}
}

// renew listens on a new inbox and makes all requests anew. p.mu is held.
func (p *puller) renew() error {
	old := p.sub
	p.inbox = p.c.nc.NewInbox()
	sub, err := p.c.nc.Subscribe(p.inbox, p.deliver)
	if err != nil {
		return err
	}
	p.sub, p.asked, p.heard = sub, 0, time.Now()
	p.ask()
	if old != nil {
		return old.Drain() // what is on its way still arrives
	}
	return nil
}

// ask makes requests until there are as many as waiting slots. Without a connection it leaves that
// to reconnected. p.mu is held.
func (p *puller) ask() {
	for p.asked < len(p.slots) && p.c.nc.IsConnected() {
		if err := p.c.nc.PublishRequest(askSubject, p.inbox, nil); err != nil {
			p.c.log.Warn("jobs not asked for", "error", err.Error())
			return
		}
		p.asked++
	}
}

// reconnected makes the requests that the server has forgotten.
func (p *puller) reconnected() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sub == nil || p.stopped {
		return
	}
	if err := p.renew(); err != nil {
		p.c.log.Warn("jobs not asked for", "error", err.Error())
	}
}

// stop gives up all slots, for a connection that is being closed.
func (p *puller) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped, p.slots = true, nil
}

// deliver passes a job on to the first waiting slot, or back where none waits. It is also called
// when the server refuses a request, and has that mended.
func (p *puller) deliver(m *nats.Msg) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard = time.Now()
	p.asked = max(0, p.asked-1)
	switch code := status(m); {
	case code != "": // the consumer is gone, or moves to another server, or too many slots wait
		p.c.log.Warn("request for a job refused", "status", code, "text", m.Header.Get("Description"))
		p.mend()
	case len(p.slots) == 0:
		p.giveBack(m)
	default:
		p.slots[0] <- m
		p.slots = slices.Delete(p.slots, 0, 1)
	}
}

// giveBack hands a job back to the server.
func (p *puller) giveBack(m *nats.Msg) {
	if err := m.Respond(ackReturn); err != nil {
		p.c.log.Warn("job not handed back; it comes again after AckWait", "subject", m.Subject, "error", err.Error())
	}
}

// hungry tells the coordinators that a slot waits. If nothing was heard for long, it assumes that
// the requests are lost and calls repair.
func (p *puller) hungry(ctx context.Context, waited time.Duration) {
	if err := p.c.nc.Publish(hungrySubject, nil); err != nil {
		p.c.log.Warn("coordinators not told of a waiting slot", "error", err.Error())
	}
	p.mu.Lock()
	silent := min(waited, time.Since(p.heard)) >= silenceAfter
	if silent {
		p.heard = time.Now() // one slot does it for all
	}
	p.mu.Unlock()
	if silent {
		p.repair(ctx)
	}
}

// mend arranges for one call of repair in a second, however many requests were refused. p.mu is
// held.
func (p *puller) mend() {
	if p.mending {
		return
	}
	p.mending = true
	time.AfterFunc(time.Second, func() { p.repair(context.Background()) })
}

// repair makes stream and consumer again if they are gone, and all requests anew.
func (p *puller) repair(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	p.c.setup.forget()
	err := p.c.setup.ready(ctx, p.c)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mending = false
	if p.stopped {
		return
	}
	if err == nil {
		err = p.renew()
	}
	if err != nil {
		p.c.log.Warn("jobs not asked for", "error", err.Error())
		p.mend()
	}
}
