package coordinator

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/pipeline/fleet"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// A colleague is a second worker next to the fake.
type colleague struct {
	name  string
	forge func(b *ledger.Batch) // changes the outcomes of an honest worker; nil: no change
	conn  *queue.Conn
	sweep string
	codes []string
	jobs  int // number of received jobs
}

func (x *colleague) run(ctx context.Context, t *testing.T) {
	announce := func() {
		beat(t, x.conn, &fleet.Worker{Name: x.name, Slots: 2, Profile: trial.FloatProfile(), Plugins: x.codes})
	}
	if !offered(t, ctx, x.conn, announce) {
		return
	}
	for ctx.Err() == nil {
		announce()
		err := puller(t, x.conn, x.name).Lease(ctx, x.sweep, 2, 10*time.Millisecond, func(j *queue.Job) {
			if !avoided(t, x.name, j) {
				x.jobs++
				x.answer(t, j)
			}
		})
		if err != nil {
			return // the run has ended
		}
	}
}

// avoided reports whether a job asks the worker to leave it to others.
func avoided(t *testing.T, worker string, j *queue.Job) bool {
	job, err := trial.DecodeJob(j.Data)
	if err == nil && (!slices.Contains(job.Avoid, worker) || j.Tries > 1000) {
		return false
	}
	if err := errors.Join(err, j.Return(10*time.Millisecond)); err != nil {
		t.Error(err)
	}
	return true
}

// answer runs a job and publishes its outcomes.
func (x *colleague) answer(t *testing.T, j *queue.Job) {
	job, err := trial.DecodeJob(j.Data)
	if err != nil {
		t.Error(err)
		return
	}
	b := refused(job)
	if b == nil {
		b = outcomes(job)
	}
	b.Worker = x.name
	if x.forge != nil {
		x.forge(b)
	}
	if data, err := b.Encode(); err == nil { // the run may have ended
		_ = puller(t, x.conn, x.name).Publish(context.Background(), queue.Part{Term: j.Term, Job: j.ID, Of: 1}, data)
	}
	_ = j.Done()
}

// with runs a sweep on the fake and its colleagues, and returns the counts of the manifest by
// worker.
func with(
	t *testing.T, dir string, share float64, others ...*colleague,
) (*Summary, map[string]schemas.ManifestWorker, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var ended sync.WaitGroup
	defer ended.Wait()
	defer cancel()
	summary, _, err := setup{dir: dir, script: honest, change: func(c *Config) {
		c.Workers, c.Healing, c.Recheck = nil, 200*time.Millisecond, share
		for _, x := range others {
			x.conn, x.sweep, x.codes = c.Conn, c.Folder.ID, slices.Collect(maps.Values(c.Digests))
			ended.Go(func() { x.run(ctx, t) })
		}
	}}.run(t, t.Context())
	workers := map[string]schemas.ManifestWorker{}
	if summary != nil {
		for _, w := range summary.Workers {
			workers[w.Name] = w
		}
	}
	return summary, workers, err
}

// Rechecks by another worker detect a worker that computes wrongly, and the alarm names both.
func TestWrongWorker(t *testing.T) {
	t.Parallel()
	wrong := &colleague{name: "wrong", forge: func(b *ledger.Batch) {
		for i, status := range b.Status {
			if status == ledger.OK {
				b.Values[0][i]++
			}
		}
	}}
	s, _, err := with(t, t.TempDir(), 1, wrong)
	if err != nil || s.Withheld == 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	for _, alarm := range s.Alarms {
		if !strings.Contains(alarm, `"wrong"`) || !strings.Contains(alarm, `"fake"`) {
			t.Errorf("the alarm does not name both workers: %s", alarm)
		}
	}
}

// A worker that computes wrongly is put in quarantine if the others agree without it, and its
// trials are run again.
func TestQuarantine(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	wrong := &colleague{name: "wrong", forge: func(b *ledger.Batch) {
		for i, status := range b.Status {
			if status == ledger.OK {
				b.Values[0][i]++
			}
		}
	}}
	dir := t.TempDir()
	s, workers, err := with(t, dir, 1, wrong, &colleague{name: "other"})
	if err != nil || s.Digest != reference(t) || s.Withheld > 0 || len(s.Alarms) > 0 || s.RechecksLeft > 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	m := folder.ReadManifest(dir)
	if notes := strings.Join(m.Runs[0].Notes, "\n"); !strings.Contains(notes, "worker wrong is in quarantine") {
		t.Errorf("notes: %s", notes)
	}
	if workers["wrong"].Results == 0 {
		t.Errorf("workers: %+v", workers)
	}
	if x := checkTables(t, dir); !x.Equal() {
		t.Errorf("%+v", x)
	}
}

// Results under the name of another worker are counted and dropped.
func TestOtherName(t *testing.T) {
	t.Parallel()
	x := &colleague{name: "x", forge: func(b *ledger.Batch) { b.Worker = "fake" }}
	s, workers, err := with(t, t.TempDir(), 0, x)
	if err != nil || s.Digest != reference(t) || len(s.Alarms) > 0 || workers["x"].Refused == 0 {
		t.Errorf("%+v, %v, %v", s, workers, err)
	}
}
