package coordinator

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/shatterlab/shatter/coordinator/forecast"
	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// stage is a number of trials at one size after which its cost is looked at, and the time in
// seconds that is enough to know it.
type stage struct {
	until   int
	seconds float64
}

// The first trial pays for starting a process, on a busy machine some tenths of a second, and only
// jobs of some length tell what a trial costs. Trials with an adversary share their round trips, so
// a usual job of them tells it, and takes hardly longer than one trial.
var (
	stages          = []stage{{1, 3}, {2, 0.25}, {6, 0.06}, {22, 0.06}, {86, 0.06}, {342, 0}}
	adversaryStages = []stage{{1, 10}, {1 + usualTrials, 0.2}, {21, 0}}
)

const (
	dear        = 0.25 // seconds of a trial from which on two sizes are enough
	mostSizes   = 5    // that are tried for a search
	usualTrials = 8    // that a job with an adversary mostly holds
)

// probe is the decider of a cell that is tried out at a few sizes.
type probe struct {
	cell      *cell
	plan      *trial.Cell // as the sweep has it
	stages    []stage
	scenarios []forecast.Scenario // of its search; nil: its sizes are given
	least     int64               // the first size that is not refused, as far as is known
	open      *probed             // the size that is being tried; nil: all is known
	shown     map[int64]*probed   // sizes that were tried
}

// probed is what was seen at one sample size.
type probed struct {
	estimate.Point
	lost   int
	stage  int
	before float64 // seconds that earlier stages took
	cost   float64 // seconds of one trial: the least that a stage tells
}

// shared returns the seconds of a trial with an adversary that it shares with the others of a usual
// job, beyond those that it shared with the trials that were tried.
func (p *probe) shared(n int64, tried int) float64 {
	return roundTrip * p.cell.trips(n) * max(0, 1/float64(tried)-1.0/usualTrials)
}

// first returns the size that is tried first.
func (p *probe) first() int64 {
	if p.scenarios != nil {
		return p.plan.Find.From
	}
	return slices.Min(p.plan.N)
}

// try begins to try a size.
func (p *probe) try(n int64) {
	p.open = &probed{Point: estimate.Point{N: n}}
	if !slices.Contains(p.cell.Cell.N, n) {
		p.cell.Cell.N = append(p.cell.Cell.N, n)
	}
}

func (p *probe) Needs() []int64 {
	if p.open == nil || p.open.stage > 0 || p.open.Consumed > 0 {
		return nil
	}
	return []int64{p.open.N}
}

func (p *probe) Want() []estimate.Block {
	if p.open == nil {
		return nil
	}
	return []estimate.Block{{N: p.open.N, Count: p.until()}}
}

// until returns the number of trials up to which the open size is tried in this stage.
func (p *probe) until() int {
	most := p.stages[p.open.stage].until
	switch {
	case p.scenarios == nil && p.cell.interactive():
		most = min(most, int(p.plan.Repetitions()))
	case p.scenarios == nil:
		most = min(most, max(1, int(p.plan.Repetitions()/4)))
	}
	return min(most, p.cell.SessionTrials(p.open.N))
}

func (p *probe) Left() []estimate.Block {
	if p.open == nil {
		return nil
	}
	return []estimate.Block{{N: p.open.N, Count: max(0, p.until()-p.open.Consumed-p.open.lost)}}
}

func (p *probe) Done() bool              { return p.open == nil }
func (p *probe) Result() estimate.Result { return estimate.Result{Status: estimate.StatusUndecided} }

func (p *probe) Add(n int64, _ int, o estimate.Outcome) {
	if p.open == nil || p.open.N != n {
		return
	}
	p.open.Consumed++
	if o == estimate.Success {
		p.open.Successes++
	}
	p.settle()
}

func (p *probe) Lost(n int64, _ int, _ string) {
	if p.open != nil && p.open.N == n {
		p.open.lost++
		p.settle()
	}
}

func (p *probe) Infeasible(n int64, _ string) {
	if p.open != nil && p.open.N == n {
		p.least = max(p.least, n+1)
		p.next()
	}
}

// settle ends the stage if all of its trials are known.
func (p *probe) settle() {
	s := p.open
	known := s.Consumed + s.lost
	if known < p.until() {
		return
	}
	before := 0
	if s.stage > 0 {
		before = p.stages[s.stage-1].until
	}
	took := p.cell.size(s.N).seconds - s.before
	s.before += took
	if cost := took/float64(known-before) - p.shared(s.N, known-before); s.stage == 0 || cost < s.cost {
		s.cost = max(cost, took/float64(known-before)/usualTrials)
	}
	enough := p.stages[s.stage].seconds
	if s.stage++; took < enough && s.stage < len(p.stages) && p.until() > known && s.lost == 0 {
		return
	}
	p.shown[s.N] = s
	p.next()
}

// next goes on to the size that tells most after what was seen, or ends the probe.
func (p *probe) next() {
	p.open = nil
	if n := p.choose(); n > 0 {
		p.try(n)
	}
}

// choose returns the size to be tried next; 0: none.
func (p *probe) choose() int64 {
	if p.scenarios == nil {
		return p.chooseListed()
	}
	if len(p.shown) == 0 {
		if n := p.doubled(); n >= p.least {
			return n
		}
		return 0
	}
	most := mostSizes
	for _, s := range p.shown {
		if s.cost >= dear || s.lost > 0 || p.plan.Adversary != nil {
			most = 2
		}
	}
	if len(p.shown) >= most || p.least > p.plan.Find.To {
		return 0
	}
	star := forecast.Median(p.scenarios, forecast.Beliefs(p.plan, p.scenarios, p.points(), p.least))
	for _, part := range []float64{1, besideStar} {
		n := min(max(int64(math.Round(star*part)), p.plan.Find.From, p.least), p.plan.Find.To)
		if !p.tried(n) {
			return n
		}
		if most == 2 {
			break // the other size tells of the slope, which is not worth two more dear trials
		}
	}
	return 0
}

// besideStar is the part of n* at which trials tell most of how success grows.
const besideStar = 0.4

// tried reports whether a size like n was tried already.
func (p *probe) tried(n int64) bool {
	for m := range p.shown {
		if float64(max(n, m)) < 1.3*float64(min(n, m)) {
			return true
		}
	}
	return false
}

// doubled returns the first of the sizes that a search doubles through which is not known to be
// refused; the last of them where all are.
func (p *probe) doubled() int64 {
	n := p.plan.Find.From
	for n < p.least && n < p.plan.Find.To {
		n *= 2
	}
	return min(n, p.plan.Find.To)
}

// chooseListed does the work of choose for a list of sizes: it returns the first, then the last, or
// one in the middle where trials at the last would be dear.
func (p *probe) chooseListed() int64 {
	sizes := slices.Sorted(slices.Values(p.plan.N))
	sizes = slices.DeleteFunc(sizes, func(n int64) bool { return n < p.least })
	switch {
	case len(sizes) == 0:
		return 0
	case len(p.shown) == 0:
		return sizes[0]
	case len(p.shown) > 1 || len(sizes) == 1:
		return 0
	}
	last := sizes[len(sizes)-1]
	if p.seconds(last) > 1 {
		last = sizes[len(sizes)/2]
	}
	return last
}

// points returns what trials have shown so far, by ascending size.
func (p *probe) points() (points []estimate.Point) {
	for _, s := range p.shown {
		if s.Consumed > 0 {
			points = append(points, s.Point)
		}
	}
	slices.SortFunc(points, func(a, b estimate.Point) int { return cmp.Compare(a.N, b.N) })
	return points
}

// costs returns what trials took at the sizes that were tried.
func (p *probe) costs() (out costs) {
	for _, n := range slices.Sorted(maps.Keys(p.shown)) {
		out = append(out, sizeCost{n, p.shown[n].cost})
	}
	return out
}

// seconds predicts the seconds of a trial at n.
func (p *probe) seconds(n int64) float64 { return p.costs().at(n) }
