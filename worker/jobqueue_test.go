package worker

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shatterlab/shatter/pipeline/fleet"
	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// sendOffer records an offer, with weight 1 by default.
func sendOffer(s *jobQueue, sweep string, o fleet.Offer) {
	if o.Weight == 0 {
		o.Weight = 1
	}
	s.updateOffer(sweep, &o, nil)
}

// enqueue adds leased jobs of a sweep.
func enqueue(t *testing.T, s *jobQueue, sweep string, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if !s.add(&queue.Job{Term: queue.Term{Sweep: sweep, Epoch: 1}, ID: id}, &trial.Job{}) {
			t.Fatalf("job %s is not queued", id)
		}
	}
}

// waiting returns the IDs of the waiting jobs, ascending.
func waiting(s *jobQueue) string {
	var ids []string
	w := &fleet.Worker{}
	s.fillHeartbeat(w, time.Now())
	for _, h := range w.Held {
		if h.Running == 0 {
			ids = append(ids, h.ID)
		}
	}
	return strings.Join(ids, " ")
}

// run runs the next jobs, each for a number of seconds, and returns their IDs in order.
func run(t *testing.T, s *jobQueue, jobs int, seconds float64) (ids []string) {
	t.Helper()
	for range jobs {
		_, h := s.next(t.Context())
		ids = append(ids, h.ID)
		h.started = time.Now().Add(-time.Duration(seconds * float64(time.Second)))
		s.recordRunTime(h)
		s.remove(h)
	}
	return ids
}

// While the server does not store results of a sweep, the heartbeat contains the reason.
func TestUnstored(t *testing.T) {
	s := newJobQueue(1)
	sendOffer(s, "a", fleet.Offer{})
	refusals := func() int {
		w := &fleet.Worker{}
		s.fillHeartbeat(w, time.Now())
		return len(w.Refusals)
	}
	s.setUnstored("a", "the disk is full")
	if refusals() != 1 {
		t.Error("no refusal")
	}
	s.setUnstored("a", "")
	if refusals() != 0 {
		t.Error("the refusal stays")
	}
}

// Sweeps share a worker's time by weight, and sweeps of a higher priority run first.
func TestJobOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newJobQueue(1)
		numbered := func(prefix string, n int) (ids []string) {
			for i := range n {
				ids = append(ids, fmt.Sprint(prefix, i))
			}
			return ids
		}
		sendOffer(s, "a", fleet.Offer{})
		sendOffer(s, "b", fleet.Offer{Weight: 3})
		sendOffer(s, "c", fleet.Offer{Priority: 1})
		enqueue(t, s, "a", numbered("a", 40)...)
		enqueue(t, s, "b", numbered("b", 40)...)
		enqueue(t, s, "c", "c0", "c1")
		if got := run(t, s, 2, 1); !slices.Equal(got, []string{"c0", "c1"}) {
			t.Errorf("%v come first", got)
		}
		count := map[byte]int{}
		for _, id := range run(t, s, 40, 1) {
			count[id[0]]++
		}
		if count['a'] != 10 || count['b'] != 30 {
			t.Errorf("of 40 jobs %v are of sweeps with weights 1 and 3", count)
		}
	})
}

// A sweep that begins late cannot claim the time that others used before.
func TestLateSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newJobQueue(1)
		sendOffer(s, "a", fleet.Offer{})
		enqueue(t, s, "a", "a0", "a1", "a2", "a3", "a4", "a5")
		run(t, s, 2, 100)
		sendOffer(s, "b", fleet.Offer{})
		enqueue(t, s, "b", "b0", "b1", "b2", "b3")
		var sweeps []byte
		for _, id := range run(t, s, 8, 1) {
			sweeps = append(sweeps, id[0])
		}
		if got := strings.Count(string(sweeps[:4]), "a"); got != 2 {
			t.Errorf("of the next four jobs %d are of the first sweep, want 2: %s", got, sweeps)
		}
	})
}

// Jobs that a leader drops are removed, waiting or running, and all jobs when the sweep is over.
func TestDroppedJobs(t *testing.T) {
	s := newJobQueue(1)
	sendOffer(s, "a", fleet.Offer{})
	enqueue(t, s, "a", "1", "2", "3")
	ctx, running := s.next(t.Context())
	sendOffer(s, "a", fleet.Offer{Dropped: []string{"2", "unknown"}})
	if got := waiting(s); running.ID != "1" || got != "3" || ctx.Err() != nil {
		t.Errorf("running %s (%v), waiting %s", running.ID, ctx.Err(), got)
	}
	sendOffer(s, "b", fleet.Offer{Over: true})
	if got := waiting(s); got != "3" || ctx.Err() != nil {
		t.Errorf("another sweep is over: waiting %s, running: %v", got, ctx.Err())
	}
	sendOffer(s, "a", fleet.Offer{Over: true})
	if got := waiting(s); got != "" || ctx.Err() == nil || s.add(&queue.Job{Term: queue.Term{Sweep: "a"}}, &trial.Job{}) {
		t.Errorf("the sweep is over: waiting %s, running: %v", got, ctx.Err())
	}
	s.remove(running)
	if left := s.close(); len(left) != 0 || s.add(&queue.Job{}, &trial.Job{}) {
		t.Errorf("a closed queue holds %d jobs, or accepts one", len(left))
	}
}

// A worker leases as many jobs as its slots need soon, from sweeps that it can run and whose leaders send offers.
func TestDemand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newJobQueue(2)
		wants := func(what string, jobs int, sweeps ...string) {
			t.Helper()
			if got, n := s.demand(time.Now()); n != jobs || !slices.Equal(got, sweeps) {
				t.Errorf("%s: %d jobs of %v, want %d of %v", what, n, got, jobs, sweeps)
			}
		}
		wants("no sweep", 4)
		sendOffer(s, "a", fleet.Offer{})
		sendOffer(s, "b", fleet.Offer{Priority: 1})
		s.updateOffer("c", &fleet.Offer{Weight: 1}, &fleet.Refusal{Sweep: "c", Never: true})
		wants("at first", 4, "b", "a")
		enqueue(t, s, "a", "1", "2", "3")
		wants("three are held", 1, "b", "a")
		s.refuse("b", "data", "no disk", false)
		wants("a fault", 1, "a")
		time.Sleep(fleet.Interval)
		wants("after a while", 1, "b", "a")
		s.refuse("b", "data", "no disk", false)
		time.Sleep(fleet.Interval)
		wants("after another fault", 1, "a")
		run(t, s, 3, 100)
		wants("long jobs", 2, "a")
		time.Sleep(fleet.Silence)
		wants("silent leaders", 2)
		sendOffer(s, "a", fleet.Offer{})
		enqueue(t, s, "a", slices.Repeat([]string{"x"}, 100)...)
		run(t, s, 100, 0)
		wants("short jobs", 2+2*maxPrefetch, "a")
	})
}
