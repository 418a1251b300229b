package testkit

import (
	"syscall"
	"time"
)

// CoreTime returns the processor time that this process and its ended children have used: what a
// measurement is worth on a machine that others use too.
func CoreTime() (sum time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		_ = syscall.Getrusage(who, &u)
		sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return sum
}
