package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/pipeline/testkit"
)

const environmentSweep = `
name: environment
task: learn
seed: 1
plugins: [./mean]
grids:
  - problem: {class: halfspace, d: 5, margin: 0.1, distribution: iso}
    algorithms: [acme/mean]
    goal: {alpha: 0.1, beta: 0.1}
    n: [10, 20, 400]
    trials: 30
`

const environmentPlugin = `#!PYTHON
from dataclasses import dataclass

import mylib
from shatter import algorithm, param, serve

@dataclass
class Params:
    gain: float = param(1.0, min=0, doc="gain")

@algorithm("acme/mean", version="1.0.0", params=Params)
class Mean:
    "Nearest mean."
    def learn(self, trial, x, y):
        import later
        w = mylib.K * later.K * (y @ x) * (1 if len(y) < 400 else LARGE)
        return lambda p: (p @ w >= 0) * 2.0 - 1

LARGE = 1

if __name__ == "__main__":
    serve(Mean)
`

// Warnings of a plugin are counted by cell and shown without control characters. They leave the result's digest alone.
// The plugin reads a file that was packed with it.
func TestWarnings(t *testing.T) {
	interpreter := testkit.Python(t, "grpc, google.protobuf, numpy")
	third := thirdparty(t)
	t.Chdir(t.TempDir())
	plugin := strings.NewReplacer("PYTHON", interpreter, "import mylib", "import warnings", "import later", "pass",
		"mylib.K * later.K", "int(read_file('one'))", "param, serve", "param, read_file, serve").Replace(environmentPlugin)
	digests := map[string]bool{}
	for warns, count := range map[string]int64{
		`warnings.warn("odd \x1b[2J")`: 90, `warnings.warn("old", PendingDeprecationWarning)`: 0,
	} {
		write(t, "mean.py", strings.Replace(plugin, "pass", warns, 1))
		_ = os.Remove("mean")
		write(t, "one", "1")
		if _, stderr, code := shatter(t, "plugin", "build", "mean.py", "--include", "one"); code != 0 {
			t.Fatal(stderr)
		}
		write(t, "s.yaml", environmentSweep)
		out := t.TempDir() + "/o"
		_, stderr, _ := shatter(t, "run", "s.yaml", "--out", out, "--cache", "off", "--workers", "1")
		shown := "shatter: acme/mean warned 90 times in 1 cell: UserWarning: odd [2J\n"
		if strings.Contains(stderr, shown) != (count > 0) {
			t.Errorf("%s: stderr %q", warns, stderr)
		}
		m := folder.ReadManifest(out)
		digests[m.Digest] = true
		if w := m.Runs[0].Warnings; count > 0 && (len(w) != 1 || w[0].Count != count || len(w[0].Cells) != 1) ||
			count == 0 && w != nil {
			t.Errorf("%s: manifest %+v", warns, w)
		}
	}
	if len(digests) != 1 {
		t.Errorf("digests %v", digests)
	}
	write(t, "third.yaml", fmt.Sprintf(thirdSweep, third, "{use: third/warn, one_in: 1}", 20, 1))
	_, stderr, _ := shatter(t, "run", "third.yaml", "--out", "third", "--cache", "off", "--workers", "1")
	if !strings.Contains(stderr, "shatter: third/warn warned 20 times in 1 cell: no [2J 5\n") {
		t.Errorf("stderr %q", stderr)
	}
	for cell := range folder.ReadManifest("third").Runs[0].Warnings[0].Cells {
		stdout, stderr, _ := shatter(t, "trial", "third", cell+"/5/3")
		if !strings.Contains(stdout, "\nwarned 1 time: no [2J 5\nequal to the last bit\n") {
			t.Errorf("trial: %q, %q", stdout, stderr)
		}
	}
}

// A library that a plugin in Python imports is part of its identity, like its code: recorded outcomes are compared
// after a change, some of them at the largest sample size, and messages name what has changed.
func TestEnvironment(t *testing.T) {
	testkit.Long(t)
	interpreter := testkit.Python(t, "grpc, google.protobuf, numpy")
	t.Chdir(t.TempDir())
	lib := t.TempDir()
	t.Setenv("PYTHONPATH", lib)
	t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
	library := func(text string) { write(t, lib+"/mylib.py", text) }
	build := func(changes ...string) {
		source := strings.NewReplacer(append(changes, "PYTHON", interpreter)...).Replace(environmentPlugin)
		write(t, "mean.py", source)
		_ = os.Remove("mean")
		if _, stderr, code := shatter(t, "plugin", "build", "mean.py"); code != 0 {
			t.Fatal(stderr)
		}
	}
	write(t, "s.yaml", environmentSweep)
	run := func(wantCode int, want string, flags ...string) {
		t.Helper()
		args := []string{"run", "s.yaml", "--out", "o", "--cache", "off", "--workers", "1", "--sandbox-read", lib}
		_, stderr, code := shatter(t, append(args, flags...)...)
		if code != wantCode || !strings.Contains(stderr, want) {
			t.Errorf("exit %d, want %d and %q: %s", code, wantCode, want, stderr)
		}
	}
	library("__version__ = '1.0'\nK = 1\n")
	write(t, lib+"/later.py", "K = 1\n")
	build()
	run(0, "results in o")
	m := folder.ReadManifest("o")
	if text := m.Plugins[0].Environment.String(); len(m.Plugins) != 1 || m.Plugins[0].Outcomes != 90 ||
		!strings.Contains(text, "mylib 1.0, numpy ") || !strings.Contains(text, "python 3.") {
		t.Errorf("the manifest has %+v", m.Plugins)
	}
	write(t, lib+"/later.py", "K = -1\n")
	run(5, "its environment has changed: later: file later.py changed; run again with --redo")
	write(t, lib+"/later.py", "K = 1\n")
	library("__version__ = '1.1'\nK = 1\n")
	run(0, "acme/mean: its environment has changed: mylib 1.0 -> 1.1; ")
	build("LARGE = 1", "LARGE = -1")
	run(5, "/400/")
	build("param(1.0", "param(2.0")
	run(5, "the sweep file is the same as when")
	build("LARGE = 1", "LARGE = -1")
	run(0, "results in o", "--redo")
}
