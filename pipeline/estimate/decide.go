package estimate

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// begin opens the sizes that the bracket asks for, or ends the search.
func (s *Search) begin() {
	s.close(func(p *point) bool { return p.index <= s.low || p.index >= s.high })
	for _, p := range s.open {
		p.until, p.waiting = p.Consumed, 0
	}
	switch {
	case s.low == s.grid.last() && s.refusal != "":
		s.finish(StatusInfeasible, s.refusal)
	case s.low == s.grid.last():
		s.giveUp(StatusAboveRange, "")
	case s.high == 0:
		s.finish(StatusBelowRange, "")
	case s.narrow(s.low, s.high):
		s.finish(StatusDecided, "")
	default:
		first, second := s.pair(s.low, s.high)
		s.open = append(s.open[:0], s.at(s.grid.size(first)))
		if second > first {
			s.open = append(s.open, s.at(s.grid.size(second)))
		}
		s.plan()
	}
}

// close takes sizes out of the search and keeps their counts.
func (s *Search) close(which func(*point) bool) {
	for n, p := range s.points {
		if !which(p) {
			continue
		}
		if p.Consumed > 0 {
			s.closed = append(s.closed, p.Point)
		}
		delete(s.points, n)
	}
	s.latest = nil
}

// narrow reports whether a bracket is narrow enough.
func (s *Search) narrow(low, high int) bool {
	if low < 0 || high > s.grid.last() {
		return false
	}
	a, b := s.grid.size(low), s.grid.size(high)
	return b == a+1 || float64(b) <= s.find.Within*float64(a)
}

// pair chooses the sizes to open inside a bracket that is not narrow; twice the same where a second cannot help.
func (s *Search) pair(low, high int) (int, int) {
	switch {
	case high > s.grid.last(): // nothing is sufficient: double
		first := 0
		if low >= 0 {
			first = s.grid.doubled(low)
		}
		return first, s.grid.doubled(first)
	case low < 0: // only From can give the bracket a low end
		return 0, 0
	default:
		return s.inner(low, high)
	}
}

// inner chooses the two sizes inside a bracket that has both ends. With b/a the bracket's ratio they are a g and b/g, rounded
// inwards to the grid, where g is the fourth root of b/a; or b/a/within if that is less, because then either decision leaves a
// bracket that is narrow enough, and the further apart they are, the sooner one of them decides.
//
// Square roots and quotients are rounded the same way on every machine.
func (s *Search) inner(low, high int) (int, int) {
	a, b := float64(s.grid.size(low)), float64(s.grid.size(high))
	g := min(math.Sqrt(math.Sqrt(b/a)), b/a/s.find.Within)
	first := s.grid.atLeast(int64(math.Ceil(a * g)))
	second := s.grid.atLeast(int64(math.Floor(b/g))+1) - 1
	first, second = max(first, low+1), min(second, high-1)
	if first >= second { // few sizes are left
		second = min(first+1, high-1)
		first = max(second-1, low+1)
	}
	return first, second
}

// plan sets the checkpoints up to which the next round reads: that of the size which is behind, or of both.
func (s *Search) plan() {
	behind, cost := s.open[0].Consumed, 0
	for _, p := range s.open {
		behind = min(behind, p.Consumed)
	}
	for _, p := range s.open {
		if p.until = p.Consumed; p.Consumed == behind {
			p.until = checkpoint(behind)
		}
		p.waiting = p.until - p.Consumed - p.ahead.count(p.ahead.known, p.Consumed, p.until)
		cost += p.until - p.Consumed
	}
	if s.trials+int64(cost) > s.find.MaxTrials {
		s.giveUp(StatusUndecided, fmt.Sprintf("limit of %d trials: %d were used, the next step takes %d", s.find.MaxTrials, s.trials, cost))
	}
}

// checkpoint gives the checkpoint that follows c.
func checkpoint(c int) int { return c + max(16, c/8) }

// settle goes as far as the known outcomes carry.
func (s *Search) settle() {
	for !s.Done() && !s.stuck() {
		if s.skip() {
			s.begin()
			continue
		}
		s.advance()
		s.decide()
	}
}

// skip moves the bracket past open sizes that are refused.
func (s *Search) skip() bool {
	before := s.low
	for _, p := range s.open {
		if p.refused && p.Consumed == 0 {
			s.low, s.refusal = p.index, p.refusal
		}
	}
	return s.low > before
}

// stuck reports whether this round lacks an outcome, and ends the search if that is lost. A refused size lacks none.
func (s *Search) stuck() bool {
	waiting := false
	for _, p := range s.open {
		if p.refused && p.Consumed == 0 {
			return false
		}
		waiting = waiting || p.waiting > 0
	}
	for _, p := range s.open {
		for _, rep := range slices.Sorted(maps.Keys(p.lost)) {
			if rep < p.until && !p.ahead.has(rep) {
				s.finish(StatusUndecided, fmt.Sprintf("repetition %d at n = %d is lost: %s", rep, p.N, p.lost[rep]))
				return true
			}
		}
	}
	return waiting
}

// advance reads the open sizes up to their checkpoints.
func (s *Search) advance() {
	for _, p := range s.open {
		p.Successes += p.ahead.count(p.ahead.success, p.Consumed, p.until)
		p.Failed += p.ahead.count(p.ahead.failed, p.Consumed, p.until)
		s.trials += int64(p.until - p.Consumed)
		p.Consumed = p.until
		p.ahead.drop(p.Consumed)
	}
}

// decide looks at the open sizes after a round and moves the bracket.
func (s *Search) decide() {
	low, high := s.low, s.high
	for _, p := range s.open { // ascending
		switch s.verdict(float64(p.Successes), p.Consumed) {
		case insufficient:
			if p.index > high {
				s.finish(StatusUndecided, fmt.Sprintf("not monotone: n = %d is sufficient, n = %d is not", s.grid.size(high), p.N))
				return
			}
			low = p.index
		case sufficient:
			high = min(high, p.index)
		}
	}
	if low == s.low && high == s.high {
		s.plan()
		return
	}
	s.low, s.high, s.refusal = low, high, ""
	s.begin()
}

// verdict is what trials of one size show about it.
type verdict int

const (
	insufficient verdict = iota - 1
	unclear
	sufficient
)

// verdict judges successes out of n trials. On the side of Target where the rate lies, the e-process against Target is at most
// that against a true probability on the other side: so each wrong verdict needs an e-process against the truth that reaches 1/level.
func (s *Search) verdict(successes float64, n int) verdict {
	rate := successes / float64(n)
	switch {
	case rate == s.find.Target || logWealth(successes, float64(n), s.find.Target) < s.wealth:
		return unclear
	case rate > s.find.Target:
		return sufficient
	default:
		return insufficient
	}
}

// giveUp ends a search that found nothing sufficient or ran out of trials: if not one trial ran through, that is what to say.
func (s *Search) giveUp(status, reason string) {
	failed := 0
	for _, p := range s.read() {
		failed += p.Failed
	}
	if s.trials > 0 && int64(failed) == s.trials {
		status, reason = StatusFailed, "not one trial ran through"
	}
	s.finish(status, reason)
}

// finish ends the search.
func (s *Search) finish(status, reason string) {
	s.open = nil
	s.close(func(*point) bool { return true })
	s.status, s.reason = status, reason
}
