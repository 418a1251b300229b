package coordinator

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sort"
	"time"
	"unique"

	"github.com/shatterlab/shatter/coordinator/audit"
	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/pipeline/decision"
	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/problem/adversary"
	"github.com/shatterlab/shatter/pipeline/result"
	"github.com/shatterlab/shatter/pipeline/theory"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// Summary reports how a run ended.
type Summary struct {
	Digest       string // of the result files; empty when interrupted
	Cells        int
	Decided      int
	Unfinished   int   // undecided or failed cells
	Trials       int64 // outcomes that workers have brought
	Known        int64 // outcomes that the ledger had before
	Counted      int64 // outcomes that the tables count, those of earlier runs among them
	Served       int64 // outcomes that came from the cache
	FailedTrials int64
	Failures     []Failure // the first of each kind
	Alarms       []string  // trials with two outcomes, and those whose second look came out differently
	Contradicted []string  // bounds that the table refutes, by row
	Refuted      []string  // their standings, each once: trial.Proved, trial.Declared
	Against      []string  // searches and lists along which success goes against its direction, with the remedy
	Looked       int64     // trials that were looked at a second time
	LooksLeft    int64     // those that should have been
	LookNotes    []string  // what a reader of the table has to know of the second looks
	Withheld     int       // cells with a trial whose second look came out differently
	Interrupted  bool
	Cache        []string // what went wrong with the cache
	Workers      []schemas.ManifestWorker
	Partial      string      // why the result is not that of the whole sweep: the budget; else empty
	Left         []Undecided // cells that the budget left over

	Seconds, PluginSeconds float64 // time that slots worked on trials, and the part of it inside plugins
}

// finish writes the result files, unless the run was interrupted, and the manifest in any case.
func (r *run) finish(interrupted bool) (s *Summary, err error) {
	rechecks := r.recheck.Progress()
	s = &Summary{
		Cells: len(r.grid.cells), Decided: len(r.grid.cells) - r.grid.open, Trials: r.tally.trials,
		Known: r.tally.known, Failures: r.tally.listFailures(), Alarms: r.intake.listAlarms(),
		Looked: rechecks.Done, LooksLeft: rechecks.Left,
		Interrupted: interrupted && (r.grid.open > 0 || !r.codeChecked || !rechecks.Ended),
	}
	for _, x := range r.recheck.Contradictions() {
		s.Withheld++
		s.Alarms = append(s.Alarms, fmt.Sprintf("%s: %s", x.What, x.Sentence(true)))
	}
	r.cacheUse().store()
	s.Workers = r.intake.listWorkers()
	if !s.Interrupted {
		s.Partial = r.partial()
		if err := r.writeResult(s); err != nil {
			return nil, err
		}
		if s.Partial != "" {
			s.Left = r.grid.undecided(r.tally)
		}
	}
	s.Served, s.Cache = r.tally.served, r.journal.cache
	s.Seconds, s.PluginSeconds = r.tally.seconds, r.tally.plugin
	m := r.manifest(s)
	m.Looks = r.recheck.Report()
	s.LookNotes = m.Looks.Notes
	if m.Resolved, err = r.Folder.Plan.Resolved(); err != nil {
		return nil, err
	}
	return s, folder.WriteManifest(r.Folder.Dir, m)
}

// writeResult writes the result files, and adds to s what they say.
func (r *run) writeResult(s *Summary) error {
	res, unfinished, err := r.result()
	if err != nil {
		return err
	}
	s.Unfinished = unfinished
	for i := range res.Table {
		row := &res.Table[i]
		s.FailedTrials += row.Failed
		s.Counted += row.Trials
	}
	s.Contradicted, s.Refuted = contradictions(res)
	s.Against = wrongDirections(res)
	if err := r.Folder.Ledger.Sync(); err != nil { // the result is nothing without it
		return err
	}
	s.Digest, err = result.WriteResult(r.Folder.Dir, *res)
	return err
}

// partial returns why the result is not that of the whole sweep; "" where it is.
func (r *run) partial() string {
	switch {
	case r.grid.open == 0:
		return ""
	case r.jobs.spent:
		return fmt.Sprintf("budget of %v was spent", r.Budget)
	}
	return r.limited
}

// result gathers the rows of all files, and counts the undecided or failed cells.
func (r *run) result() (out *result.Result, unfinished int, err error) {
	t := &tables{
		ledger: r.intake.ledger, intake: r.intake, recheck: r.recheck, partial: r.partial(),
		out: &result.Result{
			Source: r.Folder.Plan.Source, Ledger: r.intake.ledger, Confidence: confidence(r.Folder.Plan.Cells),
		},
	}
	metrics := map[string]bool{}
	cells := r.grid.cells
	for _, c := range cells {
		for _, m := range c.Metrics {
			metrics[m] = true
		}
		if c.Online() && c.Rung == nil {
			t.gameRows += len(c.N)
		}
	}
	sizes := 0
	t.out.Trials = make([]result.Consumed, 0, len(cells))
	t.out.Table = make([]result.TableRow, 0, len(cells))
	for _, c := range cells {
		verdict := t.verdict(c)
		if !c.Finished(verdict) {
			unfinished++
		}
		t.out.Trials = append(t.out.Trials, result.Consumed{Cell: c.Cell.Cell, Points: points(c, verdict, t.ledger)})
		t.out.Table = append(t.out.Table, tableRow(c, verdict))
		sizes += len(verdict.Points)
	}
	t.out.Curve = make([]result.CurveRow, 0, sizes)
	for i, c := range t.out.Trials {
		curve, err := result.Curve(t.ledger, c.Cell, c.Points)
		if err == nil {
			err = t.addCell(i, curve)
		}
		if err != nil {
			return nil, 0, err
		}
	}
	for m := range metrics {
		t.out.Metrics = append(t.out.Metrics, m)
	}
	sort.Strings(t.out.Metrics)
	t.compareQueries()
	t.addProved()
	t.out.Bounds = boundRows(t.out.Table)
	return t.out, unfinished, addFits(t.out, r.Folder.Plan.Fits, t.ledger)
}

// confidence returns that of all brackets of the table together: cells have equal shares of the
// chance of an error, so the least that is asked for any of them holds. It is 0 where no cell has a
// bracket.
func confidence(cells []*trial.Cell) float64 {
	least := 0.0
	for _, c := range cells {
		sure := decision.ListConfidence
		switch {
		case c.Beta == 0: // games without a search among them
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

// tables makes the rows of the result files, cell by cell.
type tables struct {
	ledger   *ledger.Ledger
	intake   *intake
	recheck  *audit.Recheck
	partial  string // why the result is not that of the whole sweep; "" where it is
	gameRows int    // rows of task online whose number of trials was given
	out      *result.Result
}

// verdict returns the cell's result, with its status where something else ended it than its
// decider.
func (t *tables) verdict(c *cell) estimate.Result {
	res := c.Result()
	if t.partial != "" && !c.done {
		left := coarsely(c.TrialsLeft())
		res.Status = estimate.StatusUndecided
		res.Reason = fmt.Sprintf("%s; deciding it would take about %d more trials", t.partial, left)
	}
	if c.Refused != "" {
		if !c.Searched() { // how far the other sizes came is chance
			res = estimate.Result{}
		}
		res.Status, res.Reason = estimate.StatusFailed, c.Refused
	}
	t.alarm(c, &res)
	if group := c.Group(); len(group) > 1 && res.Status != estimate.StatusFailed {
		for _, other := range group { // what is wrong with one is wrong with the search
			t.alarm(t.intake.grid.byKey[other.Key], &res)
		}
	}
	res.Reason = unique.Make(res.Reason).Value() // many cells have the same
	return res
}

// alarm makes a result failed if the integrity of the cell's outcomes is in doubt.
func (t *tables) alarm(c *cell, res *estimate.Result) {
	if n := t.intake.alarmsOf(c); n > 0 {
		res.Status = estimate.StatusFailed
		res.Reason = fmt.Sprintf("integrity alarm: %d trials have two different outcomes in the ledger", n)
	}
	if n := t.intake.clashesOf(c); n > 0 {
		res.Status = estimate.StatusFailed
		res.Reason = fmt.Sprintf("integrity alarm: %d sample sizes were answered for in two ways", n)
	}
	if x := t.recheck.Contradiction(c.Cell.Cell); x != nil {
		res.Low, res.High = 0, 0
		res.Status, res.Reason = estimate.StatusFailed, "integrity alarm: "+x.Sentence(false)
	}
}

// coarsely rounds a predicted number of trials to 1, 2 or 5 times a power of ten: the prediction is no
// better, and cells with the same reason are listed together.
func coarsely(trials float64) int64 {
	power := math.Pow(10, math.Floor(math.Log10(max(1, trials))))
	for _, x := range []float64{1, 2, 5} {
		if trials <= x*power*math.Sqrt2 {
			return int64(x * power)
		}
	}
	return int64(10 * power)
}

// points returns what of a cell entered its result.
func points(c *cell, res estimate.Result, l *ledger.Ledger) []result.Point {
	points := make([]result.Point, len(res.Points))
	for i, p := range res.Points {
		points[i] = result.Point{N: p.N, Consumed: int64(p.Consumed), Spot: p.Spot}
		for rep := int64(0); p.Lost > 0 && rep < int64(p.Consumed); rep++ {
			if !l.Has(c.Key, p.N, rep) {
				points[i].Lost = append(points[i].Lost, rep)
			}
		}
	}
	return points
}

// addCell adds the rows of the cell at a place in the plan, which has its row of the table, and to that
// what was read of trials.
func (t *tables) addCell(place int, curve []result.CurveRow) error {
	out, found := t.out, &t.out.Table[place]
	c := found.Cell
	for i := range curve {
		row := &curve[i]
		if !c.CanSucceed() {
			continue
		}
		row.RateLow, row.RateHigh = estimate.ClopperPearson(int(row.Successes), int(row.Lost), int(row.Trials), 0.05)
		row.Rate = float64(row.Successes) / float64(row.Trials)
	}
	for _, p := range curve {
		found.Failed += p.Failed
		if p.N == found.NHigh || (found.NHigh == 0 && p.OK > 0) {
			found.MeanError = p.ErrorMean
		}
	}
	out.Curve = append(out.Curve, curve...)
	if !c.Online() {
		return nil
	}
	games, err := t.games(c, out.Trials[place].Points)
	if c.Rung != nil {
		if len(games) == 0 {
			games = []result.GameRow{result.NotPlayed(c)}
		}
		search := *found
		games[0].Search = &search
	}
	out.Games = append(out.Games, games...)
	return err
}

// gameID says what two cells of task predict share whose learners are asked alike and judged alike.
type gameID struct {
	adversary trial.Key // with the seed and the problem
	queries   int
	goal      float64 // the largest error that is a success
	states    string
}

func gameOf(c *trial.Cell) gameID {
	return gameID{c.AdversaryKey, c.Queries, c.Above + c.Alpha, c.States}
}

// compareQueries sets QueriesSuccess in the rows of cells of task predict.
func (t *tables) compareQueries() {
	rates := map[gameID]float64{}
	for i := range t.out.Curve { // of a cell, ascending in n
		if row := &t.out.Curve[i]; row.Cell.Algorithm == schemas.BaselineQueries && row.Trials > 0 {
			rates[gameOf(row.Cell)] = row.Rate
		}
	}
	for i := range t.out.Table {
		row := &t.out.Table[i]
		row.QueriesSuccess = math.NaN()
		if rate, ok := rates[gameOf(row.Cell)]; ok && row.Cell.Task == schemas.TaskPredict {
			row.QueriesSuccess = rate
		}
	}
}

// games makes the rows of a cell of the task online.
func (t *tables) games(c *trial.Cell, points []result.Point) ([]result.GameRow, error) {
	rows, err := result.Games(t.ledger, c, points, result.GameMetrics{
		Mistakes: schemas.Mistakes, Loss: schemas.Loss, BestLoss: schemas.BestLoss, Regret: schemas.Regret,
		Theory: theory.ProvedRegret, Paper: theory.PrintedRegret,
	})
	for i := range rows {
		row := &rows[i]
		row.Predictable = adversary.Lookup(c.Adversary.Kind).Predictable
		games := int(row.Trials - row.Failed - row.Lost)
		row.RegretLow, row.RegretHigh = estimate.MeanInterval(row.RegretMean, row.RegretDeviation, games, 0.05)
		setRegretBounds(row)
		t.refuteRegret(row, games)
	}
	return rows, err
}

// tableRow makes the cell's row of the table, without what the curve adds to it.
func tableRow(c *cell, res estimate.Result) result.TableRow {
	row := result.TableRow{
		Cell: c.Cell.Cell, NLow: res.Low, NHigh: res.High, Status: res.Status, Reason: res.Reason,
		Falls: res.Falls && res.Status != estimate.StatusFailed, Trials: res.Trials, Fixed: !c.Searched(),
		MeanError: math.NaN(),
	}
	if c.Rung != nil {
		row.Found = found(c.Cell, res.Status)
	} else if res.Status == estimate.StatusDecided {
		row.NStar = res.High
	}
	if !c.Online() && c.Rung == nil && res.Status != estimate.StatusFailed && res.Status != estimate.StatusTrivial {
		m := estimate.FitModel(res.Points, 1-c.Beta, 0.05)
		row.NModel, row.NModelLow, row.NModelHigh = m.N, m.Low, m.High
	}
	setSizeBounds(&row)
	return row
}

// manifest describes the sweep and all of its runs, this one last.
func (r *run) manifest(s *Summary) schemas.Manifest {
	t := r.tally
	run := schemas.ManifestRun{
		Number: r.Folder.Number(),
		Began:  r.progress.began.UTC().Truncate(time.Second), Seconds: time.Since(r.progress.began).Seconds(),
		Known: t.known, Trials: t.trials, Counted: s.Counted, Served: t.served,
		Looked: s.Looked, LookTime: r.recheck.Progress().Seconds,
		TrialTime: min(t.seconds, math.MaxFloat64), PluginTime: min(t.plugin, math.MaxFloat64), Interrupted: s.Interrupted,
		Ledger: folder.Lines(r.Folder.Report), Damage: folder.Damage(r.Folder.Report),
		Failures: s.Failures, Alarms: s.Alarms, Workers: s.Workers, Notes: r.journal.notes, GoVersion: runtime.Version(),
	}
	if r.pool != nil { // it was not interrupted before
		run.Sandbox = r.pool.Sandboxes()
	}
	if r.Budget.Given() {
		run.Budget = r.Budget.String()
	}
	m := r.describe(folder.ReadManifest(r.Folder.Dir))
	m.Digest, m.Partial, m.Facts = s.Digest, s.Partial, r.Facts
	m.Runs = append(m.Runs, run)
	return m
}

// describe begins the manifest of a result: what made it, and the runs of the manifest before.
func (r *run) describe(before schemas.Manifest) schemas.Manifest {
	p := r.Folder.Plan
	return schemas.Manifest{
		Name: p.Name, Seed: p.Seed.Seed,
		Note:    "the noise of these experiments is seeded: nothing here is a private release",
		Profile: r.profile(), Plugins: r.manifestPlugins(), Metrics: p.Metrics, Runs: before.Runs,
	}
}

// manifestPlugins lists every plugin and built-in algorithm that has made outcomes, and those that
// would have.
func (r *run) manifestPlugins() (list []schemas.ManifestPlugin) {
	known, counts := map[string]schemas.ManifestPlugin{}, map[string]int64{}
	for _, c := range r.Folder.Plan.Cells {
		digest := r.Digests[c.Code()]
		p, seen := known[digest]
		if !seen {
			p = schemas.ManifestPlugin{File: c.Plugin, Algorithms: map[string]string{}}
			if c.Plugin == "" {
				p.BuiltIn = c.Algorithm
			}
			known[digest], counts[digest] = p, 0
		}
		p.Algorithms[c.Algorithm] = c.Version
	}
	for _, o := range r.intake.ledger.Origins() {
		counts[o.Digest] += o.Outcomes
	}
	for digest, n := range counts {
		p := known[digest]
		p.Digest, p.Outcomes = digest, n
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b schemas.ManifestPlugin) int {
		return cmp.Or(cmp.Compare(b.Outcomes, a.Outcomes), cmp.Compare(a.Digest, b.Digest))
	})
	return list
}
