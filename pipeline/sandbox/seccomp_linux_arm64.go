package sandbox

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_AARCH64
	x32       = 0
)

// deniedHere lists the system calls to deny that exist only on this architecture.
var deniedHere []uintptr

// opens lists the system calls that open files by name, each with the number of the argument that has its flags.
var opens = map[uintptr]uint32{unix.SYS_OPENAT: 2}
