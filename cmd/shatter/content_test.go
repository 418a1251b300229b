package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/shatterlab/shatter/pipeline/bus"
	"github.com/shatterlab/shatter/pipeline/testkit"
)

// Whatever happens to the data on the server and in the worker's folder, a sweep gives the bytes of
// an undisturbed one, and what was damaged is sound again.
func TestDataFaults(t *testing.T) {
	t.Parallel()
	shatter, tmp := binary(t), t.TempDir()
	csv := testkit.WriteFile(t, "data.csv", testkit.CSV(100_000)) // of three parts
	file := write(t, filepath.Join(tmp, "sweep.yaml"), fmt.Sprintf(`
name: faults
task: learn
problem: {class: halfspace, data: {file: %s, label: y, positive: p, scale: 100}}
algorithms: [baseline/perceptron]
goal: {alpha: 0.1, beta: 0.1, above: 0}
n: [20]
trials: 4
`, csv))
	run := func(dir string, more ...string) string {
		t.Helper()
		out, err := exec.Command(shatter, append([]string{"run", file, "--out", filepath.Join(tmp, dir)}, more...)...).CombinedOutput()
		if exitStatus(err) != 0 {
			t.Fatalf("exit %d: %s", exitStatus(err), out)
		}
		return digest(t, string(out))
	}
	want := run("local")
	url, cache := startServer(t), filepath.Join(tmp, "cache")
	conn, err := bus.Dial(t.Context(), url, bus.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	data := filepath.Join(cache, digestOf(t, csv))
	for _, fault := range []struct {
		name string
		do   func() error
	}{
		{"none", func() error { return nil }},
		{"content gone from the server", func() error {
			return errors.Join(os.Remove(data), conn.Remove(t.Context(), filepath.Base(data)))
		}},
		{"file of the worker damaged", func() error {
			return errors.Join(os.Remove(data), os.WriteFile(data, []byte("a,b,y\n1,2,p\n"), 0o600))
		}},
	} {
		if err := fault.do(); err != nil {
			t.Fatal(err)
		}
		t.Run(fault.name, func(t *testing.T) {
			worker := exec.Command(shatter, "worker", "--server", url, "--workers", "1", "--cache", cache)
			start(t, worker)
			if got := run(fault.name, "--server", url, "--workers", "0"); got != want {
				t.Errorf("digest %s, want %s", got, want)
			}
			if found := digestOf(t, data); found != filepath.Base(data) {
				t.Errorf("the worker's file has digest %s, want %s", found, filepath.Base(data))
			}
		})
	}
}

// digestOf returns the SHA-256 of a file in hex digits.
func digestOf(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))
}
