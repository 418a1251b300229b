package coordinator

import (
	"math"
	"testing"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// On a cluster jobs run on into what nobody needs yet for at most the share of the trials' time that may
// be speculated with. What a search asks for later is given back; what it never asks for is not.
func TestAllowance(t *testing.T) {
	find := &trial.Find{From: 1, To: 100, Within: 2, Confidence: 0.9}
	c, err := newCell(&trial.Cell{Find: find, MaxTrials: 1e6, Beta: 0.1}, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	s := c.size(10)
	s.seconds, s.trials = 1e-6, 1
	d := &dispatcher{slots: 1, crew: &crew{}, tally: newTally(), speculate: 0.15}
	next := func(first, want int) {
		t.Helper()
		b := estimate.Block{N: 10, First: first, Count: 16}
		d.ahead.reach(c, b)
		wide := d.widen(c, b)
		d.ahead.add(c, wide, wide.Count-b.Count)
		if got := wide.Count - b.Count; got < want-1 || got > want {
			t.Errorf("a job after %v s of trials runs on by %d, want %d", d.tally.seconds, got, want)
		}
		if most := d.speculate * d.tally.seconds; d.guessed+d.ahead.seconds > most*(1+1e-9) {
			t.Errorf("%v s are out that nobody needs, %v are allowed", d.guessed+d.ahead.seconds, most)
		}
	}
	next(0, 0) // nothing has come back
	d.tally.seconds = 1e-3
	next(16, 150)
	next(100, 0) // of which a part is still ahead of the search
	next(16+16+150, 150)
	if d.guessed = 1e-3; d.widen(c, estimate.Block{N: 10, First: 1000, Count: 16}).Count != 16 {
		t.Error("a job runs on although too much was guessed")
	}
	d.guessed, c.done = 0, true
	before := d.ahead.seconds
	d.ahead.settle()
	if len(d.ahead.runs) > 0 || math.Abs(d.ahead.seconds-before) > 0 {
		t.Errorf("%d runs and %v s are left of a cell that is decided, want %v s", len(d.ahead.runs), d.ahead.seconds, before)
	}
	if d.speculate = -1; d.allowance() > 0 {
		t.Error("something is allowed without speculation")
	}
}
