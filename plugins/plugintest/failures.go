package plugintest

import (
	"fmt"
	"slices"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/host"
)

// A rareSample changes a drawn sample into one that an author may not expect.
type rareSample struct {
	name   string
	change func(s checks, x, y []float64)
}

// rareSamples lists the samples of checkFailures. The first one is the drawn sample itself.
var rareSamples = []rareSample{
	{"a drawn sample", func(checks, []float64, []float64) {}},
	{"a sample whose labels are all +1", func(_ checks, _, y []float64) { fill(y, 1) }},
	{"a sample whose labels are all -1", func(_ checks, _, y []float64) { fill(y, -1) }},
	{"copies of one example", func(s checks, x, y []float64) { s.copyFirst(x); fill(y, y[0]) }},
	{"copies of one point with both labels", func(s checks, x, y []float64) {
		s.copyFirst(x)
		alternate(y, -1, 1)
	}},
	{"the outermost points", func(s checks, x, y []float64) { s.outermost(x); alternate(y, -1, 1) }},
	{"a sample in another order", func(s checks, x, y []float64) {
		reverseRows(x, s.problem.Dim)
		slices.Reverse(y)
	}},
}

// rareSizes are the sample sizes of checkFailures, next to that of the setting.
var rareSizes = []int64{1, 2, 3, 4, 5, 8, 16}

// checkFailures checks that a private algorithm fails or warns on all samples of a size or on none:
// otherwise, the failure distinguishes samples, and no epsilon holds.
func (s checks) checkFailures() error {
	if !s.algorithm.Private || s.setting.Rounds > 0 {
		return skipped("it states no guarantee for samples")
	}
	for _, n := range append(slices.Clone(rareSizes), s.setting.N) {
		p, err := s.running()
		if err != nil {
			return err
		}
		var first string // report on the drawn sample
		for i, rare := range rareSamples {
			reports, err := s.reports(p, n, rare)
			if err != nil {
				return why(err, "with %s, n = %d", rare.name, n)
			}
			if i == 0 {
				first = reports
			} else if reports != first {
				return fmt.Errorf("n = %d: with %s the algorithm %s, and with %s it %s: what it reports depends on the sample, so "+
					"no epsilon holds (handle every sample, or let Check refuse the size)",
					n, rareSamples[0].name, first, rare.name, reports)
			}
		}
	}
	return nil
}

// reports plays one trial on a rare sample. It describes the kind of its failure, and its warnings.
func (s checks) reports(p *host.Process, n int64, rare rareSample) (string, error) {
	t, err := s.play(p, script{
		trials: usual.trials[:1], n: n, points: 1,
		change: func(_ uint64, x, y []float64) { rare.change(s, x, y) },
	})
	switch {
	case err != nil:
		return "", err
	case len(t.faults) > 0 && t.faults[0].Kind == host.Infeasible:
		return "refuses the sample", nil
	case len(t.faults) > 0:
		return fmt.Sprintf("fails (%s: %v)", t.faults[0].Kind, faultError(t.faults[0])), nil
	case t.warnings > 0:
		return "warns", nil
	}
	return "does not fail", nil
}

func fill(y []float64, label float64) {
	for i := range y {
		y[i] = label
	}
}

func alternate(y []float64, values ...float64) {
	for i := range y {
		y[i] = values[i%len(values)]
	}
}

// copyFirst copies the first point to all others.
func (s checks) copyFirst(x []float64) {
	for row := range slices.Chunk(x, s.problem.Dim) {
		copy(row, x[:s.problem.Dim])
	}
}

// outermost replaces the points by the two opposite corners of the domain or, in the unit ball, by
// two opposite points of its surface.
func (s checks) outermost(x []float64) {
	class := classOf(s.problem)
	low, high := 0.0, float64(max(s.problem.Domain, 2)-1)
	if class.Shape == concept.Ball {
		low, high = -1, 1
	}
	clear(x)
	for i, row := range slices.Collect(slices.Chunk(x, s.problem.Dim)) {
		value := low
		if i%2 == 1 {
			value = high
		}
		if class.Shape == concept.Ball {
			row = row[:1]
		}
		fill(row, value)
	}
}
