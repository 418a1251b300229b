package host

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/shatterlab/shatter/pipeline/sandbox"
	"github.com/shatterlab/shatter/pipeline/wording"
)

const (
	watchEvery = 50 * time.Millisecond  // between two looks at the context and the time of a call
	guardEvery = 200 * time.Millisecond // between two looks at the memory and the folder of a process, which cost more
)

// silence is the time beyond the limit of a trial without a message of a plugin that promised progress.
const silence = 5 * time.Second

// A call describes a call to a plugin.
type call struct {
	where    string        // activity of the plugin, for messages
	trials   int           // trials that the call works on
	total    int           // trials of the session, for messages
	limit    time.Duration // time limit of one trial
	progress bool          // the plugin reports progress
}

// reports counts the plugin's reports of progress during a call.
type reports struct {
	heard time.Time // time of the last message
	since time.Time // time of the first report about the present trial
	begun uint32    // trials of this call that have begun
	done  uint32    // trials of this call that are done
	count int
}

// watch supervises one call: it ends the process when the caller's context ends or a limit is
// exceeded.
type watch struct {
	call
	p     *Process
	ctx   context.Context
	start time.Time
	timer *time.Timer

	mu     sync.Mutex
	closed bool
	reports
}

// watch begins to supervise a call, until stop is called.
func (p *Process) watch(ctx context.Context, c call) *watch {
	now := time.Now()
	w := &watch{call: c, p: p, ctx: ctx, start: now, reports: reports{heard: now, since: now}}
	w.mu.Lock()
	w.timer = time.AfterFunc(watchEvery, w.look)
	w.mu.Unlock()
	w.checkContext()
	return w
}

func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.timer.Stop()
}

// place returns the plugin's activity, for messages.
func (w *watch) place() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.begun == 0 || w.total < 2 {
		return w.where
	}
	return fmt.Sprintf("%s (trial %d of %d)", w.where, w.begun, w.total)
}

// look checks the context and the time once, and schedules the next check.
func (w *watch) look() {
	w.checkContext()
	w.checkTime()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.timer.Reset(watchEvery)
	}
}

func (w *watch) checkContext() {
	if err := w.ctx.Err(); err != nil {
		w.end(Cancelled, err.Error(), err)
	}
}

// end ends the process, unless the call is over.
func (w *watch) end(cause Cause, detail string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.p.end(cause, detail, err)
	}
}

// greed returns the limit that the process and its descendants exceed; "" if none.
func (h *child) greed() (cause Cause, detail string) {
	limit := h.command.Memory
	u, ok := h.process.Measure(h.shared(), limit)
	switch {
	case !ok:
	case u.Memory > limit:
		return Memory, fmt.Sprintf("it held %s of memory, and the limit is %s (limits.memory)",
			wording.Bytes(u.Memory), wording.Bytes(limit))
	case u.Processes > sandbox.MaxProcesses:
		return Greed, fmt.Sprintf("it had %d processes, and %d are the most", u.Processes, sandbox.MaxProcesses)
	}
	return "", ""
}

// shared returns the bytes of memory in the files that the host shares with the process.
func (h *child) shared() (sum int64) {
	for _, f := range h.files {
		if f == nil {
			continue
		}
		if info, err := f.Stat(); err == nil {
			sum += info.Sys().(*syscall.Stat_t).Blocks * 512
		}
	}
	return sum
}

// guard ends the process if it takes too much memory, too many processes or too large a folder.
func (h *child) guard() {
	ticker := time.NewTicker(guardEvery)
	defer ticker.Stop()
	for {
		select {
		case <-h.done:
			return
		case <-ticker.C:
		}
		cause, detail := h.greed()
		if cause == "" && sandbox.FolderSize(h.dir.path) > sandbox.MaxFolder {
			cause, detail = Greed, fmt.Sprintf("it filled its folder with more than %s", wording.Bytes(sandbox.MaxFolder))
		}
		if cause != "" {
			h.end(cause, detail, nil)
		}
	}
}

// checkTime ends plugins that take too long without reports of progress.
func (w *watch) checkTime() {
	w.mu.Lock()
	silent := time.Since(w.heard)
	w.mu.Unlock()
	each := time.Since(w.start) / time.Duration(max(1, w.trials))
	switch {
	case w.progress && silent > w.limit && stopped(w.p.Pid()):
		w.end(Time, fmt.Sprintf("it stopped itself, and the limit of a trial is %s (limits.trial)", w.limit), nil)
	case w.progress && silent > w.limit+silence:
		w.end(Time, fmt.Sprintf("it said nothing for %s, and the limit of a trial is %s (limits.trial)",
			w.limit+silence, w.limit), nil)
	case !w.progress && w.trials == 0 && each > w.limit:
		w.end(Time, fmt.Sprintf("it took longer than %s", w.limit), nil)
	case !w.progress && each > w.limit:
		w.end(Time, fmt.Sprintf("%s took more than the %s allowed for each (limits.trial)",
			wording.Count(w.trials, "trial"), w.limit), nil)
	}
}

// report handles a report of progress. Two reports of the same trial with more than the limit between them prove that
// the trial takes longer.
func (w *watch) report(begun, done uint32) error {
	w.mu.Lock()
	w.heard = time.Now()
	w.count++
	if done != w.done {
		w.since = w.heard
	}
	w.begun, w.done = begun, done
	tooLong := w.heard.Sub(w.since) > w.limit
	tooMany := w.count > 10+2*int(w.heard.Sub(w.start)/time.Second)
	w.mu.Unlock()
	if tooMany {
		return fmt.Errorf("it sent %d reports of progress where one a second is allowed", w.count)
	}
	if tooLong {
		w.end(Time, fmt.Sprintf("the trial took longer than the limit of %s (limits.trial)", w.limit), nil)
	}
	return nil
}
