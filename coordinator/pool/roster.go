package pool

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/shatterlab/shatter/pipeline/fleet"
	"github.com/shatterlab/shatter/pipeline/queue"
)

// A Roster holds the workers with a recent heartbeat.
type Roster struct {
	sweep   string
	workers map[string]*member
	unclear map[string]unclear // workers whose heartbeats cannot be decoded, by name
	first   time.Time          // arrival of the first heartbeat; zero: none
}

// A member is a worker and the arrival of its last heartbeat.
type member struct {
	*fleet.Worker
	heard time.Time
}

// An unclear is a worker whose heartbeats cannot be decoded.
type unclear struct {
	reason string // phrase that follows the worker's name
	heard  time.Time
}

// accepts reports whether a worker accepts jobs of the sweep.
func (r *Roster) accepts(m *member, now time.Time) bool {
	return !m.Leaving && m.Refuses(r.sweep, now) == nil
}

// Several reports whether more than one worker is known.
func (r *Roster) Several() bool { return len(r.workers) > 1 }

// Slots returns the number of slots of the workers that accept jobs of the sweep.
func (r *Roster) Slots(now time.Time) (n int) {
	for _, m := range r.workers {
		if r.accepts(m, now) {
			n += m.Slots
		}
	}
	return n
}

// others reports whether a worker that is not listed in names accepts jobs of the sweep.
func (r *Roster) others(names []string, now time.Time) bool {
	for _, m := range r.workers {
		if !slices.Contains(names, m.Name) && r.accepts(m, now) {
			return true
		}
	}
	return false
}

// update records a heartbeat. It returns the worker; nil if the worker has ended or its heartbeat
// cannot be decoded. news describes a worker whose heartbeats cannot be
// decoded, the first time.
func (r *Roster) update(h queue.Heartbeat, now time.Time) (w *fleet.Worker, news string) {
	if h.Data == nil {
		delete(r.workers, h.Worker)
		delete(r.unclear, h.Worker)
		return nil, ""
	}
	w, err := fleet.Decode(h.Worker, h.Data)
	if err != nil {
		return nil, r.updateUnclear(h.Worker, err, now)
	}
	delete(r.unclear, w.Name)
	if r.first.IsZero() {
		r.first = now
	}
	r.workers[w.Name] = &member{Worker: w, heard: now}
	return w, ""
}

func (r *Roster) updateUnclear(worker string, err error, now time.Time) (news string) {
	x, known := r.unclear[worker]
	if !known {
		x.reason = fmt.Sprintf("sends heartbeats that cannot be decoded (%v); is it of another version of shatter?", err)
		news = fmt.Sprintf("worker %.100q gets no jobs: it %s", worker, x.reason)
	}
	x.heard = now
	r.unclear[worker] = x
	return news
}

// expire removes the workers without a heartbeat since the given time.
func (r *Roster) expire(since time.Time) {
	maps.DeleteFunc(r.workers, func(_ string, m *member) bool { return m.heard.Before(since) })
	maps.DeleteFunc(r.unclear, func(_ string, x unclear) bool { return x.heard.Before(since) })
}

// state reports whether there are no workers. If there are workers and none accepts jobs of the
// sweep, reason explains why.
func (r *Roster) state(now time.Time) (none bool, reason string) {
	reasons := map[string]string{}
	for name, x := range r.unclear {
		reasons[name] = x.reason
	}
	for name, m := range r.workers {
		refusal := m.Refuses(r.sweep, now)
		switch {
		case m.Leaving:
			reasons[name] = "is leaving"
		case refusal != nil:
			reasons[name] = "could not run " + refusal.What + ": " + refusal.Reason
		default:
			return false, ""
		}
	}
	if len(reasons) == 0 {
		return true, ""
	}
	return false, "no worker can run it: " + fleet.Explain(reasons)
}

// usualProfile returns the float profile of most workers; among equally frequent profiles, the one
// with the most slots; "": there are no workers.
func (r *Roster) usualProfile() (most string) {
	workers, slots := map[string]int{}, map[string]int{}
	for _, m := range r.workers {
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

// Sandboxes returns the names of the workers, by the sandbox layers around their plugins.
func (r *Roster) Sandboxes() map[string][]string {
	names := map[string][]string{}
	for _, m := range r.workers {
		names[m.Sandbox] = append(names[m.Sandbox], m.Name)
	}
	return names
}
