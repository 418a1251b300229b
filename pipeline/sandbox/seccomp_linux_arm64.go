package sandbox

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_AARCH64
	x32       = 0
)

// deniedHere lists the system calls to deny that only this architecture has.
var deniedHere []uintptr
