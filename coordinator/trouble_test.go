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

// trouble is a second worker that never does what it should.
type trouble struct {
	conn  *queue.Conn
	sweep string
	codes []string
	jobs  int // that it has leased
	// take deals with a job and reports whether it is held, as one that has been running for very long.
	take func(x *trouble, j *queue.Job) (held bool)
	silent,
	leaving bool
	refusal *fleet.Refusal
	joined  chan struct{} // closed when the other worker has a job
	took    chan struct{} // closed when this one has had its first; nil: it is not waited for
}

// run works until ctx ends.
func (x *trouble) run(ctx context.Context, t *testing.T) {
	held := map[string]*queue.Job{}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	if !offered(t, ctx, x.conn, func() { x.announce(t, held) }) {
		return
	}
	for ctx.Err() == nil {
		x.announce(t, held)
		if x.silent || x.leaving || x.refusal != nil {
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
			if x.take(x, j) {
				held[j.ID] = j
			}
			if x.jobs == 1 && x.took != nil {
				close(x.took)
			}
		})
	}
}

// announce publishes a heartbeat, unless the worker is silent, and extends its leases.
func (x *trouble) announce(t *testing.T, held map[string]*queue.Job) {
	if x.silent {
		return
	}
	w := &fleet.Worker{Name: "trouble", Slots: 2, Profile: trial.FloatProfile(), Plugins: x.codes, Leaving: x.leaving}
	for _, j := range held {
		w.Held = append(w.Held, fleet.Held{Sweep: j.Sweep, Epoch: j.Epoch, ID: j.ID, Running: 1e6})
		_ = j.Extend()
	}
	if x.refusal != nil {
		w.Refusals = []fleet.Refusal{*x.refusal}
	}
	beat(t, x.conn, w)
}

// publish publishes a result of a job.
func (x *trouble) publish(j *queue.Job, data []byte) bool {
	_ = puller(nil, x.conn, "trouble").Publish(context.Background(), queue.Part{Lead: j.Lead, Job: j.ID, Of: 1}, data)
	_ = j.Done()
	return false
}

// A worker that hangs, goes, leaves, fails or lies costs no trial its outcome: the other one does its
// work, and the table is that of an undisturbed run.
func TestTroublesomeWorker(t *testing.T) {
	t.Parallel()
	want := reference(t)
	for name, take := range map[string]func(x *trouble, j *queue.Job) bool{
		"hangs":      func(*trouble, *queue.Job) bool { return true },
		"loses jobs": func(_ *trouble, j *queue.Job) bool { return j.Done() != nil },
		"goes":       func(x *trouble, _ *queue.Job) bool { x.silent = true; return false },
		"leaves":     func(x *trouble, j *queue.Job) bool { x.leaving = true; return j.Return(0) != nil },
		"cannot": func(x *trouble, j *queue.Job) bool {
			x.refusal = &fleet.Refusal{Sweep: j.Sweep, What: "data", Reason: "the disk is full", Never: true}
			return j.Return(0) != nil
		},
		"sends garbage": func(x *trouble, j *queue.Job) bool { return x.publish(j, []byte("garbage")) },
		"is too slow": func(x *trouble, j *queue.Job) bool {
			<-x.joined // a machine that is alone is believed
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
			x, ended, join := &trouble{take: take, joined: make(chan struct{})}, sync.WaitGroup{}, sync.Once{}
			if name != "is too slow" { // which waits itself
				x.took = make(chan struct{})
			}
			script := func(f *fake, job *trial.Job, b *ledger.Batch) {
				join.Do(func() { close(x.joined) })
				if x.took != nil {
					<-x.took // so that it has trials that count, and not rechecks alone
				}
				honest(f, job, b)
			}
			s, _, err := setup{dir: t.TempDir(), script: script, change: func(c *Config) {
				c.Workers = nil                    // others may come
				c.Healing = 200 * time.Millisecond // so that a busy machine is not taken to be gone
				if name == "is too slow" {         // the other one must not be taken to be gone
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
