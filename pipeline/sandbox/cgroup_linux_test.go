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

// roleVariable makes this binary another program than a test.
const roleVariable = "SANDBOX_TEST_ROLE"

// roles are programs that take what they can get.
var roles = map[string]func(){
	"memory":        func() { touch(unix.MAP_PRIVATE); forever() },
	"shared memory": func() { touch(unix.MAP_SHARED); touch(unix.MAP_SHARED); forever() },
	"memory in children": func() {
		for range 8 {
			_ = again("memory")
		}
		forever()
	},
	"files in memory": func() {
		for i := range 40 {
			_ = os.WriteFile(filepath.Join(os.Getenv("FOLDER"), strconv.Itoa(i)), make([]byte, 8<<20), 0o600)
		}
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
	"cores": func() {
		for range 8 {
			go burn()
		}
		fmt.Println("burning")
		forever()
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
		withoutSpaces()
		_, _, _ = run("leave", nil, func(l *Launch) bool { fmt.Println(l.group.dir); forever(); return false })
	},
}

func TestMain(m *testing.M) {
	if role := roles[os.Getenv(roleVariable)]; role != nil {
		role()
		return
	}
	os.Exit(m.Run())
}

// told returns what the test has to tell.
func told() string {
	fmt.Println("ready")
	line, _ := bufio.NewReader(os.Stdin).ReadString('\n')
	return strings.TrimSpace(line)
}

// touch takes 100 MiB.
func touch(kind int) {
	b, err := unix.Mmap(-1, 0, 100<<20, unix.PROT_READ|unix.PROT_WRITE, kind|unix.MAP_ANON)
	for i := 0; err == nil && i < len(b); i += 4096 {
		b[i] = 1
	}
}

// forever is no select, which Go takes for a deadlock.
func forever() {
	for {
		time.Sleep(time.Hour)
	}
}

func burn() {
	for i := 0; ; i++ {
		_ = i
	}
}

// again starts this binary in another role, in a session of its own.
func again(role string) error {
	cmd := exec.Command(ownFile)
	cmd.Env = append(os.Environ(), roleVariable+"="+role, "GOMAXPROCS=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd.Start()
}

// refused reports whether an error is that of a right that is missing.
func refused(err error) bool { return errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) }

// withoutSpaces has programs start without namespaces.
func withoutSpaces() (restore func()) {
	spacesMutex.Lock()
	defer spacesMutex.Unlock()
	kept := spacesRefused
	spacesRefused = map[uintptr]error{spaces: unix.EPERM, spaces | unix.CLONE_NEWUSER: unix.EPERM}
	return func() { spacesRefused = kept }
}

// run starts this binary in a role, with 100 MiB, and returns what it prints. After each line, enough
// says whether it is to be ended; nil: it ends by itself.
func run(role string, stdin *os.File, enough func(*Launch) bool) (out string, l *Launch, err error) {
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
	l, err = Program{
		Path: ownFile, Env: []string{roleVariable + "=" + role, "FOLDER=" + folder}, Folder: folder, Stdin: stdin, Stdout: w,
		Memory: 100 << 20, Threads: 1,
	}.Start()
	w.Close()
	if err != nil {
		return "", nil, err
	}
	_, err = l.Layers()
	for lines := bufio.NewScanner(r); lines.Scan(); {
		out += lines.Text() + "\n"
		if enough != nil && enough(l) {
			Kill(l.Cmd.Process.Pid)
			break
		}
	}
	return out, l, errors.Join(err, l.Cmd.Wait())
}

// withGroups skips a test where cgroups are not delegated.
func withGroups(t *testing.T) *estate {
	t.Helper()
	e, err := ourEstate()
	if err != nil {
		t.Skip("NOT RUN: ", err)
	}
	return e
}

// forget forgets a program, and reports what its cgroup leaves.
func forget(t *testing.T, l *Launch) {
	t.Helper()
	Forget(l.Cmd.Process.Pid)
	if _, err := os.Stat(l.group.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the cgroup %s is left: %v", l.group.dir, err)
	}
}

// What a program takes by itself, by others that it starts, and by files in memory, is counted
// together, and all of it ends at once.
func TestGroupMemory(t *testing.T) {
	withGroups(t)
	for _, role := range []string{"memory in children", "shared memory", "files in memory"} {
		t.Run(role, func(t *testing.T) {
			var fs unix.Statfs_t
			if err := unix.Statfs(os.TempDir(), &fs); role == "files in memory" && (err != nil || fs.Type != unix.TMPFS_MAGIC) {
				t.Skip("NOT RUN: the temporary folder is on a disk")
			}
			_, l, err := run(role, nil, nil)
			if l == nil {
				t.Fatal(err)
			}
			if !OutOfMemory(l.Cmd.Process.Pid) || err == nil || !strings.Contains(err.Error(), "signal: killed") {
				t.Error(words(l.group.dir, "memory.events"), err)
			}
			forget(t, l)
		})
	}
}

// telling has what a role is told come from tell, once it is ready.
func telling(t *testing.T, role string, tell func(*Launch) string) (out string, l *Launch) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	ready := false
	out, l, err = run(role, r, func(l *Launch) bool {
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

// Tasks are bounded, and cores.
func TestGroupTasks(t *testing.T) {
	withGroups(t)
	out, l := telling(t, "tasks", func(l *Launch) string {
		if most := words(l.group.dir, "pids.max"); !slices.Equal(most, []string{strconv.Itoa(maxTasks)}) {
			t.Errorf("%s tasks are the most, want %d", most, maxTasks)
		}
		if err := writeControl(l.group.dir, "pids.max", "30"); err != nil { // thousands would take memory
			t.Error(err)
		}
		return ""
	})
	if !strings.HasPrefix(out, "ready\nrefused: ") || !strings.Contains(out, unix.EAGAIN.Error()) {
		t.Errorf("%q", out)
	}
	forget(t, l)
	if runtime.NumCPU() < 3 {
		t.Skip("NOT RUN: a program may use two cores, and there are no more")
	}
	throttled := func(l *Launch) bool {
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			stat := words(l.group.dir, "cpu.stat")
			if i := slices.Index(stat, "nr_throttled"); i >= 0 && stat[i+1] != "0" {
				return true
			}
		}
		t.Error("eight busy threads are not held to two cores: ", words(l.group.dir, "cpu.stat"))
		return true
	}
	if _, l, _ = run("cores", nil, throttled); l != nil {
		forget(t, l)
	}
}

// A program cannot change its limits, nor leave its cgroup.
func TestGroupLocked(t *testing.T) {
	withGroups(t)
	out, l := telling(t, "limits", func(l *Launch) string { return l.group.dir })
	if out != "ready\ntried\n" {
		t.Errorf("%q", out)
	}
	forget(t, l)
}

// What a program leaves behind ends with it, without a pid namespace too, and what a host leaves that
// was killed, with the next one; the programs of one that lives are spared.
func TestGroupLeft(t *testing.T) {
	e := withGroups(t)
	restore := withoutSpaces()
	out, l, _ := run("leave", nil, func(l *Launch) bool {
		if n := len(words(l.group.dir, "cgroup.procs")); n != 2 {
			t.Errorf("%d processes are in the cgroup, want 2", n)
		}
		return true
	})
	restore()
	if out != "left\n" || OutOfMemory(l.Cmd.Process.Pid) {
		t.Fatal(out)
	}
	forget(t, l)

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
	e.clear()
	if n := len(words(dir, "cgroup.procs")); n != 2 {
		t.Errorf("%d processes of a host that lives are left, want 2", n)
	}
	_ = host.Process.Kill()
	_ = host.Wait()
	e.clear()
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the cgroup %s of a host that was killed is left: %v", dir, err)
	}
}

func TestOwnGroup(t *testing.T) {
	const proc = "25 30 0:23 / /proc rw - proc proc rw\n"
	for _, tt := range []struct{ own, root, at, dir, reason string }{
		{"0::/user.slice/a.scope\n", "/", "/sys/fs/cgroup", "/sys/fs/cgroup/user.slice/a.scope", ""},
		{"4:memory:/x\n0::/\n", "/", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/unified", ""},
		{"0::/pod/c\n", "/pod", "/sys/fs/cgroup", "/sys/fs/cgroup/c", ""},
		{"0::/../other\n", "/", "/sys/fs/cgroup", "", "the cgroup /../other of this process is not below"},
		{"0::/other\n", "/pod", "/sys/fs/cgroup", "", "the cgroup /other of this process is not below"},
		{"4:memory:/x\n", "/", "/sys/fs/cgroup", "", "the kernel has no cgroup v2"},
		{"0::/\n", "", "", "", "no cgroup2 file system is mounted"},
	} {
		mounts := proc
		if tt.at != "" {
			mounts += fmt.Sprintf("34 25 0:30 %s %s rw shared:4 - cgroup2 cgroup2 rw\n", tt.root, tt.at)
		}
		dir, err := ownGroup(tt.own, mounts)
		if dir != tt.dir || (err == nil) != (tt.reason == "") || err != nil && !strings.Contains(err.Error(), tt.reason) {
			t.Errorf("%q: %q, %v", tt.own, dir, err)
		}
	}
}

// What a folder of a cgroup lacks is named.
func TestEstateLacks(t *testing.T) {
	for _, tt := range []struct{ own, controllers, reason string }{
		{"4:memory:/x\n0::/\n", "", "this machine has the controller memory in cgroup v1, and not in "},
		{"0::/x\n", "cpu memory", `the controller pids is not delegated to DIR, which has ["cpu" "memory"]`},
		{"0::/x\n", "cpu memory pids", "DIR is not delegated to this user (open DIR/cgroup.subtree_control: no such file"},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "cgroup.controllers"), tt.controllers+"\n")
		_, err := openEstate(dir, tt.own)
		if want := strings.ReplaceAll(tt.reason, "DIR", dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
