package coordinator

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/shatterlab/shatter/coordinator/audit"
	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/coordinator/pool"
	"github.com/shatterlab/shatter/pipeline/cache"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// reading opens a folder for reading.
func reading(t *testing.T, dir string) Config {
	t.Helper()
	record, err := folder.ReadRecord(dir)
	if err != nil {
		t.Fatal(err)
	}
	f, err := record.Open(testPlan(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return Config{
		Config: pool.Config{Digests: madeBy("one"), Healing: 100 * time.Millisecond}, Folder: f, Slots: 2,
	}
}

// checkTables compares a folder's files with its ledger.
func checkTables(t *testing.T, dir string) *folder.Tables {
	t.Helper()
	x, err := reading(t, dir).Folder.CheckTables(madeBy("one"))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// rerunSample runs recorded trials again, with a worker that follows a script.
func rerunSample(t *testing.T, dir string, s audit.Sample, script script) (*audit.Result, error) {
	t.Helper()
	cfg := reading(t, dir)
	_, stop := startFake(t, t.Context(), &cfg, script)
	defer stop()
	guarded, cancel := context.WithTimeout(t.Context(), hanging)
	defer cancel()
	return audit.Verify(guarded, cfg.Folder, cfg.Config, s, func(done, of int64) {
		if done > of {
			t.Errorf("%d of %d done", done, of)
		}
	})
}

// A result verifies, including one with lost trials. Verification reports a worker whose outcomes
// differ or are lost.
func TestCheck(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	dir := t.TempDir()
	s, _, err := setup{dir: dir, script: func(f *fake, job *trial.Job, b *ledger.Batch) {
		lose(b, 5)
		f.publish(b)
	}}.run(t, t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if x := checkTables(t, dir); !x.Equal() || x.Digest != s.Digest || x.Consumed == 0 {
		t.Errorf("with losses: %+v", x)
	}
	if s, _, err = (setup{dir: dir, script: honest}).run(t, t.Context()); err != nil {
		t.Fatal(err)
	}
	x := checkTables(t, dir)
	if !x.Equal() || x.Digest != s.Digest {
		t.Errorf("%+v", x)
	}
	for _, c := range []struct {
		name   string
		sample audit.Sample
		script script
		want   func(r *audit.Result) bool
	}{
		{"all", audit.Sample{Share: 1}, honest, func(r *audit.Result) bool { return r.Again == x.Outcomes && r.Different+r.Lost == 0 }},
		{"seven", audit.Sample{Count: 7}, honest, func(r *audit.Result) bool {
			return r.Again == 7 && r.Recorded == x.Outcomes && r.Different+r.Lost == 0
		}},
		{"none", audit.Sample{}, honest, func(r *audit.Result) bool { return r.Again == 0 }},
		{"share", audit.Sample{Share: 1e-9}, honest, func(r *audit.Result) bool {
			return r.Again > 20*5 && r.Again <= 20*6 && r.Different+r.Lost == 0
		}},
		{"dropped once, doubled, in pieces", audit.Sample{Count: 300}, func(f *fake, job *trial.Job, b *ledger.Batch) {
			if f.first("%s %d %d", job.Cell.As, job.N, job.First) {
				f.publish(part(b, 0, 1))
				return
			}
			f.publish(b)
			f.publish(b)
		}, func(r *audit.Result) bool { return r.Again == 300 && r.Different+r.Lost == 0 }},
		{"different", audit.Sample{Share: 1}, func(f *fake, job *trial.Job, b *ledger.Batch) {
			for i, rep := range b.Repetition {
				if job.Cell.As == "plain-1" && job.N == 20 && rep >= 7 && rep <= 9 {
					b.Values[0][i] = 77
				}
			}
			f.publish(b)
		}, func(r *audit.Result) bool {
			return r.Different == 3 && strings.HasSuffix(r.First, "/20/7") && strings.Contains(r.What, "77")
		}},
		{"lost", audit.Sample{Share: 1}, func(f *fake, job *trial.Job, b *ledger.Batch) { lose(b, 7); f.publish(b) },
			func(r *audit.Result) bool {
				return r.Lost > 0 && r.Different == 0 && strings.HasSuffix(r.FirstLost, "/7: too slow")
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if r, err := rerunSample(t, dir, c.sample, c.script); err != nil || !c.want(r) {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
	never := func(*fake, *trial.Job, *ledger.Batch) {}
	_, err = rerunSample(t, dir, audit.Sample{Count: 1}, never)
	if err == nil || !strings.Contains(err.Error(), "never came") {
		t.Errorf("error %v", err)
	}
}

// Outcomes of an interrupted run are in the cache. Another folder uses them and ends with the same
// bytes. Failed trials are run again.
func TestRunWithCache(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	want, cache := reference(t), &cache.Cache{Dir: t.TempDir()}
	with := func(c *Config) { c.Cache = cache }
	ctx, cancel := context.WithCancel(t.Context())
	jobs := 0
	s, _, err := setup{dir: t.TempDir(), change: with, script: func(f *fake, _ *trial.Job, b *ledger.Batch) {
		if jobs++; jobs == 12 {
			cancel()
		}
		f.publish(b)
	}}.run(t, ctx)
	if err != nil || !s.Interrupted || s.Trials == 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	first := s.Trials
	for i := range 2 {
		dir := t.TempDir()
		s, f, err := setup{dir: dir, change: with, script: honest}.run(t, t.Context())
		if err != nil || s.Digest != want || len(s.Cache) > 0 {
			t.Fatalf("%+v, %v", s, err)
		}
		if i == 0 && (s.Served == 0 || s.Served > first) || i == 1 && int64(f.trials) > s.Served/4 {
			t.Errorf("run %d: %d trials of the first run, %d served, %d run", i, first, s.Served, f.trials)
		}
		m := folder.ReadManifest(dir)
		if len(m.Runs) != 1 || m.Runs[0].Served != s.Served || m.Runs[0].Trials != s.Trials {
			t.Errorf("manifest: %+v", m)
		}
	}
	s, _, err = setup{dir: t.TempDir(), digest: "other", change: with, script: honest}.run(t, t.Context())
	if err != nil || s.Served != 0 || s.Digest != want {
		t.Errorf("another plugin file: %+v, %v", s, err)
	}
}
