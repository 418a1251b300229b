package worker

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/shatterlab/shatter/pipeline/fleet"
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/queue"
)

// Jobs that one of two idle workers leaves to others go to the other one immediately, although the
// server offers each of them to the worker whose request is older.
func TestAvoid(t *testing.T) {
	server, err := queue.Embed(queue.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Shutdown()
	conn, err := server.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	q, err := conn.Coordinate(t.Context(), queue.Term{Sweep: "s", Epoch: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = q.Close(context.Background()) }() // the server may have ended
	ctx, end := context.WithCancel(t.Context())
	var leasing sync.WaitGroup
	defer leasing.Wait()
	defer end()
	var other *jobQueue
	for _, name := range []string{"avoided", "other"} {
		w := &worker{Config: Config{Name: name, Log: slog.New(slog.DiscardHandler)}}
		w.jobs = newJobQueue(ctx, 2)
		if w.queue, err = conn.Puller(name); err != nil {
			t.Fatal(err)
		}
		sendOffer(w.jobs, "s", fleet.Offer{})
		leasing.Go(func() { w.leaseJobs(ctx) })
		other = w.jobs
	}
	const jobs = 40
	began := time.Now()
	for i := range jobs {
		job := testJob(1)
		job.ID, job.Avoid, job.Cell.Evaluation = fmt.Sprint(i), []string{"avoided"}, &problem.Evaluation{}
		data, err := job.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if err := q.Publish(t.Context(), job.ID, data); err != nil {
			t.Fatal(err)
		}
		h := other.next()
		if err := h.Done(); err != nil {
			t.Fatal(err)
		}
		other.recordRunTime(h)
		other.remove(h)
	}
	if took, most := time.Since(began), jobs*avoidDelayStep/2; took > most {
		t.Errorf("the other worker leased %d jobs in %v, want %v at most", jobs, took, most)
	}
}
