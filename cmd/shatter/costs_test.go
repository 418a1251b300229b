package main

import (
	"encoding/json"
	"math"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/schemas"
)

// The parts of the CPU time add up to what the system counts for the command and its processes, in
// every task, and each has its share.
func TestCosts(t *testing.T) {
	testkit.Serial(t)
	if runtime.GOOS != "linux" {
		t.Skip("the time of plugin processes is only to be had on Linux")
	}
	for task, sweep := range map[string]string{
		"learn": `
name: costs
task: learn
problem: {class: thresholds, domain: 2^16, distribution: uniform}
algorithms: [expmech/em]
privacy: {epsilon: 1}
goal: {alpha: 0.1, beta: 0.05}
n: [444]
trials: 10000
`,
		"predict": `
name: costs
task: predict
problem: {class: thresholds, domain: 2^10, distribution: uniform}
algorithms: [prediction/composition]
privacy: {epsilon: 1, delta: 1e-6}
adversary: {kind: boundary}
queries: 32
goal: {alpha: 0.1, beta: 0.05}
n: [2000]
trials: 60
`,
		"online": `
name: costs
task: online
problem: {class: thresholds, domain: 2^8, distribution: uniform}
algorithms: [online/hedge]
adversary: {kind: planted, rate: 0.05}
rounds: [200]
trials: 100
`,
	} {
		t.Run(task, func(t *testing.T) {
			dir := t.TempDir()
			out := filepath.Join(dir, "out")
			file := write(t, filepath.Join(dir, "sweep.yaml"), sweep)
			run := exec.Command(binary(t), "run", file, "--out", out, "--cache", "off", "--quiet", "--costs")
			var stderr strings.Builder
			run.Stderr = &stderr
			if err := run.Run(); err != nil {
				t.Fatalf("%v\n%s", err, &stderr)
			}
			var m schemas.Manifest
			if err := json.Unmarshal([]byte(testkit.ReadFile(t, filepath.Join(out, "manifest.json"))), &m); err != nil {
				t.Fatal(err)
			}
			costs := m.Runs[0].Costs
			for _, p := range costs.Parts() {
				if p.Seconds < 0 || p.Seconds == 0 && p.Name != "search" {
					t.Errorf("%s took %v s", p.Name, p.Seconds)
				}
				if !strings.Contains(stderr.String(), "  "+p.Name+" ") {
					t.Errorf("%q is not printed:\n%s", p.Name, &stderr)
				}
			}
			// The system counts what comes after the manifest too: the report, and ending processes, which take
			// longer on a busy machine.
			used := (run.ProcessState.UserTime() + run.ProcessState.SystemTime()).Seconds()
			if found := costs.Total(); math.Abs(found-used) > 0.15*used+0.15 {
				t.Errorf("the parts are %.3f s together, the system counts %.3f s\n%s", found, used, &stderr)
			}
		})
	}
}
