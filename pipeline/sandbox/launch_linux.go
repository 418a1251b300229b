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

// Bounds of a program that the kernel holds, or that its host looks at.
const (
	maxFile      = 256 << 20 // bytes of a file that it writes
	maxTasks     = 2048      // processes and threads
	MaxProcesses = 256
	MaxFolder    = 1 << 30 // bytes of the files in its folder
)

// launchWait limits the time that the helper takes.
const launchWait = time.Minute

// Launch is a program that is being started.
type Launch struct {
	Cmd *exec.Cmd // started

	program Program
	report  *os.File
	image   *image
	group   *group // nil: none
	noGroup error  // why
	layers  []Layer
}

// Start starts a program under the policy, in a process group of its own. It has to be called on a
// locked thread that lives as long as the program: the program ends with the thread. Call Layers
// next.
func (p Program) Start() (*Launch, error) {
	if p.Policy.Mode == Off {
		cmd := p.command(p.Path, append([]string{p.Path}, p.Args...), p.Files)
		return &Launch{Cmd: cmd}, startAlone(cmd, nil)
	}
	img, err := openImage(p.Path, p.Digest)
	if err != nil {
		return nil, err
	}
	return p.startImage(img)
}

// startImage starts the content of the program's file.
func (p Program) startImage(img *image) (l *Launch, err error) {
	l = &Launch{program: p, image: img}
	l.group, l.noGroup = p.newGroup()
	for _, set := range namespaceSets() {
		if err = l.start(set); !set.refusedBy(err) {
			break
		}
	}
	if err != nil {
		img.release()
		l.group.remove()
		return nil, err
	}
	return l, nil
}

// command returns the command that executes a file, without any restriction but that it ends with
// this thread.
func (p Program) command(path string, args []string, files []*os.File) *exec.Cmd {
	cmd := &exec.Cmd{
		Path: path, Args: args, Env: p.Env, Dir: p.Dir, Stdout: p.Stdout, Stderr: p.Stderr, ExtraFiles: files,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	}
	if p.Stdin != nil {
		cmd.Stdin = p.Stdin
	}
	return cmd
}

// forks is held while a process is started or strays are looked for, which must not take it for one.
var (
	forks    sync.Mutex
	programs = map[int]*group{} // running ones, by process; nil: it has no cgroup
	takesIn  bool               // what programs leave behind comes to this process
)

func startAlone(cmd *exec.Cmd, g *group) error {
	g.apply(cmd.SysProcAttr)
	forks.Lock()
	defer forks.Unlock()
	err := cmd.Start()
	if err == nil {
		programs[cmd.Process.Pid] = g
	}
	return err
}

// takeIn has what programs leave behind come to this process.
func takeIn() {
	forks.Lock()
	defer forks.Unlock()
	takesIn = takesIn || unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == nil
}

// start starts the helper in new namespaces.
func (l *Launch) start(set namespaces) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer w.Close()
	files := slices.Concat(l.program.Files, []*os.File{w, l.image.file})
	report := 3 + len(l.program.Files)
	read, list := l.program.readable(l.image)
	s := spec{
		Executable: l.image.executable(l.program.Path, report+1), Argv: append([]string{l.program.Path}, l.program.Args...),
		Script: l.image.script != nil, Read: read, List: list, Folder: l.program.Folder, Report: report, Host: os.Getpid(),
		NoSpaces: set.why(), HostMounts: mountSpace(), Mode: l.program.Policy.Mode, Without: l.program.Policy.without,
	}
	text, err := json.Marshal(s)
	if err != nil {
		r.Close()
		return err
	}
	cmd := l.program.command("/proc/self/exe", []string{helper, string(text)}, files)
	cmd.Env = l.image.environment(cmd.Env)
	cmd.SysProcAttr.Pdeathsig = 0 // the helper asks for it, without a race
	set.apply(cmd.SysProcAttr)
	if set.flags == 0 {
		takeIn()
	}
	if err := startAlone(cmd, l.group); err != nil {
		r.Close()
		return err
	}
	l.Cmd, l.report = cmd, r
	return nil
}

// Probe returns the layers that hold here, found by entering the sandbox without a program. Its error is a
// *MissingError if the policy requires more.
func Probe(p Policy) ([]Layer, error) {
	if p.Mode == Off {
		return nil, nil
	}
	folder, err := os.MkdirTemp("", "shatter-probe")
	if err != nil {
		return nil, fmt.Errorf("try the sandbox: %w", err)
	}
	defer os.RemoveAll(folder)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	program := Program{Path: ownFile, Args: []string{probe}, Folder: folder, Policy: p}
	l, err := program.Start()
	if err != nil {
		return nil, fmt.Errorf("try the sandbox: %w", err)
	}
	layers, err := l.Layers()
	_ = l.Cmd.Wait()
	Forget(l.Cmd.Process.Pid)
	return layers, err
}

// probe is the argument of a program that is not to be executed.
const probe = "shatter-probe"

// Layers waits until the program is executed and returns the layers that hold. If it fails, the
// program has to be waited for all the same.
func (l *Launch) Layers() ([]Layer, error) {
	if l.report == nil {
		return nil, nil
	}
	defer l.report.Close()
	defer l.image.release()
	_ = l.report.SetReadDeadline(time.Now().Add(launchWait))
	reader := json.NewDecoder(l.report)
	if err := reader.Decode(&l.layers); err != nil {
		return nil, fmt.Errorf("enter the sandbox: %w; --sandbox off goes without", err)
	}
	l.layers = append(l.layers, l.group.layer(l.noGroup), l.image.layer())
	var f failure
	switch err := reader.Decode(&f); {
	case errors.Is(err, io.EOF):
		return l.layers, nil
	case err != nil:
		return l.layers, err
	case f.Missing:
		return l.layers, l.program.Policy.missing(l.layers)
	}
	return l.layers, f.Errno
}

// namespaces are the namespaces that programs are started in, as flags of clone.
type namespaces struct{ flags uintptr }

// why returns why there are none; "" if there are.
func (n namespaces) why() string {
	if n.flags != 0 {
		return ""
	}
	spacesMutex.Lock()
	defer spacesMutex.Unlock()
	return fmt.Sprintf("the kernel refuses a pid namespace here (%v)", spacesRefused[spaces|unix.CLONE_NEWUSER])
}

// apply has a process start in the namespaces.
func (n namespaces) apply(a *syscall.SysProcAttr) {
	a.Cloneflags = n.flags
	if n.flags&unix.CLONE_NEWUSER != 0 {
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN} // in this namespace alone, and until its mounts are changed
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	}
}

// refusedBy reports whether a start failed because the kernel does not make the namespaces.
func (n namespaces) refusedBy(err error) bool {
	if n.flags == 0 || err == nil {
		return false
	}
	for _, errno := range []error{unix.EPERM, unix.EACCES, unix.ENOSPC, unix.EINVAL, unix.ENOSYS, unix.EUSERS} {
		if errors.Is(err, errno) {
			spacesMutex.Lock()
			defer spacesMutex.Unlock()
			spacesRefused[n.flags] = errno
			return true
		}
	}
	return false
}

var (
	spacesMutex   sync.Mutex
	spacesRefused = map[uintptr]error{} // by flags
)

// spaces are the namespaces that programs get where they are to be had.
const spaces = unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWNS

// namespaceSets returns the sets of namespaces to try in turn: those that need a privilege, the same
// in a user namespace, and none.
func namespaceSets() (sets []namespaces) {
	spacesMutex.Lock()
	defer spacesMutex.Unlock()
	for _, flags := range []uintptr{spaces, spaces | unix.CLONE_NEWUSER} {
		if spacesRefused[flags] == nil {
			sets = append(sets, namespaces{flags})
		}
	}
	return append(sets, namespaces{})
}
