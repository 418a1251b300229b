package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

// bytesSweeps are small sweeps, by name. Each cuts its trials into several jobs.
var bytesSweeps = map[string]string{
	"learn": `
name: learn
task: learn
goal: {alpha: 0.05, beta: 0.05}
seed: 7
grids:
  - problem: {class: thresholds, domain: 2^16, distribution: needle, mass: 0.1}
    algorithms: [expmech/em]
    privacy: {epsilon: 1}
    n: {from: 16, to: 1e4, within: 1.5}
  - problem: {class: [intervals, points], domain: 2^10, distribution: uniform, noise: {kind: random, rate: 0.1}}
    algorithms: [expmech/em, expmech/pf, baseline/erm]
    privacy: {epsilon: [0.5, 1]}
    n: [50, 200]
    trials: 24
  - problem: {class: halfspace, d: 5, margin: 0.1, distribution: iso, test: 1000}
    algorithms: [boosting/drv]
    privacy: {epsilon: 1, delta: 1e-6}
    goal: {alpha: 0.05, beta: 0.05, evaluation: sequential}
    n: [50]
    trials: 24
`,
	"games": `
name: games
task: predict
privacy: {epsilon: 2, delta: 1e-4}
goal: {alpha: 0.1, beta: 0.1}
n: [3000]
trials: 3
queries: [1, 40]
seed: 5
problem: {class: thresholds, domain: 2^20, distribution: uniform, test: 100}
algorithms: [prediction/shrinkage-oblivious, prediction/sparse-vector]
adversary: [{kind: stochastic, offline: [false, true]}, {kind: adaptive, sees: [labels, marks]}]
`,
}

// A sweep has the same bytes for any number of workers, and with or without rechecks.
func TestSameBytes(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	for name, sweep := range bytesSweeps {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := write(t, filepath.Join(t.TempDir(), "sweep.yaml"), sweep)
			first := digest(t, mustRun(t, file, filepath.Join(t.TempDir(), "out"), "--workers", "1", "--recheck", "0"))
			second := digest(t, mustRun(t, file, filepath.Join(t.TempDir(), "out"), "--workers", "3", "--recheck", "5%"))
			if first != second {
				t.Errorf("digest %s with one worker, %s with three", first, second)
			}
		})
	}
}

// A run that is killed twice ends with the bytes of an undisturbed run and repeats few trials. It leaves no
// process, socket or file.
func TestKilled(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	shatter := binary(t)
	tmp := t.TempDir()
	file := write(t, filepath.Join(t.TempDir(), "sweep.yaml"), strings.Replace(smallSweep, "1000", "24000", 1))
	run := func(dir string) *exec.Cmd {
		cmd := exec.Command(shatter, "run", file, "--out", dir, "--workers", "2")
		cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
		return cmd
	}
	whole, dir := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "killed")
	out, err := run(whole).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want, all := digest(t, string(out)), ledgerSize(whole)
	for _, share := range []float64{0.3, 0.7} {
		cmd := run(dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		waitFor(t, "outcomes", func() bool { return float64(ledgerSize(dir)) >= share*float64(all) })
		if err := cmd.Process.Kill(); err != nil {
			t.Fatalf("the run had ended: %v", err)
		}
		_ = cmd.Wait()
		if len(table(t, dir)) == 0 {
			t.Error("nothing is known")
		}
	}
	if out, err = run(dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := digest(t, string(out)); got != want {
		t.Errorf("digest %s after two kills, want %s", got, want)
	}
	if last := lastRun(t, dir); last.Run > last.Known {
		t.Errorf("after a kill at 70 %% the next run executed %d trials and knew %d", last.Run, last.Known)
	}
	waitFor(t, "the plugin processes to end", func() bool { return len(processes(t, shatter)) == 0 })
	if left := files(t, tmp); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// lastRun returns the manifest's entry of the last run.
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

func exitStatus(err error) int {
	if err == nil {
		return 0
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return -1
}

// ledgerSize returns the bytes of the ledger below an output folder.
func ledgerSize(dir string) (size int64) {
	logs, _ := filepath.Glob(filepath.Join(dir, "ledger", "*.log"))
	for _, f := range logs {
		if info, err := os.Stat(f); err == nil {
			size += info.Size()
		}
	}
	return size
}

// waitFor polls for something that other processes do. It looks again after three times as long as a
// look takes, up to 100 ms, to leave the processor to them.
func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	const least, most = 2 * time.Millisecond, 100 * time.Millisecond
	for deadline := time.Now().Add(2 * time.Minute); ; {
		looked := time.Now()
		if done() {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited two minutes for %s", what)
		}
		time.Sleep(min(max(least, 3*time.Since(looked)), most))
	}
}

// processes lists the running processes of an executable.
func processes(t *testing.T, path string) (pids []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Skipf("no /proc: %v", err)
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if exe, err := os.Readlink(filepath.Join("/proc", e.Name(), "exe")); err == nil && exe == path {
			pids = append(pids, pid)
		}
	}
	return pids
}

func files(t *testing.T, dir string) (found []string) {
	t.Helper()
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
