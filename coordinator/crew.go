package coordinator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/shatterlab/shatter/pipeline/fleet"
	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// cargo is a number of trials that are published as one job, and as further ones where that does
// not come back.
type cargo interface {
	// left returns the job of the trials that have not come back, with the beginning of its ID; nil if
	// there are none that are needed.
	left() *trial.Job
	open() int     // number of trials that have not come back
	words() string // names what it is part of for people: a cell and a sample size
	way() *way
}

// way is the state of a cargo.
type way struct {
	errands []*errand // its jobs that are on the server: more than one where the first takes far too long
	avoid   string    // worker that leaves it to others where there are some
	sent    int       // times in a row that it was published and nothing of it came back
	waits   bool      // in crew.waiting
	rest    time.Time // it is not published again before
	first   string    // worker that has lost it before
}

// errand is a job of a cargo that is on the server, as far as is known.
type errand struct {
	id        string
	cargo     cargo
	published time.Time
	seconds   float64 // that it will take, as far as is known
	worker    string  // that runs it, by its last heartbeat; "": none
	running   float64 // seconds since it was begun, by that heartbeat
	missing   int     // looks in a row in which the server did not have it
	before    int     // trials that were open when its last result arrived
}

// member is a worker that was heard of.
type member struct {
	*fleet.Worker
	heard time.Time
}

// The coordinator keeps perSlot jobs on the server for each slot: one runs, one waits at the worker and one on the
// server. Of short jobs it keeps so many as usually take quickLoad, up to quickPerSlot.
const (
	perSlot      = 3
	quickLoad    = 0.030 // seconds
	quickPerSlot = 40
	quickWeight  = 1. / 8 // of the last job in what is usual
)

// crew follows the heartbeats of workers and publishes jobs. It keeps a list of the jobs that are on the server, and
// publishes those again that the server has lost.
type crew struct {
	queue    *queue.Queue
	lead     queue.Lead
	digests  map[string]string // see Config
	journal  *journal
	priority int
	weight   float64
	healing  time.Duration // see Config
	alone    bool          // the worker is that of this process, and there will be no other
	needs    []fleet.Need  // of all cells
	meter    *Meter

	first   time.Time // when the first worker was heard of
	members map[string]*member
	errands map[string]*errand
	waiting []cargo // to be published again
	profile string  // float profile of the jobs; "": not known yet
	serial  int     // of the last job
	usual   float64 // seconds that a job takes; 0: unknown
	read    uint64  // sequence of the result that was taken in last
	stuck   int     // jobs that are late, which leave their place to others
	unread  int     // results on the server after that one
	failed  error   // why nothing can be run any more

	strange map[string]stranger // workers that cannot be understood, by name
}

// A stranger is a worker whose heartbeats make no sense here.
type stranger struct {
	why   string // in words that follow its name
	heard time.Time
}

// mostStrange is the number of strangers that are kept.
const mostStrange = 100

// needsOf returns what the jobs of cells need, in the order of their code.
func needsOf(cells []*cell, digests map[string]string) (needs []fleet.Need) {
	of := map[string]fleet.Need{}
	for _, c := range cells {
		of[c.Code()] = c.Need(digests[c.Code()])
	}
	for _, code := range slices.Sorted(maps.Keys(of)) {
		needs = append(needs, of[code])
	}
	return needs
}

// takes reports whether a worker takes jobs of this sweep.
func (w *crew) takes(m *member, now time.Time) bool {
	return !m.Leaving && m.Refuses(w.lead.Sweep, now) == nil
}

// slots returns the number of slots of the workers that take jobs of this sweep.
func (w *crew) slots() (n int) {
	now := time.Now()
	for _, m := range w.members {
		if w.takes(m, now) {
			n += m.Slots
		}
	}
	return n
}

// others reports whether a worker of another name takes jobs of this sweep.
func (w *crew) others(name string, now time.Time) bool {
	for _, m := range w.members {
		if m.Name != name && w.takes(m, now) {
			return true
		}
	}
	return false
}

// hear takes in a heartbeat.
func (w *crew) hear(said queue.Heartbeat, now time.Time) {
	if said.Data == nil {
		delete(w.members, said.Worker)
		delete(w.strange, said.Worker)
		return
	}
	a, err := fleet.Decode(said.Worker, said.Data)
	if err != nil {
		w.notUnderstood(said.Worker, err, now)
		return
	}
	delete(w.strange, a.Name)
	if w.first.IsZero() {
		w.first = now
	}
	if w.members[a.Name] == nil && len(w.members) >= mostMembers {
		return
	}
	w.members[a.Name] = &member{Worker: a, heard: now}
	for _, h := range a.Held {
		if e := w.errands[h.ID]; e != nil && h.Sweep == w.lead.Sweep && h.Epoch == w.lead.Epoch && h.Running > 0 {
			e.worker, e.running = a.Name, h.Running
		}
	}
	if r := a.Refuses(w.lead.Sweep, now); w.alone && r != nil && (r.Never || r.Faults >= mostTries) {
		w.failed = fmt.Errorf("the worker of this process cannot run %s: %s", r.What, r.Reason)
	}
}

// mostMembers bounds the workers that are known.
const mostMembers = 1 << 14

// mostTries is the number of times that a job is tried by the only worker that there can be.
const mostTries = 4

// notUnderstood notes, once for a worker, that its heartbeats make no sense here.
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

// state reports whether no worker is there and, where none that is there takes jobs of this sweep, why.
func (w *crew) state(now time.Time) (none bool, why string) {
	reasons := map[string]string{}
	for name, x := range w.strange {
		reasons[name] = x.why
	}
	for name, m := range w.members {
		r := m.Refuses(w.lead.Sweep, now)
		switch {
		case m.Leaving:
			reasons[name] = "is leaving"
		case r != nil:
			reasons[name] = "could not run " + r.What + ": " + r.Reason
		default:
			return false, ""
		}
	}
	if len(reasons) == 0 {
		return true, ""
	}
	return false, "no worker can run it: " + fleet.Explain(reasons)
}

// offer publishes the needs of the sweep to all workers, with jobs that are not needed any more.
func (w *crew) offer(over bool, dropped ...string) {
	o := fleet.Offer{
		Epoch: w.lead.Epoch, Priority: w.priority, Weight: cmp.Or(w.weight, 1), Profile: w.profile, Needs: w.needs,
		Dropped: dropped, Over: over,
	}
	data, err := o.Encode()
	if err == nil {
		err = w.queue.Offer(data)
	}
	if err != nil {
		w.journal.note(err.Error())
	}
}

// setProfile sets the float profile of the jobs. Workers hear of it before they can lease one.
func (w *crew) setProfile(profile string) {
	if w.profile != profile {
		w.profile = profile
		w.offer(false)
	}
}

// heal repeats the offer, removes silent workers, and compares the list of jobs with the server's: a lost job is
// published again, a late one is published once more, and one that is not needed any more is removed.
func (w *crew) heal(ctx context.Context, now time.Time) error {
	maps.DeleteFunc(w.members, func(_ string, m *member) bool { return now.Sub(m.heard) > w.scaled(fleet.Silence) })
	maps.DeleteFunc(w.strange, func(_ string, x stranger) bool { return now.Sub(x.heard) > w.scaled(fleet.Silence) })
	w.offer(false)
	if len(w.errands) == 0 {
		w.stuck = 0
		return nil
	}
	within, cancel := context.WithTimeout(ctx, healPatience)
	defer cancel()
	stored, err := w.queue.Jobs(within)
	last := uint64(0)
	missing := false
	for id := range w.errands {
		missing = missing || !stored[id]
	}
	if err == nil && missing {
		last, err = w.queue.Last(within)
	}
	if err == nil {
		err = w.reckon(within, now, stored, last <= w.read)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		w.journal.note(fmt.Sprintf("the queue does not answer: %v", err))
	}
	return nil
}

// healPatience is the longest time that heal waits for the server. Meanwhile no result is taken in.
const healPatience = 5 * time.Second

// scaled returns a time in the rhythm of healing, which is a second unless a test wants it shorter.
func (w *crew) scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) * w.healing.Seconds())
}

// reckon does the work of heal, given the jobs that the server has. A job is removed there after its results are
// stored: one that is missing twice when all results are read was lost with the server's store.
func (w *crew) reckon(ctx context.Context, now time.Time, stored map[string]bool, idle bool) error {
	var dropped []string
	w.stuck = 0
	for _, id := range slices.Sorted(maps.Keys(w.errands)) {
		e := w.errands[id]
		if e.cargo.left() == nil {
			dropped = append(dropped, id)
			w.end(e)
			continue
		}
		switch {
		case stored[id]:
			e.missing = 0
		case idle && now.Sub(e.published) >= w.healing:
			e.missing++
		}
		if e.missing >= mostMissing {
			w.meter.count(func(c *Counts) { increase(&c.Back, "lost", 1) })
			w.back(e, "the server does not have it any more")
			continue
		}
		if e.late() {
			w.stuck++
			w.hurry(e)
		}
	}
	if len(dropped) == 0 {
		return nil
	}
	w.offer(false, dropped...)
	return w.queue.Drop(ctx, dropped...)
}

// mostMissing is the number of looks in a row after which a job that was not found is lost.
const mostMissing = 2

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

// late returns words about the job that has run for longest of those that take far longer than expected; "": there is
// none.
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

// hurry publishes the trials of a job that is late once more, unless another copy of it is not late yet.
func (w *crew) hurry(e *errand) {
	way := e.cargo.way()
	onTime := func(e *errand) bool { return !e.late() }
	if e.seconds == 0 && w.alone || way.waits || slices.ContainsFunc(way.errands, onTime) {
		return // a second slot of this machine is worth more than the first trial of a new kind
	}
	w.journal.note(fmt.Sprintf("job %s has run for %.0f s on worker %s, %.1f were expected: it is published once more",
		e.id, e.running, e.worker, e.seconds), "job", e.id)
	way.avoid = e.worker
	w.wait(e.cargo)
}

// back strikes off a job that the server does not have any more. Its open trials are published again.
func (w *crew) back(e *errand, why string) {
	w.end(e)
	if way := e.cargo.way(); len(way.errands) == 0 && e.cargo.left() != nil {
		w.journal.note(fmt.Sprintf("job %s: %s; its missing trials are published again", e.id, why), "job", e.id)
		w.wait(e.cargo)
		if w.alone && way.sent >= mostTries {
			w.failed = fmt.Errorf("the worker of this process has taken job %s %d times, and its results never came",
				e.id, way.sent)
		}
	}
}

// end strikes off an errand.
func (w *crew) end(e *errand) {
	delete(w.errands, e.id)
	way := e.cargo.way()
	way.errands = slices.DeleteFunc(way.errands, func(x *errand) bool { return x == e })
}

// wait queues a cargo that is to be published again.
func (w *crew) wait(c cargo) {
	if way := c.way(); !way.waits {
		way.waits = true
		w.waiting = append(w.waiting, c)
	}
}

// arrived notes a part of a job's results: after the last one the server does not have the job any more.
func (w *crew) arrived(m *queue.Message) *errand {
	w.read, w.unread = m.Sequence, int(m.Pending)
	e := w.errands[m.Job]
	if e == nil || m.Epoch != w.lead.Epoch {
		return nil
	}
	e.before, e.missing = e.cargo.open(), 0
	if m.Index == m.Of-1 {
		w.end(e)
	}
	return e
}

// swept follows arrived when the result was taken in. Trials that are open when all results are in are published again:
// after a result without any outcome that its job had asked for, for other workers and after a while.
func (w *crew) swept(e *errand, worker string, now time.Time) {
	if e == nil {
		return
	}
	way := e.cargo.way()
	switch {
	case e.cargo.open() < e.before:
		way.sent = 0
	case w.errands[e.id] == nil && e.cargo.left() != nil:
		w.meter.count(func(c *Counts) { increase(&c.Back, "useless", 1) })
		way.avoid, way.rest = worker, now.Add(w.scaled(fleet.Interval<<min(way.sent, 8)))
		if w.alone && way.sent >= mostTries {
			w.failed = fmt.Errorf("the worker of this process has answered job %s %d times, and not with its outcomes",
				e.id, way.sent)
		}
	}
	if len(way.errands) == 0 && e.cargo.left() != nil {
		w.wait(e.cargo)
	}
}

// gathering is the time after the first heartbeat in which the other workers of a cluster are heard of.
const gathering = 300 * time.Millisecond

// room reports whether another job is to be published.
func (w *crew) room() bool {
	if !w.alone && time.Since(w.first) < gathering {
		return false
	}
	most := perSlot
	if w.usual > 0 {
		most = max(most, int(min(quickPerSlot, quickLoad/w.usual)))
	}
	return len(w.errands)-w.stuck < most*w.slots()
}

// took notes the time that a worker has needed for a result.
func (w *crew) took(seconds float64) {
	if w.usual == 0 {
		w.usual = quickLoad // until more is known
	}
	w.usual += quickWeight * (max(0, believable(seconds)) - w.usual)
}

// send publishes the open trials of a cargo, if there are any, as a job.
func (w *crew) send(ctx context.Context, c cargo) error {
	job, way, now := c.left(), c.way(), time.Now()
	if job == nil {
		return nil
	}
	w.serial++
	job.ID = fmt.Sprintf("%s%s-%d-%d-%d-%d", job.ID, job.Cell.Key.Short(), job.N, job.First,
		job.Repetition(int(job.Count)-1)+1, w.serial)
	job.Sweep, job.Plugin = w.lead.Sweep, w.digests[job.Cell.Code()]
	if w.others(way.avoid, now) {
		job.Avoid = way.avoid
	}
	data, err := job.Encode()
	if err != nil {
		return fmt.Errorf("encode job %q: %w", job.ID, err)
	}
	if err := w.queue.Publish(ctx, job.ID, data); err != nil {
		return errors.Join(ctx.Err(), err)
	}
	e := &errand{id: job.ID, cargo: c, published: now, seconds: job.Seconds}
	w.errands[e.id] = e
	way.errands = append(way.errands, e)
	way.sent++
	w.meter.count(func(c *Counts) { c.Sent++ })
	w.journal.log.Debug("job published", "job", e.id, "cell", job.Cell.Key.Short(), "n", job.N, "trials", job.Count)
	return nil
}

// sendAgain publishes what waits to be published again.
func (w *crew) sendAgain(ctx context.Context) error {
	if w.failed != nil {
		return w.failed
	}
	waiting := w.waiting
	w.waiting = nil
	for i, c := range waiting {
		if c.left() != nil && (time.Now().Before(c.way().rest) || !w.room()) {
			w.waiting = append(w.waiting, c)
			continue
		}
		if err := w.send(ctx, c); err != nil {
			w.waiting = append(w.waiting, waiting[i:]...)
			return err
		}
		c.way().waits = false
	}
	return nil
}

// forget gives up what waits to be published again: it is not needed any more.
func (w *crew) forget() {
	for _, c := range w.waiting {
		c.way().waits = false
	}
	w.waiting = nil
}

// usualProfile returns the float profile of most workers, of several the one of most slots; "" if there are none.
func (w *crew) usualProfile() (most string) {
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
