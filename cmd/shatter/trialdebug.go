package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/shatterlab/shatter/pipeline/sandbox"
)

// waitForDebugger returns a function that tells a person how to attach a debugger to a plugin's process
// and waits until one has, or until a line comes from in. path is the plugin's file.
func waitForDebugger(ctx context.Context, in io.Reader, out io.Writer, path string) func(pid int) error {
	enter := sync.OnceValue(func() <-chan bool { return lines(in) })
	return func(pid int) error {
		fmt.Fprintf(out, `the plugin %s waits as process %d, which has learnt nothing yet
  Go:      dlv attach %d      (break points are exact in a plugin built with: go build -gcflags=all='-N -l')
  others:  gdb -p %d; Python 3.14: python3 -m pdb -p %d
It goes on when a debugger is attached, or press Enter.
The limits of time and memory are suspended, and there is no sandbox.%s
`, path, pid, pid, pid, pid, ptraceHint())
		ticker := time.NewTicker(100 * time.Millisecond)
		defer ticker.Stop()
		entered := enter()
		for !traced(pid) {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case _, open := <-entered:
				if open {
					return nil
				}
				entered = nil // nobody types: only a debugger can end the wait
			case <-ticker.C:
			}
		}
		return nil
	}
}

// lines sends a value for each line of r, and is closed at its end.
func lines(r io.Reader) <-chan bool {
	c := make(chan bool)
	go func() {
		defer close(c)
		for s := bufio.NewScanner(r); s.Scan(); {
			c <- true
		}
	}()
	return c
}

// traced reports whether a debugger is attached to a process, where the system tells.
func traced(pid int) bool {
	tracer, _ := sandbox.StatusNumber(pid, "TracerPid")
	return tracer != 0
}

// ptraceHint returns what to do where the system lets only root attach to a process that it did not
// start; "" elsewhere.
func ptraceHint() string {
	b, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	if err != nil || strings.TrimSpace(string(b)) == "0" || os.Geteuid() == 0 {
		return ""
	}
	return "\nThis system lets only root attach (kernel.yama.ptrace_scope): put sudo before the debugger."
}
