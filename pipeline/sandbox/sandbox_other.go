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

// Launch is a program that is being started.
type Launch struct {
	Cmd *exec.Cmd // started

	layers []Layer
}

// Start starts a program as it is, in a process group of its own.
func (p Program) Start() (*Launch, error) {
	layers, err := Probe(p.Policy)
	if err != nil {
		return nil, err
	}
	l := &Launch{layers: layers, Cmd: &exec.Cmd{
		Dir:  p.Dir,
		Path: p.Path, Args: append([]string{p.Path}, p.Args...), Env: p.Env, Stdout: p.Stdout, Stderr: p.Stderr,
		ExtraFiles: p.Files, SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}}
	if p.Stdin != nil {
		l.Cmd.Stdin = p.Stdin
	}
	return l, l.Cmd.Start()
}

// Probe returns that no layer holds here, which is an error if the policy requires some.
func Probe(p Policy) (layers []Layer, err error) {
	if p.Mode == Off {
		return nil, nil
	}
	for _, name := range slices.Concat(required, []string{Mounts, Group, Bytes, Limits}) {
		layers = append(layers, Layer{Name: name, How: "there is no sandbox on " + runtime.GOOS + "/" + runtime.GOARCH})
	}
	return layers, p.missing(layers)
}

// Layers returns that none holds.
func (l *Launch) Layers() ([]Layer, error) { return l.layers, nil }

// Usage is what a program and all that it has started hold.
type Usage struct {
	Processes int
	Memory    int64
}

// Measure knows nothing here.
func Measure(int, int64, int64) (u Usage, ok bool) { return u, false }

// Kill sends SIGKILL to the group of a program.
func Kill(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// OutOfMemory knows nothing here.
func OutOfMemory(int) bool { return false }

// Forget does nothing here.
func Forget(int) {}

// FolderSize knows nothing here.
func FolderSize(string) int64 { return 0 }
