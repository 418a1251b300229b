//go:build !linux || !(amd64 || arm64)

package sandbox

import (
	"os/exec"
	"runtime"
	"slices"
	"syscall"
)

// Bounds of a program.
const (
	MaxProcesses = 256
	MaxFolder    = 1 << 30
)

// A Process is a started program. Call Release after waiting for Cmd.
type Process struct {
	Cmd    *exec.Cmd
	Layers []Layer
}

// Start starts a program without restrictions, in a new process group.
func (p Program) Start() (*Process, error) {
	layers, err := Probe(p.Policy)
	if err != nil {
		return nil, err
	}
	l := &Process{Layers: layers, Cmd: &exec.Cmd{
		Path: p.Path, Args: append([]string{p.Path}, p.Args...), Env: p.Env, Stdout: p.Stdout, Stderr: p.Stderr,
		ExtraFiles: p.Files, SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}}
	return l, l.Cmd.Start()
}

// Probe reports that no layer holds, which is an error if the policy requires layers.
func Probe(p Policy) (layers []Layer, err error) {
	if p.Mode == Off {
		return nil, nil
	}
	for _, name := range slices.Concat(required, []string{Mounts, Bytes, Limits}) {
		layers = append(layers, Layer{Name: name, How: "there is no sandbox on " + runtime.GOOS + "/" + runtime.GOARCH})
	}
	return layers, p.missing(layers)
}

// Measure is not supported.
func (l *Process) Measure(int64, int64) (u Usage, ok bool) { return u, false }

// Kill sends SIGKILL to the group of a program.
func (l *Process) Kill() { _ = syscall.Kill(-l.Cmd.Process.Pid, syscall.SIGKILL) }

// End ends a process that is no longer needed, and waits for it.
func (l *Process) End() {
	l.Kill()
	_ = l.Cmd.Wait()
}

// Release does nothing.
func (l *Process) Release() {}

// FolderSize is not supported.
func FolderSize(string) int64 { return 0 }
