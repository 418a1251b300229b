package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// A process is known to be debugged from the moment on when somebody traces it.
func TestTraced(t *testing.T) {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("NOT RUN: this system does not tell who traces a process")
	}
	runtime.LockOSThread() // which traces the process
	defer runtime.UnlockOSThread()
	c := exec.Command("sleep", "600")
	c.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := c.Start(); err != nil {
		t.Skip("NOT RUN: nothing can be traced here: ", err)
	}
	defer func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	}()
	if !traced(c.Process.Pid) || traced(os.Getpid()) {
		t.Errorf("a traced process: %v, this one: %v", traced(c.Process.Pid), traced(os.Getpid()))
	}
	if err := waitForDebugger(t.Context(), strings.NewReader(""), io.Discard, "plugin")(c.Process.Pid); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := waitForDebugger(ctx, strings.NewReader(""), io.Discard, "plugin")(os.Getpid())
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a wait that is cancelled ends with %v", err)
	}
}
