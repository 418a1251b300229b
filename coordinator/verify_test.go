package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shatterlab/shatter/pipeline/bus"
	"github.com/shatterlab/shatter/pipeline/ledger"

	"github.com/shatterlab/shatter/pipeline/cache"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// reading opens a folder for reading, as a plan's sweep file would.
func reading(t *testing.T, dir string) Config {
	t.Helper()
	plan := testPlan(t)
	record, err := ReadRecord(dir)
	if err != nil {
		t.Fatal(err)
	}
	folder, err := record.Open(plan)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = folder.Close() })
	return Config{Folder: folder, Algorithms: oracle{}, Digests: map[string]string{"": "one"}, Healing: 20 * time.Millisecond, Slots: 2}
}

// tables checks a folder's files.
func tables(t *testing.T, dir string) *Tables {
	t.Helper()
	x, err := CheckTables(t.Context(), reading(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// sample runs all recorded trials again, with a worker that follows a script.
func sample(t *testing.T, dir string, s Sample, script func(*fake, *trial.Job, *ledger.Batch)) (*Rerun, error) {
	t.Helper()
	server, err := bus.Embed(bus.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Shutdown()
	cfg := reading(t, dir)
	if cfg.Conn, err = server.Dial(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer cfg.Conn.Close()
	f := &fake{t: t, conn: cfg.Conn, script: script, once: map[string]bool{}}
	working, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	cfg.Workers = ended
	go func() { defer close(ended); f.run(working) }()
	defer func() { stop(); <-ended }()
	guarded, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return CheckSample(guarded, cfg, s, func(done, of int64) {
		if done > of {
			t.Errorf("%d of %d done", done, of)
		}
	})
}

// A result verifies, with lost trials too; a worker that gives other outcomes, or loses them, is told of.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	s, _, err := setup{dir: dir, script: func(f *fake, job *trial.Job, b *ledger.Batch) {
		lose(b, 5)
		f.publish(b)
	}}.run(t, t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if x := tables(t, dir); !x.Equal() || x.Digest != s.Digest || x.Consumed == 0 {
		t.Errorf("with losses: %+v", x)
	}
	if s, _, err = (setup{dir: dir, script: honest}).run(t, t.Context()); err != nil {
		t.Fatal(err)
	}
	x := tables(t, dir)
	if !x.Equal() || x.Digest != s.Digest {
		t.Errorf("%+v", x)
	}
	for _, c := range []struct {
		name   string
		sample Sample
		script func(*fake, *trial.Job, *ledger.Batch)
		want   func(r *Rerun) bool
	}{
		{"all", Sample{Share: 1}, honest, func(r *Rerun) bool { return r.Again == x.Outcomes && r.Different+r.Lost == 0 }},
		{"some", Sample{Count: 7}, honest, func(r *Rerun) bool { return r.Again == 7 && r.Recorded == x.Outcomes && r.Different+r.Lost == 0 }},
		{"none", Sample{}, honest, func(r *Rerun) bool { return r.Again == 0 }},
		{"share", Sample{Share: 1e-9}, honest, func(r *Rerun) bool { return r.Again > 20*5 && r.Again <= 20*6 && r.Different+r.Lost == 0 }},
		{"dropped once, doubled, in pieces", Sample{Count: 300}, func(f *fake, job *trial.Job, b *ledger.Batch) {
			if f.first("%s %d %d", job.Cell.As, job.N, job.First) {
				f.publish(part(b, 0, 1))
				return
			}
			f.publish(b)
			f.publish(b)
		}, func(r *Rerun) bool { return r.Again == 300 && r.Different+r.Lost == 0 }},
		{"different", Sample{Share: 1}, func(f *fake, job *trial.Job, b *ledger.Batch) {
			for i, rep := range b.Repetition {
				if job.Cell.As == "plain-1" && job.N == 20 && rep >= 7 && rep <= 9 {
					b.Values[0][i] = 77
				}
			}
			f.publish(b)
		}, func(r *Rerun) bool {
			return r.Different == 3 && strings.HasSuffix(r.First, "/20/7") && strings.Contains(r.What, "77")
		}},
		{"lost", Sample{Share: 1}, func(f *fake, job *trial.Job, b *ledger.Batch) { lose(b, 7); f.publish(b) },
			func(r *Rerun) bool {
				return r.Lost > 0 && r.Different == 0 && strings.HasSuffix(r.FirstLost, "/7: too slow")
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if r, err := sample(t, dir, c.sample, c.script); err != nil || !c.want(r) {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
	if _, err := sample(t, dir, Sample{Count: 1}, func(*fake, *trial.Job, *ledger.Batch) {}); err == nil || !strings.Contains(err.Error(), "never came back") {
		t.Errorf("error %v", err)
	}
}

// What has not ended is no result, and a plan of another meaning is not opened.
func TestCheckUnfinished(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	if _, _, err := (setup{dir: dir, script: func(f *fake, _ *trial.Job, b *ledger.Batch) { cancel(); f.publish(b) }}).run(t, ctx); err != nil {
		t.Fatal(err)
	}
	var unfinished *UnfinishedError
	if _, err := CheckTables(t.Context(), reading(t, dir)); !errors.As(err, &unfinished) {
		t.Errorf("error %v", err)
	}
	part := testPlan(t)
	part.Resolved = []byte(`{"name":"part"}`)
	record, err := ReadRecord(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := record.Open(part); err == nil {
		t.Error("opened for another plan")
	}
}

// Outcomes of an interrupted run are in the cache; another folder takes them, and ends with the same bytes. Failed ones are run again.
func TestRunWithCache(t *testing.T) {
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
		raw, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
		var m manifest
		if err != nil || json.Unmarshal(raw, &m) != nil || m.Runs[0].Served != s.Served || m.Runs[0].Trials != s.Trials {
			t.Errorf("manifest: %v: %s", err, raw)
		}
	}
	if s, _, err := (setup{dir: t.TempDir(), digest: "other", change: with, script: honest}).run(t, t.Context()); err != nil || s.Served != 0 || s.Digest != want {
		t.Errorf("another plugin file: %+v, %v", s, err)
	}
}
