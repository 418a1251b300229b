package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/shatterlab/shatter/coordinator/lead"
	"github.com/shatterlab/shatter/pipeline/bus/bustest"
)

// smallDisk returns a folder that is a file system of its own of that many bytes, in memory.
func smallDisk(t *testing.T, bytes int) string {
	t.Helper()
	dir := t.TempDir()
	if os.Getuid() != 0 {
		t.Skip("a file system is mounted, which only root may do")
	}
	if err := syscall.Mount("none", dir, "tmpfs", 0, fmt.Sprint("size=", bytes)); err != nil {
		t.Skipf("no file system can be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill fills the file system of a folder. The function that it returns makes room again.
func fill(t *testing.T, dir string) (room func()) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	for size := 1 << 20; size > 0; {
		if _, err = f.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(f.Name()); err != nil {
			t.Error(err)
		}
	}
}

// The server's disk is full in the middle of a sweep. Status says so. JetStream takes nothing more, also when
// there is room again, until somebody starts it again: then the sweep goes on by itself, to the result of an
// undisturbed run.
func TestServerDiskFull(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, 16<<20)
	port := freePort(t)
	serve := func() *server.Server {
		return serveWith(t, filepath.Join(disk, "store"), func(o *server.Options) { o.Port = port })
	}
	s := serve()
	c := &cluster{t, s.ClientURL(), t.TempDir()}
	want := c.local(clusterSweep)
	id := c.submit(clusterSweep)
	c.coordinator("only")
	c.worker()
	c.worker()
	c.until(id, "outcomes come", func(s *sweepStatus) bool { return s.Trials != nil && *s.Trials > 0 })
	room := fill(t, disk)
	c.until(id, "the full disk is told", func(s *sweepStatus) bool {
		return s.State == lead.Waiting && s.Leader == "" &&
			strings.Contains(s.Reason, " cannot lead it: no answer within ") &&
			strings.Contains(s.Reason, "its disk may be full or have been full (make room, and start it again)")
	})
	room()
	bustest.Stop(s)
	serve()
	c.ends(id, want)
}
