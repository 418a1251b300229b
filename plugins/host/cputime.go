package host

import (
	"time"

	"github.com/shatterlab/shatter/pipeline/cputime"
)

// CPUTime returns the user and system time that the process has used since its start. That of
// processes that it started itself is added when both have ended. While it lives, it is known on
// Linux only, and 0 elsewhere.
func (p *Process) CPUTime() time.Duration { return p.child.cpuTime() }

func (h *child) cpuTime() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.cmd == nil:
		return 0
	case h.reaped:
		return h.cmd.ProcessState.UserTime() + h.cmd.ProcessState.SystemTime()
	}
	return cputime.Of(h.cmd.Process.Pid)
}

// CPUTime returns the user and system time that the catalog's present processes have used.
func (c *Catalog) CPUTime() (sum time.Duration) {
	for _, e := range c.entries {
		e.mu.Lock()
		if e.process != nil {
			sum += e.process.CPUTime()
		}
		e.mu.Unlock()
	}
	return sum
}
