package forecast

import (
	"math"
	"testing"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// The range of scenarios lies where their weights are.
func TestSpread(t *testing.T) {
	all, weights := make([]*Scenario, 100), make([]float64, 100)
	for i := range all {
		all[i], weights[i] = &Scenario{star: float64(100 - i)}, 0.01
	}
	got := Spread(all, weights, func(s *Scenario) float64 { return s.star })
	if got.Low < 10 || got.Low > 12 || got.High < 89 || got.High > 91 || got.Likely < 50 || got.Likely > 51 {
		t.Errorf("%+v", got)
	}
}

// Trials tell where n* lies.
func TestBeliefs(t *testing.T) {
	cell := &trial.Cell{
		Find: &trial.Find{From: 4, To: 1000, Within: 2, Confidence: 0.9}, MaxTrials: 5000, Alpha: 0.1, Beta: 0.2,
	}
	all := scenarios(estimate.Find{
		From: 4, To: 1000, Within: 2, Confidence: 0.9, Target: 0.8, Cells: 6, MaxTrials: 5000,
	})
	if got := Median(all, Beliefs(cell, all, nil, 1)); got < 30 || got > 130 {
		t.Errorf("with nothing known n* is %v, want the middle of 4 and 1000", got)
	}
	shown := []estimate.Point{{N: 16, Consumed: 100, Successes: 20}, {N: 32, Consumed: 100, Successes: 97}}
	if got := Median(all, Beliefs(cell, all, shown, 1)); got < 20 || got > 30 {
		t.Errorf("n* is %v, want it between 16 and 32", got)
	}
	if got := Median(all, Beliefs(cell, all, nil, 500)); got < 400 {
		t.Errorf("n* is %v where sizes below 500 are refused", got)
	}
}

// Jobs of cheap trials run on into what comes next; blocks that they have run over take none.
func TestTake(t *testing.T) {
	aims := func(int64) (least, best float64) { return 0.010, 0.250 }
	wanted := []estimate.Block{{N: 8, Count: 8}, {N: 8, First: 8, Count: 8}, {N: 64, Count: 16}}
	for _, tt := range []struct {
		seconds float64
		most    int
		want    Work
	}{
		{0.1, 1000, Work{Counted: 32, Executed: 32, Seconds: 3.2, Jobs: 12.8}},
		{0.001, 1000, Work{Counted: 32, Executed: 10 + 10 + 16, Seconds: 0.036, Jobs: 3}},
		{0.0001, 1000, Work{Counted: 32, Executed: 200, Seconds: 0.02, Jobs: 2}},
		{0.0001, 50, Work{Counted: 32, Executed: 100, Seconds: 0.01, Jobs: 2}},
		{0, 1000, Work{Counted: 32, Executed: 32, Jobs: 3}}, // the cost is unknown
	} {
		jobs := Jobs{
			Seconds: func(int64) float64 { return tt.seconds }, Aims: aims, Most: func(int64) int { return tt.most },
		}
		got := jobs.Take(wanted)
		for _, x := range [][2]float64{
			{got.Counted, tt.want.Counted}, {got.Executed, tt.want.Executed},
			{got.Seconds, tt.want.Seconds}, {got.Jobs, tt.want.Jobs},
		} {
			if math.Abs(x[0]-x[1]) > 1e-9 {
				t.Errorf("trials of %v s: %+v, want %+v", tt.seconds, got, tt.want)
				break
			}
		}
	}
}

// A few scenarios stand for all: they lie where the weights are, and their rest is shorter the more
// has been read.
func TestTypical(t *testing.T) {
	search := Search{Find: estimate.Find{
		From: 4, To: 1000, Within: 2, Confidence: 0.9, Target: 0.8, Cells: 6, MaxTrials: 5000,
	}}
	f := &Forecaster{}
	all := f.Scenarios(search)
	weights := make([]float64, len(all))
	sum := 0.0
	for i, sc := range all {
		if sc.star > 90 && sc.star < 110 {
			weights[i], sum = sc.prior, sum+sc.prior
		}
	}
	for i := range weights {
		weights[i] /= sum
	}
	some := f.Typical(search, weights)
	if len(some) != typical {
		t.Fatalf("%d scenarios, want %d", len(some), typical)
	}
	jobs := Jobs{
		Seconds: func(int64) float64 { return 0.1 }, Most: func(int64) int { return 1000 },
		Aims: func(int64) (least, best float64) { return LeastJob, 1 },
	}
	for _, sc := range some {
		whole, read := sc.Work(jobs), int64(sc.Trials()/2)
		claims, spots := sc.Rest(read, jobs)
		if sc.star < 70 || sc.star > 140 || whole.Counted != sc.Trials() ||
			claims.Counted+spots.Counted > whole.Counted-float64(read) || claims.Counted <= 0 {
			t.Errorf("star %v: %+v in all, %+v and %+v after %d trials", sc.star, whole, claims, spots, read)
		}
	}
}
