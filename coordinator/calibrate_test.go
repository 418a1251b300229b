package coordinator

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shatterlab/shatter/coordinator/forecast"
	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// planned is what a plan says of searches, over what they take.
type planned struct {
	ratios []float64
	inside int // searches that take as many trials as the limits allow
}

// What a plan says of searches with cheap trials is neither too low nor too high on the whole, be success
// flat or steep in n, and its limits hold about as often as is stated.
func TestPlannedSearches(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	kinds := []struct {
		name  string
		rates []testkit.Rate
	}{
		{"flat", []testkit.Rate{
			testkit.LogisticRate(0.7), testkit.LogisticRate(1.2), testkit.GompertzRate(1), testkit.WeibullRate(0.7),
			testkit.WeibullRate(1), testkit.PowerRate(0.5), testkit.PowerRate(1), testkit.PowerRate(2),
		}},
		{"steep", []testkit.Rate{
			testkit.LogisticRate(3), testkit.LogisticRate(5), testkit.LogisticRate(12), testkit.ProbitRate(2),
			testkit.GompertzRate(3), testkit.WeibullRate(2), testkit.WeibullRate(4),
		}},
	}
	finds := []trial.Cell{
		{Find: &trial.Find{From: 16, To: 100_000, Within: 1.5, Confidence: 0.95}, MaxTrials: 100_000, Beta: 0.1},
		{Find: &trial.Find{From: 16, To: 32_768, Within: 2, Confidence: 0.95}, MaxTrials: 100_000, Beta: 0.05},
	}
	x := predictor{grid: &grid{tests: 10}, forecasts: &forecast.Forecaster{}}
	for _, kind := range kinds {
		var all planned
		for i, find := range finds {
			find.Problem = &schemas.Problem{}
			for j, rate := range kind.rates {
				all.add(t, x, find, rate, uint64(i*len(kind.rates)+j))
			}
		}
		slices.Sort(all.ratios)
		searches := len(all.ratios)
		middle, inside := all.ratios[searches/2], float64(all.inside)/float64(searches)
		t.Logf("%s: half of %d searches are planned at less than %.2f of what they take; the limits hold in %.0f %%",
			kind.name, searches, middle, 100*inside)
		if middle < 0.8 || middle > 1.25 || inside < 0.7 || inside > 0.95 {
			t.Errorf("%s: the median of planned over actual trials is %.2f, and the limits hold in %.2f of the searches",
				kind.name, middle, inside)
		}
	}
}

// add plans and runs searches with that rate.
func (p *planned) add(t *testing.T, x predictor, find trial.Cell, rate testkit.Rate, seed uint64) {
	const runs = 8
	for i := range runs {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		star := 40 * math.Pow(250, (float64(i)+0.5)/runs)
		outcome := func(n int64) estimate.Outcome {
			if rng.Float64() < rate(float64(n)/star, 1-find.Beta) {
				return estimate.Success
			}
			return estimate.Miss
		}
		plan := planOf(t, x, find, outcome)
		s, err := estimate.NewSearch(searchOf(&find, x.grid.tests))
		if err != nil {
			t.Fatal(err)
		}
		for !s.Done() {
			for _, b := range s.Want() {
				for rep := b.First; rep < b.First+b.Count; rep++ {
					s.Add(b.N, rep, outcome(b.N))
				}
			}
		}
		actual := float64(s.Result().Trials)
		p.ratios = append(p.ratios, plan.Trials.Likely/actual)
		if plan.Trials.Low <= actual && actual <= plan.Trials.High {
			p.inside++
		}
	}
}

// planOf predicts a search after its calibration, by trials that take 20 microseconds.
func planOf(t *testing.T, x predictor, find trial.Cell, outcome func(n int64) estimate.Outcome) CellPrediction {
	c, err := newCell(&find, 0, x.grid.tests)
	if err != nil {
		t.Fatal(err)
	}
	p := x.probe(c)
	for !p.Done() {
		b := p.Want()[0]
		size := c.size(b.N)
		size.seconds += 20e-6 * float64(int64(b.Count)-size.trials)
		size.trials = int64(b.Count)
		for rep := p.open.Consumed; rep < b.Count; rep++ {
			p.Add(b.N, rep, outcome(b.N))
		}
	}
	return x.cell(c, p)
}
