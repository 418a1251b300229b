//go:build amd64 || arm64

package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Limits of a program that the kernel enforces, or that its host checks.
const (
	maxFile      = 256 << 20 // size in bytes of a file that it writes
	maxTasks     = 2048      // number of processes and threads in a user namespace
	MaxProcesses = 256
	MaxFolder    = 1 << 30 // total bytes of the files in its folder
)

// startWait limits the time from the start of the helper until it executes the program.
const startWait = time.Minute

// A Process is a started program. Call Release after waiting for Cmd.
type Process struct {
	Cmd    *exec.Cmd
	Layers []Layer // nil: the sandbox is off
}

// Start starts a program under the policy, in a new process group, and returns when it is
// executed. The caller must have locked its goroutine to a thread that lives as long as the
// program, because the program ends with the thread.
func (p Program) Start() (*Process, error) {
	if p.Policy.Mode == Off {
		l := &Process{Cmd: p.command(p.Path, append([]string{p.Path}, p.Args...), p.Files)}
		return l, l.fork()
	}
	m, err := thisMachine()
	if err == nil {
		err = p.Policy.missing(m.layers)
	}
	if err != nil {
		return nil, err
	}
	img, err := openImage(p.Path, p.Digest)
	if err != nil {
		return nil, err
	}
	return m.start(p, img)
}

// command returns the command that executes a file. Its only restriction is that it ends with
// this thread.
func (p Program) command(path string, args []string, files []*os.File) *exec.Cmd {
	return &exec.Cmd{
		Path: path, Args: args, Env: p.Env, Stdout: p.Stdout, Stderr: p.Stderr, ExtraFiles: files,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	}
}

var (
	forks   sync.Mutex       // held during a start and during a search for strays, which must not kill a new program
	running = map[int]bool{} // processes that were started and not released
	reaper  bool             // orphans of programs become children of this process
)

// fork starts the process.
func (l *Process) fork() error {
	forks.Lock()
	defer forks.Unlock()
	err := l.Cmd.Start()
	if err == nil {
		running[l.Cmd.Process.Pid] = true
	}
	return err
}

// A machine describes the parts of the sandbox that are available on this machine.
type machine struct {
	spaces   uintptr // flags of clone that make the namespaces of programs; 0: none
	noSpaces string  // reason for having no namespaces
	layers   []Layer
}

// thisMachine tests the sandbox at its first call.
var thisMachine = sync.OnceValues(func() (*machine, error) { return probe(spaces, spaces|unix.CLONE_NEWUSER, 0) })

// spaces are the flags of the namespaces of programs. The kernel creates them with this process's
// privileges, or in a user namespace.
const spaces = unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWNS

// probe enters the sandbox without a program, in the first set of namespaces that the kernel can
// create, and determines the layers that hold.
func probe(sets ...uintptr) (m *machine, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	m = &machine{}
	refusal := ""
	for _, m.spaces = range sets {
		if m.spaces == 0 {
			m.noSpaces = "the kernel refuses a pid namespace here" + refusal
		}
		if m.layers, err = m.enter(); err == nil {
			break
		}
		if path := (*os.PathError)(nil); errors.As(err, &path) { // its path is not informative
			err = path.Err
		}
		refusal = fmt.Sprintf(" (%v)", err)
	}
	if err != nil {
		return nil, fmt.Errorf("try the sandbox: %w", err)
	}
	if m.spaces == 0 {
		forks.Lock()
		reaper = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == nil
		forks.Unlock()
	}
	memory, err := executableMemory()
	if err == nil {
		memory.Close()
	}
	m.layers = append(m.layers, layerOf(Bytes, "sealed copy", err))
	return m, nil
}

// enter enters the sandbox without a program and returns the layers.
func (m *machine) enter() ([]Layer, error) {
	l := &Process{}
	defer l.End()
	folder, err := os.MkdirTemp("", "shatter-probe")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	r, err := m.launch(l, Program{Folder: folder}, &image{})
	if err == nil && len(r.Layers) == 0 {
		err = errors.New("the helper ended without a report")
	}
	return r.Layers, err
}

// start starts the content of the program's file.
func (m *machine) start(p Program, img *image) (*Process, error) {
	l := &Process{Layers: m.layers}
	r, err := m.launch(l, p, img)
	switch {
	case err != nil:
	case r.Errno != 0:
		err = r.Errno
	case r.Failed != "":
		err = &EnterError{errors.New(r.Failed)}
	default:
		return l, nil
	}
	l.End()
	return nil, err
}

// End ends a process that is no longer needed, waits for it and releases it.
func (l *Process) End() {
	if l.Cmd == nil || l.Cmd.Process == nil {
		return
	}
	l.Kill()
	_ = l.Cmd.Wait()
	l.Release()
}

// launch starts the helper and returns its report, which is empty if it has executed the program.
func (m *machine) launch(l *Process, p Program, img *image) (r report, err error) {
	out, in, err := os.Pipe()
	if err != nil {
		return r, err
	}
	defer out.Close()
	content, err := img.open()
	if err != nil {
		in.Close()
		return r, err
	}
	defer func() { _ = content.Close() }() // an error for nil
	files, at := slices.Concat(p.Files, []*os.File{in, content}), 3+len(p.Files)
	e := entry{
		Executable: img.executable(p.Path, at+1), Argv: append([]string{p.Path}, p.Args...), Script: img.script != nil,
		Read: p.readable(img), Write: []string{p.Folder}, Report: at, Host: os.Getpid(),
		NoSpaces: m.noSpaces, HostMounts: mountSpace(),
	}
	for _, layer := range m.layers {
		if layer.Held {
			e.Held = append(e.Held, layer.Name)
		}
	}
	text, err := json.Marshal(e)
	if err != nil {
		in.Close()
		return r, err
	}
	l.Cmd = p.command(ownFile, []string{helper, string(text)}, files)
	l.Cmd.Env = img.environment(l.Cmd.Env)
	m.setSpaces(l.Cmd.SysProcAttr)
	err = l.fork()
	in.Close()
	if err != nil {
		return r, err
	}
	_ = out.SetReadDeadline(time.Now().Add(startWait))
	if err := json.NewDecoder(out).Decode(&r); err != nil && !errors.Is(err, io.EOF) {
		return r, &EnterError{err}
	}
	return r, nil
}

// setSpaces makes a process start in new namespaces.
func (m *machine) setSpaces(a *syscall.SysProcAttr) {
	a.Pdeathsig = 0 // the helper requests the signal itself, without a race
	a.Cloneflags = m.spaces
	if m.spaces&unix.CLONE_NEWUSER != 0 {
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
		a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN} // in this namespace only, until its mounts are changed
	}
}

// Probe returns the layers that hold here. Its error is a *MissingError if the policy requires more.
func Probe(p Policy) ([]Layer, error) {
	if p.Mode == Off {
		return nil, nil
	}
	m, err := thisMachine()
	if err != nil {
		return nil, err
	}
	return m.layers, p.missing(m.layers)
}
