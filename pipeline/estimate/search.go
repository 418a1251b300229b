package estimate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
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

// Search looks for the least sufficient sample size of one cell. It is a pure state machine:
//
//  1. Two sample sizes are open (one, where no second can help) and their trials are wanted: see [Search.Want].
//  2. When both have all trials up to their next checkpoint (16, 32, then c + max(16, c/8) rounded down), these are read, in
//     repetition order. A size that has fewer trials than the other catches up first.
//  3. A size is shown sufficient or insufficient as soon as the e-process of its trials against Target ([LogWealth]) has reached
//     1/level, on the side of Target where its success rate lies. The first size that is shown to be either moves the
//     bracket, and the next two are opened. A size that happens to lie at n* cannot stall the search: the other one decides.
//  4. While no size is sufficient these are From, 2 From, 4 From and so on, the last one To. Then they lie at the quarters of the bracket
//     on a logarithmic scale, or further apart where either decision ends the search.
//
// Which trials are read and what is decided is a function of the outcomes alone: not of the order in which they are added, nor of
// trials beyond those wanted. To resume, feed a new Search.
//
// With probability Confidence no bracket of the table is wrong, if the trials of one size are independent and success becomes no
// less likely with more data. level is (1 - Confidence) / Cells / (sizes on the grid). By Ville's inequality the probability
// that a size's e-process is ever on the wrong side with more than 1/level is at most level, at checkpoints or elsewhere. The
// union over the whole grid, rather than over the sizes along the way, makes this hold although which sizes are opened
// depends on trials that share their data.
//
// A Search is not safe for concurrent use.
type Search struct {
	find   Find
	grid   grid
	wealth float64 // ln(1/level)

	low, high int              // the bracket, as grid indexes; -1 and last+1 while it has no such end
	refusal   string           // why the low end was refused, if it was
	open      []*point         // one or two, ascending
	points    map[int64]*point // all sizes inside the bracket of which something is known
	closed    []Point          // read sizes that are now outside the bracket
	latest    *point           // of the last Add; the next one mostly is of the same size
	trials    int64

	status, reason string
}

// point is a sample size inside the bracket.
type point struct {
	Point
	index   int
	until   int // checkpoint up to which this round reads; Consumed where it reads nothing
	waiting int // repetitions below until that are not known
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
	s := &Search{find: find, grid: newGrid(find.From, find.To, find.Within), points: map[int64]*point{}, status: StatusRunning}
	s.wealth = -math.Log(find.Level())
	s.low, s.high = -1, s.grid.last()+1
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

// Level is the error probability allowed to each sample size.
func (f Find) Level() float64 {
	g := newGrid(f.From, f.To, f.Within)
	return (1 - f.Confidence) / float64(f.Cells) / float64(g.last()+1)
}

// Done reports whether the result is final.
func (s *Search) Done() bool { return s.status != StatusRunning }

// Result gives what is known, also while the search runs.
func (s *Search) Result() Result {
	r := Result{Status: s.status, Reason: s.reason, Trials: s.trials, Points: s.read()}
	if s.low >= 0 {
		r.Low = s.grid.size(s.low)
	}
	if s.high <= s.grid.last() {
		r.High = s.grid.size(s.high)
	}
	return r
}

// read gives all sizes of which trials were read, ascending.
func (s *Search) read() []Point {
	points := slices.Clone(s.closed)
	for _, p := range s.points {
		if p.Consumed > 0 {
			points = append(points, p.Point)
		}
	}
	slices.SortFunc(points, func(a, b Point) int { return cmp.Compare(a.N, b.N) })
	return points
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
	if s.Done() || n < s.find.From || n > s.find.To {
		return nil
	}
	index := s.grid.atLeast(n)
	if s.grid.size(index) != n || index <= s.low || index >= s.high {
		return nil
	}
	p := &point{Point: Point{N: n}, index: index}
	s.points[n] = p
	return p
}
