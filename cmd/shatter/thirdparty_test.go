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

// A trial that hangs is lost, named, and tried again by the same command; it is never an outcome.
func TestHangs(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	file := write(t, filepath.Join(t.TempDir(), "third.yaml"),
		fmt.Sprintf(strings.Replace(thirdSweep, "3s", "1s", 1), thirdparty(t), "{use: third/hang, one_in: 30}", 40, 1))
	logs := filepath.Join(t.TempDir(), "logs")
	_, errs, code := shatter(t, "run", file, "--out", dir, "--workers", "2", "--plugin-log", logs)
	if code != 1 || !strings.Contains(errs, "limits.trial") {
		t.Fatalf("exit %d: %s", code, errs)
	}
	files, err := filepath.Glob(filepath.Join(logs, "thirdparty-*.log"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the folder of logs has %v, %v", files, err)
	}
	// The log and the reason name the line at which the plugin hangs.
	const place = "stopped here:"
	named := regexp.MustCompile(`(?m)^\[(near )?[a-p][0-9a-f]{9}/5/\d+\] `) // before each line
	if text, err := os.ReadFile(files[0]); err != nil || !strings.Contains(string(text), place) || !named.Match(text) ||
		!strings.Contains(string(text), "main.learner.func") || !strings.Contains(string(text), "/main.go:") {
		t.Errorf("the log says, %v:\n%s", err, text)
	}
	if failures := frame(t, dir, "failures"); len(failures) == 0 || !strings.Contains(fmt.Sprint(failures[0]), place) {
		t.Errorf("of the lost trials it is said: %v", failures)
	}
	if got := table(t, dir)[0]; got["status"] != "undecided" || !strings.Contains(fmt.Sprint(got["reason"]), "lost") {
		t.Errorf("table says %v", got)
	}
}
