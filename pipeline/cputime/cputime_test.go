package cputime

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"
)

// work keeps the calling thread busy until it has used d.
func work(d time.Duration) {
	for began := thread(); thread()-began < d; {
	}
}

// A part of the work of one goroutine is what its thread has used, and this the process has used
// too; what it waits for takes no time.
func TestWatch(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the time of threads is only to be had on Linux")
	}
	const part = 20 * time.Millisecond
	var w Watch
	before := Process()
	for range 2 {
		w.Start()
		work(part)
		w.Stop()
		time.Sleep(part)
	}
	process := Process() - before
	if w.Total() < 2*part || w.Total() > process+time.Millisecond {
		t.Errorf("two parts of %v took %v, and the process %v", part, w.Total(), process)
	}
	calls := 0
	w.Run(0, func() { calls++ })
	w.Run(1, func() { calls++ })
	before = w.Total()
	w.Run(3, func() { calls++; work(part) })
	if took := w.Total() - before; took < 3*part || calls != 3 {
		t.Errorf("a part of %v that counts three times took %v; %d calls", part, took, calls)
	}
	w.Add(time.Hour)
	if took := w.Take(); took < time.Hour+2*part || w.Total() != 0 {
		t.Errorf("took %v, and %v after that", took, w.Total())
	}
}

// The time of a process, seen from outside, is what it sees itself.
func TestOf(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the time of other processes is only to be had on Linux")
	}
	work(time.Millisecond)
	before := Process()
	seen := Of(os.Getpid())
	if after := Process(); seen < before || seen > after {
		t.Errorf("from outside it is %v, from inside %v before and %v after", seen, before, after)
	}
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	if seen := Of(gone.Process.Pid); seen != 0 {
		t.Errorf("a process that is gone has used %v", seen)
	}
}
