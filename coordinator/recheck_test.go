package coordinator

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/pipeline/cache"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// withRechecks returns a change of a Config that requests rechecks of a share of the trials.
func withRechecks(share float64) func(*Config) { return func(c *Config) { c.Recheck = share } }

// second calls change for each row of a recheck of the given kind of a cell's trials, and then
// publishes the batch.
func second(as string, kind trial.Recheck, change func(f *fake, b *ledger.Batch, row int)) script {
	return func(f *fake, job *trial.Job, b *ledger.Batch) {
		for row := range b.Repetition {
			if job.Cell.As == as && (kind == "any" && job.Recheck != "" || job.Recheck == kind ||
				kind == alone && job.Recheck != "" && job.Count == 1) {
				change(f, b, row)
			}
		}
		f.publish(b)
	}
}

// alone stands for all rechecks of one trial, without earlier ones.
const alone = trial.Recheck("alone")

// spoil changes the metric of an outcome.
func spoil(b *ledger.Batch, row int, by float64) {
	if b.Status[row] == ledger.OK {
		b.Values[0][row] += by
	} else {
		b.Kind[row] = fmt.Sprintf("error %v", by)
	}
}

func rechecksOf(t *testing.T, dir string) *schemas.Rechecks {
	t.Helper()
	m := folder.ReadManifest(dir)
	if m.Rechecks == nil {
		t.Fatal("the manifest has no rechecks")
	}
	return m.Rechecks
}

// Rechecks confirm honest trials for any behavior of the network, and the result equals that of a
// run without rechecks. Repeating the command repeats no trial.
func TestRechecksHonest(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	want := reference(t)
	for name, script := range map[string]script{
		"dropped": func(f *fake, job *trial.Job, b *ledger.Batch) {
			if !f.first("%s %d %d %s", job.Cell.As, job.N, job.First, job.Recheck) || f.rng.IntN(3) > 0 {
				f.publish(b)
			}
		},
		"lost once": func(f *fake, job *trial.Job, b *ledger.Batch) {
			if job.Recheck != "" && f.first("%s %d %d", job.Cell.As, job.N, job.First) {
				lose(b, job.First)
			}
			f.publish(b)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s, _, err := setup{dir: dir, script: script, change: withRechecks(0.05)}.run(t, t.Context())
			if err != nil || s.Digest != want || len(s.Alarms) > 0 || s.RechecksLeft != 0 || s.Rechecked == 0 {
				t.Fatalf("%+v, %v", s, err)
			}
			rechecks := rechecksOf(t, dir)
			for _, c := range rechecks.Cells {
				if asked := max(8, (c.Trials+19)/20); c.Due != asked || c.Equal != asked || c.Left != 0 {
					t.Errorf("%+v", c)
				}
			}
			if len(rechecks.Cells) != 5 || len(rechecks.Notes)+len(rechecks.Contradictions) != 0 { // one cell is refused
				t.Errorf("%+v", rechecks)
			}
			s, f, err := setup{dir: dir, script: honest, change: withRechecks(0.05)}.run(t, t.Context())
			if err != nil || s.Digest != want || f.trials != 0 || s.Rechecked != 0 {
				t.Errorf("again: %+v, %v, %d trials", s, err, f.trials)
			}
			if x := checkTables(t, dir); !x.Equal() {
				t.Errorf("%+v", x)
			}
		})
	}
}

// Rechecks detect and name dependences of outcomes on anything but the sample. The finding
// persists: the cell has no n*, and the same command ends in the same way without running a trial.
func TestContradictions(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	want := reference(t)
	chance := func(f *fake, b *ledger.Batch, row int) { spoil(b, row, float64(f.trials+1)) }
	always := func(_ *fake, b *ledger.Batch, row int) { spoil(b, row, 1) }
	for _, c := range []struct {
		name   string
		script script
		cause  schemas.Cause
	}{
		{"other points", second("plain-3", trial.RecheckShuffled, always), schemas.CausePoints},
		{"answers that contradict each other", second("plain-3", trial.RecheckShuffled,
			func(_ *fake, b *ledger.Batch, row int) {
				b.Status[row], b.Kind[row] = ledger.Failed, "recheck"
				b.Error[row], b.Values[0][row] = math.NaN(), math.NaN()
			}), schemas.CausePoints},
		{"earlier trials", second("plain-3", alone, always), schemas.CauseEarlier},
		{"chance", second("plain-3", "any", chance), schemas.CauseChance},
		{"not alone", func(f *fake, job *trial.Job, b *ledger.Batch) {
			if job.Recheck == trial.RecheckFresh {
				lose(b, job.First)
			}
			second("plain-3", trial.RecheckShuffled, always)(f, job, b)
		}, schemas.CauseUnknown},
		{"a worker that lies", func(f *fake, job *trial.Job, b *ledger.Batch) {
			if job.Recheck == "" && job.Cell.As == "plain-3" {
				for row := range b.Repetition {
					spoil(b, row, 1)
				}
			}
			f.publish(b)
		}, schemas.CauseUnknown},
		{"a recheck that nothing repeats", func(f *fake, job *trial.Job, b *ledger.Batch) {
			if job.Count > 1 {
				second("plain-3", trial.RecheckShuffled, always)(f, job, b)
			} else {
				f.publish(b)
			}
		}, schemas.CauseUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s, _, err := setup{dir: dir, script: c.script, change: withRechecks(0.01)}.run(t, t.Context())
			if err != nil || len(s.Alarms) != 1 || s.Withheld != 1 || !strings.Contains(s.Alarms[0], c.cause.String()) {
				t.Fatalf("%+v, %v", s, err)
			}
			rechecks := rechecksOf(t, dir)
			if len(rechecks.Contradictions) != 1 {
				t.Fatalf("%+v", rechecks)
			}
			x := rechecks.Contradictions[0]
			if x.Cause != c.cause || !strings.HasPrefix(x.Trial, x.Cell+"/") || x.Difference == "" || x.Different == 0 ||
				x.Different > x.Rechecked || x.Rechecked < 8 {
				t.Errorf("%+v", x)
			}
			if c.name == "a worker that lies" && (x.Worker != "fake" || !strings.Contains(s.Alarms[0], `worker "fake"`)) {
				t.Errorf("the liar is not named: %+v", x)
			}
			note := map[string]string{
				"not alone": "too slow", "a worker that lies": "not with the record",
				"a recheck that nothing repeats": "with the record",
			}[c.name]
			if !strings.Contains(s.Alarms[0], note) {
				t.Errorf("the reason is not named: %s", s.Alarms)
			}
			row := tableLine(t, dir, x.Cell)
			if !strings.Contains(row, `failed,"integrity alarm: the recheck of trial `+x.Trial) ||
				strings.Contains(row, "liar") {
				t.Errorf("table: %s", row)
			}
			if v := checkTables(t, dir); v.Equal() || len(v.Contradictions) != 1 || len(v.Different()) > 0 ||
				v.Digest != s.Digest {
				t.Errorf("verify: %+v", v)
			}
			for _, share := range []float64{0.01, 0} {
				again, f, err := setup{dir: dir, script: honest, change: withRechecks(share)}.run(t, t.Context())
				if err != nil || f.trials != 0 || !slices.Equal(again.Alarms, s.Alarms) || again.Digest != s.Digest {
					t.Errorf("again: %+v, %v, %d trials", again, err, f.trials)
				}
			}
			s, _, err = setup{
				dir: dir, mode: folder.Mode{Redo: true}, digest: "repaired", script: honest, change: withRechecks(0.01),
			}.run(t, t.Context())
			if err != nil || s.Digest != want || len(s.Alarms) > 0 || s.Rechecked == 0 {
				t.Errorf("repaired: %+v, %v", s, err)
			}
		})
	}
}

// tableLine returns the line of a cell in table.csv.
func tableLine(t *testing.T, dir, cell string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "table.csv"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(raw), "\n") {
		if strings.HasPrefix(line, cell) {
			return line
		}
	}
	t.Fatalf("no line of %s in %s", cell, raw)
	return ""
}

// A recheck that is lost runs again with double limits. If it is lost again, the cell's n* is withheld: an algorithm
// must not escape its rechecks by exceeding a limit.
func TestRechecksLost(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	limits := testPlan(t).Cells[0].Limits
	for _, c := range []struct {
		name  string
		needs time.Duration // smallest limit that a recheck of plain-0 does not exceed
		lost  bool
	}{
		{"once", 2 * limits.Trial, false},
		{"twice", 3 * limits.Trial, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			script := func(f *fake, job *trial.Job, b *ledger.Batch) {
				if job.Recheck == trial.RecheckShuffled && job.Cell.As == "plain-0" && job.Cell.Limits.Trial < c.needs {
					for _, rep := range b.Repetition {
						lose(b, rep)
					}
					b.Reason = slices.Repeat([]string{"too slow"}, len(b.Status))
				}
				f.publish(b)
			}
			s, _, err := setup{dir: dir, change: withRechecks(0.01), script: script}.run(t, t.Context())
			if err != nil || s.RechecksLeft != 0 || len(s.RecheckNotes) != 0 || (s.Digest == reference(t)) == c.lost {
				t.Fatalf("%+v, %v", s, err)
			}
			found := rechecksOf(t, dir).Contradictions
			if !c.lost && len(found) == 0 {
				return
			}
			if len(found) != 1 || found[0].Cause != schemas.CauseLimit || found[0].Different != 8 || len(s.Alarms) != 1 ||
				!strings.Contains(s.Alarms[0], "too slow") {
				t.Errorf("%+v, alarms %q", found, s.Alarms)
			}
		})
	}
}

// Trials that were lost the first time have no outcome to recheck.
func TestRechecksOfLost(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	dir := t.TempDir()
	s, _, err := setup{dir: dir, change: withRechecks(1), script: func(f *fake, job *trial.Job, b *ledger.Batch) {
		lose(b, 5)
		f.publish(b)
	}}.run(t, t.Context())
	if err != nil || s.RechecksLeft != 0 || s.Rechecked == 0 || len(s.Alarms)+len(s.RecheckNotes) != 0 {
		t.Errorf("%+v, %v", s, err)
	}
	if c := rechecksOf(t, dir).Cells[0]; c.Trials != 447 || c.Equal != 447 {
		t.Errorf("%+v", c)
	}
}

// Interrupted rechecks continue where they stopped, and no result is written before they are made.
func TestRechecksInterrupted(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	want, dir := reference(t), t.TempDir()
	made, runs := int64(0), 0
	for ; ; runs++ {
		ctx, cancel := context.WithCancel(t.Context())
		jobs := 0
		s, _, err := setup{dir: dir, change: withRechecks(0.02), script: func(f *fake, job *trial.Job, b *ledger.Batch) {
			f.publish(b)
			if job.Recheck != "" {
				if jobs++; jobs == 6 {
					time.Sleep(50 * time.Millisecond) // earlier results are accepted
					cancel()
				}
			}
		}}.run(t, ctx)
		cancel()
		if err != nil || len(s.Alarms) > 0 {
			t.Fatalf("%+v, %v", s, err)
		}
		if made += s.Rechecked; !s.Interrupted {
			if s.Digest != want {
				t.Errorf("digest %s, want %s", s.Digest, want)
			}
			break
		}
		if s.Digest != "" || runs > 50 {
			t.Fatalf("run %d: %+v", runs, s)
		}
	}
	due := int64(0)
	for _, c := range rechecksOf(t, dir).Cells {
		if due += c.Due; c.Equal != c.Due {
			t.Errorf("%+v", c)
		}
	}
	if runs < 2 || made > due {
		t.Errorf("%d runs rechecked %d trials, %d were due", runs, made, due)
	}
}

// A budget also counts rechecks. The report lists the missing ones, and later runs make them.
func TestRechecksBudget(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	want, dir := reference(t), t.TempDir()
	left := false
	for range 100 {
		s, f, err := setup{dir: dir, script: honest, change: func(c *Config) {
			c.Recheck, c.Budget = 0.05, Budget{Trials: 500}
		}}.run(t, t.Context())
		if err != nil || f.trials > 500 {
			t.Fatalf("%+v, %v, %d trials", s, err, f.trials)
		}
		if s.Partial == "" && s.RechecksLeft == 0 {
			if s.Digest != want || !left {
				t.Errorf("%+v", s)
			}
			return
		}
		left = left || s.RechecksLeft > 0 && strings.Contains(strings.Join(s.RecheckNotes, ""), "the budget was spent")
	}
	t.Error("it never ends")
}

// Outcomes from the cache are rechecked like others, and a cell with a contradiction is not stored.
func TestRechecksCache(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	cache := &cache.Cache{Dir: t.TempDir()}
	with := func(c *Config) { c.Cache, c.Recheck = cache, 0.01 }
	always := func(_ *fake, b *ledger.Batch, row int) { spoil(b, row, 1) }
	if s, _, err := (setup{dir: t.TempDir(), change: with, script: second("plain-3", "any", always)}).
		run(t, t.Context()); err != nil || len(s.Alarms) != 1 {
		t.Fatalf("%+v, %v", s, err)
	}
	key := testPlan(t).Cells[3].Key.Short()
	entries, err := cache.List()
	if err != nil || len(entries) == 0 {
		t.Fatalf("the cache has %v, %v", entries, err)
	}
	for _, e := range entries {
		if strings.HasPrefix(filepath.Base(e.Path), key) {
			t.Errorf("a cell that is in doubt is in the cache: %+v", e)
		}
	}
	s, _, err := setup{dir: t.TempDir(), change: with, script: honest}.run(t, t.Context())
	if err != nil || s.Served == 0 || s.Rechecked < 40 || s.Digest != reference(t) {
		t.Errorf("%+v, %v", s, err)
	}
}

// A confirmation by an earlier run applies only to the outcome that the recheck compared.
func TestRechecksOfOtherOutcomes(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	dir := t.TempDir()
	if s, _, err := (setup{dir: dir, script: honest, change: withRechecks(0.01)}).run(t, t.Context()); err != nil {
		t.Fatalf("%+v, %v", s, err)
	}
	if err := os.Remove(filepath.Join(dir, "ledger", "0001.log")); err != nil {
		t.Fatal(err)
	}
	other := func(f *fake, job *trial.Job, b *ledger.Batch) {
		for row := range b.Repetition {
			spoil(b, row, 3)
		}
		f.publish(b)
	}
	s, _, err := setup{dir: dir, script: other, change: withRechecks(0.01)}.run(t, t.Context())
	if err != nil || s.Rechecked < 40 || len(s.Alarms) > 0 {
		t.Errorf("%+v, %v", s, err)
	}
	damaged := []byte(`{"format":1,"equal":{"x`)
	if err := os.WriteFile(filepath.Join(dir, "ledger", "rechecks.json"), damaged, 0o666); err != nil {
		t.Fatal(err)
	}
	s, _, err = setup{dir: dir, script: other, change: withRechecks(0.01)}.run(t, t.Context())
	if err != nil || s.Rechecked < 40 {
		t.Errorf("damaged record: %+v, %v", s, err)
	}
}
