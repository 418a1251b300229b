package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/shatterlab/shatter/coordinator/folder"
)

// scrape returns the metrics at a port, by series, and whether the process is ready. Before it
// listens there are none.
func scrape(t *testing.T, port int) (metrics map[string]float64, ready bool) {
	t.Helper()
	get := func(path string) (string, int) {
		r, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/%s", port, path))
		if err != nil {
			return "", 0
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text), r.StatusCode
	}
	text, _ := get("metrics")
	metrics = map[string]float64{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "} ")
		if !ok {
			name, value, ok = strings.Cut(strings.TrimSpace(line), " ")
		} else {
			name += "}"
		}
		if x, err := strconv.ParseFloat(value, 64); err == nil && ok {
			metrics[name] = x
		}
	}
	_, code := get("readyz")
	return metrics, code == http.StatusOK
}

// A sweep that waits for workers asks for them; when it is done, the coordinator and the worker have
// counted what its ledger holds.
func TestMetricsOfAFleet(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	observed := func(args ...string) (port int, cmd *exec.Cmd) {
		port = freePort(t)
		args = append(args, "--server", c.url, "--http", fmt.Sprint("127.0.0.1:", port), "--log-format", "json",
			"--log-level", "debug")
		cmd = exec.Command(binary(t), args...)
		cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir())
		start(t, cmd)
		return port, cmd
	}
	dir := filepath.Join(c.dir, "only")
	leader, _ := observed("coordinator", "--dir", dir, "--lease", "30s")
	id := c.submit(clusterSweep)
	left := fmt.Sprintf(`shatter_sweep_cpu_seconds_left{name="cluster",sweep="%s"}`, id)
	waitFor(t, "the sweep asks for workers", func() bool {
		m, ready := scrape(t, leader)
		return ready && m[left] == 2 // its cells
	})
	if m, _ := scrape(t, leader); m["shatter_leases"] != 1 || m[`shatter_sweeps{state="led here"}`] != 1 {
		t.Errorf("leases %v, sweeps led here %v", m["shatter_leases"], m[`shatter_sweeps{state="led here"}`])
	}
	port, worker := observed("worker", "--workers", "1")
	c.must("watch", id)
	waitFor(t, "the lease is given back", func() bool { m, _ := scrape(t, leader); return m["shatter_leases"] == 0 })
	m, _ := scrape(t, leader)
	if _, there := m[left]; there {
		t.Error("a sweep that is done still asks for workers")
	}
	run := folder.ReadManifest(filepath.Join(dir, id)).Runs[0]
	counted := m[`shatter_trials_total{status="ok"}`] + m[`shatter_trials_total{status="failed"}`]
	if run.Trials == 0 || counted != float64(run.Trials) || m["shatter_ledger_fsync_seconds_count"] == 0 {
		t.Errorf("%v trials and %v syncs counted, the manifest has %d trials", counted,
			m["shatter_ledger_fsync_seconds_count"], run.Trials)
	}
	w, ready := scrape(t, port)
	done, sent := w[`shatter_worker_jobs_total{end="done"}`], m["shatter_jobs_sent_total"]
	trials := w[`shatter_worker_trials_total{status="ok"}`] + w[`shatter_worker_trials_total{status="failed"}`]
	if !ready || done == 0 || done > sent || trials < counted { // the second looks are not counted there
		t.Errorf("the worker, ready: %v, did %v jobs of %v and %v trials, %v counted", ready, done, sent, trials, counted)
	}
	c.signal(worker, syscall.SIGTERM)
	if err := worker.Wait(); err != nil {
		t.Error(err)
	}
}

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
		sent := seen["job sent"][job]
		if sent.Msg, done.Msg = "", ""; sent != done || sent.Cell == "" || sent.Sweep == "" || sent.Worker == "" {
			t.Errorf("job %s: sent %+v, done %+v", job, sent, done)
		}
	}
}
