package coordinator

import (
	"math"
	"testing"
	"time"

	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// A line is fitted to the costs that were measured. Neither of its parts is negative.
func TestFitCosts(t *testing.T) {
	for _, tt := range []struct {
		costs []sizeCost
		want  costLine
	}{
		{nil, costLine{}},
		{[]sizeCost{{100, 2, 0.2}}, costLine{slope: 1e-3}},
		{[]sizeCost{{100, 10, 3}, {200, 1, 0.4}, {800, 5, 5}}, costLine{0.2, 1e-3}},
		{[]sizeCost{{10, 4, 4}, {1000, 4, 4}}, costLine{base: 1}},
		{[]sizeCost{{10, 4, 8}, {1000, 4, 4}}, costLine{base: 1.2}},
		{[]sizeCost{{10, 1, 0.001}, {1000, 1, 1}}, costLine{slope: 1.1e4 / 1.01e8}},
	} {
		got := fitCosts(tt.costs)
		if math.Abs(got.base-tt.want.base) > 1e-9 || math.Abs(got.slope-tt.want.slope) > 1e-9 {
			t.Errorf("%v: %+v, want %+v", tt.costs, got, tt.want)
		}
	}
}

// A pilot recovers a known cost line, leaves the start of a process out, and predicts the trials of all
// feasible sizes.
func TestPilot(t *testing.T) {
	c := cellOf(t, &trial.Cell{N: []int64{8, 16, 64, 256}, Trials: 500})
	plan, left := c.Cell.Cell, c.Left()
	p := newPilot(c)
	p.Infeasible(8, "too small")
	for !p.Done() {
		b := p.Want()[0]
		for rep := p.known; rep < b.Count; rep++ {
			if rep == 0 {
				c.size(b.N).seconds += 0.5 // a process starts
			}
			c.size(b.N).seconds += 0.1 + 0.001*float64(b.N)
			p.Add(b.N, rep, estimate.Success)
		}
	}
	trials, seconds := p.predict(plan, left)
	if want := 500 * (0.3 + 0.001*(16+64+256)); trials != 1500 || math.Abs(seconds-want) > 1e-6 {
		t.Errorf("%v trials and %v s, want 1500 and %v", trials, seconds, want)
	}
}

// The cells of a plan share the pilots of their algorithms and problems. Sizes below 24 are refused to one
// algorithm.
func TestPredict(t *testing.T) {
	t.Parallel()
	c := Config{
		Folder: claim(t, t.TempDir(), testPlan(t), folder.Mode{}), Slots: 1,
		Digests: madeBy("one"), Healing: 100 * time.Millisecond,
	}
	startFake(t, t.Context(), &c, honest)
	p, err := Predict(t.Context(), c, 2)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Cells) != 6 || p.Pilot == 0 || p.Pilot > 6*2*pilot {
		t.Fatalf("%+v", p)
	}
	for i, c := range p.Cells {
		switch {
		case i < 2 && c.Trials != 450, i == 2 && c.Trials != 150:
			t.Errorf("list: %+v", c)
		case c.Trials > 0 && (c.Seconds <= 0 || c.Seconds > 20*max(0.1, 2e-4*c.Trials)):
			t.Errorf("a trial takes 0.2 ms: %+v", c)
		}
	}
}
