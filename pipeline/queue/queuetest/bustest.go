// Package queuetest starts NATS servers in the process of a test.
package queuetest

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Options reads a server's configuration file for a server that leaves signals and logs to the test.
func Options(conf string) (*server.Options, error) {
	o, err := server.ProcessConfigFile(conf)
	if err != nil {
		return nil, err
	}
	o.NoSigs, o.NoLog = true, true
	return o, nil
}

// Start starts a server, and returns when it takes connections.
func Start(o *server.Options) (*server.Server, error) {
	s, err := server.NewServer(o)
	if err != nil {
		return nil, err
	}
	s.Start()
	if !s.ReadyForConnections(time.Minute) {
		Stop(s)
		return nil, errors.New("the NATS server takes no connections")
	}
	return s, nil
}

// Stop stops a server, and returns when nothing of it runs.
func Stop(s *server.Server) {
	s.Shutdown()
	s.WaitForShutdown()
}

// Serve starts a server that ends with the test.
func Serve(t testing.TB, o *server.Options) *server.Server {
	t.Helper()
	s, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { Stop(s) })
	return s
}
