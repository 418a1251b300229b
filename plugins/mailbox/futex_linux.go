package mailbox

import (
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Operations of futex(2), on words that processes share.
const (
	futexWait = 0
	futexWake = 1
)

// wait waits until the word is woken, if it still holds value, and no longer than d. It may return
// early.
func wait(word *atomic.Uint32, value uint32, d time.Duration) {
	t := unix.NsecToTimespec(int64(d))
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWait, uintptr(value),
		uintptr(unsafe.Pointer(&t)), 0, 0)
}

// wake wakes who waits for the word.
func wake(word *atomic.Uint32) error {
	if _, _, errno := unix.Syscall(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWake, 1); errno != 0 {
		return os.NewSyscallError("futex", errno)
	}
	return nil
}
