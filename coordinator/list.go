package coordinator

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/pipeline/wording"
)

// list decides a cell whose sample sizes are given. It wants the same number of repetitions at
// each, and at the end reads off the bracket that they show.
//
// A lost trial is no outcome, and what a list shows does not depend on what it would have been: it
// counts as a miss where a size is to be shown sufficient, and as a success where one is to be shown
// insufficient. So a plugin that leaves when it is unlucky shows nothing, and a machine that is too
// small does not make an algorithm look worse than it is. A cell with a lost trial is undecided.
type list struct {
	sizes  []listed // ascending
	latest *listed  // size of the last find; the next one mostly is of the same size
	trials int
	target float64 // success rate asked for; 0: none, and no bracket
	level  float64 // chance that a sample size is ever shown to be what it is not

	trivial *trial.Cell // for which n* would say nothing, as a learner without data succeeds; nil: it does
}

// listed is one sample size of a list.
type listed struct {
	estimate.Point
	some       *some  // which trials these are; nil: none or all
	infeasible string // why the algorithm refuses the size; "": it does not
}

// some says which trials of a sample size are known, where others are not.
type some struct {
	known, success, failed numeric.BitSet
	lost                   map[int64]string // reason by repetition; nil: none
}

// losses returns the reasons of the trials that were lost, by repetition.
func (s *listed) losses() map[int64]string {
	if s.some == nil {
		return nil
	}
	return s.some.lost
}

// listConfidence is the confidence that no bracket of a table of lists is wrong.
const listConfidence = 0.95

// newList makes the list of a cell in a table of that many cells. The chance of a wrong table is
// shared out among all its sample sizes: of those that the sweep file states, whatever trials it asks
// for. Sizes or cells that are added after a look have a chance of their own.
func newList(c *trial.Cell, cells int) *list {
	l := &list{trials: c.Trials, level: (1 - listConfidence) / float64(cells*len(c.N))}
	if c.Beta > 0 {
		l.target = 1 - c.Beta
	}
	if c.Trivial() {
		l.trivial = c
	}
	l.sizes = make([]listed, len(c.N))
	for i, n := range slices.Sorted(slices.Values(c.N)) {
		l.sizes[i].N = n
	}
	return l
}

func (l *list) find(n int64) *listed {
	if l.latest != nil && l.latest.N == n {
		return l.latest
	}
	i, ok := slices.BinarySearchFunc(l.sizes, n, func(s listed, n int64) int { return cmp.Compare(s.N, n) })
	if !ok {
		return nil
	}
	l.latest = &l.sizes[i]
	return l.latest
}

// open reports whether outcomes of a sample size are missing.
func (l *list) open(s *listed) bool {
	return s.infeasible == "" && s.Consumed+len(s.losses()) < l.trials
}

func (l *list) Needs() []int64 {
	var out []int64
	for i := range l.sizes {
		if s := &l.sizes[i]; l.open(s) {
			out = append(out, s.N)
		}
	}
	return out
}

// Want returns a few trials of every sample size before all of them, so that it is soon known what
// trials cost and which sizes fail.
func (l *list) Want() []estimate.Block {
	var out []estimate.Block
	if len(l.sizes) > 1 && l.trials >= 4*pilot {
		for i := range l.sizes {
			s := &l.sizes[i]
			if l.open(s) {
				out = append(out, estimate.Block{N: s.N, Count: pilot})
			}
		}
	}
	for i := range l.sizes {
		if s := &l.sizes[i]; l.open(s) {
			out = append(out, estimate.Block{N: s.N, Count: l.trials})
		}
	}
	return out
}

func (l *list) Add(n int64, rep int, o estimate.Outcome) {
	s := l.find(n)
	if !l.lacks(s, rep) {
		return
	}
	some := s.part()
	delete(some.lost, int64(rep))
	some.known.Set(int64(rep))
	s.Consumed++
	switch o {
	case estimate.Success:
		some.success.Set(int64(rep))
		s.Successes++
	case estimate.Failed:
		some.failed.Set(int64(rep))
		s.Failed++
	}
	if s.Consumed == l.trials {
		s.some = nil
	}
}

// lacks reports whether a trial is one of the list's that is not known; s may be nil.
func (l *list) lacks(s *listed, rep int) bool {
	return s != nil && rep >= 0 && rep < l.trials && s.Consumed < l.trials &&
		(s.some == nil || !s.some.known.Has(int64(rep)))
}

// part returns which trials are known, for one more.
func (s *listed) part() *some {
	if s.some == nil {
		s.some = &some{}
	}
	return s.some
}

func (l *list) Lost(n int64, rep int, reason string) {
	if s := l.find(n); l.lacks(s, rep) {
		some := s.part()
		if some.lost == nil {
			some.lost = map[int64]string{}
		}
		some.lost[int64(rep)] = reason
	}
}

func (l *list) Infeasible(n int64, reason string) {
	if s := l.find(n); s != nil {
		s.infeasible = reason
	}
}

func (l *list) Done() bool {
	for i := range l.sizes {
		if l.open(&l.sizes[i]) {
			return false
		}
	}
	return true
}

// Result returns what the sample sizes show. It stays right, with the confidence of the table, for
// those who look at it, raise the number of trials and look again.
func (l *list) Result() estimate.Result {
	r := estimate.Result{Status: estimate.StatusUndecided}
	var failed int64
	var unclear []string // sizes
	for i := range l.sizes {
		s := &l.sizes[i]
		p := l.consumed(s)
		if p.Consumed > 0 {
			r.Points = append(r.Points, p)
			r.Trials += int64(p.Consumed)
			failed += int64(p.Failed)
		}
		switch {
		case s.infeasible != "":
			r.Low = s.N
		case l.target == 0 || p.Consumed == 0:
		case estimate.ShowsBelow(p.Successes+p.Lost, p.Consumed, l.target, l.level):
			r.Low = s.N
		case estimate.ShowsAtLeast(p.Successes, p.Consumed, l.target, l.level):
			r.High = cmp.Or(r.High, s.N)
		default:
			unclear = append(unclear, fmt.Sprint(s.N))
		}
	}
	if len(unclear) > 0 {
		r.Reason = fmt.Sprintf("at n = %s the trials show neither that n suffices nor that it does not: raise trials above "+
			"%d", wording.Few(unclear, 4), l.trials)
	}
	l.status(&r, failed)
	return r
}

// status sets the status and its reason.
func (l *list) status(r *estimate.Result, failed int64) {
	first, last := l.sizes[0], l.sizes[len(l.sizes)-1]
	switch lost := l.lost(); {
	case lost > 0:
		r.Reason = fmt.Sprintf("%d trials were lost, the first of them %s", lost, l.firstLost())
	case r.Trials > 0 && failed == r.Trials:
		r.Status, r.Reason = estimate.StatusFailed, estimate.NoneRan
	case l.trivial != nil:
		r.Status, r.Reason, r.Low, r.High = estimate.StatusTrivial, l.trivial.WithoutData(), 0, 0
	case l.target == 0:
		r.Reason = "goal.beta is not given"
	case r.High != 0 && r.Low > r.High:
		r.Status, r.Falls = estimate.StatusNotMonotone, true
		r.Reason = fmt.Sprintf("success falls as n grows: n = %d suffices, and n = %d does not; no n* lies among these "+
			"sizes, and more trials will not change that: list sizes on one side of the fall, or read the rates in curve",
			r.High, r.Low)
	case last.infeasible != "":
		r.Status, r.Reason = estimate.StatusInfeasible, last.infeasible
	case r.Low == last.N:
		r.Status, r.Reason = estimate.StatusAboveRange, ""
	case r.High == first.N:
		r.Status, r.Reason = estimate.StatusBelowRange, ""
	case r.Low != 0 && r.High != 0:
		r.Status, r.Reason = estimate.StatusDecided, ""
	}
}

// lost counts the trials that were lost.
func (l *list) lost() (n int) {
	for i := range l.sizes {
		s := &l.sizes[i]
		n += len(s.losses())
	}
	return n
}

// firstLost describes the first of the lost trials and why it was lost.
func (l *list) firstLost() string {
	for i := range l.sizes {
		s := &l.sizes[i]
		if len(s.losses()) > 0 {
			rep := slices.Min(slices.Collect(maps.Keys(s.losses())))
			return fmt.Sprintf("repetition %d at n = %d: %s", rep, s.N, s.losses()[rep])
		}
	}
	return ""
}

// lostBelow returns the lost repetitions of a sample size that are below one.
func (l *list) lostBelow(n, below int64) (lost []int64) {
	for rep := range l.find(n).losses() {
		if rep < below {
			lost = append(lost, rep)
		}
	}
	slices.Sort(lost)
	return lost
}

// consumed counts the trials before the first one that is still missing: the result files hold
// repetitions without a gap, from 0 on, lost ones among them.
func (l *list) consumed(s *listed) estimate.Point {
	some := s.some
	if some == nil {
		return s.Point
	}
	p := estimate.Point{N: s.N}
	for rep := int64(0); ; rep++ {
		if _, lost := some.lost[rep]; lost {
			p.Lost++
		} else if !some.known.Has(rep) {
			break
		}
		p.Consumed++
		if some.success.Has(rep) {
			p.Successes++
		}
		if some.failed.Has(rep) {
			p.Failed++
		}
	}
	return p
}

// Left returns what the sample sizes still lack.
func (l *list) Left() (blocks []estimate.Block) {
	for i := range l.sizes {
		if s := &l.sizes[i]; l.open(s) {
			blocks = append(blocks, estimate.Block{N: s.N, Count: l.trials - s.Consumed - len(s.losses())})
		}
	}
	return blocks
}
