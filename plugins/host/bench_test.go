package host

import (
	"fmt"
	"syscall"
	"testing"
	"time"
)

// BenchmarkSession measures a whole session: open, one step, close, of trials that do nothing, with
// n = 1 and one test point.
func BenchmarkSession(b *testing.B) {
	for _, trials := range []int{1, 100, 1000, 10_000} {
		b.Run(fmt.Sprint(trials), func(b *testing.B) {
			p := start(b, self("plugin"))
			r := request("test/quiet", trials, 1, 1, nil)
			counts := make([]uint32, trials)
			for j := range counts {
				counts[j] = 1
			}
			cpu := cpuTime()
			for b.Loop() {
				s, _, err := p.Open(b.Context(), r, func(x, y []float64) {})
				if err != nil {
					b.Fatal(err)
				}
				if _, _, err := s.Step(b.Context(), counts, func(x []float64) {}); err != nil {
					b.Fatal(err)
				}
				if _, _, err := s.Close(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(trials), "ns/trial")
			b.ReportMetric(float64(cpuTime()-cpu)/float64(b.N), "host-cpu-ns/op")
		})
	}
}

// BenchmarkPlay measures one query of every trial: one round trip, whatever the number of
// trials.
func BenchmarkPlay(b *testing.B) {
	for _, trials := range []int{1, 100, 1000, 10_000} {
		b.Run(fmt.Sprint(trials), func(b *testing.B) {
			p := start(b, self("plugin"))
			s, _, err := p.Open(b.Context(), withQueries(trials, 1<<30, false, false), numbered(trials))
			if err != nil {
				b.Fatal(err)
			}
			counts := make([]uint32, trials)
			for j := range counts {
				counts[j] = 1
			}
			for b.Loop() {
				if _, _, _, err := s.Play(b.Context(), counts, func(x []float64) {}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(trials), "ns/query")
		})
	}
}

// BenchmarkStart measures a process from its start to the end.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		p, err := Start(b.Context(), self("plugin"))
		if err != nil {
			b.Fatal(err)
		}
		p.Stop()
	}
}

// cpuTime returns the processor time that this process has used: a measure that other work on the
// machine disturbs less.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
