package coordinator

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/coordinator/audit"
	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/coordinator/pool"
	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// known returns what [folder.Folder.WriteKnown] reports for a folder, and the directory of its
// files.
func known(t *testing.T, dir string, running bool) (*folder.Known, string) {
	t.Helper()
	to := t.TempDir()
	f := reading(t, dir).Folder
	k, err := f.WriteKnown(to, madeBy("one"), running, audit.Due(f, 0))
	if err != nil {
		t.Fatal(err)
	}
	return k, to
}

// statuses counts the cells of a table by status, and returns the reasons of the undecided ones.
func statuses(t *testing.T, dir string) (count map[string]int, reasons []string) {
	t.Helper()
	table, err := sheet.ReadTable(dir, "table")
	if err != nil {
		t.Fatal(err)
	}
	count = map[string]int{}
	for row := range table.Rows() {
		values := map[string]any{}
		for i, c := range table.Columns {
			values[c.Name] = row[i]
		}
		status, _ := values["status"].(string)
		if count[status]++; status == estimate.StatusUndecided {
			reason, _ := values["reason"].(string)
			reasons = append(reasons, reason)
		}
	}
	return count, reasons
}

// stopAfter returns the script of an honest worker that calls stop after the given number of jobs.
func stopAfter(jobs int, stop func()) script {
	return func(f *fake, _ *trial.Job, b *ledger.Batch) {
		if jobs--; jobs == 0 {
			stop()
		}
		f.publish(b)
	}
}

// The result files are valid for a folder only if no later run has begun without writing them.
// Otherwise the known result is computed from the ledger, whether partial or complete.
func TestKnown(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	want, dir := reference(t), t.TempDir()
	claim(t, dir, testPlan(t), folder.Mode{}).Close()
	if k, _ := known(t, dir, false); !k.Empty() || folder.HasFinalResult(dir) {
		t.Errorf("before the first trial: %+v", k)
	}
	interrupted := func(jobs int) (*Summary, error) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s, _, err := setup{dir: dir, mode: folder.Mode{Extend: true}, script: stopAfter(jobs, cancel)}.run(t, ctx)
		return s, err
	}
	died := func(jobs int) error { // like a run that is killed, it leaves no manifest
		gone := make(chan struct{})
		_, _, err := setup{
			dir: dir, change: func(c *Config) { c.Workers = gone }, script: stopAfter(jobs, func() { close(gone) }),
		}.run(t, t.Context())
		return err
	}
	partial := func(when string) {
		t.Helper()
		k, to := known(t, dir, false)
		count, reasons := statuses(t, to)
		if folder.HasFinalResult(dir) || k.Trials == 0 || k.Done >= k.Cells ||
			!strings.HasSuffix(k.Partial, "so far; the sweep was interrupted: the same command goes on") {
			t.Errorf("%s: %+v", when, k)
		}
		notYet := func(reason string) bool {
			return strings.HasPrefix(reason, "the sweep has not got there yet; deciding it would take about ")
		}
		if open := k.Cells - k.Done; count[estimate.StatusUndecided] < open ||
			len(slices.DeleteFunc(reasons, func(r string) bool { return !notYet(r) })) != open {
			t.Errorf("%s: %+v, but the table has %v", when, k, count)
		}
		if m := folder.ReadManifest(to); m.Partial != k.Partial || m.Digest != "" || m.Name != "test" {
			t.Errorf("%s: manifest %+v", when, m)
		}
		if k, _ := known(t, dir, true); !strings.HasSuffix(k.Partial, " trials run so far; the sweep is still running") {
			t.Errorf("%s, running: %+v", when, k)
		}
	}
	whole := func(when string) {
		t.Helper()
		s, _, err := setup{dir: dir, script: honest}.run(t, t.Context())
		if err != nil || s.Digest != want || !folder.HasFinalResult(dir) {
			t.Errorf("%s: %+v, %v", when, s, err)
		}
		if k, to := known(t, dir, false); k.Partial != "" || folder.ReadManifest(to).Digest != want {
			t.Errorf("%s: %+v", when, k)
		}
	}

	if s, err := interrupted(4); err != nil || !s.Interrupted {
		t.Fatalf("%+v, %v", s, err)
	}
	partial("interrupted")
	if err := died(3); !errors.Is(err, pool.ErrWorkers) {
		t.Fatal(err)
	}
	partial("died")
	budget := func(c *Config) { c.Budget = Budget{Trials: 50} }
	if s, _, err := (setup{dir: dir, change: budget, script: honest}).run(t, t.Context()); err != nil || s.Partial == "" {
		t.Fatalf("%+v, %v", s, err)
	}
	if !folder.HasFinalResult(dir) {
		t.Error("the result of a budget does not stand")
	}
	if err := died(3); !errors.Is(err, pool.ErrWorkers) {
		t.Fatal(err)
	}
	partial("died after a budget")
	whole("finished")
	claim(t, dir, testPlan(t), folder.Mode{}).Close() // a run that is killed immediately
	if folder.HasFinalResult(dir) {
		t.Error("a run has begun after the result")
	}
	whole("finished again")

	dir = t.TempDir()
	part := testPlan(t)
	part.Cells = part.Cells[1:4]
	s, _, err := setup{dir: dir, plan: part, script: honest}.run(t, t.Context())
	if err != nil || !folder.HasFinalResult(dir) {
		t.Fatalf("%+v, %v", s, err)
	}
	if s, err := interrupted(1); err != nil || !s.Interrupted {
		t.Fatalf("%+v, %v", s, err)
	}
	partial("extended")
	whole("extended and finished")
}
