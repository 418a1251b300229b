package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

const thirdSweep = `
name: third
task: learn
plugins: [%s]
problem: {class: thresholds, domain: 256, distribution: needle, mass: 0.1}
algorithms: [%s]
goal: {alpha: 0.05, beta: 0.05}
n: [5]
trials: %d
limits: {trial: 3s}
seed: %d
`

// In a job of thousands with a few trials that end the process, each of these fails and every other
// has its outcome.
func TestMisbehaving(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	plugin := thirdparty(t)
	cases := []struct {
		algorithm, kind, reason string
		seed                    int // under which exactly one trial of the job misbehaves
	}{
		{"third/exit", "crash", "exit status 3", 3},
		{"third/panic", "panic", "the author's mistake", 3},
		{"third/nan", "answer", "not a number", 3},
		{"third/error", "error", "no luck", 1},
	}
	const trials = 5000
	for _, c := range cases {
		t.Run(c.algorithm, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "out")
			file := write(
				t,
				filepath.Join(t.TempDir(), "third.yaml"),
				fmt.Sprintf(thirdSweep, plugin, c.algorithm, trials, c.seed),
			)
			_, errs, code := shatter(t, "run", file, "--out", dir, "--workers", "2")
			if code != 1 {
				t.Fatalf("exit %d, want 1: %s", code, errs)
			}
			if !strings.Contains(errs, c.kind) || !strings.Contains(errs, c.reason) {
				t.Errorf("stderr does not say %q, %q: %s", c.kind, c.reason, errs)
			}
			curve := frame(t, dir, "curve")
			ok, failed := curve[0]["ok"].(float64), curve[0]["failed"].(float64)
			if ok != trials-1 || failed != 1 {
				t.Errorf("%v ok and %v failed of %d, want one failed", ok, failed, trials)
			}
			reason := frame(t, dir, "table")[0]["reason"].(string)
			if want := "1 trial failed (1 " + c.kind + "), for example: "; !strings.Contains(reason, want) ||
				!strings.Contains(reason, c.reason) {
				t.Errorf("the table's reason is %q, want %q and %q", reason, want, c.reason)
			}
			out, errs, _ := shatter(t, "query", dir, "-o", "csv", "select algorithm, n, kind, trials from failures")
			if want := fmt.Sprintf("algorithm,n,kind,trials\n%s,5,%s,1\n", c.algorithm, c.kind); out != want {
				t.Errorf("failures:\n%s%s", out, errs)
			}
		})
	}
}

const unluckySweep = `
name: unlucky
task: learn
plugins: [%s]
problem: {class: thresholds, domain: 256, distribution: needle, mass: 0.1}
algorithms: [%s]
goal: {alpha: 0.15, beta: 0.5}
n: [5, 6]
trials: %d
limits: {trial: 1s}
`

// A plugin that leaves when it is unlucky fails these trials, however it leaves.
func TestLeaves(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	tmp := t.TempDir()
	dir, text := filepath.Join(tmp, "out"), fmt.Sprintf(unluckySweep, thirdparty(t), "{use: third/leave, one_in: 2}", 12)
	_, errs, code := shatter(t, "run", write(t, filepath.Join(tmp, "third.yaml"), text), "--out", dir, "--workers", "1")
	if code != 1 || !strings.Contains(errs, "crash") {
		t.Errorf("exit %d: %s", code, errs)
	}
	for _, row := range frame(t, dir, "curve") {
		if row["failed"] == 0.0 || row["lost"] != 0.0 || row["rate"].(float64) > row["ok"].(float64)/12 {
			t.Errorf("%v", row)
		}
	}
}

// Printing to stdout is no crime once the handshake is over.
func TestPrints(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	file := write(
		t,
		filepath.Join(t.TempDir(), "third.yaml"),
		fmt.Sprintf(thirdSweep, thirdparty(t), "{use: third/print, one_in: 10}", 500, 1),
	)
	_, errs, code := shatter(t, "run", file, "--out", dir, "--workers", "1")
	if failed := frame(t, dir, "curve")[0]["failed"].(float64); failed != 0 {
		t.Errorf("exit %d, %v trials failed: %s", code, failed, errs)
	}
}

// A trial that hangs is lost, named, and tried again by the same command; it is never an outcome.
func TestHangs(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	file := write(
		t,
		filepath.Join(t.TempDir(), "third.yaml"),
		fmt.Sprintf(thirdSweep, thirdparty(t), "{use: third/hang, one_in: 60}", 100, 1),
	)
	logs := filepath.Join(t.TempDir(), "logs")
	_, errs, code := shatter(t, "run", file, "--out", dir, "--workers", "2", "--plugin-log", logs)
	if code != 1 || !strings.Contains(errs, "limits.trial") {
		t.Fatalf("exit %d: %s", code, errs)
	}
	files, err := filepath.Glob(filepath.Join(logs, "thirdparty-*.log"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the folder of logs has %v, %v", files, err)
	}
	// The plugin says where it hangs, in the log and in the reason.
	const place = "stopped here:"
	named := regexp.MustCompile(`(?m)^\[(near )?[0-9a-f]{10}/5/\d+\] `) // before each line
	if text, err := os.ReadFile(files[0]); err != nil || !strings.Contains(string(text), place) || !named.Match(text) ||
		!strings.Contains(string(text), "main.learner.func") || !strings.Contains(string(text), "thirdparty/main.go:") {
		t.Errorf("the log says, %v:\n%s", err, text)
	}
	if failures := frame(t, dir, "failures"); len(failures) == 0 || !strings.Contains(fmt.Sprint(failures[0]), place) {
		t.Errorf("of the lost trials it is said: %v", failures)
	}
	if got := table(t, dir)[0]; got["status"] != "undecided" || !strings.Contains(fmt.Sprint(got["reason"]), "lost") {
		t.Errorf("table says %v", got)
	}
}

// A hostile algorithm in a sweep fails its own trials: every other one, of its plugin too, has the outcome
// that it has alone, and no process and no file of it is left.
func TestHostilePlugin(t *testing.T) {
	t.Parallel()
	tmp := t.TempDir()
	mark := fmt.Sprintf("60.%09d", os.Getpid())
	hostile := fmt.Sprintf("{use: third/hostile, mark: %d}", os.Getpid())
	outcomes := func(name, algorithms string) string {
		text := fmt.Sprintf(hostileSweep, thirdparty(t), algorithms)
		dir := filepath.Join(tmp, name)
		_, errs, code := shatter(t, "run", write(t, dir+".yaml", text), "--out", dir, "--workers", "2", "--sandbox", "prefer")
		if want := map[string]int{"alone": 0, "together": exitUnfinished}[name]; code != want {
			t.Fatalf("%s: exit %d, want %d: %s", name, code, want, errs)
		}
		out, errs, code := shatter(t, "query", dir, "-o", "csv",
			"select cell, n, repetition, status, kind, error, success from trials where algorithm <> 'third/hostile' order by all")
		if code != 0 {
			t.Fatal(errs)
		}
		return out
	}
	alone := outcomes("alone", "third/plus, baseline/prior")
	together := outcomes("together", hostile+", third/plus, baseline/prior")
	if alone != together || strings.Count(alone, "\n") != 1+2*2*30 {
		t.Errorf("alone:\n%.500s\ntogether:\n%.500s", alone, together)
	}
	failed := 0.0
	for _, row := range frame(t, filepath.Join(tmp, "together"), "curve") {
		if row["algorithm"] == "third/hostile" {
			failed += row["failed"].(float64)
		}
	}
	if failed == 0 {
		t.Errorf("it did nothing hostile: %v", frame(t, filepath.Join(tmp, "together"), "table"))
	}
	if left := leftBehind(mark); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

const hostileSweep = `
name: hostile
task: learn
plugins: [%s]
problem: {class: thresholds, domain: 256, distribution: needle, mass: 0.1}
algorithms: [%s]
goal: {alpha: 0.05, beta: 0.05}
n: [5, 10]
trials: 30
limits: {trial: 60s}
seed: 1
`

// leftBehind lists the processes and files with a mark in their command lines and names.
func leftBehind(mark string) (list []string) {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range lines {
		if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), mark) {
			list = append(list, fmt.Sprintf("%s %q", path, text))
		}
	}
	for _, pattern := range []string{os.TempDir() + "/*/", os.TempDir() + "/", "/dev/shm/", ""} {
		files, _ := filepath.Glob(pattern + mark)
		list = append(list, files...)
	}
	return list
}
