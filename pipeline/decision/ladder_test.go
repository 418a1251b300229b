package decision

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// ladderCells returns the cells of a list and of a ladder with that many rungs, at n = 100.
func ladderCells(rungs int) []*trial.Cell {
	cells := []*trial.Cell{{As: "list", N: []int64{10}, Trials: 10, Alpha: 0.1, Beta: 0.1}}
	l := &trial.Ladder{Axis: "epsilon", Rises: true, Within: 1, Confidence: 0.9}
	for i := range rungs {
		l.Values = append(l.Values, float64(i+1)/10)
		cells = append(cells, &trial.Cell{
			As: "rung", N: []int64{100}, MaxTrials: 5000, Alpha: 0.1, Beta: 0.1, Epsilon: l.Values[i],
			Rung: &trial.Rung{Ladder: l, Value: l.Values[i], Position: int64(i) + 1},
		})
	}
	return cells
}

// climbed is the result of a ladder.
type climbed struct {
	status, reason, refused string
	low, high               float64
	trials                  int64
}

// climbAll runs a ladder to its end. In each round it visits the rungs in random order. rate is
// the success rate on a rung, from 0 on, and refusals are those of the algorithm.
func climbAll(t *testing.T, rate func(rung int) float64, refusals map[int]string, order *rand.Rand) climbed {
	t.Helper()
	cells := ladderCells(9)
	if tests := countTests(cells); tests != 2 {
		t.Fatalf("%d tests for a list and a ladder", tests)
	}
	all, err := New(cells)
	if err != nil {
		t.Fatal(err)
	}
	rungs := all[1].Group()
	for rounds := 0; !slices.ContainsFunc(rungs, (*CellState).Decided); rounds++ {
		if rounds > 10_000 {
			t.Fatal("no end")
		}
		for _, i := range order.Perm(len(rungs)) {
			c := rungs[i]
			if kind, ok := refusals[i]; ok && len(c.Needs()) > 0 {
				c.Refuse(100, ledger.Refusal{Kind: kind, Message: fmt.Sprintf("not %v", c.Epsilon)})
				c.ApplyRefusals()
				continue
			}
			for _, b := range c.Want() {
				if b.N != 100 {
					t.Fatalf("rung %d wants %+v", i, b)
				}
				for rep := b.First; rep < b.First+b.Count; rep++ {
					e := 0.5
					if rand.New(rand.NewPCG(uint64(i), uint64(rep))).Float64() < rate(i) {
						e = 0
					}
					c.feed(100, int64(rep), ledger.OK, e)
				}
			}
			c.ApplyRefusals()
		}
	}
	for i, c := range rungs {
		if !c.Decided() {
			t.Errorf("rung %d is not done, and others are", i)
		}
	}
	out := climbed{refused: rungs[0].Refused, low: math.Inf(-1), high: math.Inf(1)}
	for _, c := range rungs {
		r := c.Result()
		out.status, out.reason = r.Status, r.Reason
		out.trials += r.Trials
		if r.Low != 0 {
			out.low = c.Epsilon
		}
		if r.High != 0 {
			out.high = min(out.high, c.Epsilon)
		}
		if c.Refused != out.refused {
			t.Errorf("rungs are refused in different words: %q and %q", c.Refused, out.refused)
		}
	}
	if low, high := rungs[0].Found(); out.refused == "" && (!math.IsInf(out.low, 0) && low != out.low ||
		!math.IsInf(out.high, 0) && high != out.high) {
		t.Errorf("found %v to %v, and the rungs show %+v", low, high, out)
	}
	return out
}

// The result of a ladder is a function of the outcomes and refusals on its rungs, independent of
// their order.
func TestLadderOrder(t *testing.T) {
	step := func(rung int) float64 { return []float64{0.2, 0.99}[min(1, rung/5)] }
	never := func(int) float64 { return 0.1 }
	for _, tt := range []struct {
		name      string
		rate      func(int) float64
		refusals  map[int]string
		status    string
		refused   string
		low, high float64
	}{
		{"a step", step, nil, estimate.StatusDecided, "", 0.5, 0.6},
		{"the hardest are infeasible", step, map[int]string{0: ledger.Infeasible, 1: ledger.Infeasible},
			estimate.StatusDecided, "", 0.5, 0.6},
		{"none suffices", never, nil, estimate.StatusAboveRange, "", 0.9, math.Inf(1)},
		{"two of the first are invalid", step, map[int]string{0: ledger.Invalid, 1: ledger.Invalid},
			estimate.StatusRunning, "epsilon = 0.2: not 0.2", math.Inf(-1), math.Inf(1)},
		{"one is invalid", never, map[int]string{3: ledger.Invalid},
			estimate.StatusRunning, "epsilon = 0.4: not 0.4", 0.2, math.Inf(1)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var first climbed
			for seed := range uint64(5) {
				got := climbAll(t, tt.rate, tt.refusals, rand.New(rand.NewPCG(seed, 0)))
				if seed == 0 {
					first = got
				}
				if got != first {
					t.Errorf("order %d: %+v, and in another order %+v", seed, got, first)
				}
			}
			if first.status != tt.status || first.refused != tt.refused || first.low != tt.low || first.high != tt.high {
				t.Errorf("%+v, want %s %q, %v to %v", first, tt.status, tt.refused, tt.low, tt.high)
			}
		})
	}
}
