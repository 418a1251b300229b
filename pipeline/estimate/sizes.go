package estimate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/shatterlab/shatter/pipeline/wording"
)

// A List describes the question of [Sizes]: which of some sample sizes suffice.
type List struct {
	Sizes      []int64 // at least one, in any order
	Trials     int     // number of trials at each size
	Target     float64 // success probability that is sufficient, in (0, 1); 0: none is asked for
	Confidence float64 // probability that no bracket of the whole table is wrong, in (0, 1)
	Cells      int     // number of cells of the table, at least 1; they share the chance of an error
	Trivial    string  // why n* says nothing about data; "": it does
}

// Sizes decides a cell whose sample sizes are given. It wants the same number of trials at each, and
// shows a bracket at the end.
//
// With probability at least Confidence no bracket of the table is wrong, however often it is looked at and
// the number of trials raised: each size of each cell has an equal share of the chance of an error.
//
// A lost trial is no outcome, and what Sizes show does not depend on what it would have been: it
// counts as a miss where a size is to be shown sufficient, and as a success where one is to be shown
// insufficient. So a plugin that leaves when it is unlucky shows nothing, and a machine that is too
// small does not make an algorithm look worse than it is. A cell with a lost trial is undecided.
type Sizes struct {
	list  List
	sizes []listed // ascending
	level float64  // chance that a sample size is ever shown to be what it is not
}

// listed holds the trials of one sample size.
type listed struct {
	n          int64
	trials     outcomes
	missing    int            // trials that are neither known nor lost
	lost       map[int]string // reasons, by repetition; nil: none
	infeasible string         // why the algorithm refuses the size; "": it does not
}

// NewSizes starts the decision of a list.
func NewSizes(list List) *Sizes {
	s := &Sizes{list: list, level: (1 - list.Confidence) / float64(list.Cells*len(list.Sizes))}
	for _, n := range slices.Sorted(slices.Values(list.Sizes)) {
		s.sizes = append(s.sizes, listed{n: n, missing: list.Trials})
	}
	return s
}

// find returns a sample size if the trial of a repetition at it is one of the list's; else nil.
func (s *Sizes) find(n int64, rep int) *listed {
	i, ok := slices.BinarySearchFunc(s.sizes, n, func(x listed, n int64) int { return cmp.Compare(x.n, n) })
	if !ok || rep < 0 || rep >= s.list.Trials {
		return nil
	}
	return &s.sizes[i]
}

// open returns the sample sizes that lack trials.
func (s *Sizes) open() (open []*listed) {
	for i := range s.sizes {
		if x := &s.sizes[i]; x.infeasible == "" && x.missing > 0 {
			open = append(open, x)
		}
	}
	return open
}

// Needs returns the sample sizes that lack trials.
func (s *Sizes) Needs() (sizes []int64) {
	for _, x := range s.open() {
		sizes = append(sizes, x.n)
	}
	return sizes
}

// pilotTrials is the number of trials at each sample size that are wanted first.
const pilotTrials = 16

// Want returns a few trials of every sample size before all of them: then it is soon known what trials
// cost and which sizes fail.
func (s *Sizes) Want() (blocks []Block) {
	open := s.open()
	if len(s.sizes) > 1 && s.list.Trials >= 4*pilotTrials {
		for _, x := range open {
			blocks = x.want(blocks, pilotTrials)
		}
	}
	for _, x := range open {
		blocks = x.want(blocks, s.list.Trials)
	}
	return blocks
}

// want appends the trials below end that are neither known nor lost.
func (x *listed) want(blocks []Block, end int) []Block {
	first := 0
	for _, rep := range slices.Sorted(maps.Keys(x.lost)) {
		if rep < end {
			blocks = x.trials.missing(blocks, x.n, first, rep)
			first = rep + 1
		}
	}
	return x.trials.missing(blocks, x.n, first, end)
}

// Left returns the number of trials that the sample sizes lack.
func (s *Sizes) Left() (blocks []Block) {
	for _, x := range s.open() {
		blocks = append(blocks, Block{N: x.n, Count: x.missing})
	}
	return blocks
}

// Add adds the outcome of one trial. It ignores a second one, and trials that are not of the list.
func (s *Sizes) Add(n int64, rep int, o Outcome) {
	x := s.find(n, rep)
	if x == nil || !x.trials.add(rep, o) {
		return
	}
	if _, lost := x.lost[rep]; lost {
		delete(x.lost, rep) // it came after all
		return
	}
	x.missing--
}

// Lost reports that a trial cannot be had.
func (s *Sizes) Lost(n int64, rep int, reason string) {
	x := s.find(n, rep)
	if x == nil || x.trials.has(rep) {
		return
	}
	if _, known := x.lost[rep]; !known {
		x.missing--
	}
	if x.lost == nil {
		x.lost = map[int]string{}
	}
	x.lost[rep] = reason
}

// Infeasible reports that the algorithm refuses a sample size.
func (s *Sizes) Infeasible(n int64, reason string) {
	if x := s.find(n, 0); x != nil {
		x.infeasible = reason
	}
}

// Done reports whether no size lacks a trial.
func (s *Sizes) Done() bool { return len(s.open()) == 0 }

// Result returns what the sample sizes show.
func (s *Sizes) Result() Result {
	r := Result{Status: StatusUndecided}
	failed := 0
	var unclear []string // sizes
	for i := range s.sizes {
		x := &s.sizes[i]
		p := x.consumed()
		if p.Consumed > 0 {
			r.Points = append(r.Points, p)
			r.Trials += int64(p.Consumed)
			failed += p.Failed
		}
		switch {
		case x.infeasible != "":
			r.Low = x.n
		case s.list.Target == 0 || p.Consumed == 0:
		case ShowsBelow(p.Successes+p.Lost, p.Consumed, s.list.Target, s.level):
			r.Low = x.n
		case ShowsAtLeast(p.Successes, p.Consumed, s.list.Target, s.level):
			r.High = cmp.Or(r.High, x.n)
		default:
			unclear = append(unclear, fmt.Sprint(x.n))
		}
	}
	if len(unclear) > 0 {
		r.Reason = fmt.Sprintf("at n = %s the trials show neither that n suffices nor that it does not: raise trials above "+
			"%d", wording.Few(unclear, 4), s.list.Trials)
	}
	s.setStatus(&r, r.Trials > 0 && int64(failed) == r.Trials)
	return r
}

// setStatus sets the status and its reason.
func (s *Sizes) setStatus(r *Result, allFailed bool) {
	first, last := s.sizes[0], s.sizes[len(s.sizes)-1]
	lost := s.losses()
	switch {
	case lost != "":
		r.Reason = lost
	case allFailed:
		r.Status, r.Reason = StatusFailed, NoneRan
	case s.list.Trivial != "":
		r.Status, r.Reason, r.Low, r.High = StatusTrivial, s.list.Trivial, 0, 0
	case s.list.Target == 0:
		r.Reason = "goal.beta is not given"
	case r.High != 0 && r.Low > r.High:
		r.Status, r.Falls = StatusNotMonotone, true
		r.Reason = fmt.Sprintf("success falls as n grows: n = %d suffices, and n = %d does not; no n* lies among these "+
			"sizes, and more trials will not change that: list sizes on one side of the fall, or read the rates in curve",
			r.High, r.Low)
	case last.infeasible != "":
		r.Status, r.Reason = StatusInfeasible, last.infeasible
	case r.Low == last.n:
		r.Status, r.Reason = StatusAboveRange, ""
	case r.High == first.n:
		r.Status, r.Reason = StatusBelowRange, ""
	case r.Low != 0 && r.High != 0:
		r.Status, r.Reason = StatusDecided, ""
	}
}

// losses describes the lost trials; "" if there are none.
func (s *Sizes) losses() string {
	count, first := 0, ""
	for i := range s.sizes {
		x := &s.sizes[i]
		if count += len(x.lost); len(x.lost) > 0 && first == "" {
			rep := slices.Min(slices.Collect(maps.Keys(x.lost)))
			first = fmt.Sprintf("repetition %d at n = %d: %s", rep, x.n, x.lost[rep])
		}
	}
	if count == 0 {
		return ""
	}
	return fmt.Sprintf("%d trials were lost, the first of them %s", count, first)
}

// consumed counts the trials before the first missing one: the result files hold repetitions without a
// gap, from 0 on, with lost ones among them.
func (x *listed) consumed() Point {
	p := Point{N: x.n}
	for ; ; p.Consumed++ {
		if _, lost := x.lost[p.Consumed]; lost {
			p.Lost++
		} else if !x.trials.has(p.Consumed) {
			break
		}
	}
	p.Successes = x.trials.count(x.trials.success, 0, p.Consumed)
	p.Failed = x.trials.count(x.trials.failed, 0, p.Consumed)
	return p
}
