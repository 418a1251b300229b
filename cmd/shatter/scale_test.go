package main

import (
	"path/filepath"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

// manySweep has 90,000 cells of three kinds: 45,000 of which settings of ten laws look alike to the
// algorithms, 22,500 with dear bounds, and 22,500 with parameters.
const manySweep = `
name: many
task: learn
goal: {alpha: {from: 0.03, to: 0.044, steps: 15}, beta: 0.05}
privacy: {epsilon: {from: 0.1, to: 1.5, steps: 15}}
n: {find: true, from: 16, to: 1e5, within: 1.5}
grids:
  - problem:
      class: thresholds
      domain: [2^4, 2^6, 2^8, 2^10, 2^12, 2^14, 2^16, 2^20, 2^24, 2^32]
      distribution: needle
      mass: {from: 0.05, to: 0.14, steps: 10}
    algorithms: [expmech/em, expmech/pf]
  - problem: {class: intervals, domain: [2^4, 2^5, 2^6, 2^7, 2^8, 2^9, 2^10, 2^11, 2^12, 2^13], distribution: uniform}
    algorithms: [expmech/em, expmech/pf]
    goal: {alpha: {from: 0.03, to: 0.044, steps: 15}, beta: [0.05, 0.06, 0.07, 0.08, 0.09]}
  - problem: {class: halfspace, d: [5, 10, 20], margin: 0.1, distribution: [skew, iso]}
    algorithms:
      - use: boosting/hs-stl
        rounds: [10, 20, 30, 40, 50]
        lambda: [2, 4, 6, 8, 10]
        kappa: [0.2, 0.25, 0.3, 0.35, 0.4]
    privacy: {epsilon: [0.5, 1, 2], delta: [1e-6, 1e-7]}
    goal: {alpha: [0.1, 0.11, 0.12, 0.13, 0.14], beta: 0.1}
`

// BenchmarkCheck measures the check of a sweep of 90,000 cells, as it precedes check, plan and run.
//
//	cpu-us/cell   core time of all processes
//	heap-B/cell   memory that the plan holds afterwards
func BenchmarkCheck(b *testing.B) {
	file := write(b, filepath.Join(b.TempDir(), "many.yaml"), manySweep)
	b.ReportAllocs()
	var cells, held int
	path := measure(func() {
		for b.Loop() {
			before := testkit.LiveHeap()
			s, err := load(b.Context(), file)
			if err != nil {
				b.Fatal(err)
			}
			cells, held = len(s.Cells), int(testkit.LiveHeap()-before)
			s.close()
		}
	})
	b.ReportMetric(float64(path.cores.Microseconds())/float64(b.N*cells), "cpu-us/cell")
	b.ReportMetric(float64(held)/float64(cells), "heap-B/cell")
}
