package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/pipeline/bus"
	"github.com/shatterlab/shatter/pipeline/fleet"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// colleague is a worker beside the fake.
type colleague struct {
	name   string
	forge  func(job *trial.Job, b *ledger.Batch) // changes what an honest worker would send; nil: it does not
	stray  func(x *colleague, j bus.Job, job *trial.Job, b *ledger.Batch)
	waits  func(job *trial.Job) bool // whether it does not answer yet; nil: it answers at once
	sent   func(job *trial.Job)      // called once its result is on the server; nil: nothing
	conn   *bus.Conn
	codes  []string
	forged int               // outcomes
	apart  bool              // it says that it has another float profile, and many slots
	there  chan struct{}     // closed when it has announced itself; nil: nobody waits for that
	after  []<-chan struct{} // it lets others announce themselves first
	brief  bool              // it says what plugins it has when it is called alone, but for the first time
	jobs   int               // that it was sent
}

// run works until ctx ends.
func (x *colleague) run(ctx context.Context, t *testing.T) {
	inbox, err := x.conn.Listen(x.name)
	if err != nil {
		t.Error(err)
		return
	}
	defer inbox.Close()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for _, there := range x.after {
		<-there
	}
	var later []bus.Job
	for calls, answers := 0, 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-inbox.Drops:
			continue
		case j := <-inbox.Jobs:
			x.jobs++
			if !x.answer(t, j) {
				later = append(later, j)
			}
			continue
		case <-inbox.Calls:
			calls++
		case <-tick.C:
			later = slices.DeleteFunc(later, func(j bus.Job) bool { return x.answer(t, j) })
		}
		w := &fleet.Worker{Name: x.name, Slots: 2, Profile: trial.FloatProfile(), Plugins: x.codes}
		if x.apart {
			w.Slots, w.Profile = 1000, apart
		}
		if x.brief && (calls < 2 || calls == answers) {
			w = w.Brief()
		}
		answers = calls
		data, err := w.Encode()
		if err != nil {
			t.Error(err)
			return
		}
		_ = x.conn.Announce(x.name, data) // the run may have ended
		if x.there != nil {
			close(x.there)
			x.there = nil
		}
	}
}

// answer runs a job. It reports false if that has to wait.
func (x *colleague) answer(t *testing.T, j bus.Job) bool {
	job, err := trial.DecodeJob(j.Data)
	if err != nil {
		t.Error(err)
		return true
	}
	if x.waits != nil && x.waits(job) {
		return false
	}
	b := refused(job)
	if b == nil {
		b = outcomes(job)
	}
	if b.Worker = x.name; x.apart {
		b.Profile = apart
	}
	if x.forge != nil {
		x.forge(job, b)
	}
	if x.stray != nil {
		x.stray(x, j, job, b)
	}
	x.publish(j.Lead, x.name, j.ID, b)
	if x.sent != nil {
		x.sent(job)
	}
	return true
}

// publish publishes a result; the run may have ended.
func (x *colleague) publish(lead bus.Lead, worker, job string, b *ledger.Batch) {
	if data, err := b.Encode(); err == nil {
		_ = x.conn.Publish(context.Background(), lead, bus.Part{Worker: worker, Job: job, Of: 1}, data)
	}
}

// lies returns a forge that changes each outcome with some chance, by as much as drift returns.
func (x *colleague) lies(share float64, drift func() float64) func(*trial.Job, *ledger.Batch) {
	rng := rand.New(rand.NewPCG(8, 8))
	return func(_ *trial.Job, b *ledger.Batch) {
		for i, status := range b.Status {
			if status == ledger.OK && rng.Float64() < share {
				b.Error[i] = min(1, b.Error[i]+drift())
				x.forged++
			}
		}
	}
}

// apart is a float profile that no other worker has.
const apart = "apart"

func always() float64 { return 0.25 }

// with runs a sweep on the fake and its colleagues, and returns what the manifest says of them.
func with(
	t *testing.T, s setup, share float64, others ...*colleague,
) (*Summary, map[string]schemas.ManifestWorker, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var ended sync.WaitGroup
	defer ended.Wait()
	defer cancel()
	if s.script == nil {
		s.script = honest
	}
	change := s.change
	s.change = func(c *Config) {
		c.Workers, c.Healing, c.CheckShare = nil, 200*time.Millisecond, share
		c.JobSizes = rand.New(rand.NewPCG(3, 3)) // many jobs
		if change != nil {
			change(c)
		}
		for _, x := range others {
			x.conn, x.codes = c.Conn, slices.Collect(maps.Values(c.Digests))
			ended.Go(func() { x.run(ctx, t) })
		}
	}
	summary, _, err := s.run(t, t.Context())
	workers := map[string]schemas.ManifestWorker{}
	if summary != nil {
		for _, w := range summary.Workers {
			workers[w.Name] = w
		}
	}
	return summary, workers, err
}

// The plugins of a worker that says only their digest are asked for, again where the first word was lost:
// it gets jobs as if it said them each time.
func TestBriefWorker(t *testing.T) {
	t.Parallel()
	want := reference(t)
	x := &colleague{name: "brief", brief: true}
	s, workers, err := with(t, setup{dir: t.TempDir()}, 1, x)
	if err != nil || s.Digest != want || len(s.Alarms) > 0 || x.jobs == 0 || workers["fake"].Checked == 0 {
		t.Errorf("%+v, %v; the worker had %d jobs", s, err, x.jobs)
	}
}

// A worker that lies about its outcomes is found out, set aside and forgotten: the table is the honest
// one. How much was to be forgotten depends on who was faster: it may have been found out by its first word,
// about trials of another worker.
func TestLiar(t *testing.T) {
	want := reference(t)
	for _, c := range []struct {
		name  string
		share float64 // of outcomes that are forged
	}{{"always", 1}, {"of 10", 0.1}, {"of 1000", 0.001}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			liar := &colleague{name: "liar"}
			liar.forge = liar.lies(c.share, always)
			dir := t.TempDir()
			s, workers, err := with(t, setup{dir: dir}, 1, liar, &colleague{name: "other"})
			if err != nil || s.Digest != want || len(s.Alarms) > 0 {
				t.Fatalf("%+v, %v", s, err)
			}
			w, n := workers["liar"], claimed(t, dir)["liar"]
			caught := w.SetAside != ""
			if caught && (liar.forged == 0 || n > 0) || c.share == 1 && !caught && n > 0 {
				t.Errorf("%d outcomes were forged, %d count: %+v", liar.forged, n, w)
			}
			for _, name := range []string{"fake", "other"} {
				if w := workers[name]; w.SetAside != "" || w.Checked == 0 || w.Refused > 0 {
					t.Errorf("%+v", w)
				}
			}
			if x := checkTables(t, dir); !x.Equal() {
				t.Errorf("%+v", x)
			}
		})
	}
}

// A liar is found out, too, by what it says of others alone, before the ledger has anything of it: then
// there is nothing to be dropped.
func TestLiarOfOthers(t *testing.T) {
	want := reference(t)
	var mu sync.Mutex
	known := map[string]bool{} // trials of which the server has an outcome
	trials := func(job *trial.Job) (ids []string) {
		for i := range int(job.Count) {
			ids = append(ids, job.Cell.TrialID(job.N, job.Repetition(i)))
		}
		return ids
	}
	other := &colleague{name: "other", sent: func(job *trial.Job) {
		mu.Lock()
		defer mu.Unlock()
		for _, id := range trials(job) {
			known[id] = true
		}
	}}
	liar := &colleague{name: "liar", waits: func(job *trial.Job) bool {
		mu.Lock()
		defer mu.Unlock()
		return slices.ContainsFunc(trials(job), func(id string) bool { return !known[id] })
	}}
	liar.forge = liar.lies(1, always)
	s, workers, err := with(t, setup{dir: t.TempDir()}, 1, liar, other)
	if err != nil || s.Digest != want || len(s.Alarms) > 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	w := workers["liar"]
	if w.Dropped > 0 {
		t.Errorf("%+v", w)
	}
	if w.SetAside == "" { // the sweep was over before it said anything
		t.Logf("%d outcomes were forged: %+v", liar.forged, w)
	}
}

// A liar that says it has a float profile of its own, so that nobody can check it, gets no job where others
// have one together, however many slots it says it has.
func TestLiarApart(t *testing.T) {
	other, third := &colleague{name: "other"}, &colleague{name: "third"}
	other.there, third.there = make(chan struct{}), make(chan struct{})
	liar := &colleague{name: "liar", apart: true, after: []<-chan struct{}{other.there, third.there}}
	liar.forge = liar.lies(1, always)
	s, workers, err := with(t, setup{dir: t.TempDir()}, 0.01, liar, other, third)
	if err != nil || s.Digest != reference(t) || len(s.Alarms) > 0 || workers["liar"].Results > 0 {
		t.Errorf("%+v, %v, %v", s, workers, err)
	}
}

// The sweep's float profile is that of most workers, of those the one of most slots. Where one worker alone
// is there, whom nobody could check, others have some time to come.
func TestProfile(t *testing.T) {
	at := time.Now()
	worker := func(name, profile string, slots int) *member {
		return &member{Worker: &fleet.Worker{Name: name, Profile: profile, Slots: slots}}
	}
	a, b, c := worker("a", "p", 9), worker("b", "q", 2), worker("c", "q", 2)
	for _, x := range []struct {
		members []*member
		share   float64
		after   time.Duration
		want    string
	}{
		{nil, 0.01, time.Hour, ""},
		{[]*member{a}, 0.01, 0, ""},
		{[]*member{a}, 0.01, othersWait, "p"},
		{[]*member{a}, 0, 0, "p"},
		{[]*member{a, b}, 0.01, othersWait, "p"},
		{[]*member{b, a}, 0, 0, "p"},
		{[]*member{a, b, c}, 0.01, 0, "q"},
	} {
		d := &dispatcher{tally: newTally(), checks: &checks{share: x.share}, crew: &crew{members: x.members}}
		d.hasProfile(at)
		if ok := d.hasProfile(at.Add(x.after)); d.tally.profile != x.want || ok != (x.want != "") {
			t.Errorf("%+v: profile %q", x, d.tally.profile)
		}
	}
}

// A worker that refuses sample sizes which the algorithm takes is found out, too.
func TestLyingRefusal(t *testing.T) {
	want := reference(t)
	liar := &colleague{name: "liar", forge: func(job *trial.Job, b *ledger.Batch) {
		if b.Refusal == nil {
			no := refusal(job)
			no.Worker = "liar"
			*b = *no
		}
	}}
	s, workers, err := with(t, setup{dir: t.TempDir()}, 0.01, liar, &colleague{name: "other"})
	if err != nil || s.Digest != want || len(s.Alarms) > 0 || workers["liar"].SetAside == "" {
		t.Errorf("%+v, %v", s, err)
	}
}

// What a liar has sent in an earlier run of the sweep, when nothing was checked, is dropped too.
func TestEarlierLies(t *testing.T) {
	want, dir := reference(t), t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	liar := &colleague{name: "liar"}
	forge := liar.lies(1, always)
	results := 0
	liar.forge = func(job *trial.Job, b *ledger.Batch) {
		if forge(job, b); job.Cell.Find == nil {
			if results++; results == 5 {
				cancel()
			}
		}
	}
	first := setup{dir: dir, script: honest, change: func(c *Config) {
		c.Workers, c.Healing, c.JobSizes = nil, 200*time.Millisecond, rand.New(rand.NewPCG(3, 3))
		liar.conn, liar.codes = c.Conn, slices.Collect(maps.Values(c.Digests))
		go liar.run(ctx, t)
	}}
	if s, _, err := first.run(t, ctx); err != nil || !s.Interrupted {
		t.Fatalf("%+v, %v", s, err)
	}
	known := claimed(t, dir)
	again := &colleague{name: "liar"}
	again.forge = again.lies(1, always)
	s, workers, err := with(t, setup{dir: dir}, 1, again, &colleague{name: "other"})
	if err != nil || s.Digest != want || len(s.Alarms) > 0 || workers["liar"].Dropped < known["liar"] {
		t.Errorf("%+v, %v; known %v", s, err, known)
	}
	// It stays set aside.
	s, workers, err = with(t, setup{dir: dir}, 1, &colleague{name: "liar"})
	if err != nil || s.Digest != want || s.Trials != 0 || workers["liar"].SetAside == "" {
		t.Errorf("again: %+v, %v", s, err)
	}
}

// claimed counts the outcomes of each worker in the ledger of a folder.
func claimed(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	f := claim(t, dir, testPlan(t), folder.Mode{})
	defer f.Close()
	counts := map[string]int64{}
	for _, c := range f.Plan.Cells {
		if err := f.Ledger.Each(c.Key, func(b *ledger.Batch) error {
			counts[strings.Clone(b.Worker)] += int64(len(b.Repetition))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	return counts
}

// Of two workers, the one that contradicts itself has lied. Where each stands by what it says the
// sweep ends, until a third one can tell.
func TestTwoWorkers(t *testing.T) {
	want := reference(t)
	t.Run("now and then", func(t *testing.T) {
		t.Parallel()
		liar, rng := &colleague{name: "liar"}, rand.New(rand.NewPCG(9, 9))
		liar.forge = liar.lies(0.1, rng.Float64)
		s, workers, err := with(t, setup{dir: t.TempDir()}, 1, liar)
		if err != nil || s.Digest != want || len(s.Alarms) > 0 || workers["liar"].SetAside == "" {
			t.Errorf("%+v, %v", s, err)
		}
	})
	t.Run("always", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		liar := func() *colleague { x := &colleague{name: "liar"}; x.forge = x.lies(1, always); return x }
		for range 2 {
			_, _, err := with(t, setup{dir: dir}, 1, liar())
			var dispute *IntegrityError
			if !errors.As(err, &dispute) || !slices.Contains(dispute.Workers, "liar") ||
				!slices.Contains(dispute.Workers, "fake") {
				t.Fatalf("error %v", err)
			}
		}
		s, workers, err := with(t, setup{dir: dir}, 1, liar(), &colleague{name: "other"})
		if err != nil || s.Digest != want || len(s.Alarms) > 0 || workers["liar"].SetAside == "" {
			t.Errorf("%+v, %v", s, err)
		}
	})
}

// Where most workers seem to lie the algorithm is to blame, and the sweep ends.
func TestNoMajority(t *testing.T) {
	unsteady := func(name string) *colleague {
		x, rng := &colleague{name: name}, rand.New(rand.NewPCG(uint64(len(name)), 9))
		x.forge = x.lies(0.2, rng.Float64)
		return x
	}
	self := unsteady("x")
	script := func(f *fake, job *trial.Job, b *ledger.Batch) { self.forge(job, b); f.publish(b) }
	_, _, err := with(t, setup{dir: t.TempDir(), script: script}, 1, unsteady("other"), unsteady("third"))
	var integrity *IntegrityError
	if !errors.As(err, &integrity) || len(integrity.Workers) < 2 {
		t.Errorf("error %v", err)
	}
}

// Honest workers are believed, and what is checked does not show in the result.
func TestHonestCrew(t *testing.T) {
	s, workers, err := with(t, setup{dir: t.TempDir()}, 0.1, &colleague{name: "other"}, &colleague{name: "third"})
	if err != nil || s.Digest != reference(t) || len(s.Alarms) > 0 || len(workers) != 3 {
		t.Fatalf("%+v, %v", s, err)
	}
	for _, w := range workers {
		if w.Results == 0 || w.Differing > 0 || w.SetAside != "" || w.Refused > 0 || w.Left > 0 || w.Checked > w.Results {
			t.Errorf("%+v", w)
		}
	}
}

// Results that nobody has asked their worker for are counted and dropped.
func TestUnasked(t *testing.T) {
	want := reference(t)
	for name, stray := range map[string]func(x *colleague, j bus.Job, job *trial.Job, b *ledger.Batch){
		"just beyond the job": func(x *colleague, j bus.Job, job *trial.Job, _ *ledger.Batch) {
			beyond := *job
			beyond.Picked, beyond.First, beyond.Count = nil, job.Repetition(int(job.Count)-1)+1, 3
			b := outcomes(&beyond)
			b.Worker = x.name
			x.lies(1, always)(job, b)
			x.publish(j.Lead, x.name, j.ID, b)
		},
		"another sample size": func(x *colleague, j bus.Job, job *trial.Job, b *ledger.Batch) {
			other := *b
			if other.N = 20; job.N != other.N {
				x.publish(j.Lead, x.name, j.ID, &other)
			}
		},
		"another worker's name": func(x *colleague, j bus.Job, _ *trial.Job, b *ledger.Batch) {
			other := *b
			other.Worker = "fake"
			x.publish(j.Lead, x.name, j.ID, &other)
		},
		"another worker's subject": func(x *colleague, j bus.Job, _ *trial.Job, b *ledger.Batch) {
			other := *b
			other.Worker = "fake"
			x.publish(j.Lead, "fake", j.ID, &other)
		},
		"a job that there is not": func(x *colleague, j bus.Job, _ *trial.Job, b *ledger.Batch) {
			x.publish(j.Lead, x.name, j.ID+"0", b)
		},
		"a retraction of another worker": func(x *colleague, j bus.Job, _ *trial.Job, _ *ledger.Batch) {
			data, err := json.Marshal(ledger.Retraction{
				Version: schemas.RetractionVersion, Sweep: j.Sweep, Worker: "fake", Reason: "it lies",
			})
			if err == nil {
				_ = x.conn.Publish(context.Background(), j.Lead, bus.Part{Worker: x.name, Job: j.ID, Of: 1}, data)
			}
		},
		"another epoch": func(x *colleague, j bus.Job, _ *trial.Job, b *ledger.Batch) {
			x.publish(bus.Lead{Sweep: j.Sweep, Epoch: j.Epoch + 1}, x.name, j.ID, b)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := &colleague{name: "x", stray: stray}
			s, workers, err := with(t, setup{dir: t.TempDir()}, 0, x)
			refused := workers["x"].Refused + workers["fake"].Refused
			if err != nil || s.Digest != want || len(s.Alarms) > 0 || refused == 0 || workers["fake"].SetAside != "" {
				t.Errorf("%+v, %v, %v", s, workers, err)
			}
		})
	}
}

// The ticket of a job holds for its worker and its epoch, also for a later leader, and for no other
// job.
func TestTicket(t *testing.T) {
	job := &trial.Job{ID: recheckPrefix, Cell: testPlan(t).Cells[0], N: 40, First: 3, Count: 7}
	leader := func(epoch uint64) *crew {
		return &crew{lead: bus.Lead{Sweep: "s", Epoch: epoch}, secret: []byte("secret")}
	}
	id := leader(4).signTicket(job, "w")
	want := ticket{job.Cell.Key.Short(), 40, 3, 10}
	thief := leader(4)
	thief.secret = []byte("guess")
	for _, c := range []struct {
		reader     *crew
		worker, id string
		epoch      uint64
		ok         bool
	}{
		{leader(4), "w", id, 4, true},
		{leader(9), "w", id, 4, true},
		{leader(4), "v", id, 4, false},
		{leader(4), "w", id, 5, false},
		{leader(4), "w", strings.Replace(id, "-10-", "-11-", 1), 4, false},
		{leader(4), "w", thief.signTicket(job, "w"), 4, false},
		{leader(4), "w", "", 4, false},
	} {
		m := &bus.Message{Part: bus.Part{Worker: c.worker, Job: c.id}, Epoch: c.epoch}
		if got, ok := c.reader.readTicket(m); ok != c.ok || ok && got != want {
			t.Errorf("job %q of worker %s, epoch %d: %+v, %t", c.id, c.worker, c.epoch, got, ok)
		}
	}
}

// The number of forged results that reach a table is what the comment on checks says, and stays below
// its bound. SECURITY.md shows it as a share of those that were forged.
func TestForgedResults(t *testing.T) {
	testkit.Serial(t)
	page := testkit.ReadFile(t, "../.github/SECURITY.md")
	rng := rand.New(rand.NewPCG(5, 5))
	for _, forged := range []float64{1, 0.1, 0.01, 0.001} {
		line := fmt.Sprintf("| %.4g %% |", 100*forged)
		for _, share := range []float64{0.001, 0.01, 0.05, 0.2} {
			const results = 1000
			want, mean, sigma := forgedOnAverage(share, results, forged, rng)
			if math.Abs(mean-want) > 4*sigma+1e-3 || want > 1/(math.E*share) {
				t.Errorf("of %d results %v are forged, %v checked: %.3f reach a table, the formula says %.3f, sigma %.3f",
					results, forged, share, mean, want, sigma)
			}
			t.Logf("forged %v, checked %v: %.4f of the forged ones reach a table, the formula says %.4f",
				forged, share, mean/results/forged, want/results/forged)
			if percent := 100 * want / results / forged; percent < 0.01 {
				line += " < 0.01 % |"
			} else {
				line += fmt.Sprintf(" %.2g %% |", percent)
			}
		}
		if !strings.Contains(page, line+"\n") {
			t.Errorf("SECURITY.md lacks the line %s", line)
		}
	}
	for _, results := range []int{20, 200} { // the first results are checked more often
		if want, mean, sigma := forgedOnAverage(0.05, results, 0.1, rng); math.Abs(mean-want) > 4*sigma+1e-3 {
			t.Errorf("%d results: %.3f, the formula says %.3f", results, mean, want)
		}
	}
}

// forgedOnAverage returns the number of forged results that reach a table: by the formula, and by an
// experiment, whose standard error is at most sigma.
func forgedOnAverage(share float64, results int, forged float64, rng *rand.Rand) (want, mean, sigma float64) {
	const runs = 4000
	k := &checks{share: share, rng: rng}
	uncaught := 1.0
	for i := range results {
		chance := k.chance(int64(i + 1))
		uncaught *= 1 - chance*forged
		want += forged * (1 - chance) / (1 - chance*forged)
	}
	sum, all := 0.0, float64(results)*forged
	for range runs {
		sum += forgedResults(k, results, forged, rng)
	}
	return want * uncaught, sum / runs, math.Sqrt(uncaught * all * (all + 1) / runs)
}

// forgedResults returns the number of forged results of a worker that reach a table: none if one of
// them is checked.
func forgedResults(k *checks, results int, share float64, rng *rand.Rand) (forged float64) {
	k.workers = map[string]*schemas.ManifestWorker{}
	m := &bus.Message{Part: bus.Part{Worker: "liar"}}
	c := &cell{}
	v := ledger.Verdict{Batch: &ledger.Batch{N: 1, Repetition: []int64{0}}, New: []int{0}}
	k.tally = newTally()
	for range results {
		k.waiting = nil
		k.consider(c, v, m)
		if rng.Float64() >= share {
			continue
		}
		if len(k.waiting) > 0 {
			return 0
		}
		forged++
	}
	return forged
}
