package worker

import (
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

// run runs jobs that wait, each for a number of seconds.
func run(s *jobQueue, jobs int, seconds float64) {
	for range jobs {
		h := s.next()
		h.started = time.Now().Add(-time.Duration(seconds * float64(time.Second)))
		s.recordRunTime(h)
		s.remove(h)
	}
}

// lease leases and runs jobs of a second, each of the sweep whose turn it is. It returns the sweeps.
func lease(t *testing.T, s *jobQueue, jobs int) (turns string) {
	t.Helper()
	for range jobs {
		sweeps, _ := s.demand(time.Now())
		enqueue(t, s, sweeps[0], "job")
		run(s, 1, 1)
		turns += sweeps[0]
	}
	return turns
}

// Sweeps share a worker's time by weight, and sweeps of a higher priority run first.
func TestJobOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newJobQueue(t.Context(), 1)
		sendOffer(s, "a", fleet.Offer{})
		sendOffer(s, "b", fleet.Offer{Weight: 3})
		sendOffer(s, "c", fleet.Offer{Priority: 1})
		if got := lease(t, s, 2); got != "cc" {
			t.Errorf("%s come first", got)
		}
		sendOffer(s, "c", fleet.Offer{Over: true})
		turns := lease(t, s, 40)
		if a, b := strings.Count(turns, "a"), strings.Count(turns, "b"); a != 10 || b != 30 {
			t.Errorf("%d and %d of 40 jobs are of sweeps with weights 1 and 3", a, b)
		}
	})
}

// A sweep that had no jobs cannot claim the time that others used meanwhile. A sweep that waits for
// its turn can.
func TestLateSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newJobQueue(t.Context(), 2)
		sendOffer(s, "a", fleet.Offer{})
		sendOffer(s, "b", fleet.Offer{})
		enqueue(t, s, "a", "a0", "a1", "a2")
		run(s, 2, 100)
		s.setIdle("b")
		sendOffer(s, "b", fleet.Offer{})
		run(s, 1, 1)
		if turns := lease(t, s, 4); strings.Count(turns, "a") != 2 {
			t.Errorf("the next four jobs are of the sweeps %s, want two of each", turns)
		}
		enqueue(t, s, "a", "a3")
		sendOffer(s, "b", fleet.Offer{})
		run(s, 1, 10)
		if turns := lease(t, s, 8); turns != "bbbbbbbb" {
			t.Errorf("after a job of ten seconds, the next jobs are of the sweeps %s", turns)
		}
	})
}

// Jobs that a leader drops are canceled, waiting or running, and all jobs when the sweep is over.
func TestDroppedJobs(t *testing.T) {
	s := newJobQueue(t.Context(), 1)
	sendOffer(s, "a", fleet.Offer{})
	enqueue(t, s, "a", "1", "2", "3")
	first := s.next()
	sendOffer(s, "a", fleet.Offer{Dropped: []string{"2", "unknown"}})
	if got := waiting(s); first.ID != "1" || got != "2 3" || first.ctx.Err() != nil {
		t.Errorf("running %s (%v), waiting %s", first.ID, first.ctx.Err(), got)
	}
	if second := s.next(); second.ctx.Err() == nil {
		t.Error("a dropped job was not canceled while it waited")
	}
	sendOffer(s, "b", fleet.Offer{Over: true})
	if first.ctx.Err() != nil {
		t.Error("another sweep is over, and the job is canceled")
	}
	sendOffer(s, "a", fleet.Offer{Over: true})
	if first.ctx.Err() == nil || s.add(&queue.Job{Term: queue.Term{Sweep: "a"}}, &trial.Job{}) {
		t.Errorf("the sweep is over: running: %v", first.ctx.Err())
	}
	if left := s.close(); len(left) != 1 || s.next() != nil || s.add(&queue.Job{}, &trial.Job{}) {
		t.Errorf("a closed queue returns %d jobs, runs one or accepts one", len(left))
	}
}

// A worker leases as many jobs as its slots need soon, from sweeps that it can run and whose leaders send offers.
func TestDemand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newJobQueue(t.Context(), 2)
		wants := func(what string, jobs int, sweeps ...string) {
			t.Helper()
			if got, n := s.demand(time.Now()); n != jobs || !slices.Equal(got, sweeps) {
				t.Errorf("%s: %d jobs of %v, want %d of %v", what, n, got, jobs, sweeps)
			}
		}
		wants("no sweep", 2)
		sendOffer(s, "a", fleet.Offer{})
		sendOffer(s, "b", fleet.Offer{Priority: 1})
		s.updateOffer("c", &fleet.Offer{Weight: 1}, &fleet.Refusal{Sweep: "c", Never: true})
		wants("at first", 2, "b", "a")
		enqueue(t, s, "a", "1")
		wants("one is held", 1, "b", "a")
		s.refuse("b", "data", "no disk", false)
		wants("a fault", 1, "a")
		time.Sleep(fleet.Interval)
		wants("after a while", 1, "b", "a")
		s.refuse("b", "data", "no disk", false)
		time.Sleep(fleet.Interval)
		wants("after another fault", 1, "a")
		enqueue(t, s, "a", "2")
		wants("every slot has a job", 0)
		for range 2 {
			s.recordRunTime(s.next())
		}
		wants("results are being stored", 2, "a")
		enqueue(t, s, "a", "3", "4")
		for range 2 {
			s.recordRunTime(s.next())
		}
		wants("too many results are being stored", 0)
		time.Sleep(fleet.Silence)
		s.remove(s.leasedJobs()[0])
		wants("silent leaders", 1)
	})
}
