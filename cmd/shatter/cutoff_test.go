package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// A cable carries connections to a server. While it is cut, neither end hears of it: connections stay,
// new ones are taken, and what is sent waits and arrives when the cable is mended, as it does where TCP
// sends again.
type cable struct {
	to    string
	mu    sync.Mutex
	whole sync.Cond
	isCut bool
	ends  []net.Conn // to be closed with the test; nil after it
	over  bool
}

// newCable lays a cable to a server and returns it with the URL at which it begins.
func newCable(t *testing.T, url string) (c *cable, from string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c = &cable{to: strings.TrimPrefix(url, "nats://")}
	c.whole.L = &c.mu
	var running sync.WaitGroup
	running.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { c.connect(near) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		c.mu.Lock()
		c.over = true
		for _, end := range c.ends {
			_ = end.Close()
		}
		c.mu.Unlock()
		c.set(false)
		running.Wait()
	})
	return c, "nats://" + l.Addr().String()
}

// connect carries one connection, until either end closes it.
func (c *cable) connect(near net.Conn) {
	defer near.Close()
	c.wait()
	far, err := net.Dial("tcp", c.to)
	if err != nil {
		return
	}
	defer far.Close()
	c.mu.Lock()
	over := c.over
	c.ends = append(c.ends, near, far)
	c.mu.Unlock()
	if over {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { c.carry(far, near) })
	both.Go(func() { c.carry(near, far) })
	both.Wait()
}

// carry carries what one end sends to the other, and its end.
func (c *cable) carry(to, from net.Conn) {
	defer to.Close()
	b := make([]byte, 1<<16)
	for {
		n, err := from.Read(b)
		c.wait()
		if _, failed := to.Write(b[:n]); err != nil || failed != nil {
			return
		}
	}
}

// wait waits while the cable is cut.
func (c *cable) wait() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.isCut {
		c.whole.Wait()
	}
}

func (c *cable) set(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isCut = cut
	c.whole.Broadcast()
}

// logOf returns what a process that start has started has said so far.
func logOf(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	text, err := os.ReadFile(cmd.Stdout.(*os.File).Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The network cuts the leader off, which runs on, and another coordinator takes over. When the network
// is back, what the first has sent meanwhile arrives, late: it changes nothing and takes nothing from
// the second, which ends the sweep in its own epoch, with the result of an undisturbed run here.
func TestLeaderCutOff(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	want := c.local(clusterSweep)
	id := c.submit(clusterSweep)
	worker := c.worker()
	wire, url := newCable(t, c.url)
	first := (&cluster{t, url, c.dir}).coordinator("first")
	began := c.until(id, "outcomes come", func(s *sweepStatus) bool { return s.Trials != nil && *s.Trials > 0 })
	c.signal(worker, syscall.SIGSTOP)
	c.must("results", id, "--out", filepath.Join(c.dir, "shipped")) // once it has shipped what it has
	second := c.coordinator("second", "--lease", "30s")             // which it keeps, however busy the machine is
	wire.set(true)
	leads := func(s *sweepStatus) bool {
		return strings.HasSuffix(s.Leader, fmt.Sprint("-", second.Process.Pid)) && s.Progress != nil
	}
	next := c.until(id, "the second leads", leads)
	if next.Progress.Known == 0 {
		t.Error("the second leader began anew: nothing that was shipped was taken over")
	}
	wire.set(false)
	waitFor(t, "the first finds out that it leads no more", func() bool {
		return strings.Contains(logOf(t, first), "leading no more")
	})
	if now := c.until(id, "the second leads still", leads); now.Epoch != next.Epoch || next.Epoch <= began.Epoch {
		t.Errorf("led in epoch %d, by the second in %d, and in %d after the first was back", began.Epoch, next.Epoch,
			now.Epoch)
	}
	c.signal(worker, syscall.SIGCONT)
	c.ends(id, want)
	if s := c.until(id, "it has ended", func(s *sweepStatus) bool { return s.State == "done" }); s.Digest != want {
		t.Errorf("status: digest %s, want %s", s.Digest, want)
	}
}
