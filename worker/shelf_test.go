package worker

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shatterlab/shatter/pipeline/bus"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// shelve puts jobs of a sweep's epoch on a shelf.
func shelve(t *testing.T, s *shelf, sweep string, epoch uint64, job trial.Job, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if !s.add(bus.Job{Lead: bus.Lead{Sweep: sweep, Epoch: epoch}, ID: id}, &job) {
			t.Fatalf("job %s is not taken", id)
		}
	}
}

// waiting returns the jobs that wait, ascending.
func waiting(s *shelf) string {
	var ids []string
	held, _ := s.list(time.Now())
	for _, h := range held {
		if h.Running == 0 {
			ids = append(ids, h.ID)
		}
	}
	return strings.Join(ids, " ")
}

// run takes jobs off the shelf, each of which takes some seconds, and returns them in their order.
func run(t *testing.T, s *shelf, jobs int, seconds float64) (ids []string) {
	t.Helper()
	for range jobs {
		_, h := s.next(t.Context())
		ids = append(ids, h.ID)
		h.took = time.Duration(seconds * float64(time.Second))
		s.done(h)
	}
	return ids
}

// Sweeps share a worker's time by weight, and those of a higher priority come first.
func TestShelfOrder(t *testing.T) {
	s := newShelf()
	numbered := func(prefix string, n int) (ids []string) {
		for i := range n {
			ids = append(ids, fmt.Sprint(prefix, i))
		}
		return ids
	}
	shelve(t, s, "a", 1, trial.Job{}, numbered("a", 40)...)
	shelve(t, s, "b", 1, trial.Job{Weight: 3}, numbered("b", 40)...)
	shelve(t, s, "c", 1, trial.Job{Priority: 1}, "c0", "c1")
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
}

// A sweep that begins late has no claim on the time that others had before.
func TestShelfLateSweep(t *testing.T) {
	s := newShelf()
	shelve(t, s, "a", 1, trial.Job{}, "a0", "a1", "a2", "a3", "a4", "a5")
	run(t, s, 2, 100)
	shelve(t, s, "b", 1, trial.Job{}, "b0", "b1", "b2", "b3")
	var sweeps []byte
	for _, id := range run(t, s, 8, 1) {
		sweeps = append(sweeps, id[0])
	}
	if got := strings.Count(string(sweeps[:4]), "a"); got != 2 {
		t.Errorf("of the next four jobs %d are of the first sweep, want 2: %s", got, sweeps)
	}
}

// Jobs of a leader that was followed or has ended are dropped, wherever they are, and none comes
// back; jobs come once.
func TestShelfDrops(t *testing.T) {
	s := newShelf()
	shelve(t, s, "a", 5, trial.Job{}, "1", "2", "2", "3")
	ctx, running := s.next(t.Context())
	if running.ID != "1" || waiting(s) != "2 3" {
		t.Fatalf("running %s, waiting %s", running.ID, waiting(s))
	}
	shelve(t, s, "a", 5, trial.Job{}, "1") // again
	shelve(t, s, "a", 4, trial.Job{}, "old")
	s.dropped(bus.Drop{Lead: bus.Lead{Sweep: "a", Epoch: 5}, IDs: []string{"2", "unknown"}})
	if got := waiting(s); got != "3" || ctx.Err() != nil {
		t.Errorf("waiting %s, running: %v", got, ctx.Err())
	}
	s.dropped(bus.Drop{Lead: bus.Lead{Sweep: "a", Epoch: 4}}) // of a stale leader
	if got := waiting(s); got != "3" || ctx.Err() != nil {
		t.Errorf("a stale leader has dropped jobs: waiting %s, running: %v", got, ctx.Err())
	}
	shelve(t, s, "a", 6, trial.Job{}, "new")
	if got := waiting(s); got != "new" || ctx.Err() == nil {
		t.Errorf("after a new leader's first job: waiting %s, running: %v", got, ctx.Err())
	}
	s.dropped(bus.Drop{Lead: bus.Lead{Sweep: "a", Epoch: 6}})
	shelve(t, s, "a", 6, trial.Job{}, "late")
	if got := waiting(s); got != "" {
		t.Errorf("a sweep has ended, and %s waits", got)
	}
	s.done(running)
	if left := s.close(); len(left) != 0 || s.add(bus.Job{}, &trial.Job{}) {
		t.Errorf("a closed shelf holds %d jobs, or takes one", len(left))
	}
}

// A worker that has heard nothing of a leader for a while follows one of a smaller epoch: the server
// has lost its store, and counts epochs anew.
func TestShelfFollowsSmallerEpoch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		shelve(t, s, "sweep", 9, trial.Job{}, "a")
		shelve(t, s, "sweep", 3, trial.Job{}, "early")
		run(t, s, 1, 0)
		time.Sleep(forgotten)
		shelve(t, s, "sweep", 3, trial.Job{}, "soon")
		s.dropped(bus.Drop{Lead: bus.Lead{Sweep: "sweep", Epoch: 9}})
		time.Sleep(forgotten)
		shelve(t, s, "sweep", 9, trial.Job{}, "of the old leader")
		if got := waiting(s); got != "" {
			t.Errorf("taken: %s", got)
		}
		time.Sleep(time.Second)
		shelve(t, s, "sweep", 3, trial.Job{}, "b")
		if got := waiting(s); got != "b" {
			t.Errorf("taken: %q, want b", got)
		}
	})
}
