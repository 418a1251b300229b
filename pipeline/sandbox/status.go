package sandbox

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// StatusNumber returns a numeric field of /proc/PID/status, such as Threads. ok is false if the
// field is not available.
func StatusNumber(pid int, field string) (n int, ok bool) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, false
	}
	_, rest, _ := strings.Cut(string(status), "\n"+field+":")
	line, _, _ := strings.Cut(rest, "\n")
	n, err = strconv.Atoi(strings.TrimSpace(line))
	return n, err == nil
}
