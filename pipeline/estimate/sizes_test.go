package estimate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// newSizes starts the decision of a list; beta is 0 if there is no goal.
func newSizes(trials int, beta float64, cells int, sizes ...int64) *Sizes {
	list := List{Sizes: sizes, Trials: trials, Confidence: 0.95, Cells: cells}
	if beta > 0 {
		list.Target = 1 - beta
	}
	return NewSizes(list)
}

// feed adds all outcomes of a size except those to skip: first the successes, then failures, then
// misses.
func feed(l *Sizes, n int64, successes, failed int, skip []int) {
	for rep := range l.list.Trials {
		if slices.Contains(skip, rep) {
			continue
		}
		o := Miss
		switch {
		case rep < successes:
			o = Success
		case rep < successes+failed:
			o = Failed
		}
		l.Add(n, rep, o)
	}
}

// all lists the numbers from..to-1.
func all(from, to int) (list []int) {
	for i := from; i < to; i++ {
		list = append(list, i)
	}
	return list
}

func TestSizesStatus(t *testing.T) {
	const trials = 200
	for name, test := range map[string]struct {
		beta       float64
		successes  [3]int
		failed     int
		infeasible int // number of infeasible sizes, from the smallest on
		lost       []int
		status     string
		low, high  int64
		reason     string
	}{
		"decided":     {beta: 0.5, successes: [3]int{0, 100, 200}, status: StatusDecided, low: 10, high: 30},
		"above range": {beta: 0.5, status: StatusAboveRange, low: 30},
		"below range": {beta: 0.5, successes: [3]int{200, 200, 200}, status: StatusBelowRange, high: 10},
		"unclear": {
			beta: 0.5, successes: [3]int{100, 100, 100}, status: StatusUndecided,
			reason: "at n = 10, 20, 30 the trials show neither",
		},
		"not monotone": {
			beta: 0.5, successes: [3]int{200, 0, 200}, status: StatusNotMonotone, low: 20, high: 10,
			reason: "success falls as n grows: n = 10 suffices, and n = 20 does not; ",
		},
		"no goal":         {successes: [3]int{0, 100, 200}, status: StatusMeasured},
		"failed":          {beta: 0.5, failed: trials, status: StatusFailed, low: 30, reason: "not one trial"},
		"failed, no goal": {failed: trials, status: StatusFailed, reason: "not one trial"},
		"infeasible":      {beta: 0.5, infeasible: 3, status: StatusInfeasible, low: 30, reason: "budget"},
		"partly infeasible": {
			beta: 0.5, infeasible: 2, successes: [3]int{0, 0, 200}, status: StatusDecided, low: 20, high: 30,
		},
		"all lost but two successes": {
			beta: 0.5, successes: [3]int{0, 2, 200}, lost: all(2, trials), status: StatusUndecided, low: 10, high: 30,
			reason: "198 trials were lost",
		},
		"all lost but two misses": {
			beta: 0.5, successes: [3]int{0, 0, 200}, lost: all(2, trials), status: StatusUndecided, low: 10, high: 30,
			reason: "198 trials were lost",
		},
		"lost": {
			beta: 0.5, successes: [3]int{0, 100, 200}, lost: []int{150, 7}, status: StatusUndecided, low: 10, high: 30,
			reason: "2 trials were lost, the first of them repetition 7 at n = 20: why 7",
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newSizes(trials, test.beta, 1, 30, 10, 20)
			if got := l.Needs(); !cmp.Equal(got, []int64{10, 20, 30}) {
				t.Errorf("needs %v", got)
			}
			for i, n := range []int64{10, 20, 30} {
				if i < test.infeasible {
					l.Infeasible(n, "budget")
					continue
				}
				var skip []int
				if n == 20 {
					skip = test.lost
				}
				for _, rep := range skip {
					l.Lost(n, rep, fmt.Sprintf("why %d", rep))
					l.Lost(n, rep, fmt.Sprintf("why %d", rep))
				}
				feed(l, n, test.successes[i], test.failed, skip)
			}
			if !l.Done() || len(l.Want())+len(l.Needs()) > 0 {
				t.Fatalf("done %v, wants %v, needs %v", l.Done(), l.Want(), l.Needs())
			}
			r := l.Result()
			if r.Status != test.status || r.Low != test.low || r.High != test.high || !strings.Contains(r.Reason, test.reason) {
				t.Errorf("%+v, want %s, %d, %d, %q", r, test.status, test.low, test.high, test.reason)
			}
		})
	}
}

// For all possible outcomes of the lost trials of a list, the list shows no more with the losses
// than with these outcomes.
func TestSizesShowsNoMoreWithoutLostTrials(t *testing.T) {
	const trials = 60
	rapid.Check(t, func(t *rapid.T) {
		beta := rapid.SampledFrom([]float64{0.1, 0.5, 0.9}).Draw(t, "beta")
		full, damaged := newSizes(trials, beta, 1, 10), newSizes(trials, beta, 1, 10)
		rate := rapid.IntRange(0, 10).Draw(t, "rate")
		for rep := range trials {
			o := Miss
			if rapid.IntRange(1, 10).Draw(t, "outcome") <= rate {
				o = Success
			}
			full.Add(10, rep, o)
			if rapid.IntRange(0, 3).Draw(t, "lost") == 0 {
				damaged.Lost(10, rep, "gone")
			} else {
				damaged.Add(10, rep, o)
			}
		}
		got, want := damaged.Result(), full.Result()
		if got.Low > want.Low || got.High != 0 && got.High != want.High {
			t.Fatalf("shows %+v with lost trials, %+v without", got, want)
		}
		if p := got.Points[0]; p.Consumed != trials || p.Lost != len(damaged.sizes[0].lost) {
			t.Fatalf("%+v", p)
		}
	})
}

// The sizes and cells of a table share its error probability equally, for statements that hold
// however often it is read and its trials are raised.
func TestSizesShareTheLevel(t *testing.T) {
	const trials, beta, cells = 200, 0.1, 4
	for successes := range trials + 1 {
		l := newSizes(trials, beta, cells, 10, 20, 30)
		feed(l, 20, successes, 0, nil)
		const level = 0.05 / (3 * cells)
		r := l.Result()
		if low := ShowsBelow(successes, trials, 1-beta, level); low != (r.Low == 20) {
			t.Errorf("%d successes: insufficient %v, want %v", successes, r.Low == 20, low)
		}
		if high := ShowsAtLeast(successes, trials, 1-beta, level); high != (r.High == 20) {
			t.Errorf("%d successes: sufficient %v, want %v", successes, r.High == 20, high)
		}
	}
}

// Only the repetitions before the first missing one are consumed. An outcome replaces the loss of its trial.
func TestSizesConsumedIsPrefix(t *testing.T) {
	l := newSizes(20, 0.1, 1, 10)
	l.Lost(10, 1, "gone")
	for _, rep := range []int{0, 1, 2, 5} {
		l.Add(10, rep, Success)
	}
	r := l.Result()
	if len(r.Points) != 1 || r.Points[0] != (Point{N: 10, Consumed: 3, Successes: 3}) {
		t.Errorf("%+v", r.Points)
	}
}
