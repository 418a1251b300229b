//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Names of cgroups that this package creates below the delegated cgroup.
const (
	hostsGroup    = "shatter-hosts"    // processes that start programs; in the parent they would prevent limits
	programsGroup = "shatter-program-" // prefix of the host's process id and the program's number
)

// memorySlack is the memory that a cgroup may use beyond its program's limit, which the host
// checks. The kernel also counts page tables, stacks and pipes.
const memorySlack = 64 << 20

// An estate is a cgroup in which this process may create others.
type estate struct {
	dir string
	cpu bool // CPU time can be limited
}

// mechanism describes the resources that the kernel limits; "" for nil.
func (e *estate) mechanism() string {
	switch {
	case e == nil:
		return ""
	case e.cpu:
		return "cgroup v2: memory, processes, CPU"
	}
	return "cgroup v2: memory, processes"
}

// A group is the cgroup of one program. A nil group means none.
type group struct {
	dir string
	at  *os.File
}

// openEstate returns the cgroup that was delegated to this process, or the reason why there is
// none. It may move this process into a child cgroup.
func openEstate() (*estate, error) {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	_, path, found := strings.Cut("\n"+string(own), "\n0::")
	if !found {
		return nil, errors.New("the kernel has no cgroup v2")
	}
	path, _, _ = strings.Cut(path, "\n")
	return newEstate(filepath.Join("/sys/fs/cgroup", path), string(own))
}

// newEstate prepares the cgroup in a folder, which is that of this process, to have children with
// limits. own is the text of /proc/self/cgroup.
func newEstate(dir, own string) (*estate, error) {
	if filepath.Base(dir) == hostsGroup {
		dir = filepath.Dir(dir)
	}
	controllers := fields(dir, "cgroup.controllers")
	for _, name := range []string{"memory", "pids"} {
		switch {
		case slices.Contains(controllers, name):
		case strings.Contains(own, ":"+name+":"):
			return nil, fmt.Errorf("this machine has the controller %s in cgroup v1, and not in %s", name, dir)
		default:
			return nil, fmt.Errorf("the controller %s is not delegated to %s, which has %q", name, dir, controllers)
		}
	}
	if err := delegated(dir); err != nil {
		return nil, err
	}
	e := &estate{dir, slices.Contains(controllers, "cpu")}
	if err := e.control(); err != nil {
		return nil, err
	}
	e.clear()
	return e, nil
}

// delegated returns an error if systemd manages the cgroups and has not delegated this one. Only
// the user root needs the check: root may write to all cgroups.
func delegated(dir string) error {
	if _, err := os.Stat("/run/systemd/system"); err != nil || os.Geteuid() != 0 {
		return nil
	}
	for _, name := range []string{"trusted.delegate", "user.delegate"} {
		var value [1]byte
		if n, err := unix.Getxattr(dir, name, value[:]); err == nil && n == 1 && value[0] == '1' {
			return nil
		}
	}
	return fmt.Errorf("systemd has not delegated %s: Delegate=yes of its unit does", dir)
}

// fields returns the words of a file of a cgroup, or none if it cannot be read.
func fields(dir, name string) []string {
	text, _ := os.ReadFile(filepath.Join(dir, name))
	return strings.Fields(string(text))
}

// writeControl writes to a file of a cgroup.
func writeControl(dir, name, text string) error {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// control enables limits for child cgroups. The kernel refuses this for a cgroup with processes,
// except the root cgroup; this process then moves to a child cgroup.
func (e *estate) control() error {
	wanted := "+memory +pids"
	if e.cpu {
		wanted += " +cpu"
	}
	err := writeControl(e.dir, "cgroup.subtree_control", wanted)
	if !errors.Is(err, unix.EBUSY) {
		return e.refused(err)
	}
	hosts, self := filepath.Join(e.dir, hostsGroup), strconv.Itoa(os.Getpid())
	if err := os.Mkdir(hosts, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return e.refused(err)
	}
	if err = writeControl(hosts, "cgroup.procs", self); err == nil {
		if err = writeControl(e.dir, "cgroup.subtree_control", wanted); err == nil {
			return nil
		}
		_ = writeControl(e.dir, "cgroup.procs", self)
	}
	_ = unix.Rmdir(hosts)
	if errors.Is(err, unix.EBUSY) {
		return fmt.Errorf("%s has other processes too, which must be in a cgroup of their own", e.dir)
	}
	return e.refused(err)
}

// refused explains why the cgroup cannot be used; nil for nil.
func (e *estate) refused(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s is not delegated to this user (%w)", e.dir, err)
}

// clear ends the programs of hosts that were killed. This process has no programs yet.
func (e *estate) clear() {
	left, _ := filepath.Glob(filepath.Join(e.dir, programsGroup+"*"))
	for _, dir := range left {
		host, program := 0, 0
		_, err := fmt.Sscanf(filepath.Base(dir), programsGroup+"%d-%d", &host, &program)
		if err == nil && (host == os.Getpid() || errors.Is(unix.Kill(host, 0), unix.ESRCH)) {
			(&group{dir: dir}).remove()
		}
	}
}

// groups is the number of cgroups that this process has created.
var groups atomic.Int64

// newGroup creates the cgroup of a program, with its limits.
func (e *estate) newGroup(p Program) (*group, error) {
	g := &group{dir: filepath.Join(e.dir, fmt.Sprintf("%s%d-%d", programsGroup, os.Getpid(), groups.Add(1)))}
	err := os.Mkdir(g.dir, 0o755)
	if err == nil {
		g.at, err = os.Open(g.dir)
	}
	if err != nil {
		return nil, fmt.Errorf("no cgroup with limits can be made in %s (%w)", e.dir, err)
	}
	bounds := map[string]string{"memory.oom.group": "1", "pids.max": strconv.Itoa(maxTasks)}
	if p.Memory > 0 {
		bounds["memory.max"] = strconv.FormatInt(p.Memory+memorySlack, 10)
	}
	if e.cpu && p.Threads > 0 { // one more for background threads such as a garbage collector
		const period = 100_000 // µs
		bounds["cpu.max"] = fmt.Sprintf("%d %d", (p.Threads+1)*period, period)
	}
	for name, value := range bounds {
		err = errors.Join(err, writeControl(g.dir, name, value))
	}
	// If the kernel does not count swapped memory, this file does not exist.
	if e := writeControl(g.dir, "memory.swap.max", "0"); !errors.Is(e, fs.ErrNotExist) {
		err = errors.Join(err, e)
	}
	if err != nil {
		g.remove()
		return nil, err
	}
	return g, nil
}

// apply makes a process start in the cgroup. It is never outside of it.
func (g *group) apply(a *syscall.SysProcAttr) {
	if g != nil {
		a.UseCgroupFD, a.CgroupFD = true, int(g.at.Fd())
	}
}

// kill ends all processes of the cgroup, including those that are being started.
func (g *group) kill() {
	if g != nil {
		_ = writeControl(g.dir, "cgroup.kill", "1")
	}
}

// remove ends the processes of the cgroup and removes it. If that takes too long, a later host
// removes it.
func (g *group) remove() {
	if g == nil {
		return
	}
	defer g.at.Close()
	g.kill()
	const longest = time.Second
	for pause := time.Millisecond; pause < longest; pause *= 2 {
		if err := unix.Rmdir(g.dir); !errors.Is(err, unix.EBUSY) {
			return
		}
		time.Sleep(pause)
	}
}

// outOfMemory reports whether the kernel ended processes of the cgroup because of its limit.
func (g *group) outOfMemory() bool {
	if g == nil {
		return false
	}
	events := fields(g.dir, "memory.events")
	i := slices.Index(events, "oom_kill")
	return i >= 0 && i+1 < len(events) && events[i+1] != "0"
}
