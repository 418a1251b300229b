//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Names of cgroups that this package makes in the one that was delegated.
const (
	hostsGroup    = "shatter-hosts"    // processes that start programs: those in its parent would forbid limits
	programsGroup = "shatter-program-" // and digits: a program
)

// memorySlack is what a cgroup may take beyond its program's limit, which the host looks at: the
// kernel counts page tables, stacks and pipes too.
const memorySlack = 64 << 20

// estate is a cgroup in which this process may make others.
type estate struct {
	dir string
	cpu bool // time can be limited
}

// group is the cgroup of one program. Whoever holds the lock of its folder lives.
type group struct {
	dir string
	at  *os.File
	how string
}

// ourEstate returns the cgroup that was delegated to this process, or why none was. The first call
// looks for it, and may move this process into a cgroup below.
var ourEstate = sync.OnceValues(func() (*estate, error) {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	dir, err := ownGroup(string(own), string(mounts))
	if err != nil {
		return nil, err
	}
	return openEstate(dir, string(own))
})

// ownGroup returns the folder of the cgroup of this process, by the text of /proc/self/cgroup and
// /proc/self/mountinfo.
func ownGroup(own, mounts string) (string, error) {
	_, path, found := strings.Cut("\n"+own, "\n0::")
	path, _, _ = strings.Cut(path, "\n")
	if !found {
		return "", errors.New("the kernel has no cgroup v2")
	}
	for line := range strings.Lines(mounts) {
		mount, kind, _ := strings.Cut(line, " - ")
		f := strings.Fields(mount)
		if len(f) < 5 || !strings.HasPrefix(kind, "cgroup2 ") {
			continue
		}
		root := strings.TrimSuffix(f[3], "/") + "/"
		if below, ok := strings.CutPrefix(path+"/", root); ok && !strings.HasPrefix(below, "..") {
			return filepath.Join(f[4], below), nil
		}
		return "", fmt.Errorf("the cgroup %s of this process is not below %s", path, f[4])
	}
	return "", errors.New("no cgroup2 file system is mounted")
}

// openEstate makes the cgroup in a folder, which is that of this process, one that may have others
// with limits, and tries it. own is the text of /proc/self/cgroup.
func openEstate(dir, own string) (*estate, error) {
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
	return e, e.try()
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

// control has the cgroups below get limits. A cgroup with processes cannot give any, unless it is the
// root: this one then moves to one below.
func (e *estate) control() error {
	wanted := []string{"memory", "pids"}
	if e.cpu {
		wanted = append(wanted, "cpu")
	}
	allow := func() error { return writeControl(e.dir, "cgroup.subtree_control", "+"+strings.Join(wanted, " +")) }
	given := words(e.dir, "cgroup.subtree_control")
	if !slices.ContainsFunc(wanted, func(name string) bool { return !slices.Contains(given, name) }) {
		return nil
	}
	err := allow()
	if err == nil {
		return nil
	}
	if !errors.Is(err, unix.EBUSY) {
		return fmt.Errorf("%s is not delegated to this user (%w)", e.dir, err)
	}
	hosts, self := filepath.Join(e.dir, hostsGroup), strconv.Itoa(os.Getpid())
	if err := os.Mkdir(hosts, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is not delegated to this user (%w)", e.dir, err)
	}
	if err = writeControl(hosts, "cgroup.procs", self); err == nil {
		if err = allow(); err == nil {
			return nil
		}
		_ = writeControl(e.dir, "cgroup.procs", self)
	}
	_ = unix.Rmdir(hosts)
	if errors.Is(err, unix.EBUSY) {
		return fmt.Errorf("%s has other processes too, which must be in a cgroup of their own", e.dir)
	}
	return fmt.Errorf("this process cannot move within %s (%w)", e.dir, err)
}

// clear ends what hosts that were killed have left in the cgroups of their programs.
func (e *estate) clear() {
	left, _ := filepath.Glob(filepath.Join(e.dir, programsGroup+"*"))
	for _, dir := range left {
		if g, err := lockGroup(dir); err == nil {
			g.remove()
		}
	}
}

// try starts a process in a cgroup that may have none, which the kernel has to refuse.
func (e *estate) try() error {
	g, err := e.newGroup()
	if err != nil {
		return err
	}
	defer g.remove()
	if err := writeControl(g.dir, "pids.max", "0"); err != nil {
		return err
	}
	forks.Lock()
	defer forks.Unlock()
	cmd := exec.Cmd{Path: ownFile, Args: []string{helper, "{}"}, SysProcAttr: &syscall.SysProcAttr{}}
	g.apply(cmd.SysProcAttr)
	switch err := cmd.Start(); {
	case err == nil:
		g.kill()
		_ = cmd.Wait()
		return fmt.Errorf("the kernel starts processes in %s beyond its limit", g.dir)
	case !errors.Is(err, unix.EAGAIN):
		return fmt.Errorf("the kernel starts no process in a cgroup (%w)", err)
	}
	return nil
}

// newGroup makes a cgroup for a program, which no other host takes for one that was left.
func (e *estate) newGroup() (g *group, err error) {
	for range 5 { // a host that looks for such may take it in the moment before it is locked
		var dir string
		if dir, err = os.MkdirTemp(e.dir, programsGroup); err != nil {
			break
		}
		if g, err = lockGroup(dir); err == nil {
			if err = writeControl(dir, "memory.oom.group", "1"); err == nil {
				return g, nil
			}
			g.remove()
		}
	}
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		err = path.Err
	}
	return nil, fmt.Errorf("no cgroup with limits can be made in %s (%w)", e.dir, err)
}

// lockGroup opens a cgroup whose host has ended, or that has none yet.
func lockGroup(dir string) (*group, error) {
	at, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(at.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		at.Close()
		return nil, err
	}
	return &group{dir: dir, at: at}, nil
}

// newGroup makes the cgroup of a program, with its limits.
func (p Program) newGroup() (*group, error) {
	if slices.Contains(p.Policy.without, Group) {
		return nil, errors.New("left out")
	}
	e, err := ourEstate()
	if err != nil {
		return nil, err
	}
	g, err := e.newGroup()
	if err != nil {
		return nil, err
	}
	bounds := map[string]string{"pids.max": strconv.Itoa(maxTasks)}
	if p.Memory > 0 {
		bounds["memory.max"] = strconv.FormatInt(p.Memory+memorySlack, 10)
	}
	g.how = "cgroup v2: memory, processes"
	if e.cpu {
		g.how += ", CPU"
		if p.Threads > 0 { // and one for the collector of garbage and the like
			const period = 100_000 // µs
			bounds["cpu.max"] = fmt.Sprintf("%d %d", (p.Threads+1)*period, period)
		}
	}
	for name, value := range bounds {
		if err := writeControl(g.dir, name, value); err != nil {
			g.remove()
			return nil, err
		}
	}
	// Where the kernel does not count what is swapped out, there is no such file.
	if err := writeControl(g.dir, "memory.swap.max", "0"); err != nil && !errors.Is(err, fs.ErrNotExist) {
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

// layer returns what holds of a program's cgroup. err says why there is none.
func (g *group) layer(err error) Layer {
	if g == nil {
		return Layer{Name: Group, How: err.Error()}
	}
	return Layer{Name: Group, Held: true, How: g.how}
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

// OutOfMemory reports whether the kernel ended a program because it and what it started took more
// than [Program.Memory]. It has to be asked before Forget.
func OutOfMemory(pid int) bool {
	forks.Lock()
	defer forks.Unlock()
	return programs[pid].outOfMemory()
}
