package testkit

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// LiveHeap returns the bytes of the objects that are still in use.
func LiveHeap() uint64 {
	runtime.GC()
	runtime.GC() // the first one leaves what pools hold
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// PeakMemory returns the most bytes that a process has had in its resident set, unless it has ended or
// the system does not tell.
func PeakMemory(pid int) (bytes int64, ok bool) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, ok := strings.Cut(string(text), "VmHWM:")
	if !ok {
		return 0, false
	}
	kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	return kb << 10, err == nil
}
