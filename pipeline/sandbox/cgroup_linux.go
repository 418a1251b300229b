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

// Names of cgroups that this package makes in the one that was delegated.
const (
	hostsGroup    = "shatter-hosts"    // processes that start programs: those in its parent would forbid limits
	programsGroup = "shatter-program-" // and two numbers: a host's process and its program
)

// memorySlack is what a cgroup may take beyond its program's limit, which the host looks at: the
// kernel counts page tables, stacks and pipes too.
const memorySlack = 64 << 20

// An estate is a cgroup in which this process may make others.
type estate struct {
	dir string
	cpu bool // time can be limited
}

// how describes what the kernel limits; "" for nil.
func (e *estate) how() string {
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

// openEstate returns the cgroup that was delegated to this process, or why none was. It may move this process
// into a cgroup below.
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

// newEstate makes the cgroup in a folder, which is that of this process, one that may have others
// with limits. own is the text of /proc/self/cgroup.
func newEstate(dir, own string) (*estate, error) {
	if filepath.Base(dir) == hostsGroup {
		dir = filepath.Dir(dir)
	}
	controllers := words(dir, "cgroup.controllers")
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

// delegated returns an error unless systemd, where it rules, leaves the cgroup to this process. It
// may write to all if it is of the user root.
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

// words returns the words of a file of a cgroup; none if it cannot be read.
func words(dir, name string) []string {
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

// control lets the cgroups below have limits. The kernel refuses this for a cgroup with processes, except the
// root: this process then moves to a cgroup below.
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

// clear ends the programs of hosts that were killed, by their cgroups. This process has none yet.
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

// groups counts the cgroups that this process has made.
var groups atomic.Int64

// newGroup makes the cgroup of a program, with its limits.
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
	if e.cpu && p.Threads > 0 { // and one for the collector of garbage and the like
		const period = 100_000 // µs
		bounds["cpu.max"] = fmt.Sprintf("%d %d", (p.Threads+1)*period, period)
	}
	for name, value := range bounds {
		err = errors.Join(err, writeControl(g.dir, name, value))
	}
	// Where the kernel does not count what is swapped out, there is no such file.
	if e := writeControl(g.dir, "memory.swap.max", "0"); !errors.Is(e, fs.ErrNotExist) {
		err = errors.Join(err, e)
	}
	if err != nil {
		g.remove()
		return nil, err
	}
	return g, nil
}

// apply has a process start in the cgroup. There is no moment in which it is elsewhere.
func (g *group) apply(a *syscall.SysProcAttr) {
	if g != nil {
		a.UseCgroupFD, a.CgroupFD = true, int(g.at.Fd())
	}
}

// kill ends all processes of the cgroup, those too that are being started.
func (g *group) kill() {
	if g != nil {
		_ = writeControl(g.dir, "cgroup.kill", "1")
	}
}

// remove ends what is in the cgroup and removes it. If that takes too long, a later host does it.
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
	events := words(g.dir, "memory.events")
	i := slices.Index(events, "oom_kill")
	return i >= 0 && i+1 < len(events) && events[i+1] != "0"
}
