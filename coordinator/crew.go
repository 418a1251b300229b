package coordinator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shatterlab/shatter/pipeline/bus"
	"github.com/shatterlab/shatter/pipeline/fleet"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// cargo is a number of trials that go to a worker as one job, and to further ones where that does
// not come back.
type cargo interface {
	// left returns the job of the trials that have not come back, with the beginning of its ID; nil if
	// there are none that anybody needs.
	left() *trial.Job
	open() int     // number of trials that have not come back
	words() string // names what it is part of for people: a cell and a sample size
	way() *way
}

// way is where a cargo is.
type way struct {
	errands []*errand // copies that are out: more than one where the first takes far too long
	avoid   string    // worker that does not get it where another one can
	sent    int       // times in a row that it was sent and nothing of it came back
	waits   bool      // in crew.waiting
	first   string    // worker that has lost it before
	patient bool      // it waits for workers that are kept from its kind for a short time
	soon    bool      // some worker will be tried again soon that could not run its kind
}

// errand is a copy of a cargo that a worker has.
type errand struct {
	id      string
	cargo   cargo
	what    string // it needs, in words
	member  *member
	sent    time.Time
	began   time.Time // when the worker's process began, as far as was known then
	seconds float64   // that it will take, as far as is known
	running float64   // seconds since it was begun, as the worker says; 0: it waits
	unseen  int       // announcements in a row that do not list it
	mark    uint64    // last result on the server when it was first found to be missing; 0: it was not
	before  int       // trials that were open when its last result arrived
	dropped bool      // the worker was told that nobody needs it
}

// fields returns what a log says of the errand beside its words.
func (e *errand) fields() []any { return []any{"job", e.id, "worker", e.member.Name} }

// member is a worker that was heard of.
type member struct {
	*fleet.Worker
	heard time.Time
	stuck bool // all of its slots run jobs that are late
	out   map[string]*errand
	load  float64              // estimated seconds that the jobs in out still take
	usual float64              // seconds that one of its jobs takes, the last ones counting most
	aside map[string]*setAside // kinds of jobs that it could not run, by name
}

// setAside keeps jobs of a kind from a worker that could not run them.
type setAside struct {
	reason string
	faults int // in a row
	until  time.Time
}

// perSlot is the number of jobs of a sweep that a worker holds for each of its slots: one runs, the
// other one waits.
const perSlot = 2

// A worker whose jobs are short holds more of them, so many for each slot as usually take quickLoad, up
// to quickPerSlot and to mostQuick in all, as long as they are not known to take more than that: what it
// asks of plugins, and what wakes it and the leader, then serves many jobs.
const (
	quickLoad    = 0.020 // seconds
	quickPerSlot = 32
	mostQuick    = 256
	quickWeight  = 1. / 8 // of the last job in what is usual
)

// crew knows the workers, and hands them jobs. It keeps account of what each of them has, and sends
// again what does not come back.
type crew struct {
	queue    *bus.Queue
	lead     bus.Lead
	digests  map[string]string // see Config
	journal  *journal
	priority int
	weight   float64
	healing  time.Duration // see Config
	alone    bool          // the workers are those of this process, and there will be no others
	meter    *Meter

	first   time.Time // when the first worker was heard of
	members []*member // by name
	errands map[string]*errand
	waiting []cargo // that came back and have to be sent again
	read    uint64  // number of the last result on the server that was taken in
	unread  int     // results on the server that are not acknowledged, when it was last asked
	serial  int     // of the last job
	turn    int     // place in members where the search for the next worker begins
	stuck   string  // why a job cannot be sent; "" where none was refused
	failed  error   // why nothing can be run any more

	strange map[string]stranger // workers that cannot be understood, by name
}

// A stranger is a worker whose announcements make no sense here.
type stranger struct {
	why   string // in words that follow its name
	heard time.Time
}

// mostStrange is the number of strangers that are kept.
const mostStrange = 100

// slots returns the number of slots of all workers.
func (w *crew) slots() (n int) {
	for _, m := range w.members {
		if !m.Leaving {
			n += m.Slots
		}
	}
	return n
}

// hear takes in an announcement. Jobs that it does not list twice in a row did not arrive, or are
// done and their results are read. One that leaves out plugins of which nothing was heard counts for
// nothing: the worker is asked for all of it.
func (w *crew) hear(said bus.Announcement, now time.Time) {
	a, err := fleet.Decode(said.Worker, said.Data)
	if err != nil {
		w.notUnderstood(said.Worker, err, now)
		return
	}
	delete(w.strange, a.Name)
	i, ok := slices.BinarySearchFunc(w.members, a.Name, func(m *member, name string) int {
		return strings.Compare(m.Name, name)
	})
	var last *fleet.Worker
	if ok {
		last = w.members[i].Worker
	}
	if !a.Complete(last) {
		if err := w.queue.Call(a.Name); err != nil {
			w.journal.note(err.Error())
		}
		return
	}
	if !ok {
		if w.first.IsZero() {
			w.first = now
		}
		m := &member{out: map[string]*errand{}, aside: map[string]*setAside{}}
		w.members = slices.Insert(w.members, i, m)
	}
	m := w.members[i]
	m.Worker, m.heard = a, now
	listed := map[string]float64{}
	for _, h := range a.Held {
		if h.Sweep == w.lead.Sweep && h.Epoch == w.lead.Epoch {
			listed[h.ID] = h.Running
		}
	}
	for id, e := range m.out {
		running, ok := listed[id]
		switch {
		case ok:
			e.running, e.unseen, e.mark = running, 0, 0
		case now.Sub(e.sent) > w.healing:
			e.unseen++
		}
	}
}

// notUnderstood notes, once for a worker, that what it says of itself makes no sense here.
func (w *crew) notUnderstood(worker string, err error, now time.Time) {
	x, known := w.strange[worker]
	if !known {
		if len(w.strange) == mostStrange {
			return
		}
		x.why = fmt.Sprintf("cannot be understood (%v); is it of another version of shatter?", err)
		w.journal.note(fmt.Sprintf("worker %.100q gets no jobs: it %s", worker, x.why))
	}
	x.heard = now
	w.strange[worker] = x
}

// nobody reports whether no worker is there. Where one is there that cannot be understood, or none that
// can run what comes next, why says so.
func (w *crew) nobody(now time.Time) (nobody bool, why string) {
	reasons := map[string]string{}
	for name, x := range w.strange {
		if now.Sub(x.heard) < w.scaled(fleet.Silence) {
			reasons[name] = x.why
		}
	}
	if len(w.members) > 0 || len(reasons) == 0 {
		return len(w.members) == 0, w.stuck
	}
	return false, fleet.Explain(reasons)
}

// heal asks the server what it has, and reckons with it. unsynced is the number of results that are
// taken in and not acknowledged.
func (w *crew) heal(ctx context.Context, now time.Time, unsynced int) error {
	unread, last, err := w.queue.Unread(ctx)
	if deposed := (*bus.DeposedError)(nil); errors.As(err, &deposed) {
		return err
	}
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		w.journal.note(fmt.Sprintf("the queue does not answer: %v", err))
		return nil
	}
	w.unread = unread
	w.reckon(now, last, unread <= unsynced && len(w.queue.Results()) == 0)
	return nil
}

// scaled returns a time in the rhythm of healing, which is a second unless a test wants it shorter.
func (w *crew) scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) * w.healing.Seconds())
}

// reckon strikes off what workers do not have any more, jobs of workers that are gone and those that
// were not listed, once all results that may be theirs are read. last is the number of the last
// result on the server; with idle, all of them are read.
func (w *crew) reckon(now time.Time, last uint64, idle bool) {
	for i := 0; i < len(w.members); {
		m := w.members[i]
		gone := now.Sub(m.heard) > w.scaled(fleet.Silence) || m.Leaving && len(m.Held) == 0
		for _, id := range slices.Sorted(maps.Keys(m.out)) {
			e := m.out[id]
			switch {
			case !gone && e.unseen < 2:
				w.hurry(e)
			case !idle && (e.mark == 0 || e.mark > w.read):
				e.mark = cmp.Or(e.mark, last)
			case gone:
				w.meter.count(func(c *Counts) { increase(&c.Back, "gone", 1) })
				w.back(e, fmt.Sprintf("worker %s is gone", m.Name))
			case !e.began.Equal(m.Began): // the process that had it ended, perhaps with its machine
				w.meter.count(func(c *Counts) { increase(&c.Back, "gone", 1) })
				w.back(e, fmt.Sprintf("worker %s has begun anew", m.Name))
			default:
				w.blame(e, fleet.Why{Kind: fleet.Fault, Reason: "it took the job, which never came back"}, now)
				w.back(e, fmt.Sprintf("worker %s does not have it any more", m.Name))
			}
		}
		w.relieve(m)
		if gone && len(m.out) == 0 {
			w.members = slices.Delete(w.members, i, i+1)
			continue
		}
		i++
	}
}

// A job is late when it has run for lateFactor times what was expected of it, and for lateLeast
// seconds, or lateUnknown where nothing is known.
const (
	lateFactor  = 4
	lateLeast   = 2.0
	lateUnknown = 10.0
)

// limit returns the seconds after which a job is late.
func (e *errand) limit() float64 {
	if e.seconds == 0 {
		return lateUnknown
	}
	return max(lateLeast, lateFactor*e.seconds)
}

// late reports whether the job has run for longer than its limit.
func (e *errand) late() bool { return e.running >= e.limit() }

// late says which of the jobs that take far longer than expected has run for longest; "": there is none.
func (w *crew) late() string {
	var slow *errand
	for _, e := range w.errands {
		if e.late() && (slow == nil || e.running > slow.running) {
			slow = e
		}
	}
	if slow == nil {
		return ""
	}
	return fmt.Sprintf("%d trials have run for %.0f s: %s", slow.cargo.open(), slow.running, slow.cargo.words())
}

// hurry has a second worker run a job that is late. One whose trials have come back otherwise is
// ended when it has had its time once more.
func (w *crew) hurry(e *errand) {
	if !e.late() || e.seconds == 0 && w.alone {
		return // a second slot of this machine is worth more than the first trial of a new kind
	}
	way := e.cargo.way()
	switch left := e.cargo.left(); {
	case left != nil && len(way.errands) == 1 && !way.waits:
		w.journal.note(fmt.Sprintf("job %s has run for %.0f s on worker %s, %.1f were expected: a second one gets it too",
			e.id, e.running, e.member.Name, e.seconds), e.fields()...)
		way.avoid = e.member.Name
		w.wait(e.cargo)
	case left == nil && e.running > 2*e.limit() && !e.dropped:
		e.dropped = true
		if err := w.queue.Drop(w.lead, e.id); err != nil {
			w.journal.note(err.Error())
		}
	}
}

// relieve takes back the jobs that wait at a worker all of whose slots run jobs that are late.
func (w *crew) relieve(m *member) {
	late := 0
	for _, e := range m.out {
		if e.late() {
			late++
		}
	}
	if late < m.Slots || w.alone {
		m.stuck = false
		return
	}
	var waiting []string
	for _, id := range slices.Sorted(maps.Keys(m.out)) {
		if e := m.out[id]; e.running == 0 {
			waiting = append(waiting, id)
			e.cargo.way().avoid = m.Name
			w.back(e, fmt.Sprintf("it waits at worker %s, whose slots are all busy for too long", m.Name))
		}
	}
	m.stuck = true // until one of its jobs ends
	if len(waiting) == 0 {
		return
	}
	if err := w.queue.Drop(w.lead, waiting...); err != nil {
		w.journal.note(err.Error())
	}
}

// back strikes off a job that a worker does not have any more. What is left of it is sent again.
func (w *crew) back(e *errand, why string) {
	w.end(e)
	if way := e.cargo.way(); len(way.errands) == 0 && e.cargo.left() != nil {
		w.journal.note(fmt.Sprintf("job %s: %s; its missing trials are sent again", e.id, why), e.fields()...)
		w.wait(e.cargo)
	}
}

// end strikes off an errand.
func (w *crew) end(e *errand) {
	delete(w.errands, e.id)
	delete(e.member.out, e.id)
	if e.member.load -= e.seconds; len(e.member.out) == 0 {
		e.member.load = 0
	}
	e.member.stuck = false
	way := e.cargo.way()
	way.errands = slices.DeleteFunc(way.errands, func(x *errand) bool { return x == e })
}

// wait queues a cargo that is to be sent again.
func (w *crew) wait(c cargo) {
	if way := c.way(); !way.waits {
		way.waits = true
		w.waiting = append(w.waiting, c)
	}
}

// arrived notes a part of a job's results: after the last one the worker has it no more.
func (w *crew) arrived(m *bus.Message) *errand {
	w.read = max(w.read, m.Sequence())
	e := w.errands[m.Job]
	if e == nil || m.Epoch != w.lead.Epoch || e.member.Name != m.Worker {
		return nil
	}
	e.before = e.cargo.open()
	if m.Index == m.Of-1 {
		w.end(e)
	}
	return e
}

// swept ends what arrived has begun, when the result was taken in. It blames a worker whose result
// holds nothing that its job had asked for. What is left when all results are in is sent again.
func (w *crew) swept(e *errand, now time.Time) {
	if e == nil {
		return
	}
	way := e.cargo.way()
	if e.cargo.open() < e.before {
		way.sent = 0
		delete(e.member.aside, e.what)
	} else if w.errands[e.id] == nil && e.cargo.left() != nil {
		w.blame(e, fleet.Why{Kind: fleet.Fault, Reason: "its result was of no use"}, now)
	}
	if len(way.errands) == 0 && e.cargo.left() != nil {
		w.wait(e.cargo)
	}
}

// handedBack deals with a job that a worker does not run.
func (w *crew) handedBack(b bus.HandedBack, now time.Time) {
	e := w.errands[b.Job]
	if e == nil || e.member.Name != b.Worker {
		return
	}
	y, err := fleet.DecodeWhy(b.Reason)
	if err != nil {
		y = fleet.Why{Kind: fleet.Fault, Reason: err.Error()}
	}
	w.blame(e, y, now)
	w.back(e, fmt.Sprintf("worker %s handed it back: %s", b.Worker, y.Reason))
}

// mostTries is the number of times that a job is sent to the only worker that there can be.
const mostTries = 4

// blame keeps from a worker, for a while, what it could not run.
func (w *crew) blame(e *errand, y fleet.Why, now time.Time) {
	w.meter.count(func(c *Counts) { increase(&c.Back, string(y.Kind), 1) })
	m := e.member
	e.cargo.way().avoid = m.Name
	if y.Kind == fleet.Drain {
		m.Leaving = true
		return
	}
	a := m.aside[e.what]
	if a == nil {
		a = &setAside{}
		m.aside[e.what] = a
	}
	if a.reason = y.Reason; !now.Before(a.until) { // else it is one of several jobs of the same kind
		a.faults++
		a.until = now.Add(w.scaled(fleet.Backoff(a.faults)))
	}
	if w.alone && (y.Kind == fleet.Cannot || e.cargo.way().sent >= mostTries) {
		w.failed = fmt.Errorf("the worker of this process cannot run job %s: %s", e.id, y.Reason)
	}
}

// gathering is the time after the first word of a worker in which the others of a cluster announce
// themselves.
const gathering = 300 * time.Millisecond

// room reports whether any worker takes a job.
func (w *crew) room() bool {
	if !w.alone && time.Since(w.first) < gathering {
		return false
	}
	return slices.ContainsFunc(w.members, func(m *member) bool { return m.room() })
}

// room reports whether a worker takes a job.
func (m *member) room() bool {
	most := perSlot * m.Slots
	if slots := float64(m.Slots); m.usual > 0 && m.load < quickLoad*slots {
		most = max(most, int(min(quickPerSlot*slots, mostQuick, quickLoad/m.usual*slots)))
	}
	return !m.Leaving && !m.stuck && len(m.out) < most
}

// took notes the time that the worker of an errand has needed for a result.
func (e *errand) took(seconds float64) {
	if e == nil {
		return
	}
	m := e.member
	if m.usual == 0 {
		m.usual = quickLoad // until more is known
	}
	m.usual += quickWeight * (max(0, believable(seconds)) - m.usual)
}

// cannot returns why a worker does not get a job; "" if it can have it.
func (m *member) cannot(n fleet.Need, now time.Time) string {
	if why := m.Cannot(n, now); why != "" {
		return why
	}
	if a := m.aside[n.What]; a != nil && now.Before(a.until) {
		return fmt.Sprintf("could not run %s: %s", n.What, a.reason)
	}
	return ""
}

// choose returns the worker that gets a job: one with an idle slot, or else one with room. It
// returns nil, and keeps why, where there is none.
func (w *crew) choose(n fleet.Need, way *way, now time.Time) *member {
	reasons := map[string]string{}
	best := w.best(n, way, now, reasons)
	able := len(w.members) - len(reasons)
	if able == 0 {
		w.stuck = "no worker can run what comes next: " + fleet.Explain(reasons)
	}
	// A worker that leaves does so because the run was interrupted, or ends, and its end is noticed.
	if len(w.members) > 0 && able == 0 && w.alone && !w.members[0].Leaving && w.members[0].Cannot(n, now) != "" {
		w.failed = errors.New(w.stuck)
	}
	if best == nil || best.Name == way.avoid && (able > 1 || way.patient && way.soon) { // the others will have room
		return nil
	}
	w.turn++
	return best
}

// best returns the first worker in turn that has an idle slot and is not to be avoided, or else one
// with room; nil if there is none. It fills in why workers cannot run the job, and whether one that
// was set aside will soon be asked again.
func (w *crew) best(n fleet.Need, way *way, now time.Time, reasons map[string]string) (best *member) {
	way.soon = false
	for i := range w.members {
		m := w.members[(w.turn+i)%len(w.members)]
		if why := m.cannot(n, now); why != "" {
			reasons[m.Name] = why
			way.soon = way.soon || m.Name != way.avoid && m.Cannot(n, now) == "" &&
				m.aside[n.What].until.Sub(now) < w.scaled(fleet.Silence)
			continue
		}
		if !m.room() || best != nil && (m.Name == way.avoid || best.Name != way.avoid && len(m.out) >= m.Slots) {
			continue
		}
		best = m
		if m.Name != way.avoid && len(m.out) < m.Slots {
			break
		}
	}
	return best
}

// needOf names the plugin of a job in it, and returns what the job needs.
func (w *crew) needOf(job *trial.Job) fleet.Need {
	job.Plugin = w.digests[job.Cell.Code()]
	return fleet.Need{
		Plugin: job.Plugin, Name: job.Cell.Plugin, Profile: job.Profile, Seconds: job.Seconds,
		What: job.Subject(),
	}
}

// send sends what is left of a cargo to a worker. It reports false where no worker takes it now.
func (w *crew) send(ctx context.Context, c cargo) (bool, error) {
	job, way, now := c.left(), c.way(), time.Now()
	if job == nil {
		return true, nil
	}
	need := w.needOf(job)
	m := w.choose(need, way, now)
	if m == nil {
		return false, nil
	}
	w.stuck = ""
	w.serial++
	job.ID = fmt.Sprintf("%s%s-%d-%d-%d-%d", job.ID, job.Cell.Key.Short(), job.N, job.First,
		job.Repetition(int(job.Count)-1)+1, w.serial)
	job.Sweep, job.Priority, job.Weight = w.lead.Sweep, w.priority, w.weight
	data, err := job.Encode()
	if err != nil {
		return false, fmt.Errorf("encode job %q: %w", job.ID, err)
	}
	if err := w.queue.Send(ctx, m.Name, job.ID, data); err != nil {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		return false, fmt.Errorf("send job %q: %w", job.ID, err)
	}
	e := &errand{
		id: job.ID, cargo: c, what: need.What, member: m, sent: now, began: m.Began,
		seconds: job.Seconds,
	}
	w.hand(e)
	way.sent++
	w.meter.count(func(c *Counts) { c.Sent++ })
	w.journal.log.Debug("job sent", append(e.fields(), "cell", job.Cell.Key.Short(), "n", job.N, "trials", job.Count)...)
	return true, nil
}

// hand keeps account of an errand that was sent.
func (w *crew) hand(e *errand) {
	w.errands[e.id], e.member.out[e.id] = e, e
	e.member.load += e.seconds
	way := e.cargo.way()
	way.errands = append(way.errands, e)
}

// sendAgain sends what waits to be sent again, as far as workers take it.
func (w *crew) sendAgain(ctx context.Context) error {
	if w.failed != nil {
		return w.failed
	}
	waiting := w.waiting
	w.waiting = nil
	for i, c := range waiting {
		ok, err := w.send(ctx, c)
		if err != nil {
			w.waiting = append(w.waiting, waiting[i:]...)
			return err
		}
		if !ok {
			w.waiting = append(w.waiting, c)
			continue
		}
		c.way().waits = false
	}
	return nil
}

// forget gives up what waits to be sent again: nobody needs it any more.
func (w *crew) forget() {
	for _, c := range w.waiting {
		c.way().waits = false
	}
	w.waiting = nil
}

// profile returns the float profile of most workers, of several the one of most slots; "" if there are none.
func (w *crew) profile() (most string) {
	workers, slots := map[string]int{}, map[string]int{}
	for _, m := range w.members {
		workers[m.Profile]++
		slots[m.Profile] += m.Slots
	}
	for _, p := range slices.Sorted(maps.Keys(workers)) {
		if most == "" || cmp.Or(cmp.Compare(workers[p], workers[most]), cmp.Compare(slots[p], slots[most])) > 0 {
			most = p
		}
	}
	return most
}
