package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The log of a run has a line for each job, with the same fields from the coordinator and the worker.
func TestRunLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, log := write(t, filepath.Join(dir, "sweep.yaml"), clusterSweep), filepath.Join(dir, "log")
	args := []string{
		"run", file, "--out", filepath.Join(dir, "out"), "--cache", "off", "--log", log, "--log-format", "json",
		"--log-level", "debug", "--workers", "1",
	}
	if _, stderr, code := shatter(t, args...); code != exitDone {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	type event struct{ Msg, Sweep, Cell, Job, Worker string }
	seen := map[string]map[string]event{}
	for line := range strings.Lines(string(text)) {
		var e event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if seen[e.Msg] == nil {
			seen[e.Msg] = map[string]event{}
		}
		seen[e.Msg][e.Job] = e
	}
	if len(seen["job done"]) < 2 {
		t.Fatalf("%d jobs were logged", len(seen["job done"]))
	}
	for job, done := range seen["job done"] { // others may have been dropped at the end
		published := seen["job published"][job]
		if published.Cell != done.Cell || published.Sweep != done.Sweep || done.Cell == "" || done.Worker == "" {
			t.Errorf("job %s: published %+v, done %+v", job, published, done)
		}
	}
}
