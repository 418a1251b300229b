//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// try tries what each layer forbids and returns what was found. why has reasons of failures that are
// known already.
func (s *spec) try(landlock int, why map[string]string) []Layer {
	layers := []Layer{
		held(Files, why, fmt.Sprintf("Landlock %d", landlock), s.tryFiles(landlock)),
		held(Mounts, why, "mount namespace", s.tryMounts()),
		held(Network, why, "seccomp"+s.space(), tryNetwork()),
		held(Syscalls, why, "seccomp", trySyscalls()),
		held(Privileges, why, "no_new_privs, no capabilities", tryPrivileges()),
		held(Signals, why, s.signals(landlock), s.trySignals()),
		held(Processes, why, "pid namespace", s.tryProcesses()),
		held(Limits, why, "rlimits; memory, processes and files of the whole tree are counted", tryLimits()),
	}
	return layers
}

// held returns a layer that holds if nothing that it forbids was possible.
func held(name string, why map[string]string, how, possible string) Layer {
	if possible == "" {
		return Layer{Name: name, Held: true, How: how}
	}
	if why[name] != "" {
		possible = why[name]
	}
	return Layer{Name: name, How: possible}
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

// refused reports whether an error is that of a right that is missing.
func refused(err error) bool { return errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) }

// tryFiles reads a folder that everybody may read, and writes where this user may write.
func (s *spec) tryFiles(landlock int) string {
	if fd, err := unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); !refused(err) {
		_ = unix.Close(fd)
		return "the folder / can be read"
	}
	fd, err := s.writeBeside()
	if err == nil || s.Folder != "" && !refused(err) && !errors.Is(err, unix.EROFS) { // nobody else makes files there
		_ = unix.Close(fd)
		return "files can be made outside of its own folder"
	}
	if !cutsHandled(landlock) && !refused(unix.Truncate("", 0)) {
		return "files can be cut that it may not write"
	}
	return ""
}

// writeBeside makes a file beside the program's folder, or where everybody may if it has none, and
// removes it again.
func (s *spec) writeBeside() (fd int, err error) {
	beside := os.TempDir()
	if s.Folder != "" {
		beside = filepath.Dir(s.Folder)
	}
	name := filepath.Join(beside, fmt.Sprintf("try-%d", s.Host))
	fd, err = unix.Open(name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o600)
	if err == nil {
		_ = unix.Unlink(name)
	}
	return fd, err
}

func tryNetwork() string {
	for _, kind := range [][2]int{
		{unix.AF_INET, unix.SOCK_STREAM}, {unix.AF_INET6, unix.SOCK_DGRAM}, {unix.AF_NETLINK, unix.SOCK_RAW},
		{unix.AF_UNIX, unix.SOCK_DGRAM},
	} {
		if fd, err := unix.Socket(kind[0], kind[1]|unix.SOCK_CLOEXEC, 0); !refused(err) {
			_ = unix.Close(fd)
			return fmt.Sprintf("a socket of family %d and type %d can be made", kind[0], kind[1])
		}
	}
	if err := unix.Connect(-1, &unix.SockaddrUnix{Name: "/"}); !refused(err) {
		return "sockets can be connected"
	}
	return ""
}

// trySyscalls makes calls whose arguments are wrong, so that they do nothing where they are allowed.
func trySyscalls() string {
	bad := ^uintptr(0)
	for name, call := range map[string][]uintptr{
		"unshare":          {unix.SYS_UNSHARE, 1},
		"setns":            {unix.SYS_SETNS, bad, 0},
		"bpf":              {unix.SYS_BPF, bad, 0, 0},
		"keyctl":           {unix.SYS_KEYCTL, bad},
		"io_uring_setup":   {unix.SYS_IO_URING_SETUP, 0, 0},
		"mount":            {unix.SYS_MOUNT, 0, 0, 0, 0, 0},
		"ptrace":           {unix.SYS_PTRACE, bad, bad},
		"process_vm_readv": {unix.SYS_PROCESS_VM_READV, bad, 0, 0, 0, 0, 0},
		"memfd_create":     {unix.SYS_MEMFD_CREATE, 0, bad},
		"shmget":           {unix.SYS_SHMGET, 0, 0, 0},
		"kexec_load":       {unix.SYS_KEXEC_LOAD, 0, bad, 0, 0},
	} {
		var a [7]uintptr
		copy(a[:], call)
		if _, _, errno := unix.Syscall6(a[0], a[1], a[2], a[3], a[4], a[5], a[6]); errno != unix.EPERM {
			return fmt.Sprintf("%s is allowed (%v)", name, errno)
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_CLONE3, 0, 0, 0); errno != unix.ENOSYS {
		return fmt.Sprintf("clone3 is allowed (%v)", errno)
	}
	return ""
}

func tryPrivileges() string {
	if v, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err != nil || v != 1 {
		return "no_new_privs cannot be set"
	}
	var data [2]unix.CapUserData
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capget(&header, &data[0]); err != nil || data != [2]unix.CapUserData{} {
		return "it keeps capabilities"
	}
	return ""
}

func (s *spec) trySignals() string {
	if err := unix.Kill(s.Host, 0); err == nil {
		return "the host can be sent signals: the kernel has neither Landlock 6 nor a pid namespace for us"
	}
	return ""
}

// tryProcesses looks whether the process is the first of a namespace, with which all others end.
func (s *spec) tryProcesses() string {
	if os.Getpid() == 1 {
		return ""
	}
	return s.NoSpaces + "; what it starts is found and ended by the host, while that lives"
}

func tryLimits() string {
	var core, size unix.Rlimit
	if unix.Prlimit(0, unix.RLIMIT_CORE, nil, &core) != nil || unix.Prlimit(0, unix.RLIMIT_FSIZE, nil, &size) != nil ||
		core.Max > 0 || size.Max > maxFile {
		return "rlimits cannot be set"
	}
	return ""
}
