package estimate

import (
	"fmt"
	"math"
)

// Find says what a search looks for: the least sample size at which trials succeed with probability at least Target.
type Find struct {
	From, To   int64   // the range that is searched, 1 <= From <= To <= 2^40
	Within     float64 // the bracket is narrow enough when High <= Within * Low, or High = Low + 1; at least 1
	Confidence float64 // that no bracket of the whole table is wrong, in (0, 1)
	Target     float64 // success probability, in (0, 1)
	Cells      int     // of the table, at least 1; they share the chance of an error
	MaxTrials  int64   // that this search may read, at least 1
}

// Block is a run of repetitions First..First+Count-1 at sample size N.
type Block struct {
	N            int64
	First, Count int
}

// What a search can say. All but StatusRunning are final.
const (
	StatusRunning    = "running"
	StatusDecided    = "decided"     // Low is insufficient, High is sufficient, and they are near enough
	StatusUndecided  = "undecided"   // Reason says what stopped the search; Low and High hold as far as they are known
	StatusAboveRange = "above_range" // To is insufficient
	StatusBelowRange = "below_range" // From is sufficient
	StatusInfeasible = "infeasible"  // To is refused by the algorithm, and so is every smaller size
	StatusFailed     = "failed"      // not one trial ran through
)

// Result is what a search knows.
type Result struct {
	Status    string
	Reason    string  // why a cell is undecided, infeasible or failed
	Low, High int64   // the largest size refused or shown insufficient, the least shown sufficient; 0: none
	Trials    int64   // that were read
	Points    []Point // sizes of which trials were read, ascending
}

// Point counts the trials read at one sample size: repetitions 0..Consumed-1, of which Successes succeeded and Failed failed.
type Point struct {
	N                           int64
	Consumed, Successes, Failed int
}

// Search looks for the least sufficient sample size n* of one cell. It is a pure state machine:
//
//  1. One or two sample sizes are open and their trials are wanted: see [Search.Want].
//  2. When all of them are there up to the checkpoints of this round, they are read. Checkpoints are 8, 16, 32, then
//     c + max(16, c/8) rounded down; a round goes on to the one that takes a sixth of the trials which are expected to be missing, but
//     at most a fifth of all read so far.
//  3. What the trials refute is cut off the bracket (see below), and the next sizes are opened. A size that is left keeps its trials:
//     they count as long as the search lasts.
//  4. While the largest size read succeeds too seldom, these are the next two of From, 2 From, 4 From and so on, the last one To.
//     Then they are one to show insufficient and one to show sufficient, chosen so that the fewest trials are expected to be missing.
//     Two sizes that contradict each other, the smaller succeeding and the larger not, are read on first.
//
// Which trials are read and what is decided is a function of the outcomes alone: not of the order in which they are added, nor of
// trials beyond those wanted. To resume, feed a new Search.
//
// With probability Confidence no bracket of the table is wrong, if all trials of a cell are independent and success becomes no less
// likely with more data; cells may depend on each other. For then n* = m is true for exactly one m (beyond To among them), and for
// every m there is an e-process E(m) against it: the product over all sizes read of an e-process against "success is at least as
// likely as Target" for sizes n >= m, and of one against "less likely" for n < m. Each of these is a fixed mixture of two. One bets on
// every round by a belief that was formed before the round: a mixture of likelihood ratios of Target against rates on the far side of
// it. The other does the same with rates that never change. A ratio's mean over one trial is at most 1 where the rate lies on the near
// side, so the means of the factors are at most 1 under n* = m, whichever sizes and checkpoints are chosen by what was seen: the
// trials of a round are independent of that and of each other. By Ville's inequality (1939) the true E(n*) ever reaches 1/level with
// probability at most level = (1 - Confidence) / Cells, and a union over the cells completes the table. The bracket runs from the
// largest size below all m that are not refuted to the least size that is not below any of them; E(m) only changes from one size read
// to the next. If every m is refuted, success is not monotone. Within a cell no union is taken over sizes, sides or looks.
//
// A Search is not safe for concurrent use.
type Search struct {
	find   Find
	enough float64 // evidence that refutes: ln(1/level)
	lone   lone
	belief belief

	low, high int64            // the bracket; 0 and To + 1 while it has no such end
	refusal   string           // why the low end was refused, if it was
	open      []*point         // one or two, ascending
	doubles   bool             // the open sizes are the next doublings
	left      []lack           // what the open sizes are to show, and how far it is; while doubling: what would follow
	wide      bool             // these are further apart than the bracket may be in the end
	rest      []lack           // what will probably be missing until the end
	points    map[int64]*point // all sizes inside the bracket of which something is known
	read      []*point         // all sizes of which trials were read, ascending
	latest    *point           // of the last Add; the next one mostly is of the same size
	trials    int64

	status, reason string
}

// loneShare is the part of a size's e-process that does not depend on the belief. It is what finds out a law that the belief does not
// allow for.
const loneShare = 1.0 / 32

// point is a sample size.
type point struct {
	Point
	x       float64    // ln N
	staked  [2]float64 // logarithms of what the belief's bets on each side have come to
	wealth  [2]float64 // logarithms of the e-processes that speak for each side
	until   int        // checkpoint up to which this round reads; Consumed where it reads nothing
	waiting int        // repetitions below until that are not known
	ahead   outcomes
	lost    map[int]string // reasons, by repetition
	refused bool           // by the algorithm
	refusal string         // why
}

// NewSearch starts a search, or says what is wrong with find.
func NewSearch(find Find) (*Search, error) {
	if err := find.check(); err != nil {
		return nil, fmt.Errorf("search for n: %w", err)
	}
	s := &Search{find: find, lone: newLone(find.Target), points: map[int64]*point{}, status: StatusRunning}
	s.enough = -math.Log(find.Level())
	s.high = find.To + 1
	s.begin()
	return s, nil
}

func (f Find) check() error {
	switch {
	case f.From < 1 || f.To < f.From || f.To > maxSize:
		return fmt.Errorf("range from %d to %d is not within 1 to 2^40", f.From, f.To)
	case !(f.Within >= 1) || math.IsInf(f.Within, 1):
		return fmt.Errorf("within %v is not a ratio of at least 1", f.Within)
	case !(f.Confidence > 0 && f.Confidence < 1):
		return fmt.Errorf("confidence %v is not between 0 and 1", f.Confidence)
	case !(f.Target > 0 && f.Target < 1):
		return fmt.Errorf("target %v is not between 0 and 1", f.Target)
	case f.Cells < 1:
		return fmt.Errorf("%d cells; at least 1 is needed", f.Cells)
	case f.MaxTrials < 1:
		return fmt.Errorf("limit of %d trials; at least 1 is needed", f.MaxTrials)
	}
	return nil
}

// Level is the error probability allowed to each cell.
func (f Find) Level() float64 { return (1 - f.Confidence) / float64(f.Cells) }

// Done reports whether the result is final.
func (s *Search) Done() bool { return s.status != StatusRunning }

// Result gives what is known, also while the search runs.
func (s *Search) Result() Result {
	r := Result{Status: s.status, Reason: s.reason, Low: s.low, Trials: s.trials}
	if s.high <= s.find.To {
		r.High = s.high
	}
	for _, p := range s.read {
		r.Points = append(r.Points, p.Point)
	}
	return r
}

// Want gives the blocks that the next step of the search needs and does not have; none when it is done.
func (s *Search) Want() []Block {
	var blocks []Block
	for _, p := range s.open {
		blocks = p.ahead.missing(blocks, p.N, p.Consumed, p.until)
	}
	return blocks
}

// Needs gives the open sample sizes of which nothing has been read. Whether the algorithm refuses them has to be asked, and
// said by Infeasible, before their trials are run; so it is with the sizes that Guess names.
func (s *Search) Needs() []int64 {
	var sizes []int64
	for _, p := range s.open {
		if p.Consumed == 0 {
			sizes = append(sizes, p.N)
		}
	}
	return sizes
}

// Add brings the outcome of one trial, in any order and of any size. It is kept until the search gets there; a second outcome
// of one trial is ignored, and so is one that the search can never need.
func (s *Search) Add(n int64, rep int, outcome Outcome) {
	p := s.latest
	if p == nil || p.N != n {
		if p = s.at(n); p == nil {
			return
		}
		s.latest = p
	}
	if rep < p.Consumed || int64(rep) >= s.find.MaxTrials || !p.ahead.add(rep, outcome) {
		return
	}
	if rep < p.until {
		if p.waiting--; p.waiting == 0 {
			s.settle()
		}
	}
}

// Lost says that a trial cannot be had. If the search comes to need it, and no outcome of it was added before, it ends undecided.
func (s *Search) Lost(n int64, rep int, reason string) {
	p := s.at(n)
	if p == nil || rep < p.Consumed || p.ahead.has(rep) {
		return
	}
	if p.lost == nil {
		p.lost = map[int]string{}
	}
	p.lost[rep] = reason
	s.settle()
}

// Infeasible says that the algorithm refuses a sample size, and so every smaller one: they are insufficient without a trial. It
// takes effect when the search opens that size, and none once trials of it have been read.
func (s *Search) Infeasible(n int64, reason string) {
	if p := s.at(n); p != nil {
		p.refused, p.refusal = true, reason
		s.settle()
	}
}

// at finds a sample size inside the bracket; nil where the search can never get to, and when it is done.
func (s *Search) at(n int64) *point {
	if p := s.points[n]; p != nil {
		return p
	}
	if s.Done() || n < s.find.From || n <= s.low || n > s.find.To || n >= s.high {
		return nil
	}
	p := &point{Point: Point{N: n}, x: math.Log(float64(n))}
	s.points[n] = p
	return p
}
