package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/cache"
	"github.com/shatterlab/shatter/pipeline/testkit"
)

// lastRun returns what the manifest says of the last run.
func lastRun(t *testing.T, dir string) (run struct {
	Known  int64 `json:"trials_known"`
	Run    int64 `json:"trials_run"`
	Served int64 `json:"trials_served"`
	Notes  []string
}) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	var m struct{ Runs []json.RawMessage }
	if err != nil || json.Unmarshal(raw, &m) != nil || json.Unmarshal(m.Runs[len(m.Runs)-1], &run) != nil {
		t.Fatalf("manifest: %v: %s", err, raw)
	}
	return run
}

// Damaged parts are skipped, reported and written again, and a cache that cannot be used is no error.
func TestBadCache(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	tmp := t.TempDir()
	dir, file := filepath.Join(tmp, "cache"), write(t, filepath.Join(tmp, "verify.yaml"), verifySweep)
	want := digest(t, mustRun(t, file, filepath.Join(tmp, "a"), "--cache", dir))
	rows, err := (&cache.Cache{Dir: dir}).List()
	if err != nil || len(rows) != 2 {
		t.Fatalf("%v, %v", rows, err)
	}
	change(t, rows[0].Path, flip(message))
	change(t, rows[1].Path, func(raw []byte) []byte { return raw[:len(raw)-20] })
	errs := mustRun(t, file, filepath.Join(tmp, "b"), "--cache", dir)
	if run := lastRun(t, filepath.Join(tmp, "b")); digest(t, errs) != want || run.Served != 120 || run.Run != 120 ||
		strings.Count(errs, "cache: a damaged part was skipped: ") != 2 {
		t.Errorf("damaged: %+v: %s", run, errs)
	}
	errs = mustRun(t, file, filepath.Join(tmp, "mended"), "--cache", dir)
	if run := lastRun(t, filepath.Join(tmp, "mended")); digest(t, errs) != want || run.Served != 240 ||
		strings.Contains(errs, "damaged") {
		t.Errorf("not mended: %+v: %s", run, errs)
	}
	if err := os.Rename(rows[0].Path, rows[1].Path); err != nil {
		t.Fatal(err)
	}
	errs = mustRun(t, file, filepath.Join(tmp, "c"), "--cache", dir)
	if run := lastRun(t, filepath.Join(tmp, "c")); digest(t, errs) != want || run.Served != 0 ||
		!strings.Contains(errs, "it is of another cell or seed") {
		t.Errorf("another cell's: %+v: %s", run, errs)
	}
	errs = mustRun(t, file, filepath.Join(tmp, "d"), "--cache", file)
	if run := lastRun(t, filepath.Join(tmp, "d")); digest(t, errs) != want || run.Served != 0 ||
		!strings.Contains(errs, "shatter: cache: ") {
		t.Errorf("no folder: %+v: %s", run, errs)
	}
}
