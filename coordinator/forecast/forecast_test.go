package forecast

import (
	"math"
	"testing"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// The range of courses leaves out a tenth at either end.
func TestSpread(t *testing.T) {
	courses := make([]*Course, 100)
	for i := range courses {
		courses[i] = &Course{sizes: 100 - i}
	}
	if got, want := Spread(courses, (*Course).Sizes), (Range{Likely: 50.5, Low: 11, High: 90}); got != want {
		t.Errorf("%+v, want %+v", got, want)
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

// A block takes one job at least, and more where its trials take longer than the best job.
func TestTake(t *testing.T) {
	jobs := Jobs{Seconds: func(n int64) float64 { return 0.1 * float64(n) }, Best: func(int64) float64 { return 10 }}
	got := jobs.Take([]estimate.Block{{N: 8, Count: 8}, {N: 8, First: 8, Count: 8}, {N: 64, Count: 16}})
	if math.Abs(got.Counted-32) > 1e-9 || math.Abs(got.Seconds-115.2) > 1e-9 || math.Abs(got.Jobs-12.24) > 1e-9 {
		t.Errorf("%+v", got)
	}
}

// Courses lie where the weights are, whether they were played there or further down the range, and what
// is left of one is shorter the more has been read.
func TestCourses(t *testing.T) {
	find := estimate.Find{
		From: 4, To: 100_000, Within: 2, Confidence: 0.9, Target: 0.8, Cells: 6, MaxTrials: 5000,
	}
	jobs := Jobs{
		Seconds: func(int64) float64 { return 0.1 }, Best: func(int64) float64 { return 1 },
	}
	f := &Forecaster{}
	all := f.Scenarios(find)
	for _, low := range []float64{16, 90, 9000} {
		weights := make([]float64, len(all))
		sum := 0.0
		for i, sc := range all {
			if sc.star > low && sc.star < 1.25*low {
				weights[i] = shapes[sc.shape].weight
				sum += weights[i]
			}
		}
		for i := range weights {
			weights[i] /= sum
		}
		const number, least = 20, 8
		some := f.Courses(find, weights, least, number)
		if len(some) != number {
			t.Fatalf("%d courses, want %d", len(some), number)
		}
		for i, c := range some {
			trials, last := c.Trials(), c.blocks[c.spots-1].N
			for _, b := range c.blocks {
				if b.N < least || b.N > find.To {
					t.Errorf("n* from %v, course %d: %+v", low, i, b)
				}
			}
			read := int64(trials / 2)
			claims, spots := c.Rest(read, jobs)
			if whole := c.Work(jobs); float64(last) < low/4 || float64(last) > 4*low || whole.Counted != trials ||
				claims.Counted+spots.Counted > trials-float64(read) || claims.Counted+spots.Counted <= 0 {
				t.Errorf("n* from %v, course %d: %+v in all, the last at %d, %+v and %+v after %d trials", low, i, whole,
					last, claims, spots, read)
			}
		}
	}
}

// The shapes reach the target at n*, with their slopes.
func TestShapes(t *testing.T) {
	const target, step = 0.9, 1e-4
	logit := func(p float64) float64 { return math.Log(p / (1 - p)) }
	sum := 0.0
	for _, s := range shapes {
		sum += s.weight
		slope := (logit(s.rate(1+step, target)) - logit(s.rate(1-step, target))) / (2 * step)
		if math.Abs(s.rate(1, target)-target) > 1e-9 || math.Abs(slope/s.slope-1) > 1e-3 {
			t.Errorf("%+v: %v and slope %v at n*", s, s.rate(1, target), slope)
		}
	}
	if math.Abs(sum-1) > 1e-9 {
		t.Errorf("the weights sum to %v", sum)
	}
}
