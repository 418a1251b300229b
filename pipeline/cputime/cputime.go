// Package cputime reads the CPU time that processes and goroutines have used: user and system time
// together. On Linux it is exact to the nanosecond; a reading takes about half a microsecond, so it
// is for jobs and messages, not for single trials.
package cputime

import (
	"runtime"
	"time"
)

// A Watch adds up the CPU time of parts of a goroutine's work. Its zero value is ready for use, by
// one goroutine at a time. Parts do not nest.
type Watch struct {
	total time.Duration
	began time.Duration
}

// Start begins a part of the work, which should not wait for anything: until Stop is called, the
// goroutine keeps its thread.
func (w *Watch) Start() {
	runtime.LockOSThread()
	w.began = thread()
}

// Stop ends the part that the last call of Start began.
func (w *Watch) Stop() {
	w.total += thread() - w.began
	runtime.UnlockOSThread()
}

// Run measures a call of f as a part, and counts it weight times: for calls that are alike, and as
// short as a reading of the clock. With weight 0 it only calls f.
func (w *Watch) Run(weight int, f func()) {
	if weight == 0 {
		f()
		return
	}
	before := w.total
	w.Start()
	f()
	w.Stop()
	w.total = before + time.Duration(weight)*(w.total-before)
}

// Add adds time that was measured in another way.
func (w *Watch) Add(d time.Duration) { w.total += d }

// Take returns the sum, and begins anew from zero.
func (w *Watch) Take() time.Duration {
	total := w.total
	w.total = 0
	return total
}

// Total returns the sum since the last call of Take.
func (w *Watch) Total() time.Duration { return w.total }
