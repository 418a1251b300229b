package worker

import (
	"bytes"
	"os"
	"strconv"
)

// memoryShare returns the bytes of memory that opened problems may take while no job uses them all:
// a quarter of this machine's, or of what its control group allows.
func memoryShare() int64 {
	memory := int64(16 << 30) // where the system does not say
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		if f := bytes.Fields(text); len(f) > 1 && string(f[0]) == "MemTotal:" {
			if kilobytes, err := strconv.ParseInt(string(f[1]), 10, 64); err == nil {
				memory = kilobytes << 10
			}
		}
	}
	if text, err := os.ReadFile("/sys/fs/cgroup/memory.max"); err == nil {
		if limit, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64); err == nil { // not "max"
			memory = min(memory, limit)
		}
	}
	return memory / 4
}
