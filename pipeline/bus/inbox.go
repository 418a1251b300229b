package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// A Lead names a leader: the sweep that it leads, and the number of its leadership. Of two leaders
// of one sweep the one of the greater epoch is the true one.
type Lead struct {
	Sweep string
	Epoch uint64
}

func (l Lead) String() string { return l.Sweep + "." + strconv.FormatUint(l.Epoch, 10) }

// A Job is what a leader wants a worker to run.
type Job struct {
	Lead
	ID       string
	Data     []byte
	Together bool // its leader takes what PublishAll sends
}

// A Drop tells workers that a leader does not need jobs any more.
type Drop struct {
	Lead
	IDs []string // of jobs; nil: all jobs of this epoch and of earlier ones
}

// An Inbox is what a worker listens to. Its channels are read by one goroutine or several; what
// nobody reads in time is lost, as any message may be, and leaders heal that.
type Inbox struct {
	Jobs  <-chan Job
	Drops <-chan Drop
	Calls <-chan struct{} // somebody wants to know who is there

	subs []*nats.Subscription
}

const unreadJobs = 1 << 14 // messages that may wait for a worker, of each kind

// Listen takes the jobs that leaders send to the worker of this name.
func (c *Conn) Listen(worker string) (*Inbox, error) {
	if err := token("worker", worker, false); err != nil {
		return nil, err
	}
	jobs, drops, calls := make(chan Job, unreadJobs), make(chan Drop, unreadJobs), make(chan struct{}, 1)
	in := &Inbox{Jobs: jobs, Drops: drops, Calls: calls}
	prefix := jobSubject + worker + "."
	err := in.subscribe(c, map[string]nats.MsgHandler{
		prefix + ">": func(m *nats.Msg) {
			lead, id, ok := parseLead(strings.TrimPrefix(m.Subject, prefix))
			if kind := m.Header.Get(orderHeader); ok && kind != "" {
				offer(jobs, Job{Lead: lead, ID: id, Data: m.Data, Together: kind == togetherHeader})
			}
		},
		dropSubject + ">": func(m *nats.Msg) {
			lead, _, ok := parseLead(strings.TrimPrefix(m.Subject, dropSubject))
			if ids, sound := dropped(m); ok && sound && m.Header.Get(orderHeader) != "" {
				offer(drops, Drop{lead, ids})
			}
		},
		callSubject: func(m *nats.Msg) {
			if called := string(m.Data); called == "" || called == worker {
				offer(calls, struct{}{})
			}
		},
	})
	if err != nil {
		return nil, fmt.Errorf("listen for jobs of worker %q: %w", worker, errors.Join(err, in.Close()))
	}
	return in, nil
}

// subscribe makes the inbox's subscriptions, which hold after it has returned without an error.
func (in *Inbox) subscribe(c *Conn, handlers map[string]nats.MsgHandler) error {
	for subject, handle := range handlers {
		sub, err := c.nc.Subscribe(subject, handle)
		if err != nil {
			return err
		}
		in.subs = append(in.subs, sub)
		if err := c.confirm(subject); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the subscriptions.
func (in *Inbox) Close() (err error) {
	for _, sub := range in.subs {
		if e := sub.Unsubscribe(); e != nil && !errors.Is(e, nats.ErrConnectionClosed) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// offer passes a value on to whoever reads ch, unless too many wait there already.
func offer[T any](ch chan<- T, v T) {
	select {
	case ch <- v:
	default:
	}
}

// dropped returns the jobs that a message of a leader drops; nil: all.
func dropped(m *nats.Msg) (ids []string, ok bool) {
	ok = len(m.Data) == 0 || json.Unmarshal(m.Data, &ids) == nil
	return ids, ok
}

// parseLead reads "sweep.epoch" or "sweep.epoch.rest".
func parseLead(s string) (l Lead, rest string, ok bool) {
	sweep, s, _ := strings.Cut(s, ".")
	number, rest, _ := strings.Cut(s, ".")
	epoch, err := strconv.ParseUint(number, 10, 64)
	return Lead{sweep, epoch}, rest, err == nil && sweep != ""
}

// Announce tells leaders, and whoever else listens, what a worker is and holds.
func (c *Conn) Announce(worker string, data []byte) error {
	if len(data) > MaxResult {
		return &SizeError{What: "announcement", ID: worker, Size: len(data), Limit: MaxResult}
	}
	return c.respond("announce worker "+worker, fleetSubject+worker, data)
}

// An Announcement is what a worker says of itself.
type Announcement struct {
	Worker string // as the server lets it call itself
	Data   []byte
}

func announcement(m *nats.Msg) Announcement {
	return Announcement{strings.TrimPrefix(m.Subject, fleetSubject), m.Data}
}

// HandBack tells a leader that a worker does not run its job, and why. A loss of this message costs
// some time only, because the job is missing from the worker's announcements.
func (c *Conn) HandBack(to Lead, worker, id string, reason []byte) error {
	return c.respond("hand back job "+id, backSubject+to.String()+"."+worker+"."+id, reason)
}

// A Part tells which message of a job's results this is.
type Part struct {
	Worker, Job string
	Index, Of   int // counted from 0
}

// Publish stores a part of a job's results for the sweep's leader and returns nil when the server
// has it. It goes on through restarts of the server and while the stream is full, until ctx ends.
// The result may be stored more than once; the ledger recognises the copies.
func (c *Conn) Publish(ctx context.Context, to Lead, p Part, result []byte) error {
	err := errors.Join(token("sweep", to.Sweep, false), token("worker", p.Worker, false), token("job", p.Job, false))
	if err != nil {
		return err
	}
	if len(result) > MaxResult {
		return &SizeError{What: "result", ID: p.Job, Size: len(result), Limit: MaxResult}
	}
	return c.store(ctx, "publish result of job "+p.Job, resultSubject+to.String()+"."+p.String(), result)
}

func (p Part) String() string { return fmt.Sprintf("%s.%s.%d.%d", p.Worker, p.Job, p.Index, p.Of) }

// parsePart reads what String has written.
func parsePart(s string) (p Part, ok bool) {
	fields := strings.Split(s, ".")
	if len(fields) != 4 {
		return p, false
	}
	var errs [2]error
	p.Worker, p.Job = fields[0], fields[1]
	p.Index, errs[0] = strconv.Atoi(fields[2])
	p.Of, errs[1] = strconv.Atoi(fields[3])
	if errors.Join(errs[:]...) != nil || p.Index < 0 || p.Index >= p.Of {
		return Part{}, false
	}
	return p, true
}

// Roll calls the workers, and calls hear with each announcement that it hears within a time.
func (c *Conn) Roll(ctx context.Context, wait time.Duration, hear func(Announcement)) error {
	heard := make(chan *nats.Msg, unreadJobs)
	sub, err := c.nc.ChanSubscribe(fleetSubject+"*", heard)
	if err == nil {
		err = c.nc.Flush()
	}
	if err == nil && !c.limited() { // else there is what workers say by themselves
		err = c.nc.Publish(callSubject, nil)
	}
	if err != nil {
		return fmt.Errorf("call the workers: %w", err)
	}
	defer sub.Unsubscribe() //nolint:errcheck // the connection is gone then
	var said budget
	for over := time.After(wait); ; {
		select {
		case m := <-heard:
			if a := announcement(m); said.allows(a.Worker, a.Data) {
				hear(a)
			}
		case <-over:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
