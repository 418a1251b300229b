//go:build amd64 || arm64

package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// layers lists the layers that a program's process applies to itself, in this order, before it
// executes the program. The order matters: Mounts needs a capability that Privileges drops;
// Files, Network and Syscalls need no_new_privs, which Privileges sets; Syscalls denies system
// calls that the other layers use. apply returns the mechanism that enforces the layer, or the
// reason why there is none. The host adds Bytes.
var layers = []struct {
	name  string
	apply func(*entry) (how string, err error)
}{
	{Limits, (*entry).limitResources},
	{Mounts, (*entry).mountMemory},
	{Privileges, (*entry).dropPrivileges},
	{Files, (*entry).restrictFiles},
	{Network, (*entry).denyNetwork},
	{Syscalls, (*entry).denySyscalls},
	{Signals, (*entry).checkSignals},
	{Processes, (*entry).checkProcesses},
}

// layerOf describes a layer: its mechanism, or the error err that prevents it.
func layerOf(name, how string, err error) Layer {
	if err != nil {
		return Layer{Name: name, How: strings.ReplaceAll(err.Error(), "\n", "; ")}
	}
	return Layer{Name: name, Held: true, How: how}
}

// helper is the name under which this binary restricts itself and executes a program.
const helper = "shatter-sandbox"

// An entry is the only argument of the helper: the restrictions and the program to execute.
type entry struct {
	Executable string   `json:"executable"` // path of the file to execute; "": only report the layers
	Script     bool     `json:"script"`     // an interpreter opens that path
	Argv       []string `json:"argv"`
	Read       []string `json:"read"`       // readable paths
	Write      []string `json:"write"`      // folders that the program may write to
	Report     int      `json:"report"`     // descriptor; the program inherits no descriptors from here on, except its script
	Host       int      `json:"host"`       // process id of the host
	NoSpaces   string   `json:"nospaces"`   // reason for having no namespaces; "": there are namespaces
	HostMounts string   `json:"hostmounts"` // the host's mount namespace
	Held       []string `json:"held"`       // layers that must hold
}

// A report informs the host about an entry that executed no program.
type report struct {
	Layers []Layer       `json:"layers"`
	Failed string        `json:"failed"` // layer that does not hold, with the reason
	Errno  syscall.Errno `json:"errno"`  // error of the execution
}

func init() {
	if len(os.Args) == 2 && os.Args[0] == helper {
		enter(os.Args[1])
	}
}

// enter restricts this process and executes the program. It does not return.
func enter(text string) {
	runtime.LockOSThread()
	var e entry
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		unix.Exit(2)
	}
	// From here on the host's death sends a signal. If the host died before, the report has no
	// reader.
	_ = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)
	_ = unix.CloseRange(uint(e.Report), math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC)
	if e.Script {
		_, _ = unix.FcntlInt(uintptr(e.Report+1), unix.F_SETFD, 0)
	}
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	var r report
	for _, l := range layers {
		how, err := l.apply(&e)
		if err != nil && slices.Contains(e.Held, l.name) {
			r.Failed = l.name + ": " + err.Error()
		}
		r.Layers = append(r.Layers, layerOf(l.name, how, err))
	}
	if e.Executable != "" && r.Failed == "" {
		errors.As(unix.Exec(e.Executable, e.Argv, os.Environ()), &r.Errno)
	}
	if json.NewEncoder(os.NewFile(uintptr(e.Report), "report")).Encode(r) != nil {
		unix.Exit(1)
	}
	unix.Exit(0)
}

// limitResources limits the resources that the kernel counts for each process. If the machine, or the cgroup of the
// host, runs out of memory, the kernel ends programs before their host.
func (e *entry) limitResources() (how string, err error) {
	for resource, most := range map[int]uint64{
		unix.RLIMIT_CORE: 0, unix.RLIMIT_FSIZE: maxFile, unix.RLIMIT_NOFILE: 4096, unix.RLIMIT_MSGQUEUE: 0,
		unix.RLIMIT_MEMLOCK: 8 << 20,
	} {
		err = errors.Join(err, setLimit(resource, most))
	}
	if os.Getpid() == 1 && os.Getuid() != 0 { // counted in the user namespace, not per user
		err = errors.Join(err, setLimit(unix.RLIMIT_NPROC, maxTasks))
	}
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	return "rlimits; memory, processes and files of the whole tree are counted", err
}

// setLimit lowers a limit.
func setLimit(resource int, most uint64) error {
	var now unix.Rlimit
	err := unix.Prlimit(0, resource, nil, &now)
	if err == nil {
		now.Cur, now.Max = min(now.Cur, most), min(now.Max, most)
		err = unix.Prlimit(0, resource, &now, nil)
	}
	return os.NewSyscallError("prlimit", err)
}

// mountSpace returns a name of the mount namespace of this process; "" if it is unknown.
func mountSpace() string {
	name, _ := os.Readlink("/proc/self/ns/mnt")
	return name
}

// mountMemory mounts a folder sharedMemory for the program, which Landlock permits it to write to. It mounts nothing
// unless this process has its own mount namespace, because in that of the host it would change the whole machine.
func (e *entry) mountMemory() (how string, err error) {
	if e.NoSpaces != "" {
		return "", errors.New(e.NoSpaces)
	}
	if own := mountSpace(); own == "" || e.HostMounts == "" || own == e.HostMounts {
		return "", errors.New("the process is in the mount namespace of its host")
	}
	// From here on mounts do not propagate to the host.
	if err := unix.MountSetattr(-1, "/", unix.AT_RECURSIVE, &unix.MountAttr{Propagation: unix.MS_PRIVATE}); err != nil {
		return "", fmt.Errorf("the kernel refuses to make mounts private (%w)", err)
	}
	const options = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	if err := unix.Mount("tmpfs", sharedMemory, "tmpfs", options, "size=64m,nr_inodes=1024"); err != nil {
		return "", fmt.Errorf("the kernel refuses to mount %s (%w)", sharedMemory, err)
	}
	e.Write = append(e.Write, sharedMemory)
	return "mount namespace", nil
}

// sharedMemory is the folder in which the C library keeps semaphores and shared memory with names.
const sharedMemory = "/dev/shm"

// dropPrivileges drops all capabilities, including those that the user root would gain at an
// exec, and sets no_new_privs.
func (e *entry) dropPrivileges() (how string, err error) {
	const noRoot = 1<<0 | 1<<1 // SECBIT_NOROOT, locked
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	_ = unix.Prctl(unix.PR_SET_SECUREBITS, noRoot, 0, 0, 0)
	for c := uintptr(0); unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0) == nil; c++ {
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	err = os.NewSyscallError("capset", unix.Capset(&header, &none[0]))
	return "no_new_privs, no capabilities", errors.Join(err, unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
}

// checkSignals tries to send a signal to the host, because some kernels with Landlock 6 do not
// scope signals.
func (e *entry) checkSignals() (how string, err error) {
	if os.Getpid() == 1 {
		return "pid namespace", nil
	}
	if err := unix.Kill(e.Host, 0); err == nil {
		return "", errors.New("the host can be sent signals: the kernel has neither Landlock 6 nor a pid namespace for us")
	}
	return fmt.Sprintf("Landlock %d", landlockVersion()), nil
}

// checkProcesses returns an error unless the process is the first of a namespace, whose other
// processes end with it.
func (e *entry) checkProcesses() (how string, err error) {
	if os.Getpid() == 1 {
		return "pid namespace", nil
	}
	return "", errors.New(e.NoSpaces + "; what it starts is found and ended by the host, while that lives")
}
