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

// helper is the name under which this binary restricts itself and executes a program.
const helper = "shatter-sandbox"

// spec tells the helper what to do. It is its only argument.
type spec struct {
	Executable string   `json:"executable"` // path of what to execute
	Script     bool     `json:"script"`     // its interpreter opens that path
	Argv       []string `json:"argv"`
	Read       []string `json:"read"` // paths
	List       []string `json:"list"` // folders of which the names may be read
	Folder     string   `json:"folder"`
	Report     int      `json:"report"`     // descriptor; none above it is passed on, but a script's, which is the next
	Host       int      `json:"host"`       // process
	NoSpaces   string   `json:"nospaces"`   // why there are no namespaces; "": there are
	HostMounts string   `json:"hostmounts"` // the host's mount namespace
	Mode       Mode     `json:"mode"`
	Without    []string `json:"without"`
}

// failure is what the helper writes after its layers if it cannot execute the program.
type failure struct {
	Errno   syscall.Errno `json:"errno"`
	What    string        `json:"what"`
	Missing bool          `json:"missing"` // layers that are required
}

func init() {
	if len(os.Args) == 2 && os.Args[0] == helper {
		runHelper(os.Args[1])
	}
}

// runHelper restricts this process and executes the program. It does not return.
func runHelper(text string) {
	runtime.LockOSThread()
	var s spec
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		unix.Exit(2)
	}
	// The host's death comes as a signal from here on. If it came before, nobody reads the report.
	_ = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)
	report := json.NewEncoder(os.NewFile(uintptr(s.Report), "report"))
	layers := s.confine()
	if report.Encode(layers) != nil {
		unix.Exit(1)
	}
	f := failure{Missing: Policy{Mode: s.Mode}.missing(layers) != nil}
	if !f.Missing {
		if len(s.Argv) == 2 && s.Argv[1] == probe {
			unix.Exit(0)
		}
		err := unix.Exec(s.Executable, s.Argv, os.Environ())
		f.What = err.Error()
		errors.As(err, &f.Errno)
	}
	_ = report.Encode(f)
	unix.Exit(1)
}

func (s *spec) has(layer string) bool { return !slices.Contains(s.Without, layer) }

// confine restricts this thread and returns the layers. It never fails: the layers tell.
func (s *spec) confine() []Layer {
	_ = unix.CloseRange(uint(s.Report), math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC)
	if s.Script {
		_, _ = unix.FcntlInt(uintptr(s.Report+1), unix.F_SETFD, 0)
	}
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	version := landlockVersion()
	limits := s.apply(Limits, limit)
	mounts := s.apply(Mounts, s.remount) // takes a capability
	dropped := s.apply(Privileges, dropPrivileges)
	noNew := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) // the next two need it
	rules := s.restrict(version)
	calls := s.filter(version)
	files := rules
	if !cutsHandled(version) {
		files = errors.Join(rules, calls)
	}
	return []Layer{
		s.layer(Files, fmt.Sprintf("Landlock %d", version), files),
		s.layer(Mounts, "mount namespace", mounts),
		s.layer(Network, "seccomp"+s.space(), calls),
		s.layer(Syscalls, "seccomp", calls),
		s.layer(Privileges, "no_new_privs, no capabilities", errors.Join(dropped, noNew)),
		s.layer(Signals, s.signals(version), s.checkSignals()),
		s.layer(Processes, "pid namespace", s.checkProcesses()),
		s.layer(Limits, "rlimits; memory, processes and files of the whole tree are counted", limits),
	}
}

// apply calls f unless the layer is left out.
func (s *spec) apply(layer string, f func() error) error {
	if !s.has(layer) {
		return nil
	}
	return f()
}

// layer describes a layer: how holds it unless it is left out or err is an error.
func (s *spec) layer(name, how string, err error) Layer {
	if !s.has(name) {
		err = errors.New("left out")
	}
	if err != nil {
		return Layer{Name: name, How: strings.ReplaceAll(err.Error(), "\n", "; ")}
	}
	return Layer{Name: name, Held: true, How: how}
}

// restrict takes away the rights that Landlock of this version knows.
func (s *spec) restrict(version int) error {
	if version == 0 {
		return errors.New("the kernel has no Landlock")
	}
	var r ruleset
	if s.has(Files) {
		r.files = ^uint64(0)
	}
	if s.has(Network) {
		r.network = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		r.scoped |= unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	if s.has(Signals) {
		r.scoped |= unix.LANDLOCK_SCOPE_SIGNAL
	}
	if err := restrict(r, version, s.grants()); err != nil {
		return fmt.Errorf("restrict by Landlock: %w", err)
	}
	return nil
}

// filter has the kernel refuse system calls, among them those that Landlock of this version overlooks.
func (s *spec) filter(version int) error {
	cuts := s.has(Files) && !cutsHandled(version)
	if !s.has(Syscalls) && !s.has(Network) && !cuts {
		return nil
	}
	if err := newFilter(s.has(Syscalls), s.has(Network), cuts).install(); err != nil {
		return fmt.Errorf("seccomp: %w", err)
	}
	return nil
}

func (s *spec) space() string {
	if s.NoSpaces != "" {
		return ""
	}
	return ", network namespace"
}

func (s *spec) signals(landlock int) string {
	if os.Getpid() == 1 {
		return "pid namespace"
	}
	return fmt.Sprintf("Landlock %d", landlock)
}

// checkSignals tries to reach the host: kernels with Landlock 6 exist that do not scope signals.
func (s *spec) checkSignals() error {
	if err := unix.Kill(s.Host, 0); err == nil {
		return errors.New("the host can be sent signals: the kernel has neither Landlock 6 nor a pid namespace for us")
	}
	return nil
}

// checkProcesses returns an error unless the process is the first of a namespace, with which all others end.
func (s *spec) checkProcesses() error {
	if os.Getpid() == 1 {
		return nil
	}
	return errors.New(s.NoSpaces + "; what it starts is found and ended by the host, while that lives")
}

// limit bounds what the kernel counts for each process.
func limit() (err error) {
	for resource, most := range map[int]uint64{
		unix.RLIMIT_CORE: 0, unix.RLIMIT_FSIZE: maxFile, unix.RLIMIT_NOFILE: 4096, unix.RLIMIT_MSGQUEUE: 0,
		unix.RLIMIT_MEMLOCK: 8 << 20,
	} {
		err = errors.Join(err, setLimit(resource, most))
	}
	if os.Getpid() == 1 && os.Getuid() != 0 { // counted in the user namespace, not for the user
		err = errors.Join(err, setLimit(unix.RLIMIT_NPROC, maxTasks))
	}
	return err
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

// dropPrivileges gives up all capabilities, also those that the user root would get at an exec.
func dropPrivileges() error {
	const noRoot = 1<<0 | 1<<1 // SECBIT_NOROOT, locked
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	_ = unix.Prctl(unix.PR_SET_SECUREBITS, noRoot, 0, 0, 0)
	for c := uintptr(0); unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0) == nil; c++ {
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return os.NewSyscallError("capset", unix.Capset(&header, &none[0]))
}

// grants lists the paths that the program has rights to.
func (s *spec) grants() []grant {
	list := []grant{{s.Folder, folderRights}}
	for _, path := range s.Read {
		list = append(list, grant{path, readRights})
	}
	for _, path := range s.List {
		list = append(list, grant{path, unix.LANDLOCK_ACCESS_FS_READ_DIR})
	}
	for _, path := range devices {
		list = append(list, grant{path, deviceRights})
	}
	return list
}
