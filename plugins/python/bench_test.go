package python_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// BenchmarkBesideRaw measures what a learner costs with the SDK, beside the same one that speaks the protocol
// itself: CPU time of the two processes for sessions of 100 trials of 100 examples. They take turns, and the
// ratio is the median over the pairs.
func BenchmarkBesideRaw(b *testing.B) {
	interpreter, dir := testkit.Python(b, needed), b.TempDir()
	raw := filepath.Join(dir, "plugin.py")
	for to, from := range map[string]string{
		raw: "../host/testdata/python/plugin.py", filepath.Join(dir, "plugin_pb2.py"): "shatter/plugin_pb2.py",
	} {
		text, err := os.ReadFile(from)
		if err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(to, text, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	beside := started(b, host.Command{Path: interpreter, Args: []string{raw}})
	sdk := started(b, host.Command{Path: build(b, interpreter, "testdata/mean.py")})
	cost(b, beside)
	cost(b, sdk)
	var ratios, each []float64
	for b.Loop() {
		theirs, ours := cost(b, beside), cost(b, sdk)
		ratios, each = append(ratios, ours.Seconds()/theirs.Seconds()), append(each, float64(ours.Nanoseconds())/benchTrials)
	}
	b.ReportMetric(middle(ratios), "ratio")
	b.ReportMetric(middle(each), "sdk-cpu-ns/trial")
}

const benchTrials = 100

func started(b *testing.B, c host.Command) *host.Process {
	b.Helper()
	p, err := host.Start(b.Context(), c)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(p.Stop)
	return p
}

func middle(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// cost returns the CPU time of a plugin for twenty sessions of one step.
func cost(b *testing.B, p *host.Process) time.Duration {
	b.Helper()
	const n, d = 100, 10
	points := make([]uint32, benchTrials)
	for j := range points {
		points[j] = n
	}
	r := host.OpenRequest{
		Setting: &pluginv1.Setting{
			Algorithm: "python/mean", Task: pluginv1.Task_TASK_LEARN, N: n, Alpha: 0.1, Beta: 0.1,
			Problem:    &pluginv1.Problem{Class: "halfspace", Dim: d, Noise: "none", Realizable: true},
			Parameters: map[string]*pluginv1.Value{"noise": {Kind: &pluginv1.Value_Float{Float: 0.1}}},
		},
		Seeds: make([]uint64, 2*benchTrials),
	}
	fill := func(x []float64) {
		for i := range x {
			x[i] = float64(i%7) - 3
		}
	}
	before := p.CPUTime()
	for range 20 {
		s, faults, err := p.Open(b.Context(), r, func(x, y []float64) {
			fill(x)
			for i := range y {
				y[i] = float64(i%2*2 - 1)
			}
		})
		if err != nil || len(faults) > 0 {
			b.Fatal(faults, err)
		}
		if _, faults, err := s.Step(b.Context(), points, fill); err != nil || len(faults) > 0 {
			b.Fatal(faults, err)
		}
		if _, _, err := s.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	return (p.CPUTime() - before) / 20
}
