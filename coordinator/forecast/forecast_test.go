package forecast

import (
	"math"
	"testing"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// Fit fits a line to the measured costs. Neither of its parts is negative.
func TestFit(t *testing.T) {
	for _, tt := range []struct {
		costs []Cost
		want  Line
	}{
		{nil, Line{}},
		{[]Cost{{100, 2, 0.2}}, Line{Slope: 1e-3}},
		{[]Cost{{100, 10, 3}, {200, 1, 0.4}, {800, 5, 5}}, Line{0.2, 1e-3}},
		{[]Cost{{10, 4, 4}, {1000, 4, 4}}, Line{Base: 1}},
		{[]Cost{{10, 4, 8}, {1000, 4, 4}}, Line{Base: 1.2}},
		{[]Cost{{10, 1, 0.001}, {1000, 1, 1}}, Line{Slope: 1.1e4 / 1.01e8}},
	} {
		got := Fit(tt.costs)
		if math.Abs(got.Base-tt.want.Base) > 1e-9 || math.Abs(got.Slope-tt.want.Slope) > 1e-9 {
			t.Errorf("%v: %+v, want %+v", tt.costs, got, tt.want)
		}
	}
}

// A pilot recovers a known cost line, excludes the start of a process, and predicts the trials of
// all feasible sizes.
func TestPilot(t *testing.T) {
	c, measured := &trial.Cell{N: []int64{8, 16, 64, 256}, Trials: 500}, map[int64]float64{}
	p, _ := NewPilot(c, func(n int64) float64 { return measured[n] })
	p.Infeasible(8, "too small")
	for !p.Done() {
		b := p.Want()[0]
		for rep := p.known; rep < b.Count; rep++ {
			if rep == 0 {
				measured[b.N] += 0.5 // a process starts
			}
			measured[b.N] += 0.1 + 0.001*float64(b.N)
			p.Add(b.N, rep, estimate.Success)
		}
	}
	var blocks []estimate.Block
	for _, n := range c.N {
		blocks = append(blocks, estimate.Block{N: n, Count: c.Trials})
	}
	w := p.Work(c, blocks)
	if want := 500 * (0.3 + 0.001*(16+64+256)); w.Trials != 1500 || math.Abs(w.Seconds-want) > 1e-6 {
		t.Errorf("%+v, want 1500 trials and %v s", w, want)
	}
}
