package coordinator

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/shatterlab/shatter/coordinator/forecast"
)

// Prediction tells what a sweep will probably take.
type Prediction struct {
	Cells   []CellPrediction // that were tried, or are trivial, in the order of the plan
	All     int              // number of cells of the sweep
	Trials  forecast.Range   // that enter the table
	Seconds forecast.Range   // of all slots together
	Time    forecast.Range   // seconds on the slots that were asked for
	Ledger  forecast.Range   // bytes
	Result  forecast.Range   // bytes

	Calibration int64     // number of trials that were run for this
	Failures    []Failure // of them: the first of each kind
	Interrupted bool
}

// CellPrediction is a cell's part of a Prediction.
type CellPrediction struct {
	Cell    string         // first digits of its key
	What    string         // algorithm and problem, in words
	Trivial bool           // nothing is run, because a learner without data succeeds
	Stands  float64        // number of cells that it stands for, itself among them
	Trials  forecast.Range // that enter the table
	Seconds forecast.Range // of one slot

	path     float64 // seconds however many slots there are
	rowWidth float64 // bytes of an outcome in the ledger
	rowBytes float64 // of the result files, for each trial
	jobs     float64
	sizes    float64 // sample sizes, rows of the curve
}

// Calibrate runs a few trials of each cell of the folder's plan, or of some hundreds of them where it
// has more, through queue, workers and plugins as ever, and predicts what the sweep will take on that
// many slots. The folder is of no use afterwards.
//
// It runs one trial, and where that is cheap some hundreds, at the first sample size. Then it does
// the same, for a search, where n* is thought to lie after what was seen, up to four times, and below it,
// where trials tell how steeply success grows, unless they are dear; for a list of sizes, at the last or a
// middle one. In between, the cost of a trial is taken to be a line in n. A search is predicted by the
// courses of package forecast.
func Calibrate(ctx context.Context, c Config, slots int) (*Prediction, error) {
	c.Cache = nil // what a trial costs is to be measured
	r, err := newRun(c)
	if err != nil {
		return nil, err
	}
	cells := r.grid.cells
	probes := make([]*probe, len(cells))
	predict := predictor{grid: r.grid, forecasts: r.outlooks.forecasts}
	stands := deputies(cells, mostTried)
	for i, cell := range cells {
		if stands[i] == 0 {
			cell.decider = trivial{} // nothing of it is run
			continue
		}
		probes[i] = predict.probe(cell)
	}
	if err = r.recover(); err == nil {
		err = r.coordinate(ctx, r.work)
	}
	if err != nil && !ended(ctx, err) {
		return nil, err
	}
	if ctx.Err() != nil {
		return &Prediction{Interrupted: true}, nil
	}
	out := &Prediction{All: len(cells), Calibration: r.tally.trials, Failures: r.tally.listFailures()}
	for i, cell := range cells {
		if probes[i] == nil {
			continue
		}
		p := predict.cell(cell, probes[i])
		p.Stands = stands[i]
		out.add(p)
	}
	out.total(max(1, slots))
	return out, nil
}

// predictor predicts cells from what a few of their trials have shown.
type predictor struct {
	grid      *grid
	forecasts *forecast.Forecaster
}

// probe turns a cell into one that is tried out at a few sizes, unless nothing is run of it.
func (x predictor) probe(c *cell) *probe {
	if _, nothing := c.decider.(trivial); nothing {
		return &probe{cell: c, plan: c.Cell}
	}
	p := &probe{cell: c, plan: c.Cell, shown: map[int64]*probed{}, stages: stages}
	if c.Adversary != nil {
		p.stages = adversaryStages
	}
	if c.Find != nil {
		p.scenarios = x.forecasts.Scenarios(searchOf(c.Cell, x.grid.tests))
	}
	tried := *c.Cell
	tried.Find, tried.Rung, c.ladder, tried.Trials = nil, nil, nil, p.stages[len(p.stages)-1].until
	c.Cell, c.decider = &tried, p
	p.try(p.first())
	return p
}

// cell predicts a cell of the sweep after its calibration.
func (x predictor) cell(c *cell, p *probe) CellPrediction {
	plan := p.plan
	out := CellPrediction{
		Cell: plan.Key.Short(), What: c.words(), Trivial: plan.Searched() && plan.Trivial(),
		rowWidth: float64(outcomeBytes + 8*len(plan.Metrics)),
	}
	switch {
	case c.refused != "" || len(p.shown) == 0:
		return out // nothing of it can be run
	case plan.Rung != nil:
		x.predictRung(&out, p)
	case plan.Find == nil:
		out.predictList(p)
	default:
		x.predictSearch(&out, p)
	}
	out.Seconds.Low, out.Seconds.High = 0.8*out.Seconds.Low, 1.3*out.Seconds.High // a trial's cost was measured on a few
	out.rowBytes = numberBytes * float64(2+len(plan.Metrics))
	return out
}

// predictSearch predicts a search by courses that it may take.
func (x predictor) predictSearch(out *CellPrediction, p *probe) {
	cost := p.costs()
	work := map[*forecast.Course]forecast.Work{}
	find, least := searchOf(p.plan, x.grid.tests), p.doubled()
	weights := forecast.Beliefs(p.plan, p.scenarios, p.points(), least)
	jobs := p.cell.jobRule(cost.at)
	courses := x.forecasts.Courses(find, weights, least, plannedCourses)
	for _, c := range courses {
		work[c] = c.Work(jobs)
	}
	spread := func(quantity func(*forecast.Course) float64) forecast.Range {
		return forecast.Spread(courses, quantity)
	}
	out.Trials = spread(func(c *forecast.Course) float64 { return work[c].Counted })
	out.Seconds = spread(func(c *forecast.Course) float64 { return work[c].Seconds })
	out.path = spread(func(c *forecast.Course) float64 { return c.Path(cost.at) }).Likely
	out.jobs = spread(func(c *forecast.Course) float64 { return work[c].Jobs }).Likely
	out.sizes = spread((*forecast.Course).Sizes).Likely
}

// plannedCourses is the number of courses by which a plan predicts a search.
const plannedCourses = 60

// predictRung predicts a rung as an equal part of what searches like its ladder's typically take.
func (x predictor) predictRung(out *CellPrediction, p *probe) {
	find := ladderSearch(p.plan, x.grid.tests)
	weights := make([]float64, len(x.forecasts.Scenarios(find)))
	for i := range weights {
		weights[i] = 1 / float64(len(weights))
	}
	out.Trials = forecast.Spread(x.forecasts.Courses(find, weights, 1, plannedCourses), (*forecast.Course).Trials)
	out.Trials = out.Trials.Times(1 / float64(len(p.plan.Rung.Values)))
	n := p.plan.N[0]
	out.Seconds = out.Trials.Times(p.seconds(n))
	out.path, out.jobs, out.sizes = p.seconds(n), 1+out.Seconds.Likely/aimJob, 1
}

// predictList predicts a cell whose sizes are given: all of its trials, but those at sizes that are
// refused.
func (out *CellPrediction) predictList(p *probe) {
	for _, n := range p.plan.N {
		if n < p.least {
			continue
		}
		trials := float64(p.plan.Trials)
		out.Trials = out.Trials.Plus(exactly(trials))
		cost := trials * p.seconds(n)
		out.Seconds = out.Seconds.Plus(exactly(cost))
		out.path = max(out.path, p.seconds(n))
		out.jobs += 1 + cost/aimJob
		out.sizes++
	}
}

const (
	numberBytes  = 1.2    // of one number of one trial in trials.parquet
	pointBytes   = 390    // of a sample size of a cell in the files of the curve and in the report
	cellBytes    = 4000   // of a cell in the other files
	resultBytes  = 930000 // of the files without cells, most of them for what draws the report
	messageBytes = 1400   // of a result message without rows, with its frame
	outcomeBytes = 17     // of a row, and 8 more for each metric

	busyShare = 0.85 // usual share of a slot's time that goes into trials
)

// Beyond mostTried cells only some are tried, of each kind leastTried at least.
const mostTried, leastTried = 256, 8

// deputies returns for each cell the number of cells that it stands for: 1 where there are at most
// so many that can be tried. Else the cells of each algorithm and class are cut into runs, in the order
// of the plan, and one of each run stands for all of it; the others get 0. Totals over those that
// stand for others are unbiased. Cells of which nothing is run stand for themselves.
func deputies(cells []*cell, most int) []float64 {
	stands := make([]float64, len(cells))
	kinds, all := map[[2]string][]int{}, 0
	for i, c := range cells {
		if _, nothing := c.decider.(trivial); nothing {
			stands[i] = 1
			continue
		}
		kind := [2]string{c.As, c.Problem.Class}
		kinds[kind], all = append(kinds[kind], i), all+1
	}
	rng := rand.New(rand.NewPCG(uint64(all), uint64(most)))
	byName := func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }
	for _, kind := range slices.SortedFunc(maps.Keys(kinds), byName) {
		members := kinds[kind]
		run := max(1, min((all+most-1)/most, len(members)/leastTried))
		for part := range slices.Chunk(members, run) {
			stands[part[rng.IntN(len(part))]] = float64(len(part))
		}
	}
	return stands
}

func exactly(x float64) forecast.Range { return forecast.Range{Likely: x, Low: x, High: x} }

func (out *Prediction) add(p CellPrediction) {
	out.Cells = append(out.Cells, p)
	out.Trials = out.Trials.Plus(p.Trials.Times(p.Stands))
	out.Seconds = out.Seconds.Plus(p.Seconds.Times(p.Stands))
	result := p.Trials.Times(p.rowBytes).Plus(exactly(cellBytes + pointBytes*p.sizes))
	out.Result = out.Result.Plus(result.Times(p.Stands))
	frames := forecast.Range{Likely: p.jobs, Low: p.jobs / 2, High: p.jobs * 2}
	out.Ledger = out.Ledger.Plus(p.Trials.Times(p.rowWidth).Plus(frames.Times(messageBytes)).Times(p.Stands))
}

// total divides the work among the slots. A cell's rounds follow one another, however many slots
// there are.
func (out *Prediction) total(slots int) {
	lanes := busyShare * float64(slots)
	out.Time = out.Seconds.Times(1 / lanes)
	longest := CellPrediction{}
	for _, p := range out.Cells {
		if p.path > longest.path {
			longest = p
		}
	}
	out.Time.Likely, out.Time.High = max(out.Time.Likely, longest.path), max(out.Time.High, longest.path)
	out.Result = out.Result.Plus(exactly(resultBytes))
}
