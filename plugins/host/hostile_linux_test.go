package host

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/shatterlab/shatter/pipeline/sandbox"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// seal is the layer that keeps what is shared from being written to; it is older than the sandbox.
const seal = "seal"

// acts lists what a hostile plugin tries, and the layer that refuses it. An act returns nil if it
// was possible.
var acts = []struct {
	name, layer string
	do          func(victim) error
}{
	{"read /etc/shadow", sandbox.Files, func(victim) error { return open("/etc/shadow", os.O_RDONLY) }},
	{"read /etc/passwd", sandbox.Files, func(victim) error { return open("/etc/passwd", os.O_RDONLY) }},
	{"read a file of the user", sandbox.Files, func(v victim) error { return open(v.Secret, os.O_RDONLY) }},
	{"read the host's environment", sandbox.Files, func(v victim) error { return open(v.proc("environ"), os.O_RDONLY) }},
	{"read the host's memory", sandbox.Files, func(v victim) error { return open(v.proc("mem"), os.O_RDONLY) }},
	{"read the host's files", sandbox.Files, func(v victim) error { return open(v.proc("fd"), os.O_RDONLY) }},
	{"list /", sandbox.Files, func(victim) error { return open("/", os.O_RDONLY) }},
	{"write a file of the user", sandbox.Files, func(v victim) error { return open(v.Secret, os.O_WRONLY) }},
	{"make a file beside it", sandbox.Files, func(v victim) error { return open(v.Secret+".new", os.O_CREATE|os.O_WRONLY) }},
	{"cut a file of the user", sandbox.Files, func(v victim) error { return os.Truncate(v.Secret, 0) }},
	{"cut a file by opening it", sandbox.Files, func(v victim) error { return open(v.Secret, os.O_RDONLY|os.O_TRUNC) }},
	{"link to a file of the user", sandbox.Files, func(v victim) error { return os.Link(v.Secret, os.TempDir()+"/link") }},
	{"write shared memory of the user", sandbox.Files, func(v victim) error { return open(v.Shared, os.O_WRONLY) }},
	{"replace its own file", sandbox.Files, func(victim) error { return open(os.Args[0], os.O_WRONLY) }},
	{"open the terminal", sandbox.Files, func(victim) error { return open("/dev/tty", os.O_RDWR) }},
	{"change the mode of a file", sandbox.Syscalls, func(v victim) error { return os.Chmod(v.Secret, 0o777) }},
	{"change the owner of a file", sandbox.Syscalls, func(v victim) error { return os.Chown(v.Secret, os.Getuid(), -1) }},
	{"change the times of a file", sandbox.Syscalls, func(v victim) error {
		return os.Chtimes(v.Secret, time.Now(), time.Now())
	}},
	{"change the flags of a file", sandbox.Syscalls, onOwnFile(func(fd int) error {
		return unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, 0)
	})},
	{"watch a folder of the user", sandbox.Syscalls, func(victim) error {
		fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}},
	{"set up asynchronous reads", sandbox.Syscalls, raw(unix.SYS_IO_SETUP)},
	{"lock a range of a file", sandbox.Syscalls, onOwnFile(func(fd int) error {
		return unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_RDLCK, Start: 7, Len: 1})
	})},
	{"look for locks of a file", sandbox.Syscalls, onOwnFile(func(fd int) error {
		return unix.FcntlFlock(uintptr(fd), unix.F_GETLK, &unix.Flock_t{Type: unix.F_WRLCK, Start: 7, Len: 1})
	})},
	{"lock a file", sandbox.Syscalls, onOwnFile(func(fd int) error { return unix.Flock(fd, unix.LOCK_SH) })},
	{"lease a file", sandbox.Syscalls, onOwnFile(func(fd int) error {
		_, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK)
		return err
	})},
	{"drop a file from the page cache", sandbox.Syscalls, onOwnFile(func(fd int) error {
		return unix.Fadvise(fd, 0, 0, unix.FADV_DONTNEED)
	})},
	{"look into the page cache", sandbox.Syscalls, onOwnFile(func(fd int) error {
		_, err := unix.Preadv2(fd, [][]byte{make([]byte, 1)}, 0, unix.RWF_NOWAIT)
		return err
	})},
	{"dial TCP", sandbox.Network, func(v victim) error { return dial("tcp", v.TCP) }},
	{"dial UDP", sandbox.Network, func(v victim) error { return dial("udp", v.TCP) }},
	{"dial a Unix socket", sandbox.Network, func(v victim) error { return dial("unix", v.Unix) }},
	{"dial an abstract socket", sandbox.Network, func(v victim) error { return dial("unix", v.Abstract) }},
	{"open a netlink socket", sandbox.Network, func(victim) error {
		_, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, 0)
		return err
	}},
	{"attach to processes", sandbox.Syscalls, raw(unix.SYS_PTRACE)}, // a host that is traced stops for good at its next signal
	{"read the host by process_vm_readv", sandbox.Syscalls, func(v victim) error {
		var b [1]byte
		local, remote := []unix.Iovec{{Base: &b[0], Len: 1}}, []unix.RemoteIovec{{Base: v.Address, Len: 1}}
		_, err := unix.ProcessVMReadv(v.Pid, local, remote, 0)
		return err
	}},
	{"make a user namespace", sandbox.Syscalls, func(victim) error { return unix.Unshare(unix.CLONE_NEWUSER) }},
	{"start a process in namespaces", sandbox.Syscalls, func(victim) error {
		cmd := exec.Command("/usr/bin/true")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWPID}
		return cmd.Run()
	}},
	{"mount", sandbox.Syscalls, raw(unix.SYS_MOUNT)}, // never a mount that works: it would cover the machine's own files
	{"chroot", sandbox.Syscalls, func(victim) error { return unix.Chroot(os.TempDir()) }},
	{"load a BPF program", sandbox.Syscalls, raw(unix.SYS_BPF)},
	{"use keys", sandbox.Syscalls, raw(unix.SYS_KEYCTL)},
	{"set up io_uring", sandbox.Syscalls, raw(unix.SYS_IO_URING_SETUP)},
	{"make a memory file", sandbox.Syscalls, func(victim) error { _, err := unix.MemfdCreate("act", 0); return err }},
	{"make shared memory", sandbox.Syscalls, func(victim) error {
		_, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, 0o600)
		return err
	}},
	{"limit other processes", sandbox.Syscalls, raw(unix.SYS_PRLIMIT64)},
	{"slow other processes down", sandbox.Syscalls, raw(unix.SYS_SETPRIORITY)},
	{"move other processes", sandbox.Syscalls, raw(unix.SYS_SCHED_SETAFFINITY)},
	{"send to queues of others", sandbox.Syscalls, raw(unix.SYS_MSGSND)},
	{"gain a capability", sandbox.Privileges, func(victim) error {
		cmd := exec.Command("/usr/bin/setpriv", "--inh-caps", "+sys_admin", "/usr/bin/true")
		return cmd.Run()
	}},
	{"signal the host", sandbox.Signals, func(v victim) error { return unix.Kill(v.Pid, unix.SIGWINCH) }},
	{"remove a file of the user", sandbox.Files, func(v victim) error { return os.Remove(v.Secret) }},
	{"map the sample for writing", seal, func(victim) error {
		_, err := unix.Mmap(pluginv1.SessionFD, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		return err
	}},
	{"write to the sample", seal, func(victim) error { _, err := unix.Pwrite(pluginv1.SessionFD, []byte{1}, 0); return err }},
	{"shrink the sample", seal, func(victim) error { return unix.Ftruncate(pluginv1.SessionFD, 0) }},
}

// victim describes the host to a hostile plugin.
type victim struct {
	Pid                 int
	Address             uintptr // address in its memory
	Secret, Shared      string  // files
	TCP, Unix, Abstract string
}

func (v victim) proc(name string) string { return fmt.Sprintf("/proc/%d/%s", v.Pid, name) }

func open(path string, flags int) error {
	f, err := os.OpenFile(path, flags, 0o600)
	if err == nil {
		f.Close()
	}
	return err
}

func dial(network, address string) error {
	c, err := net.Dial(network, address)
	if err == nil {
		c.Close()
	}
	return err
}

// onOwnFile returns an act on the program's own file, which every process of a plugin may read.
func onOwnFile(do func(fd int) error) func(victim) error {
	return func(victim) error {
		f, err := os.Open(os.Args[0])
		if err != nil {
			return err
		}
		defer f.Close()
		return do(int(f.Fd()))
	}
}

// raw makes a system call with invalid arguments. The call is possible if its error is about the arguments.
func raw(number uintptr) func(victim) error {
	return func(victim) error {
		_, _, errno := unix.Syscall(number, ^uintptr(0), 0, 0)
		if errno == unix.EPERM || errno == unix.EACCES {
			return errno
		}
		return nil
	}
}

type hostileParams struct{ Do string }

// hostile reports what was possible in the message of an error.
var hostile = algo.Algorithm[hostileParams]{
	Name: "test/hostile", Version: "1", Doc: "Tries to do harm.",
	Learn: func(_ context.Context, t *algo.Trial[hostileParams], _ *algo.Data) (algo.Model, error) {
		if greedy := greedyActs[t.Params.Do]; greedy != nil {
			return zero{}, greedy()
		}
		var v victim
		if err := json.Unmarshal([]byte(t.Params.Do), &v); err != nil {
			return nil, err
		}
		var possible []string
		for _, act := range acts {
			if act.do(v) == nil {
				possible = append(possible, act.name)
			}
		}
		return nil, fmt.Errorf("possible: %q", possible)
	},
}

// greedyActs take more than a plugin may have, or leave something behind.
var greedyActs = map[string]func() error{
	"memory in children": func() error {
		for range 4 {
			if err := respawn("hog").Start(); err != nil {
				return err
			}
		}
		select {}
	},
	"shared memory": func() error {
		for {
			b, err := unix.Mmap(-1, 0, 32<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANON)
			if err != nil {
				return err
			}
			touch(b)
		}
	},
	"forks": func() error {
		for range 10_000 {
			_ = exec.Command("/usr/bin/sleep", "1000").Start()
		}
		select {}
	},
	"disk": func() error {
		for i := range 20 {
			f, err := os.Create(filepath.Join(os.TempDir(), strconv.Itoa(i)))
			if err == nil {
				err = f.Truncate(200 << 20)
			}
			if err != nil {
				return err
			}
		}
		select {}
	},
	"large file": func() error {
		f, err := os.Create(filepath.Join(os.TempDir(), "large"))
		if err != nil {
			return err
		}
		return f.Truncate(300 << 20)
	},
	"setsid": func() error {
		cmd := exec.Command("/usr/bin/setsid", "--fork", "/usr/bin/setsid", "--fork", "/usr/bin/sleep", os.Getenv("MARK"))
		return cmd.Run()
	},
}

func respawn(role string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	return cmd
}

func touch(b []byte) {
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
}

func init() {
	roles["hostile"] = func() { algo.Serve(hostile) }
	roles["hog"] = func() {
		b := make([]byte, 40<<20)
		touch(b)
		select {}
	}
	roles["victim"] = actAsVictim
	roles["unmoved"] = func() { // it listens neither to its life-line nor to SIGTERM
		unmovable = append(unmovable, os.NewFile(pluginv1.LifelineFD, "life-line"))
		serveRaw(rawPlugin{kind: "fine"})
	}
}

var unmovable []*os.File

// kinds of users and machines.
const (
	asRoot      = "root"
	asUser      = "user"
	inContainer = "container"
)

// actAsVictim lets a hostile plugin do all its acts, and prints what was possible and the layers.
func actAsVictim() {
	if os.Getenv("VICTIM") == inContainer {
		contain()
	}
	v := victim{Pid: os.Getpid(), Secret: filepath.Join(os.Getenv("HOST_BASE"), "secret")}
	v.Shared = "/dev/shm/" + filepath.Base(os.Getenv("HOST_BASE"))
	v.Abstract = "@shatter-" + strconv.Itoa(v.Pid)
	v.Address = uintptr(unsafe.Pointer(&v))
	must(os.WriteFile(v.Secret, []byte("labels"), 0o600))
	must(os.WriteFile(v.Shared, []byte("labels"), 0o600))
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	v.TCP, v.Unix = tcp.Addr().String(), filepath.Join(os.Getenv("HOST_BASE"), "socket")
	for _, address := range []string{v.Unix, v.Abstract} {
		_, err := net.Listen("unix", address)
		must(err)
	}
	c := ofVictim()
	c.Sandbox.Mode = sandbox.Mode(os.Getenv("SANDBOX"))
	p, err := Start(context.Background(), c)
	must(err)
	told, err := json.Marshal(v)
	must(err)
	_, faults, err := p.Open(context.Background(), request("test/hostile", 1, 1, 1, map[string]any{"do": string(told)}), numbered(1))
	must(err)
	fmt.Println(faults[0].Message)
	fmt.Println(sandbox.Summary(p.Sandbox()))
	p.Stop()
	os.Exit(0)
}

// ofVictim returns the command that starts a hostile plugin. Its user may be unable to enter the
// folder of this binary.
func ofVictim() Command {
	return Command{
		Path: "/proc/self/exe", SocketDir: os.Getenv("HOST_BASE"),
		Env: []string{roleVariable + "=hostile", "MARK=" + os.Getenv("MARK")},
	}
}

func must(err error) {
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

// contain makes this process one of an ordinary container: without capabilities, and with a filter
// like that of Docker, which allows no namespaces.
func contain() {
	f := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_UNSHARE, Jt: 4},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_CLONE3, Jt: 4},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_CLONE, Jf: 4},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 16},
		{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: 0x7e020000, Jf: 2},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	must(unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	const everyThread = 1 // SECCOMP_FILTER_FLAG_TSYNC
	program := &unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, everyThread,
		uintptr(unsafe.Pointer(program)))
	if errno != 0 {
		must(errno)
	}
}

// asVictim starts this binary as a host of a kind.
func asVictim(t *testing.T, kind, role string, env ...string) (cmd *exec.Cmd, base string) {
	t.Helper()
	base, err := os.MkdirTemp("", "act") // a user has to enter it, and a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base); os.Remove("/dev/shm/" + filepath.Base(base)) })
	cmd = exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = append(os.Environ(), roleVariable+"="+role, "VICTIM="+kind, "HOST_BASE="+base, "HOME="+base)
	cmd.Env = append(cmd.Env, env...)
	cmd.Stderr = os.Stderr
	const nobody = 65534
	if kind != asRoot && os.Getuid() == 0 {
		if err := os.Chown(base, nobody, nobody); err != nil {
			t.Fatal(err)
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	return cmd, base
}

// Each layer that holds refuses its acts of a hostile plugin. Without the sandbox, all these acts are possible for the
// user root.
func TestHostile(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	for _, kind := range []string{asRoot, asUser, inContainer} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			if kind == asRoot && os.Getuid() != 0 {
				t.Skip("this user is not root")
			}
			cmd, _ := asVictim(t, kind, "victim", "SANDBOX=prefer")
			out, err := cmd.Output()
			text := string(out)
			if err != nil || !strings.HasPrefix(text, "possible: [") {
				t.Errorf("%v\n%s", err, text)
			}
			for _, act := range acts { // kernels before Landlock 6 report that signals does not hold
				if strings.Contains(text, strconv.Quote(act.name)) && !strings.Contains(text, act.layer+" (") {
					t.Errorf("%q is possible, and %s is said to hold\n%s", act.name, act.layer, text)
				}
			}
			wantSpaces := kind != inContainer
			for _, layer := range []string{sandbox.Processes, sandbox.Mounts} {
				if got := !strings.Contains(text, layer+" ("); got != wantSpaces {
					t.Errorf("%s: %v\n%s", layer, got, text)
				}
			}
			t.Log(text)
		})
	}
	t.Run("off", func(t *testing.T) {
		cmd, _ := asVictim(t, asRoot, "victim", "SANDBOX=off")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		possible := map[string]bool{}
		for _, act := range acts {
			if strings.Contains(string(out), strconv.Quote(act.name)) {
				possible[act.layer] = true
			}
		}
		for _, layer := range []string{sandbox.Files, sandbox.Network, sandbox.Syscalls, sandbox.Signals} {
			if !possible[layer] {
				t.Errorf("nothing that %s refuses is possible without the sandbox: the acts show nothing\n%s", layer, out)
			}
		}
		t.Log(string(out))
	})
}

// A process that takes too much is ended during any activity.
func TestGreed(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	tests := []struct {
		do     string
		cause  Cause
		detail string
	}{
		{"memory in children", Memory, "limit is 100 MiB (limits.memory)"},
		{"shared memory", Memory, "limit is 100 MiB (limits.memory)"},
		{"forks", Greed, "processes, and 256 are the most"},
		{"disk", Greed, "filled its folder with more than 1 GiB"},
	}
	for _, tt := range tests {
		t.Run(tt.do, func(t *testing.T) {
			t.Parallel()
			c := self("hostile")
			c.Memory, c.Trial = 100<<20, 5*time.Minute
			_, _, err := start(t, c).Open(t.Context(), request("test/hostile", 1, 1, 1, map[string]any{"do": tt.do}), numbered(1))
			var exit *ExitError
			if !errors.As(err, &exit) || exit.Cause != tt.cause || !strings.Contains(exit.Detail, tt.detail) {
				t.Errorf("%v", err)
			}
		})
	}
	p := start(t, self("hostile"))
	_, faults, err := p.Open(t.Context(), request("test/hostile", 1, 1, 1, map[string]any{"do": "large file"}), numbered(1))
	if err != nil || len(faults) != 1 || !strings.Contains(faults[0].Message, "file too large") {
		t.Errorf("a large file: %v, %v", faults, err)
	}
}

// Nothing that a plugin starts survives Stop, however it was started, with a pid namespace or
// without.
func TestNothingIsLeft(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	for _, kind := range []string{asUser, inContainer} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			mark := fmt.Sprintf("%d.%d", 1000+os.Getpid(), len(kind))
			cmd, _ := asVictim(t, kind, "leaving", "MARK="+mark)
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(out)
			started := func() bool { return running(mark) }
			if !lines.Scan() || lines.Text() != "left" || !soon(time.Minute, started) {
				t.Errorf("%q: the process to be ended does not run", lines.Text())
			}
			in.Close()
			if !lines.Scan() || lines.Text() != "stopped" || running(mark) {
				t.Errorf("%q: the process runs: %v", lines.Text(), running(mark))
			}
			_ = cmd.Wait()
		})
	}
}

func init() {
	roles["leaving"] = func() {
		if os.Getenv("VICTIM") == inContainer {
			contain()
		}
		c := ofVictim()
		p, err := Start(context.Background(), c)
		must(err)
		_, faults, err := p.Open(context.Background(), request("test/hostile", 1, 1, 1, map[string]any{"do": "setsid"}), numbered(1))
		must(err)
		if len(faults) > 0 {
			fmt.Println(faults[0].Message)
		}
		fmt.Println("left")
		_, _ = os.Stdin.Read(make([]byte, 1))
		p.Stop()
		fmt.Println("stopped")
		os.Exit(0)
	}
}
