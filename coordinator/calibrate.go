package coordinator

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/shatterlab/shatter/pipeline/estimate"

	"github.com/shatterlab/shatter/pipeline/trial"
)

// Prediction is what a sweep will probably take.
type Prediction struct {
	Cells   []CellPrediction // in the order of the plan
	Trials  Range            // that enter the table; a run executes some more where slots would idle
	Seconds Range            // of all slots together
	Time    Range            // seconds on the slots that were asked for
	Ledger  Range            // bytes
	Result  Range            // bytes

	Calibration int64     // trials that were run for this
	Failures    []Failure // of them: the first of each kind
	Interrupted bool
}

// CellPrediction is a cell's part of it.
type CellPrediction struct {
	Cell    string // first digits of its key
	What    string // algorithm and problem, in words
	Trials  Range
	Seconds Range // of one slot

	path, results float64
	rounds        float64 // of a search; or jobs, where there is none
}

// Calibrate runs a few trials of each cell of the folder's plan, through queue, workers and plugins as ever, and predicts what the sweep will
// take on that many slots. It runs one trial, and where that is cheap some hundreds, at the first sample size; and then, for a search, at that
// where n* is thought to lie after what was seen, up to three times; for a list of sizes, at the last or a middle one. In between, the
// cost of a trial is taken to be a line in n.
//
// A search is predicted by imagining it for each n* and slope of success on a grid, and weighing these by the proved bounds and the trials. The folder is of no use afterwards.
func Calibrate(ctx context.Context, c Config, slots int) (*Prediction, error) {
	c.defaults()
	c.Cache = nil // what a trial costs is to be measured
	r, err := newRun(c)
	if err != nil {
		return nil, err
	}
	cells := make([]*trial.Cell, len(r.cells))
	for i, cell := range r.cells {
		cells[i] = cell.Cell
		r.probe(cell)
	}
	if err = r.recover(ctx); err == nil {
		err = r.serve(ctx)
	}
	if err != nil && !ended(ctx, err) {
		return nil, err
	}
	if ctx.Err() != nil {
		return &Prediction{Interrupted: true}, nil
	}
	out := &Prediction{Calibration: r.counts.trials, Failures: r.counts.list()}
	for i, cell := range r.cells {
		p, err := r.predicted(ctx, cell, cells[i])
		if err != nil {
			return nil, err
		}
		out.add(p)
	}
	out.total(r, max(1, slots))
	return out, nil
}

// probe makes a cell one that is tried out at a few sizes.
func (r *run) probe(c *cell) {
	p := &probe{cell: c, plan: c.Cell, shown: map[int64]*probed{}, stages: stages}
	if c.Adversary != nil {
		p.stages = gameStages
	}
	if c.Cell.Find != nil {
		p.scenarios = r.forecasts.scenarios(forecast{find: searchOf(c.Cell, len(r.cells))})
	}
	tried := *c.Cell
	tried.Find, tried.Trials = nil, p.stages[len(p.stages)-1].until
	c.Cell, c.decider = &tried, p
	p.try(p.first())
}

// stage is a number of trials at one size after which its cost is looked at, and the time that is enough to know it.
type stage struct {
	until   int
	seconds float64
}

// The first trial pays for starting a process, on a busy machine some tenths of a second, and only jobs of some length say what a trial costs. One
// trial of a long game says enough, but for the round trips that it would share with others of its job.
var (
	stages     = []stage{{1, 3}, {2, 0.25}, {6, 0.06}, {22, 0.06}, {86, 0.06}, {342, 0}}
	gameStages = []stage{{1, 1}, {5, 0.2}, {21, 0}}
)

const (
	dear      = 0.25 // seconds of a trial, from which on two sizes are enough
	mostSizes = 4    // of a search
	jobGames  = 8    // games that a job mostly holds
)

// probe decides a cell that is tried out.
type probe struct {
	cell      *cell
	plan      *trial.Cell // as the sweep has it
	stages    []stage
	scenarios []*scenario // of its search; nil: its sizes are given
	least     int64       // the first size that is not refused, as far as is known
	open      *probed     // nil: all is known
	shown     map[int64]*probed
}

// probed is what was seen at one size.
type probed struct {
	estimate.Point
	lost   int
	stage  int
	before float64 // seconds until this stage
	cost   float64 // of one trial: the least that a stage says
}

// shared is the part of a game's time that it shares with the others of a job, beyond the part that it shared with those that were tried.
func (p *probe) shared(n int64, tried int) float64 {
	trips := float64(p.plan.Queries)
	switch {
	case p.plan.Adversary == nil || p.plan.Adversary.Offline:
		return 0
	case p.plan.Online():
		trips = float64(n)
	}
	return roundTrip * trips * max(0, 1/float64(tried)-1.0/jobGames)
}

func (p *probe) first() int64 {
	if p.scenarios != nil {
		return p.plan.Find.From
	}
	return slices.Min(p.plan.N)
}

// try opens a size.
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

// until is the number of trials up to which the open size is tried.
func (p *probe) until() int {
	most := p.stages[p.open.stage].until
	if p.scenarios == nil {
		most = min(most, max(1, p.plan.Trials/4))
	}
	return min(most, p.cell.SessionTrials(p.open.N))
}

func (p *probe) Left() []estimate.Block {
	if p.open == nil {
		return nil
	}
	return []estimate.Block{{N: p.open.N, Count: max(0, p.until()-p.open.Consumed-p.open.lost)}}
}

func (p *probe) Guess(int) []estimate.Block { return nil }
func (p *probe) Done() bool                 { return p.open == nil }
func (p *probe) Result() estimate.Result    { return estimate.Result{Status: estimate.StatusUndecided} }

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

// settle ends a stage that is whole.
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
		s.cost = max(cost, took/float64(known-before)/jobGames)
	}
	enough := p.stages[s.stage].seconds
	if s.stage++; took < enough && s.stage < len(p.stages) && p.until() > known && s.lost == 0 {
		return
	}
	p.shown[s.N] = s
	p.next()
}

// next opens the size that says most after what was seen, or none.
func (p *probe) next() {
	p.open = nil
	if n := p.choose(); n > 0 {
		p.try(n)
	}
}

func (p *probe) choose() int64 {
	if p.scenarios == nil {
		return p.chooseListed()
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
	star := median(p.scenarios, beliefs(p.plan, p.scenarios, p.points(), p.least))
	n := min(max(int64(math.Round(star)), p.plan.Find.From, p.least), p.plan.Find.To)
	for m := range p.shown {
		if float64(max(n, m)) < 1.3*float64(min(n, m)) {
			return 0 // it was there already
		}
	}
	return n
}

// chooseListed takes the last size after the first, or where that would be dear one in the middle.
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

// points is what trials have shown so far, ascending.
func (p *probe) points() (points []estimate.Point) {
	for _, s := range p.shown {
		if s.Consumed > 0 {
			points = append(points, s.Point)
		}
	}
	slices.SortFunc(points, func(a, b estimate.Point) int { return cmp.Compare(a.N, b.N) })
	return points
}

// seconds is the cost of a trial at n: a line between the sizes that were tried, which goes on beyond the last, but not faster than n; below the
// first, and where only one was tried, in proportion to n.
func (p *probe) seconds(n int64) float64 {
	var tried []*probed
	for _, s := range p.shown {
		tried = append(tried, s)
	}
	slices.SortFunc(tried, func(a, b *probed) int { return cmp.Compare(a.N, b.N) })
	switch {
	case len(tried) == 0:
		return 0
	case len(tried) == 1 || n <= tried[0].N:
		return tried[0].cost * float64(n) / float64(tried[0].N)
	}
	i, _ := slices.BinarySearchFunc(tried, n, func(s *probed, n int64) int { return cmp.Compare(s.N, n) })
	i = min(i, len(tried)-1)
	a, b := tried[i-1], tried[i]
	slope := max(0, (b.cost-a.cost)/float64(b.N-a.N))
	switch {
	case n > b.N && b.cost < 1.3*a.cost:
		return b.cost // the difference may be chance, and would be carried far
	case n > b.N:
		return b.cost + float64(min(slope, b.cost/float64(b.N))*float64(n-b.N))
	}
	return a.cost + float64(slope*float64(n-a.N))
}

// predicted is what a cell of the sweep will take, after its calibration.
func (r *run) predicted(ctx context.Context, c *cell, plan *trial.Cell) (CellPrediction, error) {
	p := c.decider.(*probe)
	out := CellPrediction{Cell: plan.Key.Short(), What: c.words()}
	switch {
	case c.refused != "" || len(p.shown) == 0:
		return out, nil // nothing of it can be run
	case plan.Find == nil:
		out.list(p, plan)
	default:
		least, err := r.leastFeasible(ctx, c, p)
		if err != nil {
			return out, err
		}
		k := forecast{searchOf(plan, len(r.cells)), least}
		all := r.forecasts.scenarios(k)
		weights := beliefs(plan, all, p.points(), least)
		for i, w := range weights {
			if w >= negligible {
				all[i].play(k.find, least)
			}
		}
		out.Trials = spread(all, weights, (*scenario).trials)
		out.Seconds = spread(all, weights, func(s *scenario) float64 { return s.cost(p.seconds) })
		out.path = spread(all, weights, func(s *scenario) float64 { return s.path(p.seconds) }).Likely
		out.rounds = spread(all, weights, (*scenario).rounds).Likely
	}
	out.Seconds.Low, out.Seconds.High = 0.8*out.Seconds.Low, 1.3*out.Seconds.High // a trial's cost was measured on a few
	out.results = rowBytes * float64(2+len(plan.Metrics))
	return out, nil
}

// list predicts a cell whose sizes are given: all of its trials, but those at sizes that are refused.
func (out *CellPrediction) list(p *probe, plan *trial.Cell) {
	for _, n := range plan.N {
		if n < p.least {
			continue
		}
		trials := float64(plan.Trials)
		out.Trials = out.Trials.plus(Range{trials, trials, trials})
		cost := trials * p.seconds(n)
		out.Seconds = out.Seconds.plus(Range{cost, cost, cost})
		out.path = max(out.path, p.seconds(n))
		out.rounds += 1 + cost/aimJob
	}
}

// leastFeasible finds the first size that the algorithm takes among those that a search doubles through.
func (r *run) leastFeasible(ctx context.Context, c *cell, p *probe) (int64, error) {
	if p.least <= p.plan.Find.From {
		return p.plan.Find.From, nil
	}
	for n := p.plan.Find.From; n < p.plan.Find.To; n *= 2 {
		a, err := r.ask(ctx, c, n)
		if err != nil {
			return 0, err
		}
		if a.yes() {
			return n, nil
		}
	}
	return p.plan.Find.To, nil
}

const (
	rowBytes     = 1.2  // of one number of one trial in trials.parquet
	cellBytes    = 4000 // of the other files
	resultBytes  = 40000
	messageBytes = 1400 // of a result message without rows, with its frame
	outcomeBytes = 17   // of a row, and 8 more for each metric

	jobsPerRound = 4    // of a search: two sizes, each shared out
	busyShare    = 0.85 // share of a slot's time that goes into trials
)

func (out *Prediction) add(p CellPrediction) {
	out.Cells = append(out.Cells, p)
	out.Trials, out.Seconds = out.Trials.plus(p.Trials), out.Seconds.plus(p.Seconds)
	out.Result = out.Result.plus(p.Trials.times(p.results)).plus(Range{cellBytes, cellBytes, cellBytes})
}

// total divides the work among the slots. A cell's rounds follow one another, however many slots there are.
func (out *Prediction) total(r *run, slots int) {
	out.Time = out.Seconds.times(1 / busyShare / float64(slots))
	for i, c := range r.cells {
		p := out.Cells[i]
		out.Time.Likely, out.Time.High = max(out.Time.Likely, p.path), max(out.Time.High, p.path)
		jobs := p.rounds
		if c.decider.(*probe).scenarios != nil {
			jobs = min(jobsPerRound*p.rounds, 1+p.Seconds.Likely/leastJob)
		}
		row := float64(outcomeBytes + 8*len(c.Metrics))
		out.Ledger = out.Ledger.plus(p.Trials.times(row)).plus(Range{jobs, jobs / 2, jobs * 2}.times(messageBytes))
	}
	out.Result = out.Result.plus(Range{resultBytes, resultBytes, resultBytes})
}
