package coordinator

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/shatterlab/shatter/pipeline/fleet"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// trouble is a second worker that misbehaves.
type trouble struct {
	conn  *queue.Conn
	sweep string
	codes []string
	jobs  int // number of leased jobs
	// handle processes a job and reports whether the worker holds it, as one that runs for very
	// long.
	handle  func(x *trouble, j *queue.Job) (held bool)
	refusal *fleet.Refusal
	joined  chan struct{} // closed when the other worker has a job
	took    chan struct{} // closed when this worker has had its first job; nil: not waited for
}

func (x *trouble) run(ctx context.Context, t *testing.T) {
	held := map[string]*queue.Job{}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	if !offered(t, ctx, x.conn, func() { x.announce(t, held) }) {
		return
	}
	for ctx.Err() == nil {
		x.announce(t, held)
		if x.refusal != nil {
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
			continue
		}
		_ = puller(t, x.conn, "trouble").Lease(ctx, x.sweep, 1, 10*time.Millisecond, func(j *queue.Job) {
			if avoided(t, "trouble", j) {
				return
			}
			x.jobs++
			if x.handle(x, j) {
				held[j.ID] = j
			}
			if x.jobs == 1 && x.took != nil {
				close(x.took)
			}
		})
	}
}

// announce publishes a heartbeat and extends the leases of the worker.
func (x *trouble) announce(t *testing.T, held map[string]*queue.Job) {
	w := &fleet.Worker{Name: "trouble", Slots: 2, Profile: trial.FloatProfile(), Plugins: x.codes}
	for _, j := range held {
		w.Held = append(w.Held, fleet.Held{Sweep: j.Sweep, Epoch: j.Epoch, ID: j.ID, Running: 1e6})
		_ = j.Extend()
	}
	if x.refusal != nil {
		w.Refusals = []fleet.Refusal{*x.refusal}
	}
	beat(t, x.conn, w)
}

func (x *trouble) publish(j *queue.Job, data []byte) bool {
	_ = puller(nil, x.conn, "trouble").Publish(context.Background(), queue.Part{Term: j.Term, Job: j.ID, Of: 1}, data)
	_ = j.Done()
	return false
}

// A worker that hangs, cannot run the sweep or is too slow costs no outcome: the other worker does
// its work, and the table equals that of an undisturbed run.
func TestTroublesomeWorker(t *testing.T) {
	t.Parallel()
	want := reference(t)
	for name, take := range map[string]func(x *trouble, j *queue.Job) bool{
		"hangs": func(*trouble, *queue.Job) bool { return true },
		"cannot": func(x *trouble, j *queue.Job) bool {
			x.refusal = &fleet.Refusal{Sweep: j.Sweep, What: "data", Reason: "the disk is full", Never: true}
			return j.Return(0) != nil
		},
		"is too slow": func(x *trouble, j *queue.Job) bool {
			<-x.joined // a single machine is trusted
			job, err := trial.DecodeJob(j.Data)
			if err != nil {
				return true
			}
			b := refused(job)
			if b == nil {
				b = outcomes(job)
				for _, rep := range b.Repetition {
					lose(b, rep)
				}
			}
			b.Worker = "trouble"
			data, err := b.Encode()
			return err != nil || x.publish(j, data)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			x, ended, join := &trouble{handle: take, joined: make(chan struct{})}, sync.WaitGroup{}, sync.Once{}
			if name != "is too slow" { // that script waits itself
				x.took = make(chan struct{})
			}
			script := func(f *fake, job *trial.Job, b *ledger.Batch) {
				join.Do(func() { close(x.joined) })
				if x.took != nil {
					<-x.took // this worker must have trials that count, not only rechecks
				}
				honest(f, job, b)
			}
			s, _, err := setup{dir: t.TempDir(), script: script, change: func(c *Config) {
				c.Workers = nil                    // other workers may join
				c.Healing = 200 * time.Millisecond // longer, because a busy machine must not count as gone
				if name == "is too slow" {         // longer still, because the other worker must not count as gone
					c.Healing = time.Second
				}
				x.conn, x.sweep, x.codes = c.Conn, c.Folder.ID, slices.Collect(maps.Values(c.Digests))
				ended.Go(func() { x.run(ctx, t) })
			}}.run(t, t.Context())
			cancel()
			ended.Wait()
			if err != nil || s.Digest != want || len(s.Alarms) > 0 || s.Unfinished != 1 || x.jobs == 0 {
				t.Errorf("%+v, %v; the worker had %d jobs", s, err, x.jobs)
			}
		})
	}
}
