package main

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

// spin does the work of third/spin: a chain of dependent integer operations.
func spin(loops int, x uint64) uint64 {
	for range loops {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

var sink uint64

// twoGoroutines returns the time that n trials of the given loops take on two goroutines of one
// process: the bound.
func twoGoroutines(n, loops int) time.Duration {
	began := time.Now()
	var wg sync.WaitGroup
	var sums [2]uint64
	for g := range sums {
		wg.Go(func() {
			for i := range n / 2 {
				sums[g] += spin(loops, uint64(i))
			}
		})
	}
	wg.Wait()
	sink += sums[0] + sums[1]
	return time.Since(began)
}

// loopsFor returns how many loops take the time d on this machine.
func loopsFor(d time.Duration) int {
	const probe = 10_000_000
	began := time.Now()
	sink += spin(probe, 1)
	return int(probe * d.Seconds() / time.Since(began).Seconds())
}

const benchSweep = `
name: bench
task: learn
plugins: [%s]
problem: {class: thresholds, domain: 2^20, distribution: uniform, test: 1}
algorithms: [{use: third/spin, loops: %d}]
goal: {alpha: 0.05, beta: 0.05}
n: [1]
trials: %d
`

// A cost is the time that something takes: by the clock, and of all cores together.
type cost struct{ clock, cores time.Duration }

func measure(f func()) cost {
	began, cores := time.Now(), testkit.CoreTime()
	f()
	return cost{time.Since(began), testkit.CoreTime() - cores}
}

// BenchmarkTrials measures the whole path from the sweep file to the table, at the job size that
// the coordinator picks by itself.
//
//	cpu-ns/trial        core time of all processes
//	again-cpu-ns/trial  the part of it that is not the run: that of the same command again, which
//	                    reads the ledger and writes the result files
//	of-bound        speed relative to the same loop on two goroutines of one process, in the same run
//	cpu-of-bound    the same by core time, which other work on the machine disturbs less
func BenchmarkTrials(b *testing.B) {
	for _, c := range []struct {
		name  string
		loops int
	}{{"noop", 0}, {"10us", loopsFor(10 * time.Microsecond)}} {
		b.Run(c.name, func(b *testing.B) {
			file := write(b, filepath.Join(b.TempDir(), "bench.yaml"), fmt.Sprintf(benchSweep, thirdparty(b), c.loops, b.N))
			bound := measure(func() { twoGoroutines(b.N, c.loops) })
			sweep := func() {
				out := filepath.Join(filepath.Dir(file), "out")
				_, errs, code := shatter(b, "run", file, "--out", out, "--workers", "2", "--quiet")
				if code > 1 {
					b.Fatal(errs)
				}
			}
			b.ResetTimer()
			path := measure(sweep)
			b.StopTimer()
			again := measure(sweep)
			n := float64(b.N)
			b.ReportMetric(n/path.clock.Seconds(), "trials/s")
			b.ReportMetric(float64(path.cores.Nanoseconds())/n, "cpu-ns/trial")
			b.ReportMetric(float64(again.cores.Nanoseconds())/n, "again-cpu-ns/trial")
			if c.loops > 0 {
				b.ReportMetric(bound.clock.Seconds()/path.clock.Seconds(), "of-bound")
				b.ReportMetric(bound.cores.Seconds()/path.cores.Seconds(), "cpu-of-bound")
			}
		})
	}
}

const trickleSweep = `
name: trickle
task: learn
plugins: [%s]
problem: {class: thresholds, domain: 2^20, distribution: uniform, test: 1}
algorithms: [{use: third/spin, loops: [%s]}]
goal: {alpha: 0.05, beta: 0.05}
n: [1]
trials: 1
`

// BenchmarkTrickle measures the whole path of jobs of one cheap trial each, for one slot: what a
// job costs all processes together. What else a run costs (its start, its cells, its result files)
// is measured by the same command again, and taken off.
func BenchmarkTrickle(b *testing.B) {
	loops := make([]string, b.N)
	for i := range loops {
		loops[i] = strconv.Itoa(i)
	}
	dir := b.TempDir()
	file := write(
		b,
		filepath.Join(dir, "trickle.yaml"),
		fmt.Sprintf(trickleSweep, thirdparty(b), strings.Join(loops, ", ")),
	)
	sweep := func() {
		out := filepath.Join(dir, "out")
		if _, errs, code := shatter(b, "run", file, "--out", out, "--workers", "1", "--quiet"); code > 1 {
			b.Fatal(errs)
		}
	}
	b.ResetTimer()
	path := measure(sweep)
	b.StopTimer()
	again := measure(sweep)
	b.ReportMetric(float64((path.cores-again.cores).Microseconds())/float64(b.N), "cpu-us/job")
}
