package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/testkit"
)

const listSweep = `
name: list
task: learn
algorithms: [expmech/em, expmech/pf, baseline/erm]
privacy: {epsilon: [0.5, 1]}
goal: {alpha: 0.05, beta: 0.05}
n: [50, 100, 200, 400]
trials: 300
seed: 7
grids:
  - problem: {class: thresholds, domain: [2^8, 2^20], distribution: needle, mass: 0.1}
  - problem: {class: [intervals, points], domain: 2^10, distribution: uniform, noise: {kind: random, rate: 0.1}}
  - problem: {class: thresholds, domain: 2^20, distribution: uniform, test: 200}
  - problem: {class: halfspace, d: 5, margin: 0.1, distribution: iso, test: 1000}
    algorithms: [baseline/perceptron]
    goal: {alpha: 0.05, beta: 0.05, evaluation: sequential}
`

const findSweep = `
name: find
task: learn
grids:
  - problem: {class: thresholds, domain: [2^8, 2^16], distribution: needle, mass: 0.1}
    algorithms: [expmech/em, expmech/pf]
    privacy: {epsilon: [1, 2]}
    goal: {alpha: 0.05, beta: 0.05}
    n: {find: true, from: 16, to: 1e4, within: 1.5}
  - problem: {class: halfspace, d: 5, margin: 0.2, distribution: [skew, iso], test: 500}
    algorithms: [{use: boosting/hs-stl, rounds: 20, lambda: 4, kappa: 0.3}, baseline/perceptron]
    privacy: {epsilon: 1, delta: 1e-6}
    goal: {alpha: 0.1, beta: 0.2}
    n: {find: true, from: 16, to: 1e4, within: 2}
seed: 7
`

// sameBytes runs a sweep with each of these flags: one digest, and no exit code above most.
func sameBytes(t *testing.T, file string, most int, runs [][]string) {
	t.Helper()
	want := ""
	for _, flags := range runs {
		_, errs, code := shatter(t, append([]string{"run", file, "--out", filepath.Join(t.TempDir(), "out")}, flags...)...)
		if code > most {
			t.Fatalf("%v: exit %d: %s", flags, code, errs)
		}
		switch got := digest(t, errs); {
		case want == "":
			want = got
		case got != want:
			t.Errorf("%v: digest %s, want %s", flags, got, want)
		}
	}
}

// Same sweep, same bytes: whatever the number of workers, the borders of jobs and the order of
// results.
func TestSameBytes(t *testing.T) {
	testkit.Long(t)
	for name, sweep := range map[string]string{"list": listSweep, "find": findSweep, "ladder": ladderSweep} {
		t.Run(name, func(t *testing.T) {
			file := write(t, filepath.Join(t.TempDir(), "sweep.yaml"), sweep)
			runs := [][]string{
				{"--workers", "1"},
				{"--workers", "3", "--test-job-sizes", "2", "--test-reverse"},
				{"--workers", "2"},
				{"--workers", "2", "--test-job-sizes", "1"},
				{"--workers", "2", "--test-reverse"},
			}
			if !testkit.LongRun {
				runs = runs[:2] // the two that differ most
			}
			sameBytes(t, file, 1, runs)
		})
	}
}

// A run that is killed three times ends with the same bytes, repeats next to nothing, and leaves no
// process, socket or file.
func TestKilled(t *testing.T) {
	testkit.Long(t)
	shatter := binary(t)
	tmp := t.TempDir()
	for name, sweep := range map[string]string{"list": slow(listSweep), "find": findSweep} {
		t.Run(name, func(t *testing.T) {
			file := write(t, filepath.Join(t.TempDir(), "sweep.yaml"), sweep)
			kills := []float64{0.2, 0.5, 0.8}
			if name == "find" {
				kills = []float64{0.1, 0.2, 0.3} // how far searches run ahead differs from run to run, and so does what 100 % is
			}
			run := func(dir string) *exec.Cmd {
				cmd := exec.Command(shatter, "run", file, "--out", dir, "--workers", "2")
				cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
				return cmd
			}
			whole := filepath.Join(t.TempDir(), "whole")
			out, err := run(whole).CombinedOutput()
			if code := exitStatus(err); code > 1 {
				t.Fatalf("exit %d: %s", code, out)
			}
			want, rows := digest(t, string(out)), recorded(t, whole)

			dir := filepath.Join(t.TempDir(), "killed")
			for i, share := range kills {
				cmd := run(dir)
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				waitFor(t, fmt.Sprintf("kill %d", i), func() bool { return recorded(t, dir) >= int64(share*float64(rows)) })
				if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
					t.Fatalf("kill %d: the run had ended: %v", i, err)
				}
				_ = cmd.Wait()
				if got := len(table(t, dir)); got == 0 {
					t.Error("nothing is known")
				}
			}
			out, err = run(dir).CombinedOutput()
			if code := exitStatus(err); code > 1 {
				t.Fatalf("exit %d: %s", code, out)
			}
			if got := digest(t, string(out)); got != want {
				t.Errorf("digest %s after three kills, want %s", got, want)
			}
			m := readManifest(t, dir)
			last := m.Runs[len(m.Runs)-1]
			if total := last.Known + last.Trials; name == "list" && float64(last.Trials) > 0.3*float64(total) {
				t.Errorf("after a kill at 80%% the next run executed %d of %d trials", last.Trials, total)
			}
			waitFor(t, "plugin processes to end", func() bool { return len(processes(t, shatter)) == 0 })
			if left := files(t, tmp); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// slow makes a list long enough to be killed in.
func slow(sweep string) string { return strings.Replace(sweep, "trials: 300", "trials: 2500", 1) }

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

// recorded counts the outcomes in the ledger of a sweep that may be running, by opening a copy.
func recorded(t *testing.T, dir string) int64 {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "ledger", "sweep.json"))
	var state struct{ ID string }
	if err != nil || json.Unmarshal(raw, &state) != nil {
		return 0
	}
	logs, _ := filepath.Glob(filepath.Join(dir, "ledger", "*.log"))
	at := t.TempDir()
	for _, f := range logs {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(at, filepath.Base(f)), string(raw))
	}
	l, report, err := ledger.Open(at, state.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(at)
	defer l.Close()
	return report.Outcomes
}

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
