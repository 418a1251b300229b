package testkit

import (
	"testing"
	"time"
)

// Beside measures work in turns with bare, a plain loop that does the arithmetic, or moves the
// bytes, that work cannot do without. It reports how many times as much CPU time work takes, as
// x-bare. The time that b reports is that of work alone.
func Beside(b *testing.B, work, bare func()) {
	var took [2]time.Duration
	turn := func(i int, f func()) {
		began := CoreTime()
		f()
		took[i] += CoreTime() - began
	}
	for b.Loop() {
		turn(0, work)
		b.StopTimer()
		turn(1, bare)
		b.StartTimer()
	}
	b.ReportMetric(float64(took[0])/float64(took[1]), "x-bare")
}
