package lead

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/schemas"
)

// Sweeps with more cells than a coordinator may lead at a time are led one after the other.
func TestManyCells(t *testing.T) {
	t.Parallel()
	const lease = 100 * time.Millisecond
	h := newHarbor(t)
	ids := map[string]bool{}
	for _, resolved := range []string{"a", "b"} {
		s := &Submission{Resolved: resolved, Cells: maxCells/2 + 1}
		_, _, err := Submit(t.Context(), h.registry, s, DesiredState{Do: Run})
		check(t, err)
		ids[s.Resolved] = true
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var at atomic.Int64
	loaded := make(chan string)
	served := make(chan error, 1)
	go func() {
		served <- Serve(ctx, Config{Conn: h.conn, Dir: t.TempDir(), Name: "c", Lease: lease,
			Load: func(ctx context.Context, s *Submission) (*Sweep, error) {
				if at.Add(1) > 1 {
					t.Error("two sweeps are led")
				}
				defer at.Add(-1)
				time.Sleep(3 * lease) // the other one would be loaded meanwhile
				select {
				case loaded <- s.Resolved:
				case <-ctx.Done():
				}
				return nil, errors.New("not here")
			}})
	}()
	for len(ids) > 0 {
		select {
		case id := <-loaded:
			delete(ids, id)
		case <-ctx.Done():
			t.Fatalf("sweeps %v are not led", ids)
		}
	}
	stop()
	check(t, <-served)
}

// Another text of the same sweep replaces the submitted one, and the secret seed of the first one
// stays.
func TestOtherText(t *testing.T) {
	t.Parallel()
	h := newHarbor(t)
	var first schemas.Seed
	for _, source := range []string{"a", "b"} {
		seed, err := schemas.DrawSeed()
		check(t, err)
		s := &Submission{Resolved: "r", Plan: source, Seed: seed, By: source}
		_, _, err = Submit(t.Context(), h.registry, s, DesiredState{Do: Run})
		check(t, err)
		if source == "a" {
			first = seed
		}
		e, err := h.registry.Find(t.Context(), s.ID())
		check(t, err)
		r, err := ReadRecord(e)
		check(t, err)
		if x := r.Submission; x.Plan != source || x.Seed != first || x.By != "a" {
			t.Errorf("%+v", x)
		}
	}
}

// Results of an ended sweep are removed even if its leader has stopped before it could do so.
func TestPurgeEnded(t *testing.T) {
	t.Parallel()
	h := newHarbor(t)
	queued, err := h.conn.Coordinate(t.Context(), queue.Term{Sweep: sweepID, Epoch: h.lead.Epoch})
	check(t, err)
	defer func() { check(t, queued.Close(t.Context())) }()
	worker, err := h.conn.Puller("w")
	check(t, err)
	s, purged := &server{Config: Config{Conn: h.conn}, registry: h.registry}, map[string]bool{}
	stored := func() bool {
		list, err := h.registry.List(t.Context())
		check(t, err)
		list[0].Leader = nil
		check(t, s.purgeEnded(t.Context(), list, purged))
		last, err := queued.Last(t.Context())
		check(t, err)
		return last > 0
	}
	part := queue.Part{Term: queue.Term{Sweep: sweepID, Epoch: h.lead.Epoch}, Job: "j", Of: 1}
	check(t, worker.Publish(t.Context(), part, nil))
	if !stored() {
		t.Error("the results of a sweep that has not ended were removed")
	}
	check(t, h.lead.Finish(t.Context(), []byte(`{"epoch":1,"summary":{}}`)))
	if stored() {
		t.Error("results are left")
	}
}
