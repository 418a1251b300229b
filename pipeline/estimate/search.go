package estimate

import (
	"cmp"
	"fmt"
	"math"
)

// Find describes the goal of a [Search]: the least sample size at which trials succeed with
// probability at least Target.
type Find struct {
	From, To   int64   // range of sample sizes, 1 <= From <= To <= 2^40
	Step       int64   // permitted sizes are its multiples, From and To rounded inwards; 0: all sizes
	Within     float64 // at least 1; a bracket is narrow if High <= Within * Low, or High = Low + Step
	Gap        int64   // a bracket with High <= Low + Gap is narrow too; 0: Step
	Confidence float64 // probability that no bracket of the whole table is wrong, in (0, 1)
	Target     float64 // success probability that is sufficient, in (0, 1)
	Cells      int     // number of cells of the table, at least 1; they share the error probability
	MaxTrials  int64   // largest number of trials that this search may read, at least 1

	// Monotone declares that success is known not to fall as the sample grows. The search then
	// makes no spot checks outside of the bracket.
	Monotone bool

	// Ends declares that success may even fall over the whole range, because its monotonicity is
	// only the submitter's claim. Spot checks are then made however few trials the search has
	// read, and include From and To.
	Ends bool
}

// A Block is a run of trials: repetitions First..First+Count-1 at sample size N.
type Block struct {
	N            int64
	First, Count int
}

// The statuses of a search. All but StatusRunning are final.
const (
	StatusRunning    = "running"
	StatusDecided    = "decided"     // Low is insufficient, High sufficient, the bracket narrow enough
	StatusMeasured   = "measured"    // there is no question, and all trials are known
	StatusUndecided  = "undecided"   // Reason is the obstacle; Low and High hold if not 0
	StatusAboveRange = "above_range" // To is insufficient
	StatusBelowRange = "below_range" // From is sufficient
	StatusInfeasible = "infeasible"  // the algorithm refuses To, and with it every smaller size
	StatusFailed     = "failed"      // the algorithm failed in every trial

	// StatusTrivial is the status of a cell without a search, because a learner without data
	// succeeds often enough.
	StatusTrivial = "trivial"

	// StatusNotMonotone means that spot checks outside of the bracket have found a fall of the
	// success rate, see Reason. Low is still insufficient and High sufficient, but the least
	// sufficient size may lie below Low, and sizes above High may be insufficient.
	StatusNotMonotone = "not_monotone"
)

// A Result is the result of a search so far.
type Result struct {
	Status string
	Reason string // reason for undecided, infeasible or failed; otherwise empty
	Falls  bool   // the reason is that success falls along the search

	// Low is the largest sample size that was refused or shown insufficient, High the least that
	// was shown sufficient. 0: none.
	Low, High int64

	Trials int64   // number of trials that were read
	Points []Point // sample sizes with trials read, ascending
	Audit  *Audit  // nil except in an audit
}

// An Audit is the result of a test of a privacy guarantee.
type Audit struct {
	Low     map[string]float64 // largest refuted epsilon, mu and rho; 0: none
	Exact   float64            // epsilon that the algorithm computed; 0: it computes none
	Event   string             // event that refutes the largest share of one of them
	Pairs   int64              // number of pairs of trials that were read
	Refuted string             // claim that the trials refute; "": none
}

// A Point counts the trials read at one sample size: repetitions 0..Consumed-1, of which Successes
// succeeded, Failed failed and Lost were lost. A search reads no size beyond a lost trial.
type Point struct {
	N                                 int64
	Consumed, Successes, Failed, Lost int

	Spot  bool // read by a spot check outside of the bracket; models of the rate ignore such points
	Final int  // number of the last trials, read after the decision: see finalTrials
}

// A Search searches for the least sufficient sample size n* of one cell. It is a pure state
// machine:
//
//  1. One or two sample sizes are open, and their trials are wanted: see [Search.Want].
//  2. When all outcomes up to the checkpoints of this round are known, they are read. Checkpoints
//     are 8, 16, 24, and so on: after a checkpoint c follows c + max(8, c/32), rounded down. A round
//     reads a size up to the first checkpoint that covers a tenth of the trials which are expected
//     to be missing there, or a fifth of all trials read so far, whichever is less.
//  3. The sizes that the trials refute are removed from the bracket (see below), and the next sizes
//     are opened. A size that is closed keeps its trials: they count until the search ends.
//  4. While the largest size read succeeds too rarely, the next sizes are the next two of From, 2
//     From, 4 From and so on, of which To is the last. After that they are one size to be shown
//     insufficient and one to be shown sufficient, chosen to minimize the expected number of missing
//     trials. If two sizes contradict each other, the smaller one succeeding and the larger one
//     not, more trials of these two are read first. A size that has taken a third of the limit of
//     trials gets more only if they are expected to be enough; otherwise other sizes narrow the
//     bracket, and when they no longer do, the search ends undecided.
//  5. When the bracket is narrow enough, a few trials on both sides of it test for a fall of the
//     success rate: see [Find.Monotone] and spotChecks. They change the status, never the bracket.
//  6. If the bracket is decided, more trials at its upper end are read, which decide nothing. Their
//     mean error is not biased, because they did not choose this size.
//
// The trials that are read and the decision are a function of the outcomes alone. They depend
// neither on the order in which outcomes are added nor on trials beyond those wanted. To resume a
// search, add its outcomes to a new one.
//
// With probability at least Confidence no bracket of the table is wrong, if all trials of a cell
// are independent and success becomes no less likely with more data. Cells may depend on each
// other. Proof:
//
//   - The statement n* = m is true for exactly one m, where "beyond To" counts as one more m. For
//     every m there is an e-process E(m) against it: the product, over all sizes n that are read,
//     of an e-process against "success at n is at least as likely as Target" if n >= m, and of one
//     against "success at n is less likely than Target" if n < m.
//   - Each of these factors is a fixed mixture of two bets. One stakes, in every round, a part of
//     its wealth on a mixture of likelihood ratios of Target against rates on the far side of it.
//     That part, the rates and their weights follow from the size and a belief that was formed before
//     the round. The other bet does the same with rates and weights that never change.
//   - The mean of such a ratio over one trial is at most 1 if the true rate lies on the near
//     side of Target. The trials of a round are independent of each other and of everything that
//     was seen before it, and the round's sizes and checkpoints depend only on the latter. So the
//     multiplier of a factor in a round has a mean of at most 1 under n* = m, for every choice of
//     stakes, and so has the product over the open sizes: E(m) is a nonnegative supermartingale from
//     round to round, which starts at 1.
//   - By Ville's inequality (1939) E(n*) ever reaches 1/level with probability at most level = (1 -
//     Confidence) / Cells. A union bound over the cells completes the table.
//
// An m is refuted when E(m) reaches 1/level. The bracket runs from the largest size below all m
// that are not refuted to the least size that is not below any of them; E(m) changes only from
// one size read to the next. If every m is refuted, success is not monotone. Within a cell no
// union bound is taken over sizes, sides or looks.
//
// A Search is not safe for concurrent use.
type Search struct {
	knowledge

	open      []*point         // sizes that this round reads: one or two, ascending; any number during spot checks
	doubling  bool             // the open sizes are the next doublings
	claims    []claim          // goals of the open sizes; while doubling, the goals after it
	wide      bool             // the sizes of the claims are further apart than a narrow bracket
	remaining []claim          // predicted claims until the end
	points    map[int64]*point // sizes with known outcomes
	latest    *point           // size of the last Add, a cache: the next Add usually has the same size
	spots     *spotChecks      // nil before the bracket is narrow enough

	status, reason string
}

// A point holds the trials of one sample size.
type point struct {
	Point
	x       float64    // ln N
	staked  [2]float64 // logarithms of the wealth of the belief's bets on each side
	wealth  [2]float64 // logarithms of the e-processes for each side
	before  Point      // trials read before the spot checks began
	until   int        // checkpoint up to which this round reads; Consumed if it reads nothing
	waiting int        // number of repetitions below until without a known outcome
	unread  outcomes
	lost    map[int]string // reasons for lost trials, by repetition
	refused bool           // the algorithm refuses the size
	refusal string         // reason of the refusal
}

// NewSearch starts a search. It returns an error if a field of find is outside its range.
func NewSearch(find Find) (*Search, error) {
	if err := find.check(); err != nil {
		return nil, fmt.Errorf("search for n: %w", err)
	}
	return begin(find), nil
}

// begin starts a search; find is in its range.
func begin(find Find) *Search {
	find.Step = max(1, find.Step)
	find.From, find.To = find.floor(find.From+find.Step-1), find.floor(find.To)
	s := &Search{points: map[int64]*point{}, status: StatusRunning}
	s.find, s.fixed = find, fixedBetsOf(find.Target)
	s.threshold = -math.Log(find.Level())
	s.high = find.To + 1
	s.startRound()
	return s
}

// Words holds the vocabulary of a search whose sizes are the positions of other values.
type Words struct {
	Size   func(n int64) string // name of a size: "epsilon = 0.5"
	Fall   string               // statement that success falls: "success does not rise as epsilon grows"
	Remedy string               // advice in that case
}

// fallen returns the reason of a search that ends because success falls along it. shown describes
// the sizes that show it.
func (k *knowledge) fallen(shown string) string {
	k.falls = true
	return fmt.Sprintf("%s: %s; %s", cmp.Or(k.fall, "success falls"), shown, cmp.Or(k.remedy,
		"search a range where it does not, by n.from and n.to, or list sample sizes, n: [100, 1000], to see how it goes"))
}

// sizeInWords returns the name of a size in reasons.
func sizeInWords(say func(n int64) string, n int64) string {
	if say == nil {
		return fmt.Sprintf("n = %d", n)
	}
	return say(n)
}

func (f Find) check() error {
	switch {
	case f.From < 1 || f.To < f.From || f.To > maxSize:
		return fmt.Errorf("range from %d to %d is not within 1 to 2^40", f.From, f.To)
	case f.Step < 0 || f.Step > 0 && f.To/f.Step*f.Step < f.From:
		return fmt.Errorf("no multiple of %d lies from %d to %d", f.Step, f.From, f.To)
	case f.Gap < 0:
		return fmt.Errorf("gap %d is below 0", f.Gap)
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

// Level returns the permitted error probability of each cell.
func (f Find) Level() float64 { return (1 - f.Confidence) / float64(f.Cells) }

// Done reports whether the result is final.
func (s *Search) Done() bool { return s.status != StatusRunning }

// Result returns the result so far. It may be called while the search runs.
func (s *Search) Result() Result {
	r := Result{Status: s.status, Reason: s.reason, Falls: s.falls, Low: s.low, Trials: s.trials}
	if s.high <= s.find.To {
		r.High = s.high
	}
	for _, p := range s.read {
		r.Points = append(r.Points, p.Point)
	}
	return r
}

// Want returns the blocks of trials that this round still needs. There are none when the search
// is done.
func (s *Search) Want() []Block {
	var blocks []Block
	for _, p := range s.open {
		blocks = p.unread.missing(blocks, p.N, p.Consumed, p.until)
	}
	return blocks
}

// Needs returns the open sample sizes without trials read. Before the caller runs their trials,
// it asks the algorithm whether it refuses the size, and calls Infeasible if so.
func (s *Search) Needs() []int64 {
	var sizes []int64
	for _, p := range s.open {
		if p.Consumed == 0 {
			sizes = append(sizes, p.N)
		}
	}
	return sizes
}

// Add adds the outcome of one trial. Outcomes may arrive in any order and for any sample size:
// Add keeps them until the search needs them. Add ignores a second outcome of one trial, and an
// outcome that the search can never need.
func (s *Search) Add(n int64, rep int, outcome Outcome) {
	p := s.latest
	if p == nil || p.N != n {
		if p = s.pointAt(n); p == nil {
			return
		}
		s.latest = p
	}
	if rep < p.Consumed || int64(rep) >= s.find.MaxTrials || !p.unread.add(rep, outcome) {
		return
	}
	delete(p.lost, rep) // the outcome arrived after Lost
	if rep < p.until {
		if p.waiting--; p.waiting == 0 {
			s.advance()
		}
	}
}

// Lost records that a trial cannot be run. If the search needs it before an outcome of it is
// added, the search ends undecided. It never continues without the trial, so losing trials that
// would be misses gives no advantage. Only a spot check omits its size instead, which moves no
// bracket.
func (s *Search) Lost(n int64, rep int, reason string) {
	p := s.pointAt(n)
	if p == nil || rep < p.Consumed || p.unread.has(rep) {
		return
	}
	if p.lost == nil {
		p.lost = map[int]string{}
	}
	p.lost[rep] = reason
	s.advance()
}

// Infeasible records that the algorithm refuses a sample size, and therefore every smaller one:
// they are insufficient without a trial. It takes effect when the search opens that size, and has
// no effect once trials of it have been read.
func (s *Search) Infeasible(n int64, reason string) {
	if p := s.pointAt(n); p != nil {
		p.refused, p.refusal = true, reason
		s.advance()
	}
}

// pointAt returns the point of a sample size, or nil if the search can never reach that size or
// is done.
func (s *Search) pointAt(n int64) *point {
	if p := s.points[n]; p != nil {
		return p
	}
	if s.Done() || n < s.find.From || n > s.find.To || n != s.find.floor(n) {
		return nil
	}
	p := &point{Point: Point{N: n}, x: math.Log(float64(n))}
	s.points[n] = p
	return p
}
