package coordinator

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/shatterlab/shatter/coordinator/forecast"
	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// What a trial costs at other sizes follows from those that were tried, with limits beyond them.
func TestCosts(t *testing.T) {
	t.Parallel()
	one := costs{{100, 0.1}}
	line := costs{{100, 0.2}, {200, 0.3}, {800, 0.9}}
	flat := costs{{16, 0.1}, {1024, 0.11}}
	for _, tt := range []struct {
		costs             costs
		n                 int64
		likely, low, high float64
	}{
		{nil, 5, 0, 0, 0},
		{one, 100, 0.1, 0.1, 0.1},
		{one, 1000, 1, 0.1, 1},
		{one, 10, 0.01, 0.01, 0.1},
		{line, 200, 0.3, 0.3, 0.3},
		{line, 500, 0.6, 0.6, 0.6},
		{line, 1600, 1.7, 0.9, 1.8},
		{flat, 102400, 0.11, 0.11, 11},
	} {
		low, high := tt.costs.limits(tt.n)
		for _, x := range [][2]float64{{tt.costs.at(tt.n), tt.likely}, {low, tt.low}, {high, tt.high}} {
			if math.Abs(x[0]-x[1]) > 1e-9 {
				t.Errorf("%v at %d: %v, %v to %v; want %v, %v to %v", tt.costs, tt.n, tt.costs.at(tt.n), low, high,
					tt.likely, tt.low, tt.high)
				break
			}
		}
	}
}

// A prediction is told once its limits are near enough, runs down, and forgets soon what it was
// while little was known.
func TestTimeLeft(t *testing.T) {
	t.Parallel()
	cells := []*cell{
		{Cell: &trial.Cell{Problem: &schemas.Problem{}}, outlook: &outlook{}},
		{Cell: &trial.Cell{Problem: &schemas.Problem{}}, outlook: &outlook{}},
	}
	grid := &grid{cells: cells}
	p := &progress{
		grid: grid, tally: newTally(), jobs: &dispatcher{slots: 2}, outlooks: &outlooks{grid: grid}, looks: &looks{},
	}
	p.began = time.Now()
	foresee := func(i int, low, likely, high float64) {
		cells[i].outlook = &outlook{measured: true, seconds: forecast.Range{Low: low, Likely: likely, High: high}}
		cells[i].sizes = []*sizing{{n: 8, seconds: 1, trials: 8}}
	}
	at := func(seconds float64) *Left {
		p.tally.seconds = 2 * seconds // both slots are busy
		return p.left(p.began.Add(time.Duration(seconds * float64(time.Second))))
	}
	if left := at(1); left != nil {
		t.Errorf("nothing is known and %+v is told", left)
	}
	foresee(0, 8e3, 1e6, 8e6)
	if left := at(2); left != nil {
		t.Errorf("the limits are a factor of 1000 apart and %+v is told", left)
	}
	foresee(0, 50, 60, 70)
	if left := at(4); left == nil || left.Seconds.High < 5*left.Seconds.Low {
		t.Errorf("of one cell nothing is known and %+v is told", left)
	}
	foresee(1, 50, 60, 70)
	for s := 5.0; s < 13; s++ {
		at(s)
	}
	if left := at(13); left == nil || left.Seconds.Likely < 55 || left.Seconds.Likely > 70 {
		t.Errorf("two cells of 60 s on two slots leave %+v", left)
	}
	before, after := at(14), at(14.5)
	if math.Abs(before.Seconds.Likely-after.Seconds.Likely-0.5) > 1e-6 {
		t.Errorf("half a second later %+v has become %+v", before, after)
	}
	p.looks.pending, p.looks.looked = 100, 90
	for s := 15.0; s < 45; s++ {
		at(s)
	}
	if left := at(45); left == nil || left.Seconds.Likely > 10 {
		t.Errorf("of 60 s of second looks nine in ten are done, and %+v is left", left)
	}
}

// What a search will take is known roughly after a part of its trials, with the trials that jobs run
// beyond those that count: within a factor of four as a rule. Searches of one kind take more or less
// by such factors themselves, by the luck of their trials.
func TestOutlookOfSearch(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	for _, tt := range []struct {
		name  string
		star  float64
		slope float64
	}{
		{"in the middle", 300, 4}, {"near the end", 6000, 6}, {"flat", 500, 1.5},
	} {
		good, all := 0, 0
		for seed := range uint64(4) {
			g, a := outlooksOfSearch(t, tt.star, tt.slope, seed)
			good, all = good+g, all+a
		}
		if all < 12 || float64(good) < 0.5*float64(all) {
			t.Errorf("%s: %d of %d predictions are good", tt.name, good, all)
		}
	}
}

// outlooksOfSearch returns how many predictions were made on the way of a search, and how many of them
// came to be right within a factor of four.
func outlooksOfSearch(t *testing.T, star, slope float64, seed uint64) (good, all int) {
	perTrial := func(n int64) float64 { return 20e-6 + 0.2e-6*float64(n) }
	c, err := newCell(&trial.Cell{
		Find: &trial.Find{From: 16, To: 10000, Within: 1.5, Confidence: 0.95}, MaxTrials: 20000, Alpha: 0.1, Beta: 0.1,
	}, 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	o := &outlooks{grid: &grid{cells: make([]*cell, 10)}, forecasts: &forecast.Forecaster{}}
	rng := rand.New(rand.NewPCG(seed, 2))
	last, predictions := int64(0), map[int64]outlook{} // by trials counted
	var seconds float64
	at := map[int64]float64{}
	for !c.Done() {
		blocks := c.Want()
		read := c.Result().Trials
		if read > 40 && float64(read) > 1.3*float64(last) {
			last = read
			predictions[read], at[read] = o.predict(c), seconds
		}
		for _, b := range blocks {
			took := float64(b.Count) * perTrial(b.N)
			seconds += took
			s := c.size(b.N)
			s.seconds, s.trials = s.seconds+took, s.trials+int64(b.Count)
			for rep := b.First; rep < b.First+b.Count; rep++ {
				outcome := estimate.Miss
				if rng.Float64() < 1/(1+math.Exp(-slope*(float64(b.N)/star-1))/9) {
					outcome = estimate.Success
				}
				c.Add(b.N, rep, outcome)
			}
		}
	}
	for read, p := range predictions {
		if within(p.seconds.Likely, seconds-at[read], 4) && within(p.counted, float64(c.Result().Trials-read), 4) {
			good++
		}
	}
	return good, len(predictions)
}

// within reports whether two amounts differ by at most a factor. Small ones are not told apart.
func within(a, b, factor float64) bool {
	const little = 0.1
	return a <= factor*b+little && b <= factor*a+little
}
