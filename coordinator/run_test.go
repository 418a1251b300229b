package coordinator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/shatterlab/shatter/coordinator/audit"
	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/coordinator/pool"
	"github.com/shatterlab/shatter/pipeline/fleet"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/plan"
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

func TestMain(m *testing.M) {
	testkit.Overlap()
	testkit.TempInMemory()
	goleak.VerifyTestMain(m)
}

// refusal returns the message of a worker that does not run a job.
func refusal(job *trial.Job) *ledger.Batch {
	return &ledger.Batch{
		Sweep: job.Sweep, Cell: job.Cell.Key, N: job.N, Digest: job.Plugin, Profile: trial.FloatProfile(), Worker: "fake",
		Seconds: 1e-4, Refusal: ledger.NewRefusal(ledger.Infeasible, "the budget is too small"),
	}
}

// refused returns the refusal of the job's sample size; nil if there is none: picky is infeasible
// below 24 examples, sour refuses 24 or more, and the others accept any size.
func refused(job *trial.Job) *ledger.Batch {
	b := refusal(job)
	switch {
	case job.Cell.Algorithm == "picky" && job.N < 24:
	case job.Cell.Algorithm == "sour" && job.N >= 24:
		b.Refusal = ledger.NewRefusal(ledger.Invalid, "too many examples")
	default:
		return nil
	}
	return b
}

// truth returns the outcome of a trial: the error decreases with n, and some trials fail.
func truth(c *trial.Cell, n, rep int64) (status uint8, e float64) {
	rng := rand.New(rand.NewPCG(trial.Seed(c.NoiseKey, trial.AlgorithmNoise, uint64(n), uint32(rep))))
	if rng.Float64() < 0.02 {
		return ledger.Failed, math.NaN()
	}
	if rng.Float64() < 1/(1+math.Pow(20/float64(n), 6)) {
		return ledger.OK, rng.Float64() / 10
	}
	return ledger.OK, 0.5 + rng.Float64()/4
}

// testPlan makes a plan of three lists and three searches.
func testPlan(t testing.TB) *plan.Plan {
	t.Helper()
	p := &plan.Plan{
		Name: "test", Seed: trial.SweepSeed{Seed: schemas.NumberSeed(5)},
		Source: []byte("name: test\n"),
	}
	for i, algorithm := range []string{"plain", "plain", "picky", "plain", "picky", "sour"} {
		c := &trial.Cell{
			Task: "learn", Algorithm: algorithm, As: fmt.Sprintf("%s-%d", algorithm, i),
			Problem: &schemas.Problem{Class: "thresholds", Domain: 256},
			Alpha:   0.1, Beta: 0.2, Metrics: []string{"twice"}, Evaluation: &problem.Evaluation{Words: "exact"},
			Limits: trial.Limits{Trial: time.Minute, Memory: 1 << 30},
		}
		if i < 3 {
			c.N, c.Trials = []int64{10, 20, 40}, 150
		} else {
			c.Find, c.MaxTrials = &trial.Find{From: 4, To: 1000, Within: 2, Confidence: 0.9}, 5000
		}
		var err error
		if c.Key, err = trial.KeyOf(map[string]any{"as": c.As}); err != nil {
			t.Fatal(err)
		}
		c.NoiseKey, c.DataKey = c.Key, c.Key
		p.Cells = append(p.Cells, c)
	}
	return p
}

// A script decides what a fake does with the outcomes of a job.
type script func(f *fake, job *trial.Job, b *ledger.Batch)

// A fake is a worker that follows a script.
type fake struct {
	t      *testing.T
	conn   *queue.Conn
	sweep  string
	script script
	codes  []string // identities of its algorithms
	refuse script   // script for refusals; nil: publish them

	profile string // float profile that it announces

	mu     sync.Mutex
	job    *queue.Job           // present job
	sent   [][]byte             // messages that the script has sent for this job
	held   map[string]*heldBack // results by job, published when there are no more jobs
	rng    *rand.Rand
	once   map[string]bool
	trials int // number of trials in all jobs so far
}

// heldBack is a result that is published later.
type heldBack struct {
	job   *queue.Job
	batch *ledger.Batch
}

// first reports whether this is the first call with these arguments.
func (f *fake) first(format string, args ...any) bool {
	key := fmt.Sprintf(format, args...)
	seen := f.once[key]
	f.once[key] = true
	return !seen
}

// publish sends outcomes as a part of the job's results.
func (f *fake) publish(b *ledger.Batch) {
	data, err := b.Encode()
	if err != nil {
		f.t.Error(err)
		return
	}
	f.raw(data)
}

// raw sends a message, valid or not, when the script has ended.
func (f *fake) raw(data []byte) { f.sent = append(f.sent, data) }

// flush publishes the messages that a script has sent.
func (f *fake) flush(job *queue.Job) {
	for i, data := range f.sent {
		part := queue.Part{Term: job.Term, Job: job.ID, Index: i, Of: len(f.sent)}
		if err := puller(f.t, f.conn, "fake").Publish(context.Background(), part, data); err != nil {
			f.t.Error(err)
		}
	}
	f.sent = nil
	if err := job.Done(); err != nil {
		f.t.Error(err)
	}
}

// outcomes returns the outcomes that an honest worker computes for a job.
func outcomes(job *trial.Job) *ledger.Batch {
	b := &ledger.Batch{
		Sweep: job.Sweep, Cell: job.Cell.Key, N: job.N, Digest: job.Plugin, Profile: trial.FloatProfile(), Worker: "fake",
		Seconds: 2e-4 * float64(job.Count), Metrics: job.Cell.Metrics, Values: [][]float64{nil},
	}
	for i := range int(job.Count) {
		rep := job.Repetition(i)
		status, e := truth(job.Cell, job.N, rep)
		kind := ""
		if status == ledger.Failed {
			kind = "error"
		}
		b.Repetition, b.Status, b.Error = append(b.Repetition, rep), append(b.Status, status), append(b.Error, e)
		b.Kind, b.Values[0] = append(b.Kind, kind), append(b.Values[0], 2*e)
	}
	return b
}

// part returns the rows from..to-1 of a batch.
func part(b *ledger.Batch, from, to int) *ledger.Batch {
	c := *b
	c.Repetition, c.Status, c.Error, c.Kind = b.Repetition[from:to], b.Status[from:to], b.Error[from:to], b.Kind[from:to]
	c.Values = [][]float64{b.Values[0][from:to]}
	return &c
}

// lose marks the trial of a repetition as lost, and reports whether the batch has it.
func lose(b *ledger.Batch, rep int64) bool {
	i := slices.Index(b.Repetition, rep)
	if i >= 0 {
		b.Status[i], b.Error[i], b.Kind[i], b.Values[0][i] = ledger.Lost, math.NaN(), "time", math.NaN()
		b.Reason = slices.Repeat([]string{""}, len(b.Status))
		b.Reason[i] = "too slow"
	}
	return i >= 0
}

func (f *fake) run(ctx context.Context) {
	defer f.release()
	if !offered(f.t, ctx, f.conn, f.announce) {
		return
	}
	for idle := 0; ctx.Err() == nil; {
		f.announce()
		var jobs []*queue.Job
		take := func(j *queue.Job) { jobs = append(jobs, j) }
		if err := puller(f.t, f.conn, "fake").Lease(ctx, f.sweep, 8, 10*time.Millisecond, take); err != nil {
			continue // the run may have ended
		}
		for _, j := range jobs {
			if !avoided(f.t, "fake", j) {
				f.work(j)
			}
		}
		switch idle++; {
		case len(jobs) > 0:
			idle = 0
		case idle > 3:
			f.release()
		}
	}
}

func (f *fake) work(message *queue.Job) {
	job, err := trial.DecodeJob(message.Data)
	if err != nil {
		f.t.Error(err)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.job = message
	switch no := refused(job); {
	case no == nil:
		f.trials += int(job.Count)
		f.script(f, job, outcomes(job))
	case f.refuse == nil:
		f.publish(no)
	default:
		f.refuse(f, job, no)
	}
	if f.held[message.ID] == nil {
		f.flush(message)
	}
}

// announce publishes the fake's heartbeat.
func (f *fake) announce() {
	f.mu.Lock()
	defer f.mu.Unlock()
	beat(f.t, f.conn, &fleet.Worker{Name: "fake", Slots: 2, Profile: f.profile, Plugins: f.codes})
}

func puller(t *testing.T, conn *queue.Conn, worker string) *queue.Puller {
	p, err := conn.Puller(worker)
	if err != nil {
		t.Error(err)
	}
	return p
}

// offered publishes heartbeats until a leader offers jobs. It reports false if ctx ends before.
func offered(t *testing.T, ctx context.Context, conn *queue.Conn, beat func()) bool {
	offers, stop, err := puller(t, conn, "offers").Offers()
	if err != nil {
		t.Error(err)
		return false
	}
	defer stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		beat()
		select {
		case <-offers:
			return true
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
}

// beat publishes a heartbeat, unless the run has ended.
func beat(t *testing.T, conn *queue.Conn, w *fleet.Worker) {
	data, err := w.Encode()
	if err != nil {
		t.Error(err)
	}
	_ = puller(t, conn, w.Name).Beat(data)
}

// release publishes the held results, in any order.
func (f *fake) release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	ids := slices.Sorted(maps.Keys(f.held))
	f.rng.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	for _, id := range ids {
		f.publish(f.held[id].batch)
		f.flush(f.held[id].job)
	}
	clear(f.held)
}

// honest publishes the outcomes as they are.
func honest(f *fake, _ *trial.Job, b *ledger.Batch) { f.publish(b) }

// claim claims a folder until the end of the test, unless it is closed earlier.
func claim(t *testing.T, dir string, p *plan.Plan, mode folder.Mode) *folder.Folder {
	t.Helper()
	f, err := folder.Claim(dir, p, mode)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// startFake starts a server and a worker that follows a script, for a coordinator's config. stop
// ends both, and so does the end of the test.
func startFake(t *testing.T, ctx context.Context, c *Config, script script) (f *fake, stop func()) {
	t.Helper()
	server, err := queue.Embed(queue.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Conn, err = server.Dial(t.Context()); err != nil {
		server.Shutdown()
		t.Fatal(err)
	}
	f = &fake{
		t: t, conn: c.Conn, sweep: c.Folder.ID, script: script, rng: rand.New(rand.NewPCG(1, 1)), once: map[string]bool{},
		codes: slices.Collect(maps.Values(c.Digests)), profile: trial.FloatProfile(), held: map[string]*heldBack{},
	}
	working, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	c.Workers = ended
	go func() { defer close(ended); f.run(working) }()
	stop = sync.OnceFunc(func() {
		cancel()
		<-ended
		c.Conn.Close()
		server.Shutdown()
	})
	t.Cleanup(stop)
	return f, stop
}

// hanging is the time after which a run counts as hanging, on the slowest machine.
const hanging = 5 * time.Minute

// setup is a sweep's folder, a server and a worker that follows a script.
type setup struct {
	dir    string
	mode   folder.Mode
	digest string // digest of all algorithms; "": one
	script script
	refuse script // script for refusals; nil: publish them

	digests map[string]string // replaces digest; nil: use digest
	profile string            // float profile that the worker announces; "": that of this machine
	change  func(*Config)
	plan    *plan.Plan // nil: testPlan
}

// run runs a sweep to its end. It fails the test if the run hangs.
func (s setup) run(t *testing.T, ctx context.Context) (*Summary, *fake, error) {
	t.Helper()
	if s.plan == nil {
		s.plan = testPlan(t)
	}
	if s.digests == nil {
		s.digests = madeBy(cmp.Or(s.digest, "one"))
	}
	cfg := Config{
		Config: pool.Config{Digests: s.digests, Healing: 100 * time.Millisecond},
		Folder: claim(t, s.dir, s.plan, s.mode), Slots: 2,
	}
	defer cfg.Folder.Close()
	f, stop := startFake(t, ctx, &cfg, s.script)
	defer stop()
	f.mu.Lock()
	f.refuse, f.profile = s.refuse, cmp.Or(s.profile, f.profile)
	f.mu.Unlock()
	if s.change != nil {
		s.change(&cfg)
		f.mu.Lock()
		f.codes = slices.Collect(maps.Values(cfg.Digests))
		f.mu.Unlock()
	}
	guarded, cancel := context.WithTimeout(ctx, hanging)
	defer cancel()
	summary, err := Run(guarded, cfg)
	if ctx.Err() == nil && guarded.Err() != nil {
		t.Fatal("the run hangs")
	}
	return summary, f, err
}

func madeBy(digest string) map[string]string {
	return map[string]string{"plain": digest, "picky": digest, "sour": digest}
}

// undisturbed holds the digest of a run of testPlan by an honest worker. All tests share it.
var undisturbed struct {
	sync.Once
	digest string
}

// reference returns the digest of an undisturbed run.
func reference(t *testing.T) string {
	t.Helper()
	undisturbed.Do(func() {
		s, _, err := setup{dir: t.TempDir(), script: honest}.run(t, t.Context())
		if err != nil || len(s.Alarms) > 0 || s.Decided != 6 || s.Unfinished != 1 {
			t.Fatalf("%+v, %v", s, err)
		}
		undisturbed.digest = s.Digest
	})
	if undisturbed.digest == "" {
		t.Fatal("the undisturbed run failed in another test")
	}
	return undisturbed.digest
}

// The result is the same for all behaviors of workers and of the network.
func TestSameResult(t *testing.T) {
	t.Parallel()
	want := reference(t)
	for name, script := range map[string]script{
		"honest":  honest,
		"doubled": func(f *fake, _ *trial.Job, b *ledger.Batch) { f.publish(b); f.publish(b) },
		"reordered": func(f *fake, _ *trial.Job, b *ledger.Batch) {
			f.held[f.job.ID] = &heldBack{f.job, b}
		},
		"in pieces": func(f *fake, _ *trial.Job, b *ledger.Batch) {
			for from := len(b.Status); from > 0; {
				to := from
				from = max(0, from-1-f.rng.IntN(20))
				f.publish(part(b, from, to))
			}
		},
		"dropped": func(f *fake, job *trial.Job, b *ledger.Batch) {
			if f.rng.IntN(3) > 0 || !f.first("%s %d %d", job.Cell.As, job.N, job.First) {
				f.publish(b)
			}
		},
		"half of it dropped": func(f *fake, job *trial.Job, b *ledger.Batch) {
			// Once per size: missing trials return in jobs with other boundaries, and a job that is
			// cut too often ends the run.
			if f.rng.IntN(3) == 0 && f.first("%s %d", job.Cell.As, job.N) {
				b = part(b, len(b.Status)/3, len(b.Status)/3+1)
			}
			f.publish(b)
		},
		"another sweep": func(f *fake, _ *trial.Job, b *ledger.Batch) {
			other := *b
			other.Sweep = "other"
			f.publish(&other)
			f.publish(b)
		},
		"unknown cell": func(f *fake, _ *trial.Job, b *ledger.Batch) {
			other := *b
			other.Cell[3] ^= 1
			f.publish(&other)
			f.publish(b)
		},
		"unknown trials": func(f *fake, job *trial.Job, b *ledger.Batch) {
			other := *b
			other.N = 100_000
			f.publish(&other)
			other = *part(b, 0, 1)
			other.Repetition = []int64{math.MaxInt32 - 1}
			f.publish(&other)
			f.publish(b)
		},
		"another profile": func(f *fake, job *trial.Job, b *ledger.Batch) {
			f.publish(b)
			other := *b
			other.Profile = "vax"
			other.Error = slices.Repeat([]float64{math.NaN()}, len(b.Error))
			other.Status = slices.Repeat([]uint8{ledger.Failed}, len(b.Error))
			f.publish(&other)
		},
		"another plugin file": func(f *fake, job *trial.Job, b *ledger.Batch) {
			other := *b
			other.Digest, other.Error = "old", slices.Clone(b.Error)
			other.Error[0] += 1
			f.publish(&other)
			f.publish(b)
		},
		"other metrics": func(f *fake, job *trial.Job, b *ledger.Batch) {
			other := *b
			other.Metrics = []string{"thrice"}
			f.publish(&other)
			f.publish(b)
		},
		"garbage": func(f *fake, job *trial.Job, b *ledger.Batch) {
			f.raw(nil)
			f.raw([]byte("garbage"))
			data, err := b.Encode()
			if err != nil {
				f.t.Error(err)
			}
			f.raw(data[:len(data)-9])
			data[f.rng.IntN(len(data))] ^= 0x80
			if _, err := ledger.Decode(data); err != nil { // a flipped number would be another outcome
				f.raw(data)
			}
			f.publish(b)
		},
		"strange times": func(f *fake, _ *trial.Job, b *ledger.Batch) {
			b.Seconds = []float64{0, 5e-324, 1e308, 1}[f.rng.IntN(4)]
			f.publish(b)
		},
		"lost, then found": func(f *fake, job *trial.Job, b *ledger.Batch) {
			lost := *b
			lost.Status, lost.Error, lost.Kind = slices.Clone(b.Status), slices.Clone(b.Error), slices.Clone(b.Kind)
			lost.Values = [][]float64{slices.Clone(b.Values[0])}
			f.publish(b)
			if lose(&lost, job.First) {
				f.publish(&lost)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s, _, err := setup{dir: dir, script: script}.run(t, t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if s.Digest != want || len(s.Alarms) > 0 {
				t.Errorf("digest %s, want %s; alarms %v", s.Digest, want, s.Alarms)
			}
			s, _, err = setup{dir: dir, script: honest}.run(t, t.Context())
			if err != nil || s.Digest != want || s.Trials != 0 {
				t.Errorf("the same command again: %+v, %v", s, err)
			}
		})
	}
}

// Two outcomes of one trial raise one alarm, for any order and number of copies, and mark the cell.
func TestConflict(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	conflicting := func(f *fake, job *trial.Job, b *ledger.Batch) {
		f.publish(b)
		if i := slices.Index(b.Repetition, 3); i >= 0 && job.N == 20 && job.Cell.As == "plain-0" {
			b.Values[0][i] += 1
			f.publish(b)
			f.publish(b)
		}
	}
	for _, script := range []script{conflicting, honest} {
		s, _, err := setup{dir: dir, script: script}.run(t, t.Context())
		if err != nil || len(s.Alarms) != 1 || !strings.Contains(s.Alarms[0], "/20/3") {
			t.Errorf("%+v, %v", s, err)
		}
		table, err := os.ReadFile(filepath.Join(dir, "table.csv"))
		if err != nil || strings.Count(string(table), "integrity alarm: 1 trials") != 1 {
			t.Errorf("the table marks no cell: %v\n%s", err, table)
		}
	}
}

// Lost trials leave their cells undecided with the reason, and the same command tries again.
func TestLost(t *testing.T) {
	t.Parallel()
	want, dir := reference(t), t.TempDir()
	s, _, err := setup{dir: dir, script: func(f *fake, job *trial.Job, b *ledger.Batch) {
		if lose(b, 5) {
			f.publish(b) // sent twice, counted once
		}
		f.publish(b)
	}}.run(t, t.Context())
	if err != nil || s.Digest == want || s.Unfinished != 6 || len(s.Failures) != 2 || s.Failures[1].Reason != "too slow" {
		t.Errorf("%+v, %v", s, err)
	}
	table, err := os.ReadFile(filepath.Join(dir, "table.csv"))
	if err != nil || !strings.Contains(string(table), "repetition 5 at n = 10: too slow") {
		t.Errorf("table: %s, %v", table, err)
	}
	s, _, err = setup{dir: dir, script: honest}.run(t, t.Context())
	if err != nil || s.Digest != want {
		t.Errorf("%+v, %v", s, err)
	}
}

// A job that never returns ends the run if no other worker can answer it, and the same command
// continues.
func TestNeverComesBack(t *testing.T) {
	t.Parallel()
	want, dir := reference(t), t.TempDir()
	_, _, err := setup{dir: dir, script: func(f *fake, job *trial.Job, b *ledger.Batch) {
		if job.Cell.As != "plain-0" || job.N != 20 {
			f.publish(b)
		}
	}}.run(t, t.Context())
	if err == nil || !strings.Contains(err.Error(), "never came") {
		t.Errorf("error %v", err)
	}
	s, _, err := setup{dir: dir, script: honest}.run(t, t.Context())
	if err != nil || s.Digest != want || s.Unfinished != 1 {
		t.Errorf("%+v, %v", s, err)
	}
}

// The end of the context is not an error at any moment, and finished work is not repeated.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	want, dir := reference(t), t.TempDir()
	ran, interruptions := 0, 0
	for jobs := 0; ; jobs += 4 {
		ctx, cancel := context.WithCancel(t.Context())
		if jobs == 0 {
			cancel()
		}
		left := jobs
		s, f, err := setup{dir: dir, script: func(f *fake, _ *trial.Job, b *ledger.Batch) {
			if left--; left == 0 {
				cancel()
			}
			f.publish(b)
		}}.run(t, ctx)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		ran += f.trials
		if !s.Interrupted {
			if s.Digest != want {
				t.Errorf("digest %s, want %s", s.Digest, want)
			}
			break
		}
		if s.Digest != "" {
			t.Errorf("interrupted with a digest: %+v", s)
		}
		interruptions++
	}
	outcomes := claim(t, dir, testPlan(t), folder.Mode{}).Report.Outcomes
	if interruptions < 3 || ran > int(outcomes)+400 {
		t.Errorf("%d interruptions, %d trials run for %d outcomes", interruptions, ran, outcomes)
	}
}

// Without workers the run returns an error instead of waiting, and keeps the outcomes so far.
func TestWorkersEnd(t *testing.T) {
	t.Parallel()
	dir, jobs := t.TempDir(), 0
	gone := make(chan struct{})
	leaving := func(f *fake, _ *trial.Job, b *ledger.Batch) {
		if jobs++; jobs == 3 {
			close(gone)
		}
		f.publish(b)
	}
	change := func(c *Config) { c.Workers = gone }
	_, _, err := setup{dir: dir, change: change, script: leaving}.run(t, t.Context())
	if !errors.Is(err, pool.ErrWorkers) {
		t.Errorf("error %v", err)
	}
	s, _, err := setup{dir: dir, script: honest}.run(t, t.Context())
	if err != nil || s.Digest != reference(t) {
		t.Errorf("%+v, %v", s, err)
	}
}

// Outcomes of another plugin file are compared once with outcomes of the present file. A difference
// stops the run until these outcomes are dropped.
func TestRecheck(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	want, dir := reference(t), t.TempDir()
	must := func(s setup, redone bool) {
		t.Helper()
		s.dir = dir
		got, f, err := s.run(t, t.Context())
		if err != nil || got.Digest != want || (f.trials > 0) != redone {
			t.Errorf("%s: %+v, %v, %d trials", s.digest, got, err, f.trials)
		}
	}
	must(setup{digest: "a", script: honest}, true)
	must(setup{digest: "b", script: honest}, true)
	must(setup{digest: "b", script: honest}, false)
	must(setup{digest: "a", script: honest}, false) // no outcome was made with b
	must(setup{digest: "c", script: func(f *fake, job *trial.Job, b *ledger.Batch) {
		if !f.first("%s %d %d", job.Cell.As, job.N, job.First) { // dropped once
			f.publish(b)
		}
	}}, true)

	// One recorded digest may correspond to several present ones: an old binary and the built-in
	// algorithms.
	several := map[string]string{"plain": "x", "picky": "y", "sour": "z"}
	must(setup{digests: several, script: honest}, true)
	must(setup{digests: several, script: honest}, false)

	other := func(f *fake, _ *trial.Job, b *ledger.Batch) {
		b.Values[0][0] = 77
		f.publish(b)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stop := func(*fake, *trial.Job, *ledger.Batch) { cancel() }
	s, _, err := setup{dir: dir, digest: "d", script: stop}.run(t, ctx)
	if err != nil || !s.Interrupted {
		t.Errorf("interrupted: %+v, %v", s, err)
	}
	var code *audit.CodeError
	_, _, err = setup{dir: dir, digest: "d", script: other}.run(t, t.Context())
	if !errors.As(err, &code) || !strings.Contains(code.Difference, "77") ||
		!strings.Contains(code.Change, "code has changed from sha256") {
		t.Errorf("error %v", err)
	}
	lost := func(f *fake, job *trial.Job, b *ledger.Batch) { lose(b, job.First); f.publish(b) }
	_, _, err = setup{dir: dir, digest: "d", script: lost}.run(t, t.Context())
	if err == nil || !strings.Contains(err.Error(), "too slow") {
		t.Errorf("error %v", err)
	}
	never := func(*fake, *trial.Job, *ledger.Batch) {}
	_, _, err = setup{dir: dir, digest: "d", script: never}.run(t, t.Context())
	if err == nil || !strings.Contains(err.Error(), "never came") {
		t.Errorf("error %v", err)
	}
	must(setup{digest: "d", mode: folder.Mode{Redo: true}, script: honest}, true)
	must(setup{digest: "d", script: honest}, false)
}

// Workers elsewhere may run a plugin in other environments than recorded outcomes. The rechecks are made again
// then, and a note names the change.
func TestOtherEnvironment(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	dir := t.TempDir()
	in := func(version string) script {
		return func(f *fake, _ *trial.Job, b *ledger.Batch) {
			b.Environment = schemas.Environment{{Name: "mylib", Version: version}}
			b.Digest = b.Environment.Identify(b.Digest)
			f.publish(b)
		}
	}
	rechecks := func(c *Config) { c.Recheck = 0.1 }
	for _, x := range []struct {
		script    script
		plan      func(*plan.Plan)
		rechecked bool
		note      bool
	}{
		{in("1.0"), func(p *plan.Plan) { p.Cells = p.Cells[:3] }, true, false},
		{in("1.0"), func(p *plan.Plan) { p.Cells = p.Cells[:3] }, false, false},
		{in("1.1"), func(*plan.Plan) {}, true, true},
	} {
		p := testPlan(t)
		x.plan(p)
		s, _, err := setup{dir: dir, plan: p, mode: folder.Mode{Extend: true}, change: rechecks, script: x.script}.run(
			t, t.Context())
		if err != nil || (s.Rechecked > 0) != x.rechecked {
			t.Fatalf("%+v, %v", s, err)
		}
		notes := fmt.Sprint(folder.ReadManifest(dir).Runs)
		if strings.Contains(notes, "another environment than before (mylib 1.0 -> 1.1)") != x.note {
			t.Errorf("notes %s", notes)
		}
	}
}

// A run refuses to continue with outcomes of another float profile if its own workers would refuse
// its jobs.
func TestOtherMachine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	if _, _, err := (setup{dir: dir, profile: "vax", script: func(f *fake, _ *trial.Job, b *ledger.Batch) {
		b.Profile = "vax"
		f.publish(b)
		cancel()
	}}).run(t, ctx); err != nil {
		t.Fatal(err)
	}
	_, _, err := setup{dir: dir, script: honest}.run(t, t.Context())
	if err == nil || !strings.Contains(err.Error(), "vax") {
		t.Errorf("error %v", err)
	}
}

// After cells are added, outcomes that still apply are kept.
func TestExtend(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	dir, part := t.TempDir(), testPlan(t)
	part.Cells = part.Cells[1:4]
	if s, _, err := (setup{dir: dir, plan: part, script: honest}).run(t, t.Context()); err != nil || s.Decided != 3 {
		t.Fatalf("%+v, %v", s, err)
	}
	var changed *folder.ChangedError
	if _, err := folder.Claim(dir, testPlan(t), folder.Mode{}); !errors.As(err, &changed) {
		t.Errorf("error %v", err)
	}
	s, _, err := setup{dir: dir, mode: folder.Mode{Extend: true}, script: honest}.run(t, t.Context())
	if err != nil || s.Digest != reference(t) {
		t.Errorf("%+v, %v", s, err)
	}
}
