package forecast

import (
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
