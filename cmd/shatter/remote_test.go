package main

import (
	"fmt"
	"math/bits"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/shatterlab/shatter/pipeline/bus/bustest"
	"github.com/shatterlab/shatter/pipeline/testkit"
)

// startServer starts a NATS server with the configuration of deploy, on a free port of this
// machine.
func startServer(t *testing.T) (url string) {
	t.Helper()
	url, stop, err := serverIn(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return url
}

// serverIn starts such a server, which keeps its files in dir.
func serverIn(dir string) (url string, stop func(), err error) {
	s, err := newServer(dir, func(*server.Options) {})
	if err != nil {
		return "", nil, err
	}
	return s.ClientURL(), func() { bustest.Stop(s) }, nil
}

// newServer starts a server that keeps its files in dir, with options that change has changed.
func newServer(dir string, change func(*server.Options)) (*server.Server, error) {
	options, err := bustest.Options(natsConfig)
	if err != nil {
		return nil, err
	}
	options.Host, options.Port, options.StoreDir = "127.0.0.1", server.RANDOM_PORT, dir
	change(options)
	return bustest.Start(options)
}

// serveWith starts such a server, which keeps its files in dir and ends with the test.
func serveWith(t *testing.T, dir string, change func(*server.Options)) *server.Server {
	t.Helper()
	s, err := newServer(dir, change)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bustest.Stop(s) })
	return s
}

// natsConfig is the path of the configuration that this project ships.
var natsConfig, _ = filepath.Abs("../../deploy/nats.conf")

// start starts a process that ends with the test.
func start(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Process.Signal(syscall.SIGCONT) // or a stopped one never hears it
		_ = cmd.Wait()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("%v:\n%s", cmd.Args, text)
		}
	})
}

const dataSweep = `
name: data
task: learn
seed: 3
privacy: {epsilon: [1, 2], delta: 1e-6}
goal: {alpha: 0.1, beta: 0.1, above: 0}
n: [100, 1000]
trials: %d
grids:
  - problem:
      class: halfspace
      data:
        file: %s
        label: diagnosis
        positive: malignant
        features: [mean radius, mean texture, worst radius, worst texture, worst concave points]
        scale: {mean radius: [5, 25], mean texture: [5, 35], worst radius: [4, 30], worst texture: [10, 40],
            worst concave points: [0, 0.3]}
    algorithms: [boosting/centering, {use: baseline/perceptron, averaged: true}]
  - problem: {class: matrix, file: %s, distribution: uniform}
    algorithms: [expmech/em, expmech/pf, perturbed/gaussian, perturbed/rspm, baseline/erm]
`

// matrixFile writes the class of all parities of three bits.
func matrixFile(t *testing.T, dir string) string {
	t.Helper()
	text := "a,b,c,d,e,f,g,h\n"
	for s := range uint(8) {
		var labels []string
		for v := range uint(8) {
			labels = append(labels, fmt.Sprint(bits.OnesCount(s&v)%2))
		}
		text += strings.Join(labels, ",") + "\n"
	}
	return write(t, filepath.Join(dir, "class.csv"), text)
}

// Two worker processes over TCP give the same bytes as everything in one process. The data file and
// the class matrix reach them by content, over the server.
func TestRemoteWorkers(t *testing.T) {
	t.Parallel()
	trials := 400
	if !testkit.LongRun {
		trials = 20
	}
	shatter := binary(t)
	tmp := t.TempDir()
	csv, err := filepath.Abs("examples/breast_cancer.csv")
	if err != nil {
		t.Fatal(err)
	}
	file := write(t, filepath.Join(tmp, "data.yaml"), fmt.Sprintf(dataSweep, trials, csv, matrixFile(t, tmp)))
	local := exec.Command(shatter, "run", file, "--out", filepath.Join(tmp, "local"))
	out, err := local.CombinedOutput()
	if exitStatus(err) != 0 {
		t.Fatalf("exit %d: %s", exitStatus(err), out)
	}
	want := digest(t, string(out))

	url := startServer(t)
	workers := make([]*exec.Cmd, 2)
	for i := range workers {
		workers[i] = exec.Command(
			shatter,
			"worker",
			"--server",
			url,
			"--workers",
			"1",
			"--cache",
			filepath.Join(tmp, fmt.Sprint("cache", i)),
		)
		start(t, workers[i])
	}
	dir := filepath.Join(tmp, "remote")
	run := exec.Command(shatter, "run", file, "--out", dir, "--server", url, "--workers", "0")
	var errs strings.Builder
	run.Stderr = &errs
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	if err := run.Wait(); exitStatus(err) != 0 {
		t.Fatalf("exit %d: %s", exitStatus(err), errs.String())
	}
	if got := digest(t, errs.String()); got != want {
		t.Errorf("digest %s with remote workers, want %s", got, want)
	}
	for i := range workers {
		if cached, _ := filepath.Glob(filepath.Join(tmp, fmt.Sprint("cache", i), "*")); len(cached) != 2 {
			t.Errorf("worker %d fetched %v, want the data file", i, cached)
		}
	}
}

// No server: one message with the remedy, exit code 4.
func TestNoServer(t *testing.T) {
	t.Parallel()
	file := write(t, filepath.Join(t.TempDir(), "small.yaml"), smallSweep)
	dir := filepath.Join(t.TempDir(), "out")
	_, errs, code := shatter(t, "run", file, "--out", dir, "--server", "nats://127.0.0.1:1")
	if code != exitConnection || !strings.Contains(errs, "127.0.0.1:1") {
		t.Errorf("exit %d: %s", code, errs)
	}
}
