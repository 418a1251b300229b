package result

import (
	"fmt"
	"math"
	"slices"
	"unique"

	"github.com/shatterlab/shatter/pipeline/decision"
	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/plan"
	"github.com/shatterlab/shatter/pipeline/problem/noise"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// Options holds the inputs of a result other than the plan and the ledger.
type Options struct {
	// Partial is the reason why cells lack trials; "": none does, or the result will not be shown.
	Partial string
	// Contradictions holds the cells with a trial whose recheck differs.
	Contradictions map[trial.Key]schemas.Contradiction
}

// A State describes how far the cells of a result are decided.
type State struct {
	Open       int    // number of cells that lack trials
	FirstOpen  string // first such cell, with the trial that it lacks
	Unfinished int    // number of cells that are undecided or failed
	Outcomes   int64  // number of outcomes in the ledger
}

// Rows makes the rows of a result from the outcomes that a ledger holds for the cells of a plan.
// They are a function of the arguments. The ledger may lack trials: see Options.Partial.
func Rows(p *plan.Plan, l *ledger.Ledger, o Options) (*Result, error) {
	r := &Result{Name: p.Name, Seed: p.Seed.String(), Source: p.Source, Ledger: l, Confidence: confidence(p.Cells)}
	for _, c := range p.Cells {
		r.Metrics = append(r.Metrics, c.Metrics...)
	}
	r.Metrics = r.metrics()
	r.Trials = make([]Consumed, 0, len(p.Cells))
	r.Table = make([]TableRow, 0, len(p.Cells))
	for c, err := range decision.Load(p.Cells, l) {
		if err != nil {
			return nil, err
		}
		v := r.verdict(c, o)
		r.count(c, v)
		r.Trials = append(r.Trials, Consumed{c.Cell, consumedPoints(c.Cell, v, l), c.Refused != ""})
		r.Table = append(r.Table, tableRow(c, v))
	}
	for i := range r.Trials {
		if err := r.addCell(i); err != nil {
			return nil, err
		}
	}
	r.compareQueries()
	r.addProved()
	r.refuteRegrets()
	r.Bounds = statedBounds(r.Table)
	return r, r.addFits(p.Fits)
}

func (r *Result) count(c *decision.CellState, v estimate.Result) {
	s := &r.State
	for _, outcomes := range r.Ledger.Counts(c.Key) {
		s.Outcomes += outcomes
	}
	if !c.Finished(v) {
		s.Unfinished++
	}
	if c.Decided() {
		return
	}
	if s.Open++; s.Open > 1 {
		return
	}
	s.FirstOpen = c.Description()
	for _, b := range c.Want() {
		if !c.Refuses(b.N) {
			s.FirstOpen += fmt.Sprintf(", which needs trial %s", c.TrialID(b.N, int64(b.First)))
			return
		}
	}
}

// confidence returns the confidence of all brackets of the table together. Cells have equal shares
// of the probability of an error, so the least confidence of any cell holds. It is 0 if no cell has
// a bracket.
func confidence(cells []*trial.Cell) float64 {
	least := 0.0
	for _, c := range cells {
		sure := estimate.ListConfidence
		switch {
		case c.Beta == 0: // includes games without a search
			continue
		case c.Find != nil:
			sure = c.Find.Confidence
		case c.Rung != nil:
			sure = c.Rung.Confidence
		}
		if least == 0 || sure < least {
			least = sure
		}
	}
	return least
}

// verdict returns the cell's result. Alarms, refusals and missing trials override its status.
func (r *Result) verdict(c *decision.CellState, o Options) estimate.Result {
	v := c.Result()
	if o.Partial != "" && !c.Decided() {
		v.Status = estimate.StatusUndecided
		v.Reason = fmt.Sprintf("%s; deciding it would take about %d more trials", o.Partial, coarsely(c.TrialsLeft()))
	}
	if c.Refused != "" {
		if !c.Searched() { // the progress at the other sizes is random
			v = estimate.Result{}
		}
		v.Status, v.Reason = estimate.StatusFailed, c.Refused
	}
	if v.Status == estimate.StatusBelowRange && c.Find != nil && noise.FirstWrong(c.Problem.Noise) > 1 {
		v.Reason = fmt.Sprintf("smaller n were not run: the noise turns floor(%v n) labels, and its rate is exact only "+
			"at some n", c.Problem.Noise.Rate)
	}
	r.alarm(c, o, &v)
	for _, other := range c.Group() { // a fault of one rung is a fault of the whole search
		if other != c && v.Status != estimate.StatusFailed {
			r.alarm(other, o, &v)
		}
	}
	v.Reason = unique.Make(v.Reason).Value() // many cells share the same reason
	return v
}

// alarm marks a result as failed if the integrity of the cell's outcomes is in doubt.
func (r *Result) alarm(c *decision.CellState, o Options, v *estimate.Result) {
	trials, sizes := contradictory(r.Ledger, c.Key)
	if trials > 0 {
		v.Status = estimate.StatusFailed
		v.Reason = fmt.Sprintf("integrity alarm: %d trials have two different outcomes in the ledger", trials)
	}
	if sizes > 0 {
		v.Status = estimate.StatusFailed
		v.Reason = fmt.Sprintf("integrity alarm: %d sample sizes were answered for in two ways", sizes)
	}
	if x, ok := o.Contradictions[c.Key]; ok {
		v.Low, v.High = 0, 0
		v.Status, v.Reason = estimate.StatusFailed, "integrity alarm: "+x.Sentence(false)
	}
}

// contradictory returns the number of trials of a cell with two outcomes, and of sample sizes with contradictory
// refusals or outcomes.
func contradictory(l *ledger.Ledger, cell trial.Key) (trials, sizes int) {
	conflicts, clashes := l.Contradictions(cell)
	conflicts = slices.CompactFunc(conflicts, func(a, b ledger.Conflict) bool { return a.Trial == b.Trial })
	return len(conflicts), len(slices.CompactFunc(clashes, func(a, b ledger.Clash) bool { return a.N == b.N }))
}

// Alarms describes, for some cells, the trials with two different outcomes and the sample sizes
// with contradictory refusals or outcomes.
func Alarms(cells []*trial.Cell, l *ledger.Ledger) (conflicts, clashes []string) {
	for _, c := range cells {
		trials, sizes := l.Contradictions(c.Key)
		for _, x := range trials {
			conflicts = append(conflicts, fmt.Sprintf("trial %s has two different outcomes; both are in the ledger, the first "+
				"counts", c.TrialID(x.N, x.Repetition)))
		}
		for _, x := range sizes {
			const few = 200 // characters
			clashes = append(clashes, fmt.Sprintf("sample size %s/%d was answered for in two ways, first %.*s, then %.*s; "+
				"both are in the ledger, the first counts", c.Key.Short(), x.N, few, x.First, few, x.Second))
		}
	}
	slices.Sort(conflicts)
	slices.Sort(clashes)
	return slices.Compact(conflicts), clashes
}

// coarsely rounds a predicted number of trials to 1, 2 or 5 times a power of ten. The prediction is
// not more precise, and cells with equal reasons are listed together.
func coarsely(trials float64) int64 {
	power := math.Pow(10, math.Floor(math.Log10(max(1, trials))))
	for _, x := range []float64{1, 2, 5} {
		if trials <= x*power*math.Sqrt2 {
			return int64(x * power)
		}
	}
	return int64(10 * power)
}

// consumedPoints returns the trials of a cell that enter its result.
func consumedPoints(c *trial.Cell, v estimate.Result, l *ledger.Ledger) []Point {
	points := make([]Point, len(v.Points))
	losses := l.Losses(c.Key)
	for i, p := range v.Points {
		points[i] = Point{N: p.N, Consumed: int64(p.Consumed), Spot: p.Spot, Final: int64(p.Final)}
		for _, x := range losses {
			if x.N == p.N && x.Repetition < points[i].Consumed {
				points[i].Lost = append(points[i].Lost, x.Repetition)
			}
		}
	}
	return points
}

// addCell adds the rows of the cell at an index of the plan, and completes its row of the table.
func (r *Result) addCell(place int) error {
	found, c := &r.Table[place], r.Trials[place].Cell
	curve, err := Curve(r.Ledger, c, r.Trials[place].Points)
	if err != nil {
		return err
	}
	for _, p := range curve {
		found.Failed += p.Failed
		if p.N == found.NHigh || (found.NHigh == 0 && p.OK > 0) {
			found.MeanError, found.UnbiasedError = p.ErrorMean, p.UnbiasedError
		}
	}
	setPrivacy(found, curve)
	r.Curve = append(r.Curve, curve...)
	if !c.Kind().Rounds() {
		return nil
	}
	games, err := gamesOf(r.Ledger, c, r.Trials[place].Points)
	if c.Rung != nil {
		if len(games) == 0 {
			games = []GameRow{notPlayed(c)}
		}
		search := *found
		games[0].Search = &search
	}
	r.Games = append(r.Games, games...)
	return err
}

// A gameID identifies the game and the goal of a cell with queries. Cells that share it differ only
// in their learners.
type gameID struct {
	adversary trial.Key // includes the seed and the problem
	queries   int
	goal      float64 // largest error that counts as success
	states    string
}

func gameOf(c *trial.Cell) gameID {
	return gameID{c.AdversaryKey, c.Queries, c.Reference + c.Alpha, c.States}
}

// compareQueries sets QueriesSuccess in the rows of cells with queries. A cell is trivial if the
// control reaches the goal without a sample.
func (r *Result) compareQueries() {
	controls := map[gameID]*CurveRow{}
	for i := range r.Curve { // for each cell, ascending in n
		if row := &r.Curve[i]; row.Cell.Algorithm == schemas.BaselineQueries && row.Trials > 0 {
			controls[gameOf(row.Cell)] = row
		}
	}
	for i := range r.Table {
		row := &r.Table[i]
		row.QueriesSuccess = math.NaN()
		control := controls[gameOf(row.Cell)]
		if control == nil || row.Cell.Queries == 0 {
			continue
		}
		row.QueriesSuccess = control.Rate
		if row.Cell.Beta > 0 && control.RateLow >= 1-row.Cell.Beta && row.Status != estimate.StatusFailed {
			row.Status, row.NLow, row.NHigh, row.NStar = estimate.StatusTrivial, 0, 0, 0
			row.NModel, row.NModelLow, row.NModelHigh = 0, 0, 0
			row.Reason = fmt.Sprintf("%s, which has no sample, succeeds in %d of %d trials: the queries reveal the target",
				schemas.BaselineQueries, control.Successes, control.Trials)
		}
	}
}

// tableRow makes the cell's row of the table, without the values from the curve.
func tableRow(c *decision.CellState, v estimate.Result) TableRow {
	row := TableRow{
		Cell: c.Cell, NLow: v.Low, NHigh: v.High, Status: v.Status, Reason: v.Reason,
		Falls: v.Falls && v.Status != estimate.StatusFailed, Trials: v.Trials, Fixed: !c.Searched(),
		MeanError: math.NaN(), UnbiasedError: math.NaN(), Audit: v.Audit,
	}
	if c.Rung != nil {
		row.Found = found(c, v.Status)
	} else if v.Status == estimate.StatusDecided && v.Audit == nil {
		row.NStar = v.High
	}
	hasModel := v.Status != estimate.StatusFailed && v.Status != estimate.StatusTrivial && v.Audit == nil
	if hasModel && !c.Kind().Rounds() && c.Rung == nil {
		m := estimate.FitModel(v.Points, 1-c.Beta, 0.05)
		row.NModel, row.NModelLow, row.NModelHigh = m.N, m.Low, m.High
	}
	setSizeBounds(&row)
	return row
}
