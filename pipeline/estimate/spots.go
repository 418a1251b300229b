package estimate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
)

// A search with a narrow bracket tests for a fall of the success rate outside of it: a size below
// the bracket could be sufficient, or a size above it insufficient. It spends spotShare of the
// trials that it has read on spots, sizes on both sides of the bracket, spotTrials each. Then,
// while spots suggest that success falls, it reads more trials, at most as many as it has read
// before. If success never falls, few spots do.
const (
	spotShare  = 0.22
	spotTrials = 4
	maxSpots   = 40           // on both sides together
	minSpots   = 12           // on both sides together, for a search with Ends
	spotReach  = 4 * math.Ln2 // distance in ln n from the bracket to the furthest spot
	minFinal   = 24           // final trials of a search, at least
	finalShare = 1.0 / 32     // final trials as a share of the trials that the search has read
	minTested  = 400          // further trials that a search with Ends may read while spots are suspicious, at least
	suspicion  = -0.5         // logarithm of the evidence of a fall that justifies more trials

	// sufficiency replaces suspicion for the evidence that spots below the bracket suffice, except
	// in a search with Ends. It is about 16 successes of 16 at a target of 0.9, because just below
	// the bracket few trials often all succeed.
	sufficiency = 1
)

// spotChecks holds the spot checks of a search. If success never falls as the sample grows, and
// the bracket is right, a fall is reported with probability at most (1 - Confidence)/Cells.
// Proof:
//
//   - Above the bracket, success is at least as likely as Target at every spot. An e-process against
//     this is the product of likelihood ratios over the trials of a window of spots.
//   - Below it, let a and b be windows of spots, where a precedes b. There is a rate q such that
//     success is at most as likely as q in a, and at least as likely in b. The product of an
//     e-process against the former and one against the latter is an e-process against both, and its
//     least value over all q is no larger.
//   - Below it, success is less likely than Target at every spot, too. An e-process against this is
//     the product of likelihood ratios over the trials of a window of spots.
//   - The spots and the windows are chosen before their trials are read: each window or pair of
//     windows has an equal share of the unit that its side bets, and either side half of the unit
//     (Ville's inequality).
type spotChecks struct {
	status       string   // status of the search if no fall is found
	below, above []*point // ascending
	left         int64    // number of trials that may still be read
	final        bool     // the open size is for the final trials
	dropped      map[*point]bool
}

// beginSpots plans the spot checks of a search that would otherwise end with that status, and
// opens their first trials. It ends the search if no trials remain for them.
func (s *Search) beginSpots(status string) {
	for _, p := range s.open {
		p.until, p.waiting = p.Consumed, 0
	}
	s.open, s.claims, s.remaining, s.doubling = nil, nil, nil, false
	s.spots = &spotChecks{status: status, dropped: map[*point]bool{}}
	room := int64(spotShare * float64(s.trials))
	if s.find.Ends {
		room = max(room, minSpots*spotTrials)
	}
	room = min(room, s.find.MaxTrials-s.trials)
	if s.find.Monotone {
		room = 0
	}
	most := min(maxSpots, int(room/spotTrials))
	if status == StatusDecided {
		most /= 2 // each side gets half
	}
	if s.low > 0 {
		s.spots.below = s.spread(s.low, s.find.From, most)
		if p := s.pointAt(s.low); s.find.Ends && len(s.spots.below) > 0 && p != nil { // as a comparison for From
			p.before = p.Point
			s.spots.below = append(s.spots.below, p)
		}
	}
	if s.high <= s.find.To {
		s.spots.above = s.spread(s.high, s.find.To, most)
	}
	s.spots.left = room
	s.openSpots(slices.Concat(s.spots.below, s.spots.above))
	if !s.Done() {
		s.spots.left = s.trials
		if s.find.Ends {
			s.spots.left = max(s.spots.left, minTested)
		}
		s.spots.left = min(s.spots.left, s.find.MaxTrials-s.trials-roundCost(s.open))
	}
}

// spread returns up to k spots between an end of the bracket and a limit, ascending. Their
// density falls with the distance from the end, they alternate between odd and even multiples of
// Step, and the search has read none of them.
func (s *Search) spread(end, limit int64, k int) (spots []*point) {
	from, to := math.Log(float64(end)), math.Log(float64(limit))
	reach := math.Abs(to - from)
	if !s.find.Ends {
		reach = min(reach, spotReach)
	} else if p := s.pointAt(limit); k > 0 && limit != end && p != nil { // the trials read before do not count again
		p.before = p.Point
		spots = append(spots, p)
		k--
	}
	for i := range k {
		part := (float64(i) + 0.5) / float64(k)
		n := s.find.floor(int64(math.Exp(coarse(from + math.Copysign(reach*part*math.Sqrt(part), to-from)))))
		if n/s.find.Step&1 != int64(i)&1 {
			n += s.find.Step
		}
		if p := s.pointAt(n); p != nil && p.Consumed == 0 && (n < s.low || n > s.high) && !slices.Contains(spots, p) {
			spots = append(spots, p)
		}
	}
	slices.SortFunc(spots, func(a, b *point) int { return cmp.Compare(a.N, b.N) })
	return spots
}

// openSpots opens spots for further trials, an eighth of theirs or spotTrials, within the number of
// trials left. It ends the search if it can open none.
func (s *Search) openSpots(spots []*point) {
	s.open = s.open[:0]
	for _, p := range spots {
		if s.spots.dropped[p] || s.spots.left < spotTrials {
			continue
		}
		more := min(max(spotTrials, (p.Consumed-p.before.Consumed)/8), int(s.spots.left))
		s.spots.left -= int64(more)
		p.await(p.Consumed + more)
		s.open = append(s.open, p)
	}
	if len(s.open) == 0 && !s.openFinal() {
		s.finish(s.spots.status, "")
	}
}

// openFinal opens the upper end of a decided bracket for final trials, and reports whether there are any.
func (s *Search) openFinal() bool {
	p := s.points[s.high]
	more := min(max(minFinal, int64(finalShare*float64(s.trials))), s.find.MaxTrials-s.trials)
	if s.spots.status != StatusDecided || s.find.Ends || more < 1 || p == nil {
		return false
	}
	p.await(p.Consumed + int(more))
	s.open, s.spots.final = append(s.open, p), true
	return true
}

// drop returns the open spots without those that the algorithm refuses or that have a lost trial: no more of
// their trials are read.
func (c *spotChecks) drop(open []*point) []*point {
	return slices.DeleteFunc(open, func(p *point) bool {
		drop := p.refused && p.Consumed == 0
		for rep := range p.lost {
			drop = drop || rep < p.until && !p.unread.has(rep)
		}
		if drop {
			p.until, p.waiting, c.dropped[p] = p.Consumed, 0, true
		}
		return drop
	})
}

// readSpots reads the open spots, and ends the search if they show that success falls. Otherwise
// it reopens the most suspicious ones.
func (s *Search) readSpots() {
	for _, p := range s.open {
		if s.spots.final {
			p.Final = p.until - p.Consumed
		}
		s.trials += int64(p.until - p.Consumed)
		p.readTrials()
	}
	if s.spots.final {
		s.finish(s.spots.status, "")
		return
	}
	f := s.spots.worst(s.find, s.say)
	if f.log >= s.threshold {
		s.finish(StatusNotMonotone, s.fallen(f.shown(s.Result())))
		return
	}
	s.openSpots(f.spots)
}

// merge adds the spots that were read to the sizes that a search has read.
func (c *spotChecks) merge(read []*point) []*point {
	for _, p := range slices.Concat(c.below, c.above) {
		if p.before.Consumed > 0 { // already among them
			continue
		}
		if p.Spot = true; p.Consumed > 0 {
			read = append(read, p)
		}
	}
	slices.SortFunc(read, func(a, b *point) int { return cmp.Compare(a.N, b.N) })
	return read
}

// A fall is evidence that success falls.
type fall struct {
	log   float64 // logarithm of the evidence, after the correction for the number of windows
	spots []*point
	shown func(bracket Result) string // description of the evidence
}

// worst returns the strongest evidence of a fall. Its spots justify further trials; there are
// none if nothing is suspicious.
func (c *spotChecks) worst(find Find, say func(int64) string) (worst fall) {
	most, least := suspicion, math.Inf(-1)
	if !find.Ends {
		least = sufficiency
	}
	above, below := windows(c.above), windows(c.below)
	logit, pairs := math.Log(find.Target/(1-find.Target)), pairsOf(below)
	either := math.Log(2 * float64(len(pairs)+len(below))) // bets below the bracket
	for _, w := range above {
		if log := againstRate(&w.Point, logit, -1); log > most {
			most = log
			worst = fall{log - math.Log(2*float64(len(above))), w.spots, func(b Result) string {
				return fmt.Sprintf("%s, and %s suffices", w.describe(say), sizeInWords(say, b.High))
			}}
		}
	}
	for _, w := range below {
		if log := againstRate(&w.Point, logit, +1); log > max(most, least) {
			most = log
			worst = fall{log - either, w.spots, func(b Result) string {
				return fmt.Sprintf("%s, and %s does not suffice", w.describe(say), sizeInWords(say, b.Low))
			}}
		}
	}
	for _, p := range pairs {
		if log := againstOrder(&p[0].Point, &p[1].Point, most); log > most {
			most = log
			worst = fall{log - either, slices.Concat(p[0].spots, p[1].spots), func(Result) string {
				return fmt.Sprintf("%s, and %s", p[0].describe(say), p[1].describe(say))
			}}
		}
	}
	return worst
}

// A window is a run of neighboring spots with the sum of their trials.
type window struct {
	Point
	first int // index of its first spot
	spots []*point
}

// describe describes the window; say names a size, as in the search.
func (w window) describe(say func(n int64) string) string {
	first, last := w.spots[0].N, w.spots[len(w.spots)-1].N
	where := sizeInWords(say, first)
	if last > first && say != nil {
		where += " to " + say(last)
	} else if last > first {
		where += fmt.Sprintf(" to %d", last)
	}
	return fmt.Sprintf("%d of %d trials succeeded at %s", w.Successes, w.Consumed, where)
}

// windows returns the runs of 1, 2, 4 and 8 neighbors.
func windows(spots []*point) (list []window) {
	for length := 1; length <= 8; length *= 2 {
		for first := 0; first+length <= len(spots); first++ {
			w := window{first: first, spots: spots[first : first+length]}
			for _, p := range w.spots {
				w.Consumed += p.Consumed - p.before.Consumed
				w.Successes += p.Successes - p.before.Successes
			}
			list = append(list, w)
		}
	}
	return list
}

// pairsOf returns the pairs of windows of which the second starts at the end of the first.
func pairsOf(list []window) (pairs [][2]window) {
	for _, a := range list {
		for _, b := range list {
			if a.first+len(a.spots) == b.first {
				pairs = append(pairs, [2]window{a, b})
			}
		}
	}
	return pairs
}

// againstRate returns the logarithm of an e-process against "success at p is at most as likely as
// a rate" for sign +1, or "at least as likely" for sign -1. logit is the rate's logit and may be
// infinite. The e-process is the mean of the likelihood ratios of three rates beyond the rate.
func againstRate(p *Point, logit, sign float64) float64 {
	m := mixture{}
	for _, shift := range rateShifts {
		price := 0.0 // loss per trial
		switch {
		case math.IsInf(logit, -1):
		case math.IsInf(logit, 1):
			price = sign * shift // limit for rate 1
		default:
			price = softplus(logit+float64(sign*shift)) - softplus(logit)
		}
		m.add(1, float64(float64(p.Successes)*sign*shift)-float64(float64(p.Consumed)*price))
	}
	return m.log() - math.Log(float64(len(rateShifts)))
}

// rateShifts are the distances, in logits, of the rates that againstRate bets on.
var rateShifts = [...]float64{0.7, 1.5, 3}

// softplus returns ln(1 + e^x).
func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// gridSteps is the number of steps of the grid of rates of againstOrder.
const gridSteps = 122

// gridLogit returns the logit of a step of the grid, from 0 on: -Inf, 121 logits from -6 to 6, and
// +Inf.
func gridLogit(step int) float64 {
	switch step {
	case 0:
		return math.Inf(-1)
	case gridSteps:
		return math.Inf(1)
	}
	return 6 * (2*float64(step-1)/(gridSteps-2) - 1)
}

// againstOrder returns the logarithm of an e-process against "success at a is at most as likely
// as at b", or -Inf if it is not above least. For a rate q the process is the product of the
// e-processes against "at most q" at a and "at least q" at b. The former falls as q grows and the
// latter grows. So between two steps of a grid of logits the product is at least that of their
// values at the upper and at the lower step.
func againstOrder(a, b *Point, least float64) float64 {
	if likelihoodRatio(a, b) <= least || a.Successes*b.Consumed <= b.Successes*a.Consumed {
		return math.Inf(-1)
	}
	below := func(upper int) float64 {
		return againstRate(a, gridLogit(upper), +1) + againstRate(b, gridLogit(upper-1), -1)
	}
	// The minimum is near the rate of both together; most pairs end there.
	successes, failures := float64(a.Successes+b.Successes), float64(a.Consumed+b.Consumed-a.Successes-b.Successes)
	near := sort.Search(gridSteps, func(i int) bool { return gridLogit(i) >= math.Log(successes/failures) })
	if below(max(near, 1)) <= least {
		return math.Inf(-1)
	}
	log := math.Inf(1)
	for upper := 1; upper <= gridSteps && log > least; upper++ {
		log = min(log, below(upper))
	}
	if log <= least {
		return math.Inf(-1)
	}
	return log
}

// likelihoodRatio returns the logarithm of the likelihood ratio of two rates against one, which
// is an upper bound for every bet against one rate. Both points have trials.
func likelihoodRatio(a, b *Point) float64 {
	both := Point{Consumed: a.Consumed + b.Consumed, Successes: a.Successes + b.Successes}
	return logLikelihood(a) + logLikelihood(b) - logLikelihood(&both)
}

// logLikelihood returns the logarithm of the largest likelihood of the trials of a point.
func logLikelihood(p *Point) (sum float64) {
	for _, k := range []int{p.Successes, p.Consumed - p.Successes} {
		if k > 0 {
			sum += float64(float64(k) * math.Log(float64(k)/float64(p.Consumed)))
		}
	}
	return sum
}
