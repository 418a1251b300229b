package host

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// stopped reports whether a process was stopped by a signal.
func stopped(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	name := bytes.LastIndexByte(stat, ')') // end of the program's name, which may contain any byte
	return err == nil && bytes.HasPrefix(stat[name+1:], []byte(" T"))
}

// awaitEnd waits until a child has ended, without reaping it: until it is reaped, the numbers of the child and its
// group are not used again. It reports false if it could not wait.
func awaitEnd(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return err == nil
		}
	}
}
