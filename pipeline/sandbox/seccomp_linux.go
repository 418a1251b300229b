//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The filter is written here because that of elastic/go-seccomp-bpf allows the system calls of
// other architectures if its default is to allow.

// denied lists the system calls that no algorithm needs, on all architectures.
var denied = []uintptr{
	// Inspection of other processes.
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP,
	unix.SYS_PROCESS_MADVISE, unix.SYS_PROCESS_MRELEASE, unix.SYS_MOVE_PAGES, unix.SYS_MIGRATE_PAGES,
	unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,

	// Slowing down other processes.
	unix.SYS_SETPRIORITY, unix.SYS_IOPRIO_SET,
	unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETATTR,

	// Ways around this filter, and large attack surfaces of the kernel.
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_BPF,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,

	// Namespaces and file systems.
	unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT,
	unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_MOVE_MOUNT, unix.SYS_MOUNT_SETATTR,
	unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_FANOTIFY_INIT,
	unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD,

	// Changes that Landlock permits on files that a program may not read.
	unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT,
	unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT,
	unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, unix.SYS_REMOVEXATTRAT,
	unix.SYS_UTIMENSAT, unix.SYS_FILE_SETATTR,

	// State of a file that processes share even if both may only read it: locks, the page cache, watches. By it a
	// process could pass what it has seen to another one.
	unix.SYS_FLOCK, unix.SYS_FADVISE64, unix.SYS_READAHEAD, unix.SYS_MINCORE, unix.SYS_CACHESTAT,
	unix.SYS_INOTIFY_INIT1, unix.SYS_INOTIFY_ADD_WATCH,

	// Requests and watches of which the kernel has few for all processes of a user.
	unix.SYS_IO_SETUP,

	// Memory that belongs to no process and therefore escapes accounting, and shared objects of
	// other programs.
	unix.SYS_MEMFD_CREATE, unix.SYS_MEMFD_SECRET, unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL,
	unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
	unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,

	// The machine as a whole.
	unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE,
	unix.SYS_DELETE_MODULE, unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_SYSLOG,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX,
	unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_VHANGUP,
}

// setFileAttributes is FS_IOC_FSSETXATTR.
const setFileAttributes = 0x401c5820

// lockCommands are the commands of fcntl that set or read what all processes see that have a file open.
var lockCommands = []uint32{
	unix.F_GETLK, unix.F_SETLK, unix.F_SETLKW, unix.F_OFD_GETLK, unix.F_OFD_SETLK, unix.F_OFD_SETLKW,
	unix.F_SETLEASE, unix.F_GETLEASE, unix.F_NOTIFY, unix.F_SET_RW_HINT, unix.F_SET_FILE_RW_HINT,
}

// newNamespaces are the flags of clone that make namespaces.
const newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// A filter is a program that the kernel runs before each system call. At the start and end of
// each part the number of the system call is loaded.
type filter []unix.SockFilter

const (
	offNumber = 0
	offArch   = 4
)

// offArgument returns the offset of the lower half of an argument.
func offArgument(i uint32) uint32 { return 16 + 8*i }

// newFilter returns a filter that denies the system calls of other architectures.
func newFilter() (f filter) {
	f.load(offArch)
	f.ifEqual(auditArch, 1, 0)
	f.add(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_KILL_PROCESS, 0, 0)
	f.load(offNumber)
	if x32 != 0 {
		f.add(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, x32, 0, 1)
		f.refuse(unix.ENOSYS)
	}
	return f
}

func (f *filter) load(offset uint32) { f.add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset, 0, 0) }

// ifEqual skips yes instructions if the loaded value is k, and otherwise no instructions.
func (f *filter) ifEqual(k uint32, yes, no uint8) {
	f.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, k, yes, no)
}

func (f *filter) refuse(errno unix.Errno) {
	f.add(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ERRNO|uint32(errno), 0, 0)
}

func (f *filter) add(code uint16, k uint32, yes, no uint8) {
	*f = append(*f, unix.SockFilter{Code: code, Jt: yes, Jf: no, K: k})
}

// deny denies a system call.
func (f *filter) deny(number uintptr, errno unix.Errno) {
	f.ifEqual(uint32(number), 0, 1)
	f.refuse(errno)
}

// install applies the filter to this thread and to all programs that it executes and starts.
func (f filter) install() error {
	f.add(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ALLOW, 0, 0)
	program := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return fmt.Errorf("seccomp: %w", errno)
	}
	return nil
}

func (e *entry) denySyscalls() (how string, err error) {
	f := newFilter()
	for _, list := range [][]uintptr{denied, deniedHere} {
		for _, number := range list {
			f.deny(number, unix.EPERM)
		}
	}
	f.deny(unix.SYS_CLONE3, unix.ENOSYS) // the filter cannot see its flags; libraries then use clone

	f.ifEqual(unix.SYS_CLONE, 0, 4)
	f.load(offArgument(0))
	f.add(unix.BPF_JMP|unix.BPF_JSET|unix.BPF_K, newNamespaces, 0, 1)
	f.refuse(unix.EPERM)
	f.load(offNumber)

	for _, number := range []uint32{unix.SYS_PRLIMIT64, unix.SYS_SCHED_SETAFFINITY} { // calls about other processes
		f.ifEqual(number, 0, 4)
		f.load(offArgument(0))
		f.ifEqual(0, 1, 0)
		f.refuse(unix.EPERM)
		f.load(offNumber)
	}

	f.ifEqual(unix.SYS_FCNTL, 0, uint8(len(lockCommands)+3))
	f.load(offArgument(1))
	last := len(lockCommands) - 1
	for i, command := range lockCommands[:last] {
		f.ifEqual(command, uint8(last-i), 0)
	}
	f.ifEqual(lockCommands[last], 0, 1)
	f.refuse(unix.ENOLCK)
	f.load(offNumber)

	for _, number := range []uint32{unix.SYS_PREADV2, unix.SYS_PWRITEV2} { // RWF_NOWAIT shows the page cache
		f.ifEqual(number, 0, 4)
		f.load(offArgument(5))
		f.ifEqual(0, 1, 0)
		f.refuse(unix.EOPNOTSUPP)
		f.load(offNumber)
	}

	// Input into a terminal, and the flags of a file that is open for reading.
	f.ifEqual(unix.SYS_IOCTL, 0, 7)
	f.load(offArgument(1))
	f.ifEqual(unix.TIOCSTI, 3, 0)
	f.ifEqual(unix.TIOCLINUX, 2, 0)
	f.ifEqual(unix.FS_IOC_SETFLAGS, 1, 0)
	f.ifEqual(setFileAttributes, 0, 1)
	f.refuse(unix.EPERM)
	f.load(offNumber)
	return "seccomp", f.install()
}

// denyNetwork permits Unix sockets that can listen, and denies all sockets that could reach other
// programs.
func (e *entry) denyNetwork() (how string, err error) {
	f := newFilter()
	f.deny(unix.SYS_CONNECT, unix.EACCES)
	for _, number := range []uintptr{unix.SYS_SOCKET, unix.SYS_SOCKETPAIR} {
		const kinds = 0xf // the other bits of a type are flags
		f.ifEqual(uint32(number), 0, 8)
		f.load(offArgument(0))
		f.ifEqual(unix.AF_UNIX, 0, 4)
		f.load(offArgument(1))
		f.add(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, kinds, 0, 0)
		f.ifEqual(unix.SOCK_STREAM, 2, 0)
		f.ifEqual(unix.SOCK_SEQPACKET, 1, 0)
		f.refuse(unix.EACCES)
		f.load(offNumber)
	}
	if how = "seccomp"; e.NoSpaces == "" {
		how += ", network namespace"
	}
	return how, f.install()
}

// denyCuts denies truncating files that are not open for writing, for kernels whose Landlock does
// not.
func denyCuts() filter {
	f := newFilter()
	f.deny(unix.SYS_TRUNCATE, unix.EACCES)
	f.deny(unix.SYS_OPENAT2, unix.ENOSYS) // the filter cannot see its flags
	for number, flags := range opens {
		f.ifEqual(uint32(number), 0, 5)
		f.load(offArgument(flags))
		f.add(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, unix.O_ACCMODE|unix.O_TRUNC, 0, 0)
		f.ifEqual(unix.O_TRUNC, 0, 1) // also for reading
		f.refuse(unix.EACCES)
		f.load(offNumber)
	}
	return f
}
