package estimate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/shatterlab/shatter/pipeline/wording"
)

// ListConfidence is the probability that no bracket of a table of lists is wrong.
const ListConfidence = 0.95

// A List describes the question of [Sizes]: which of several sample sizes suffice.
type List struct {
	Sizes      []int64 // at least one, in any order
	Trials     int     // number of trials at each size
	Target     float64 // success probability that is sufficient, in (0, 1); 0: no question
	Confidence float64 // probability that no bracket of the whole table is wrong, in (0, 1)
	Cells      int     // number of cells of the table, at least 1; they share the error probability
	Trivial    string  // reason why n* does not depend on data; "": it does
}

// Sizes decides a cell with a given list of sample sizes. It requests the same number of trials
// at each, and returns a bracket at the end.
//
// With probability at least Confidence no bracket of the table is wrong, however often it is read
// and the number of trials is raised: each size of each cell has an equal share of the error
// probability.
//
// A lost trial has no outcome, and the result of Sizes does not depend on the outcome that it
// would have had. It counts as a miss if a size is to be shown sufficient, and as a success if
// one is to be shown insufficient. So a plugin that exits on unlucky trials gains nothing, and a
// machine that is too small does not make an algorithm look worse than it is. A cell with a lost
// trial is undecided.
type Sizes struct {
	list  List
	sizes []listed // ascending
	level float64  // probability that the result for one sample size is ever wrong
}

// listed holds the trials of one sample size.
type listed struct {
	n          int64
	trials     outcomes
	missing    int            // trials that are neither known nor lost
	lost       map[int]string // reasons by repetition; nil: none
	infeasible string         // reason of the algorithm for refusing the size; "": not refused
}

// NewSizes starts the decision of a list.
func NewSizes(list List) *Sizes {
	s := &Sizes{list: list, level: (1 - list.Confidence) / float64(list.Cells*len(list.Sizes))}
	for _, n := range slices.Sorted(slices.Values(list.Sizes)) {
		s.sizes = append(s.sizes, listed{n: n, missing: list.Trials})
	}
	return s
}

// find returns a sample size of the list, or nil if the trial of that repetition is not on the
// list.
func (s *Sizes) find(n int64, rep int) *listed {
	i, ok := slices.BinarySearchFunc(s.sizes, n, func(x listed, n int64) int { return cmp.Compare(x.n, n) })
	if !ok || rep < 0 || rep >= s.list.Trials {
		return nil
	}
	return &s.sizes[i]
}

// open returns the sample sizes with missing trials.
func (s *Sizes) open() (open []*listed) {
	for i := range s.sizes {
		if x := &s.sizes[i]; x.infeasible == "" && x.missing > 0 {
			open = append(open, x)
		}
	}
	return open
}

// Needs returns the sample sizes with missing trials.
func (s *Sizes) Needs() (sizes []int64) {
	for _, x := range s.open() {
		sizes = append(sizes, x.n)
	}
	return sizes
}

// pilotTrials is the number of trials at each sample size that are requested first.
const pilotTrials = 16

// Want returns a few trials of every sample size before all others: they soon show the cost of
// trials and the sizes that fail.
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

// Left returns the number of missing trials of each sample size.
func (s *Sizes) Left() (blocks []Block) {
	for _, x := range s.open() {
		blocks = append(blocks, Block{N: x.n, Count: x.missing})
	}
	return blocks
}

// Add adds the outcome of one trial. It ignores repeated outcomes, and trials that are not on the
// list.
func (s *Sizes) Add(n int64, rep int, o Outcome) {
	x := s.find(n, rep)
	if x == nil || !x.trials.add(rep, o) {
		return
	}
	if _, lost := x.lost[rep]; lost {
		delete(x.lost, rep) // the outcome arrived after Lost
		return
	}
	x.missing--
}

// Lost records that a trial cannot be run.
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

// Infeasible records that the algorithm refuses a sample size.
func (s *Sizes) Infeasible(n int64, reason string) {
	if x := s.find(n, 0); x != nil {
		x.infeasible = reason
	}
}

// Done reports whether every size has all of its trials.
func (s *Sizes) Done() bool { return len(s.open()) == 0 }

// Result returns the bracket and the counts of the sample sizes.
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
		if s.Done() {
			r.Status = StatusMeasured
		}
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

// consumed counts the trials before the first missing one: the result files hold consecutive
// repetitions from 0 on, lost ones included.
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
