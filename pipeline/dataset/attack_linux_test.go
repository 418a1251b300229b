package dataset

import (
	"os"

	"golang.org/x/sys/unix"
)

// attack returns the errors of operations that a process which inherited the file might try, by
// operation.
func attack(f *os.File) map[string]error {
	_, writable := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	_, write := f.WriteAt([]byte("x"), 0)
	_, seal := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE)
	return map[string]error{
		"a writable mapping": writable,
		"write":              write,
		"shrink":             f.Truncate(0),
		"grow":               f.Truncate(1 << 30),
		"seal":               seal,
	}
}
