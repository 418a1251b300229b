package trial

import (
	"runtime"
	"strings"

	"golang.org/x/sys/cpu"
)

// FloatProfile names the properties of this machine and build that may change the last bit of a floating-point result:
// architecture, fused multiply-add (which math.Exp and others detect at run time) and Go release. A table never mixes
// results of two profiles.
func FloatProfile() string {
	fma := "nofma"
	if cpu.X86.HasFMA || runtime.GOARCH == "arm64" {
		fma = "fma"
	}
	release, _, _ := strings.Cut(runtime.Version(), " ")
	return runtime.GOARCH + "-" + fma + "-" + release
}
