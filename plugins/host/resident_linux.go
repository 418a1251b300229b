package host

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// resident returns the memory in bytes that a process holds for itself, without what it shares,
// such as the memory files that we gave it. ok is false if the process is gone.
func resident(pid int) (n int64, ok bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0, false
	}
	fields := bytes.Fields(b)
	if len(fields) < 3 {
		return 0, false
	}
	all, err1 := strconv.ParseInt(string(fields[1]), 10, 64)
	shared, err2 := strconv.ParseInt(string(fields[2]), 10, 64)
	return (all - shared) * int64(os.Getpagesize()), err1 == nil && err2 == nil
}

// awaitEnd waits until a child has ended and leaves it to be waited for: until that is done, its
// number and that of its group cannot belong to anybody else. It reports false if it could not
// wait.
func awaitEnd(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return err == nil
		}
	}
}
