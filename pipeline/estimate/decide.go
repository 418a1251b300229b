package estimate

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
)

// begin opens the sizes that the bracket asks for, or ends the search.
func (s *Search) begin() {
	for n, p := range s.points {
		if n <= s.low || n >= s.high {
			p.ahead = outcomes{}
			delete(s.points, n)
		}
	}
	s.latest = nil
	switch {
	case s.low == s.find.To && s.refusal != "":
		s.finish(StatusInfeasible, s.refusal)
	case s.low == s.find.To:
		s.giveUp(StatusAboveRange, "")
	case s.high == s.find.From:
		s.finish(StatusBelowRange, "")
	case s.low > 0 && s.high <= s.find.To && s.find.narrow(s.low, s.high):
		s.finish(StatusDecided, "")
	default:
		s.learn()
		s.plan()
	}
}

// learn brings the belief up to date.
func (s *Search) learn() {
	low, high := math.Log(float64(s.find.From))-1, math.Log(float64(s.find.To))+1
	if s.low > 0 {
		low = math.Log(float64(s.low))
	}
	if top := s.top(); top > s.low {
		high = min(high, math.Log(float64(top))+1.5)
	}
	if s.high <= s.find.To {
		high = math.Log(float64(s.high))
	}
	near := func(p *point) bool { return p.N >= s.low/2 && p.N/2 <= s.high }
	var points []*point
	for _, p := range s.read {
		if near(p) {
			points = append(points, p)
		}
	}
	s.belief.learn(points, s.find.Target, coarse(low), coarse(high))
}

// top is the largest size of which trials were read; 0 if there is none.
func (s *Search) top() int64 {
	if len(s.read) == 0 {
		return 0
	}
	return s.read[len(s.read)-1].N
}

// doubling reports whether the range has to be searched upwards: the largest size that was read succeeds too seldom.
func (s *Search) doubling() bool {
	if s.high <= s.find.To {
		return false
	}
	if s.top() <= s.low {
		return true
	}
	p := s.read[len(s.read)-1]
	return p.N < s.find.To && float64(p.Successes) < s.find.Target*float64(p.Consumed)
}

// plan opens sizes and sets the checkpoints up to which the next round reads them.
func (s *Search) plan() {
	for _, p := range s.open {
		p.until, p.waiting = p.Consumed, 0
	}
	s.open, s.left, s.doubles = s.open[:0], s.aim(), s.doubling()
	small, large := s.suspects()
	switch {
	case small != nil:
		s.left, s.doubles = nil, false
		s.enter(small.N, 0)
		s.enter(large.N, 0)
	case s.doubles:
		first := s.find.doubled(max(s.low, s.top()))
		s.enter(first, 0)
		if second := s.find.doubled(first); second > first {
			s.enter(second, 0)
		}
	default:
		for _, l := range s.left {
			// A round takes a part of what is expected to be missing, and little beside what the belief rests on.
			s.enter(l.n, min(l.trials/6, float64(s.trials)/5))
		}
	}
	s.rest = s.foresee()
	if s.trials+s.cost() > s.find.MaxTrials {
		for _, p := range s.open {
			p.until = checkpoint(p.Consumed)
		}
	}
	if cost := s.cost(); s.trials+cost > s.find.MaxTrials {
		s.giveUp(StatusUndecided, s.missing(cost))
		return
	}
	for _, p := range s.open {
		p.waiting = p.until - p.Consumed - p.ahead.count(p.ahead.known, p.Consumed, p.until)
	}
}

// suspects gives two sizes inside the bracket of which the smaller looks sufficient and the larger insufficient, by their own trials
// alone; nil where there are none.
func (s *Search) suspects() (small, large *point) {
	const doubt = 1 // logarithm of the e-process that is enough
	for _, p := range s.read {
		if p.N <= s.low || p.N >= s.high {
			continue
		}
		if small != nil && s.lone.wealth(insufficient, p.Successes, p.Consumed) >= doubt {
			return small, p
		}
		if small == nil && s.lone.wealth(sufficient, p.Successes, p.Consumed) >= doubt {
			small = p
		}
	}
	return nil, nil
}

// enter opens a size for at least that many trials.
func (s *Search) enter(n int64, trials float64) {
	p := s.at(n)
	p.until = checkpoint(p.Consumed)
	for float64(p.until-p.Consumed) < trials {
		p.until = checkpoint(p.until)
	}
	s.open = append(s.open, p)
}

// checkpoint gives the checkpoint that follows c.
func checkpoint(c int) int {
	if c < 16 {
		return c + 8
	}
	return c + max(16, c/8)
}

// cost is the number of trials that the round reads.
func (s *Search) cost() (trials int64) {
	for _, p := range s.open {
		trials += int64(p.until - p.Consumed)
	}
	return trials
}

// missing says what the limit of trials leaves open.
func (s *Search) missing(cost int64) string {
	text := fmt.Sprintf("limit of %d trials: %d were used, the next step takes %d", s.find.MaxTrials, s.trials, cost)
	for _, l := range s.left {
		text += fmt.Sprintf("; about %d more would show that n = %d is %s", Roughly(l.trials), l.n, [...]string{"insufficient", "sufficient"}[l.side])
	}
	return text
}

// Roughly is a predicted number of trials to two digits, for people; of more than none it leaves at least one.
func Roughly(trials float64) int64 {
	unit := 1.0
	for trials/unit >= 100 {
		unit *= 10
	}
	return int64(max(min(1, math.Ceil(trials)), math.Round(trials/unit)*unit))
}

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
		if p.refused && p.Consumed == 0 && p.N > s.low {
			s.low, s.refusal = p.N, p.refusal
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
		count := p.until - p.Consumed
		successes := p.ahead.count(p.ahead.success, p.Consumed, p.until)
		if !s.doubles { // beyond all that was read, a bet would cost more than it brings
			for side := range bothSides {
				p.staked[side] += s.belief.stake(p.x, s.find.Target, side, successes, count)
			}
		}
		if p.Consumed == 0 {
			i, _ := slices.BinarySearchFunc(s.read, p, func(a, b *point) int { return cmp.Compare(a.N, b.N) })
			s.read = slices.Insert(s.read, i, p)
		}
		p.Successes += successes
		p.Failed += p.ahead.count(p.ahead.failed, p.Consumed, p.until)
		s.trials += int64(count)
		p.Consumed = p.until
		p.ahead.drop(p.Consumed)
		for side := range bothSides {
			m := mixture{}
			m.add(1-loneShare, p.staked[side])
			m.add(loneShare, s.lone.wealth(side, p.Successes, p.Consumed))
			p.wealth[side] = m.log()
		}
	}
}

// against gives the logarithms of the e-processes against "n* lies in gap i", for the gaps that the sizes read leave between them: gap i
// ends with the i-th of these sizes, and the last gap has no end.
func (s *Search) against() []float64 {
	logs := make([]float64, len(s.read)+1)
	for _, p := range s.read {
		logs[0] += p.wealth[insufficient]
	}
	for i, p := range s.read {
		logs[i+1] = logs[i] - p.wealth[insufficient] + p.wealth[sufficient]
	}
	return logs
}

// decide moves the bracket to the ends of what is not refuted.
func (s *Search) decide() {
	logs := s.against()
	refuted := func(gap int) bool {
		return logs[gap] >= s.enough || gap < len(s.read) && s.read[gap].N <= s.low || gap > 0 && s.read[gap-1].N >= s.high
	}
	first, last := 0, len(s.read)
	for first <= last && refuted(first) {
		first++
	}
	for last >= first && refuted(last) {
		last--
	}
	if first > last {
		s.finish(StatusUndecided, s.contradiction())
		return
	}
	if first > 0 && s.read[first-1].N > s.low {
		s.low, s.refusal = s.read[first-1].N, ""
	}
	if last < len(s.read) {
		s.high = min(s.high, s.read[last].N)
	}
	s.begin()
}

// contradiction names the two sizes that most speak against a law that does not fall.
func (s *Search) contradiction() string {
	var small, large *point
	most := math.Inf(-1)
	for i, p := range s.read {
		for _, q := range s.read[i+1:] {
			if sum := p.wealth[sufficient] + q.wealth[insufficient]; sum > most {
				small, large, most = p, q, sum
			}
		}
	}
	return fmt.Sprintf("not monotone: n = %d is sufficient, n = %d is not", small.N, large.N)
}

// giveUp ends a search that found nothing sufficient or ran out of trials: if not one trial ran through, that is what to say.
func (s *Search) giveUp(status, reason string) {
	failed := 0
	for _, p := range s.read {
		failed += p.Failed
	}
	if s.trials > 0 && int64(failed) == s.trials {
		status, reason = StatusFailed, "not one trial ran through"
	}
	s.finish(status, reason)
}

// finish ends the search.
func (s *Search) finish(status, reason string) {
	s.open, s.left, s.rest, s.latest, s.points, s.belief = nil, nil, nil, nil, nil, belief{}
	s.status, s.reason = status, reason
}
