package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/shatterlab/shatter/pipeline/queue/queuetest"
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
	return s.ClientURL(), func() { queuetest.Stop(s) }, nil
}

// newServer starts a server that keeps its files in dir, with options that change has changed.
func newServer(dir string, change func(*server.Options)) (*server.Server, error) {
	options, err := queuetest.Options(natsConfig)
	if err != nil {
		return nil, err
	}
	options.Host, options.Port, options.StoreDir = "127.0.0.1", server.RANDOM_PORT, dir
	change(options)
	return queuetest.Start(options)
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
		_ = cmd.Process.Signal(syscall.SIGCONT) // a stopped process does not receive other signals
		_ = cmd.Wait()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("%v:\n%s", cmd.Args, text)
		}
	})
}
