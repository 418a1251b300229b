package sandbox

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_X86_64
	x32       = 0x40000000 // bit in the numbers of another set of system calls
)

// deniedHere lists the system calls to deny that exist only on this architecture.
var deniedHere = []uintptr{
	unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT,
	unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT, unix.SYS_INOTIFY_INIT,
}

// opens lists the system calls that open files by name, each with the number of the argument that has its flags.
var opens = map[uintptr]uint32{unix.SYS_OPEN: 1, unix.SYS_OPENAT: 2}
