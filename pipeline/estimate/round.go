package estimate

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// startRound opens the sizes that the bracket requires, or ends the search.
func (s *Search) startRound() {
	switch {
	case s.low == s.find.To && s.refusal != "":
		s.finish(StatusInfeasible, s.refusal)
	case s.low == s.find.To && s.allFailed():
		s.finish(StatusFailed, NoneRan)
	case s.low == s.find.To:
		s.beginSpots(StatusAboveRange)
	case s.high == s.find.From:
		s.beginSpots(StatusBelowRange)
	case s.low > 0 && s.high <= s.find.To && s.find.narrow(s.low, s.high):
		s.beginSpots(StatusDecided)
	default:
		s.plan()
		if s.doubling || s.Done() {
			s.belief.growths = nil // no step of such a round uses the belief
		}
	}
}

// plan opens sizes and sets the checkpoints up to which this round reads them. It ends the search
// if the round would exceed the limit of trials.
func (s *Search) plan() {
	for _, p := range s.open {
		p.until, p.waiting = p.Consumed, 0
	}
	before := s.open
	s.open, s.doubling = nil, s.mustDouble()
	open := func(n int64, trials float64) { // for at least that many trials
		p := s.pointAt(n)
		p.until = checkpoint(p.Consumed)
		for float64(p.until-p.Consumed) < trials {
			p.until = checkpoint(p.until)
		}
		s.open = append(s.open, p)
	}
	if s.trials > 0 { // before the first trial nothing depends on a belief
		s.learn()
		s.claims, s.wide = s.aim()
	}
	small, large := s.suspects()
	switch {
	case small != nil:
		s.claims, s.doubling = nil, false
		open(small.N, 0)
		open(large.N, 0)
	case s.doubling:
		first := s.find.doubled(max(s.low, s.largestRead()))
		open(first, 0)
		if second := s.find.doubled(first); second > first {
			open(second, 0)
		}
	default:
		for _, c := range s.claims {
			// A round reads a fraction of the trials that are expected to be missing, and few
			// trials compared with those that the belief is based on. Larger rounds show more
			// than necessary at the end.
			open(c.n, min(c.trials/10, float64(s.trials)/5))
		}
	}
	if s.remaining = s.claims; len(s.claims) > 0 && (s.doubling || s.wide) {
		s.remaining = s.narrowClaims()
	}
	if s.trials+roundCost(s.open) > s.find.MaxTrials {
		for _, p := range s.open {
			p.until = checkpoint(p.Consumed)
		}
	}
	if cost := roundCost(s.open); s.trials+cost > s.find.MaxTrials || slices.ContainsFunc(s.claims, s.spent) {
		if s.allFailed() {
			s.finish(StatusFailed, NoneRan)
		} else {
			s.finish(StatusUndecided, s.limitReason(cost, s.claims))
		}
		return
	}
	for _, p := range before {
		p.unread.shrink()
	}
	for _, p := range s.open {
		p.await(p.until)
	}
}

// await waits for the outcomes of the repetitions below until that are not read.
func (p *point) await(until int) {
	p.until = until
	p.waiting = until - p.Consumed - p.unread.count(p.unread.known, p.Consumed, until)
}

// checkpoint returns the checkpoint after c.
func checkpoint(c int) int {
	return c + max(8, c/32)
}

// roundCost returns the number of trials that a round reads.
func roundCost(open []*point) (trials int64) {
	for _, p := range open {
		trials += int64(p.until - p.Consumed)
	}
	return trials
}

// limitReason describes the open question if the limit of trials does not permit the next round,
// which needs cost trials, or if a size of the claims is spent.
func (k *knowledge) limitReason(cost int64, claims []claim) string {
	text := fmt.Sprintf("limit of %d trials: %d were used, ", k.find.MaxTrials, k.trials)
	if k.trials+cost > k.find.MaxTrials {
		text += fmt.Sprintf("the next step takes %d", cost)
	} else {
		text += "more than a third of the limit at one size"
	}
	for _, c := range claims {
		shown := [...]string{"insufficient", "sufficient"}[c.side]
		text += fmt.Sprintf("; about %d more would show that %s is %s", Roughly(c.trials), k.sizeName(c.n), shown)
	}
	if k.say != nil {
		return text + "; raise trials.max"
	}
	return text + "; raise trials.max, or n.within"
}

// Roughly rounds a predicted number of trials to two digits for display. A positive prediction
// never becomes 0.
func Roughly(trials float64) int64 {
	unit := 1.0
	for trials/unit >= 100 {
		unit *= 10
	}
	return int64(max(min(1, math.Ceil(trials)), math.Round(trials/unit)*unit))
}

// advance takes as many steps as the known outcomes allow.
func (s *Search) advance() {
	for !s.Done() && !s.blocked() {
		switch {
		case s.spots != nil:
			s.readSpots()
		case s.skipRefused():
			s.startRound()
		default:
			s.readRound()
			if s.narrow() {
				s.startRound()
			} else {
				s.finish(StatusUndecided, s.contradiction())
			}
		}
	}
}

// blocked reports whether this round lacks an outcome, and ends the search if that outcome is
// lost. A refused size lacks none.
func (s *Search) blocked() bool {
	if s.spots != nil {
		s.open = s.spots.drop(s.open)
		return slices.ContainsFunc(s.open, func(p *point) bool { return p.waiting > 0 })
	}
	waiting := false
	for _, p := range s.open {
		if p.refused && p.Consumed == 0 {
			return false
		}
		waiting = waiting || p.waiting > 0
	}
	for _, p := range s.open {
		for _, rep := range slices.Sorted(maps.Keys(p.lost)) {
			if rep < p.until && !p.unread.has(rep) {
				s.finish(StatusUndecided, fmt.Sprintf("repetition %d at %s is lost: %s", rep, s.sizeName(p.N), p.lost[rep]))
				return true
			}
		}
	}
	return waiting
}

// skipRefused moves the bracket past open sizes that are refused, and reports whether there are
// any.
func (s *Search) skipRefused() bool {
	before := s.low
	for _, p := range s.open {
		if p.refused && p.Consumed == 0 && p.N > s.low {
			s.low, s.refusal = p.N, p.refusal
		}
	}
	return s.low > before
}

// readRound reads the open sizes up to their checkpoints.
func (s *Search) readRound() {
	for _, p := range s.open {
		count := p.until - p.Consumed
		if p.Consumed == 0 {
			i, _ := slices.BinarySearchFunc(s.read, p.N, bySize)
			s.read = slices.Insert(s.read, i, p)
		}
		successes := p.readTrials()
		s.trials += int64(count)
		if !s.doubling { // beyond all sizes read so far, a bet is expected to lose
			for side := range bothSides {
				p.staked[side] += s.belief.stake(p.x, s.find.Target, side, successes, count)
			}
		}
		for side := range bothSides {
			m := mixture{}
			m.add(1-fixedShare, p.staked[side])
			m.add(fixedShare, s.fixed.wealth(side, p.Successes, p.Consumed))
			p.wealth[side] = m.log()
		}
	}
}

// readTrials reads the trials up to the point's checkpoint and returns how many of them
// succeeded.
func (p *point) readTrials() (successes int) {
	successes = p.unread.count(p.unread.success, p.Consumed, p.until)
	p.Successes += successes
	p.Failed += p.unread.count(p.unread.failed, p.Consumed, p.until)
	p.Consumed = p.until
	p.unread.drop(p.Consumed)
	return successes
}

// NoneRan is the reason of StatusFailed.
const NoneRan = "not one trial ran through"

// finish ends the search and frees the state that only a running search needs.
func (s *Search) finish(status, reason string) {
	if s.spots != nil {
		s.read, s.spots = s.spots.merge(s.read), nil
	}
	s.open, s.claims, s.remaining, s.latest, s.points, s.belief = nil, nil, nil, nil, nil, belief{}
	s.status, s.reason = status, reason
}
