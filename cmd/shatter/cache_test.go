package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

type cacheRow struct {
	Path, Cell, What string
	Seed             uint64
	Trials, Bytes    int64
	Damaged          int
}

func cacheRows(t *testing.T, dir string) (rows []cacheRow) {
	t.Helper()
	out, errs, code := shatter(t, "cache", "ls", "--cache", dir, "-o", "json")
	if err := json.Unmarshal([]byte(out), &rows); err != nil || code != 0 {
		t.Fatalf("exit %d, %v: %s%s", code, err, out, errs)
	}
	return rows
}

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
	testkit.Serial(t)
	t.Parallel()
	tmp := t.TempDir()
	cache, file := filepath.Join(tmp, "cache"), write(t, filepath.Join(tmp, "verify.yaml"), verifySweep)
	want := digest(t, mustRun(t, file, filepath.Join(tmp, "a"), "--cache", cache))
	rows := cacheRows(t, cache)
	change(t, rows[0].Path, flip(message))
	change(t, rows[1].Path, func(raw []byte) []byte { return raw[:len(raw)-20] })
	errs := mustRun(t, file, filepath.Join(tmp, "b"), "--cache", cache)
	if run := lastRun(t, filepath.Join(tmp, "b")); digest(t, errs) != want || run.Served != 120 || run.Run != 120 ||
		strings.Count(errs, "cache: a damaged part was skipped: ") != 2 {
		t.Errorf("damaged: %+v: %s", run, errs)
	}
	for _, r := range cacheRows(t, cache) {
		if r.Damaged > 0 || r.Trials != 120 {
			t.Errorf("not mended: %+v", r)
		}
	}
	if err := os.Rename(rows[0].Path, rows[1].Path); err != nil {
		t.Fatal(err)
	}
	errs = mustRun(t, file, filepath.Join(tmp, "c"), "--cache", cache)
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
