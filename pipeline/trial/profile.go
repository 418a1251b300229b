package trial

import (
	"runtime"
	"strings"

	"golang.org/x/sys/cpu"
)

// FloatProfile names everything about this machine and build that may change the last bit of a
// floating-point result: architecture, fused multiply-add (math.Exp and others switch on it at run
// time), and the Go release. Results of two profiles are never mixed in one table.
func FloatProfile() string {
	fma := "nofma"
	if cpu.X86.HasFMA || runtime.GOARCH == "arm64" {
		fma = "fma"
	}
	release, _, _ := strings.Cut(runtime.Version(), " ")
	return runtime.GOARCH + "-" + fma + "-" + release
}
