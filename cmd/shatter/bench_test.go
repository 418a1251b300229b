package main

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// spin is the work of third/spin: a chain of dependent integer operations.
func spin(loops int, x uint64) uint64 {
	for range loops {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

var sink uint64

// twoGoroutines is the time that n trials of the given loops take on two goroutines of one process: the bound.
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

// loopsFor is how many loops take about ten microseconds here.
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

// The whole path from the sweep file to the table, at the job size that the coordinator picks by itself. The metric
// "of-bound" is its speed relative to the same loop on two goroutines of one process, in the same run.
func BenchmarkTrials(b *testing.B) {
	for name, loops := range map[string]int{"noop": 0, "10us": loopsFor(10 * time.Microsecond)} {
		b.Run(name, func(b *testing.B) {
			plugin := thirdparty(b)
			file := write(b, filepath.Join(b.TempDir(), "bench.yaml"), fmt.Sprintf(benchSweep, plugin, loops, b.N))
			bound := twoGoroutines(b.N, loops)
			dir := filepath.Join(b.TempDir(), "out")
			b.ResetTimer()
			if _, errs, code := shatter(b, "run", file, "--out", dir, "--workers", "2", "--quiet"); code > 1 {
				b.Fatal(errs)
			}
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "trials/s")
			if loops > 0 {
				b.ReportMetric(bound.Seconds()/b.Elapsed().Seconds(), "of-bound")
			}
		})
	}
}
