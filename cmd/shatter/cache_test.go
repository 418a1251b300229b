package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
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

// What is damaged is skipped, said and mended; an outcome that is not ok, and one of another plugin
// file, is not served; and a cache that cannot be used is no error.
func TestBadCache(t *testing.T) {
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

	plugin := filepath.Join(tmp, "plugin")
	third := write(
		t,
		filepath.Join(tmp, "third.yaml"),
		fmt.Sprintf(thirdSweep, plugin, "{use: third/error, one_in: 4}", 100, 1),
	)
	raw, err := os.ReadFile(thirdparty(t))
	if err != nil {
		t.Fatal(err)
	}
	for i, suffix := range []string{"", "", "another file"} {
		os.Remove(plugin)
		if err := os.WriteFile(plugin, append(raw, suffix...), 0o777); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(tmp, fmt.Sprint("third", i))
		_, errs, code := shatter(t, "run", third, "--out", dir, "--workers", "1", "--cache", cache)
		ok, failed := int64(frame(t, dir, "curve")[0]["ok"].(float64)), int64(frame(t, dir, "curve")[0]["failed"].(float64))
		run := lastRun(t, dir)
		if code != exitUnfinished || failed == 0 || run.Served != []int64{0, ok, 0}[i] ||
			run.Run != []int64{100, failed, 100}[i] {
			t.Errorf("run %d: exit %d, %d ok, %d failed, %+v: %s", i, code, ok, failed, run, errs)
		}
	}
	write(t, plugin, string(raw)+"a third file")
	if out, errs, code := shatter(t, "cache", "explain", third, "--cache", cache); code != 0 ||
		!strings.Contains(out, "by other code (SHA-256 ") {
		t.Errorf("explain: exit %d: %s%s", code, out, errs)
	}
}

// Runs at the same time leave everything once.
func TestCacheTogether(t *testing.T) {
	t.Parallel()
	tmp := t.TempDir()
	cache, file := filepath.Join(tmp, "cache"), write(t, filepath.Join(tmp, "verify.yaml"), verifySweep)
	var together sync.WaitGroup
	codes := make([]int, 3)
	for i := range codes {
		together.Go(func() {
			_, _, codes[i] = shatter(
				t,
				"run",
				file,
				"--out",
				filepath.Join(tmp, fmt.Sprint(i)),
				"--workers",
				"1",
				"--cache",
				cache,
			)
		})
	}
	together.Wait()
	for _, r := range cacheRows(t, cache) {
		if r.Trials != 120 || r.Damaged > 0 {
			t.Errorf("%+v", r)
		}
	}
	if fmt.Sprint(codes) != "[0 0 0]" {
		t.Errorf("exits %v", codes)
	}
}
