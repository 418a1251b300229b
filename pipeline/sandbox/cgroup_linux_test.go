//go:build amd64 || arm64

package sandbox

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// roleVariable selects a role, in which this binary is not a test.
const roleVariable = "SANDBOX_TEST_ROLE"

// roles are programs that use as many resources as they can.
var roles = map[string]func(){
	"memory":        func() { touch(unix.MAP_PRIVATE); forever() },
	"shared memory": func() { touch(unix.MAP_SHARED); touch(unix.MAP_SHARED); forever() },
	"memory in children": func() {
		for range 8 {
			_ = again("memory")
		}
		forever()
	},
	"tasks": func() {
		told()
		for range 100 {
			if err := again("idle"); err != nil {
				fmt.Println("refused:", err)
				return
			}
		}
	},
	"limits": func() {
		dir := told()
		for _, name := range []string{"memory.max", "cgroup.procs", "../cgroup.procs"} {
			if err := writeControl(dir, name, "0"); !refused(err) && !errors.Is(err, unix.EROFS) {
				fmt.Println(name, err)
			}
		}
		fmt.Println("tried")
	},
	"cut": func() {
		path := os.Getenv("CUT")
		f, err := os.OpenFile(path, os.O_RDONLY|os.O_TRUNC, 0)
		fmt.Println(f == nil && refused(err), refused(unix.Truncate(path, 0)))
	},
	"leave": func() { _ = again("idle"); fmt.Println("left"); forever() },
	"idle":  func() { forever() },
	"host": func() {
		m, _ := probe(0)
		_, _, _ = run(m, "leave", nil, func(l *Process) bool { fmt.Println(l.group.dir); forever(); return false })
	},
}

func TestMain(m *testing.M) {
	if role := roles[os.Getenv(roleVariable)]; role != nil {
		role()
		return
	}
	os.Exit(m.Run())
}

// told returns the text that the test sends.
func told() string {
	fmt.Println("ready")
	line, _ := bufio.NewReader(os.NewFile(3, "told")).ReadString('\n')
	return strings.TrimSpace(line)
}

// touch allocates and writes 100 MiB.
func touch(kind int) {
	b, err := unix.Mmap(-1, 0, 100<<20, unix.PROT_READ|unix.PROT_WRITE, kind|unix.MAP_ANON)
	for i := 0; err == nil && i < len(b); i += 4096 {
		b[i] = 1
	}
}

// forever sleeps. It does not use select, which Go would report as a deadlock.
func forever() {
	for {
		time.Sleep(time.Hour)
	}
}

// again starts this binary in another role, in a new session.
func again(role string) error {
	cmd := exec.Command(ownFile)
	cmd.Env = append(os.Environ(), roleVariable+"="+role, "GOMAXPROCS=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd.Start()
}

// refused reports whether an error is a missing permission.
func refused(err error) bool { return errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) }

// run starts this binary in a role, with 100 MiB, and returns its output. After each line it ends
// the program if enough returns true; nil: the program exits by itself.
func run(m *machine, role string, told *os.File, enough func(*Process) bool) (out string, l *Process, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	folder, err := os.MkdirTemp("", "shatter-group")
	if err != nil {
		return "", nil, err
	}
	defer os.RemoveAll(folder)
	r, w, err := os.Pipe()
	if err != nil {
		return "", nil, err
	}
	defer r.Close()
	l, err = m.start(Program{
		Path: ownFile, Env: []string{roleVariable + "=" + role, "FOLDER=" + folder}, Folder: folder,
		Files: []*os.File{told}, Stdout: w, Memory: 100 << 20, Threads: 1,
	}, &image{own: true})
	w.Close()
	if err != nil {
		return "", nil, err
	}
	for lines := bufio.NewScanner(r); lines.Scan(); {
		out += lines.Text() + "\n"
		if enough != nil && enough(l) {
			l.Kill()
			break
		}
	}
	return out, l, l.Cmd.Wait()
}

// withGroups returns this machine, and skips a test if cgroups are not delegated.
func withGroups(t *testing.T) *machine {
	t.Helper()
	m, err := thisMachine()
	if err != nil {
		t.Fatal(err)
	}
	if m.estate == nil {
		t.Skip("NOT RUN: ", Summary(m.layers))
	}
	return m
}

// release releases a program, and reports remains of its cgroup.
func release(t *testing.T, l *Process) {
	t.Helper()
	l.Release()
	if _, err := os.Stat(l.group.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the cgroup %s is left: %v", l.group.dir, err)
	}
}

// The kernel counts the memory of all processes of a program together, and ends all of them at
// once.
func TestGroupMemory(t *testing.T) {
	m := withGroups(t)
	for _, role := range []string{"memory in children", "shared memory"} {
		_, l, err := run(m, role, nil, nil)
		if l == nil {
			t.Fatal(err)
		}
		if !l.OutOfMemory() || err == nil || !strings.Contains(err.Error(), "signal: killed") {
			t.Error(role, fields(l.group.dir, "memory.events"), err)
		}
		release(t, l)
	}
}

// telling sends a role the text of tell once the role is ready.
func telling(t *testing.T, m *machine, role string, tell func(*Process) string) (out string, l *Process) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	ready := false
	out, l, err = run(m, role, r, func(l *Process) bool {
		if !ready {
			fmt.Fprintln(w, tell(l))
		}
		ready = true
		return false
	})
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
	return out, l
}

// The kernel limits the tasks of a program, which can neither change its limits nor leave its
// cgroup.
func TestGroupTasks(t *testing.T) {
	m := withGroups(t)
	out, l := telling(t, m, "tasks", func(l *Process) string {
		if most := fields(l.group.dir, "pids.max"); !slices.Equal(most, []string{strconv.Itoa(maxTasks)}) {
			t.Errorf("%s tasks are the most, want %d", most, maxTasks)
		}
		if err := writeControl(l.group.dir, "pids.max", "30"); err != nil { // thousands of tasks would need much memory
			t.Error(err)
		}
		return ""
	})
	if !strings.HasPrefix(out, "ready\nrefused: ") || !strings.Contains(out, unix.EAGAIN.Error()) {
		t.Errorf("%q", out)
	}
	release(t, l)
	out, l = telling(t, m, "limits", func(l *Process) string { return l.group.dir })
	if out != "ready\ntried\n" {
		t.Errorf("%q", out)
	}
	release(t, l)
}

// The remaining processes of a program end with it, even without a pid namespace. Those of a host
// that was killed end with the next host, which does not affect programs of running hosts.
func TestGroupLeft(t *testing.T) {
	m := withGroups(t)
	without, err := probe(0)
	if err != nil {
		t.Fatal(err)
	}
	out, l, _ := run(without, "leave", nil, func(l *Process) bool {
		if n := len(fields(l.group.dir, "cgroup.procs")); n != 2 {
			t.Errorf("%d processes are in the cgroup, want 2", n)
		}
		return true
	})
	if out != "left\n" || l.OutOfMemory() {
		t.Fatal(out)
	}
	release(t, l)

	host := exec.Command(ownFile)
	host.Env = append(os.Environ(), roleVariable+"=host")
	r, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	dir, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	dir = strings.TrimSpace(dir)
	m.estate.clear()
	if n := len(fields(dir, "cgroup.procs")); n != 2 {
		t.Errorf("%d processes of a host that lives are left, want 2", n)
	}
	_ = host.Process.Kill()
	_ = host.Wait()
	m.estate.clear()
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the cgroup %s of a host that was killed is left: %v", dir, err)
	}
}

// The error about a folder that cannot be used names the cause.
func TestEstateLacks(t *testing.T) {
	for _, tt := range []struct{ own, controllers, reason string }{
		{"4:memory:/x\n0::/\n", "", "this machine has the controller memory in cgroup v1, and not in "},
		{"0::/x\n", "cpu memory", `the controller pids is not delegated to DIR, which has ["cpu" "memory"]`},
		{"0::/x\n", "cpu memory pids", "DIR is not delegated to this user (open DIR/cgroup.subtree_control: no such file"},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "cgroup.controllers"), tt.controllers+"\n")
		_, err := newEstate(dir, tt.own)
		if want := strings.ReplaceAll(tt.reason, "DIR", dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
