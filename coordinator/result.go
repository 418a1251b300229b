package coordinator

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/schemas"

	"github.com/shatterlab/shatter/pipeline/result"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// Summary is what a run has to say at its end.
type Summary struct {
	Digest       string // of the result files; empty when interrupted
	Cells        int
	Decided      int
	Unfinished   int   // undecided or failed cells
	Trials       int64 // that this run has brought
	Served       int64 // outcomes that came from the cache
	FailedTrials int64
	Failures     []Failure // the first of each kind
	Alarms       []string  // two outcomes of one trial
	Interrupted  bool
	Cache        []string    // what went wrong with the cache
	Partial      string      // why the result is not that of the whole sweep: the budget; else empty
	Left         []Undecided // what the budget left over
}

// finish writes the result files, where every cell is done, and the manifest in any case.
func (r *run) finish(interrupted bool) (*Summary, error) {
	s := &Summary{
		Cells: len(r.cells), Decided: len(r.cells) - r.open, Trials: r.counts.trials,
		Failures: r.counts.list(), Interrupted: interrupted && (r.open > 0 || r.unchecked),
	}
	for _, trial := range slices.Sorted(maps.Keys(r.alarms)) {
		s.Alarms = append(s.Alarms, fmt.Sprintf("trial %s has two different outcomes; both are in the ledger, the first counts", trial))
	}
	if !s.Interrupted {
		if s.Partial = r.partial(); s.Partial != "" {
			s.Left = r.undecided()
		}
		res, err := r.result()
		if err != nil {
			return nil, err
		}
		for i, row := range res.Table {
			s.FailedTrials += row.Failed
			if !r.cells[i].finished(row.Status) {
				s.Unfinished++
			}
		}
		if s.Digest, err = result.WriteResult(r.Folder.Dir, *res); err != nil {
			return nil, err
		}
	}
	r.toCache()
	s.Served, s.Cache = r.counts.served, r.cached
	return s, r.writeManifest(s)
}

// result gathers the rows of all files.
func (r *run) result() (*result.Result, error) {
	out := &result.Result{Source: r.Folder.Plan.Source, Ledger: r.ledger, Confidence: confidence(r.Folder.Plan.Cells)}
	metrics := map[string]bool{}
	for _, c := range r.cells {
		for _, m := range c.Metrics {
			metrics[m] = true
		}
		if err := r.addCell(out, c); err != nil {
			return nil, err
		}
	}
	for m := range metrics {
		out.Metrics = append(out.Metrics, m)
	}
	sort.Strings(out.Metrics)
	return out, r.addFits(out)
}

// confidence is that of all brackets of the table together: cells have equal shares of the chance of an error, so the least that is asked
// for any of them holds. It is 0 where no cell has a bracket.
func confidence(cells []*trial.Cell) float64 {
	least := 0.0
	for _, c := range cells {
		sure := listConfidence
		switch {
		case c.Online(), c.Beta == 0:
			continue
		case c.Find != nil:
			sure = c.Find.Confidence
		}
		if least == 0 || sure < least {
			least = sure
		}
	}
	return least
}

func (r *run) addCell(out *result.Result, c *cell) error {
	res := r.verdict(c)
	if c.refused != "" {
		res.Status, res.Reason = estimate.StatusFailed, c.refused
	}
	if n := r.alarmsOf(c); n > 0 {
		res.Status, res.Reason = estimate.StatusFailed, fmt.Sprintf("integrity alarm: %d trials have two different outcomes in the ledger", n)
	}
	points := make([]result.Point, len(res.Points))
	for i, p := range res.Points {
		points[i] = result.Point{N: p.N, Consumed: int64(p.Consumed)}
	}
	out.Trials = append(out.Trials, result.Consumed{Cell: c.Cell, Points: points})
	curve, err := result.Curve(r.ledger, c.Cell, points)
	if err != nil {
		return err
	}
	for i := range curve {
		row := &curve[i]
		if c.Online() {
			continue // no trial can succeed
		}
		row.RateLow, row.RateHigh = estimate.ClopperPearson(int(row.Successes), int(row.Trials), 0.05)
		row.Rate = float64(row.Successes) / float64(row.Trials)
	}
	out.Curve = append(out.Curve, curve...)
	for _, b := range c.Bounds {
		out.Bounds = append(out.Bounds, result.BoundRow{Cell: c.Cell, Name: b.Name, Value: b.Value, Proved: b.Proved, Source: b.Source, With: b.With})
	}
	out.Table = append(out.Table, tableRow(c, res, curve))
	if c.Online() {
		games, err := r.games(c, points)
		if err != nil {
			return err
		}
		out.Games = append(out.Games, games...)
	}
	return r.ledger.Each(c.Key, func(b *ledger.Batch) error {
		out.Timing = append(out.Timing, result.TimingRow{
			Cell: c.Cell, N: b.N, First: b.Repetition[0], Rows: int64(len(b.Repetition)), Seconds: b.Seconds,
			Worker: b.Worker, Digest: b.Digest, Profile: b.Profile,
		})
		return nil
	})
}

// games is the rows of a cell of task online.
func (r *run) games(c *cell, points []result.Point) ([]result.GameRow, error) {
	rows, err := result.Games(r.ledger, c.Cell, points, result.GameMetrics{
		Mistakes: schemas.Mistakes, BestLoss: schemas.BestLoss, Regret: schemas.Regret,
		Theory: schemas.ProvedRegret, Paper: schemas.PrintedRegret,
	})
	for i := range rows {
		row := &rows[i]
		row.RegretLow, row.RegretHigh = estimate.MeanInterval(row.RegretMean, row.RegretDeviation, int(row.Trials-row.Failed), 0.05)
		for _, b := range c.Bounds {
			switch source := b.Name + ": " + b.Source; {
			case b.Proved && row.TheorySource == "" && !math.IsNaN(row.TheoryRegret):
				row.TheorySource = source
			case !b.Proved && row.PaperSource == "" && !math.IsNaN(row.PaperRegret):
				row.PaperSource = source
			}
		}
	}
	return rows, err
}

// alarmsOf counts the cell's trials that have two different outcomes.
func (r *run) alarmsOf(c *cell) (n int) {
	for trial := range r.alarms {
		if strings.HasPrefix(trial, c.Key.Short()+"/") {
			n++
		}
	}
	return n
}

func tableRow(c *cell, res estimate.Result, curve []result.CurveRow) result.TableRow {
	row := result.TableRow{
		Cell: c.Cell, NLow: res.Low, NHigh: res.High, Status: res.Status, Reason: res.Reason,
		Trials: res.Trials, Fixed: c.Find == nil, MeanError: math.NaN(), Evaluation: c.Evaluation,
	}
	if res.Status == estimate.StatusDecided {
		row.NStar = res.High
	}
	if !c.Online() && res.Status != estimate.StatusFailed {
		m := estimate.FitModel(res.Points, 1-c.Beta, 0.05)
		row.NModel, row.NModelLow, row.NModelHigh = m.N, m.Low, m.High
	}
	row.TheoryN = math.Inf(1)
	for _, b := range c.Bounds {
		switch {
		case b.Proved && b.Value < row.TheoryN:
			row.TheoryN, row.TheorySource = b.Value, b.Name+": "+b.Source
		case !b.Proved && row.PaperSource == "":
			row.PaperN, row.PaperSource = b.Value, b.Name+": "+b.Source
		}
	}
	if row.NStar > 0 {
		row.Ratio = float64(row.NStar) / row.TheoryN
	}
	for _, p := range curve {
		row.Failed += p.Failed
		if p.N == res.High || (res.High == 0 && p.OK > 0) {
			row.MeanError = p.ErrorMean
		}
	}
	return row
}

// manifest is how a sweep went: it may differ from run to run, and nothing in the result depends on it.
type manifest struct {
	Name     string            `json:"name"`
	Seed     uint64            `json:"seed"`
	Digest   string            `json:"digest,omitempty"`
	Partial  string            `json:"partial,omitempty"` // why the result is not a function of the sweep alone
	Note     string            `json:"note"`
	Profile  string            `json:"float_profile"`
	Plugins  []manifestPlugin  `json:"plugins"`
	Runs     []manifestRun     `json:"runs"` // the last of them is this one
	Resolved json.RawMessage   `json:"resolved"`
	Facts    map[string]string `json:"facts"`
}

type manifestPlugin struct {
	File     string `json:"file"` // empty: built in
	Digest   string `json:"digest"`
	Outcomes int64  `json:"outcomes"`
}

type manifestRun struct {
	Began       time.Time `json:"began"`
	Seconds     float64   `json:"seconds"`
	Known       int64     `json:"trials_known"`
	Trials      int64     `json:"trials_run"`
	Served      int64     `json:"trials_served,omitempty"` // from the cache
	Interrupted bool      `json:"interrupted,omitempty"`
	Budget      string    `json:"budget,omitempty"`
	Ledger      []string  `json:"ledger,omitempty"` // what was found on opening
	Failures    []Failure `json:"failures,omitempty"`
	Alarms      []string  `json:"alarms,omitempty"`
	Notes       []string  `json:"notes,omitempty"` // plugin processes that ended, jobs that were lost, ...
	GoVersion   string    `json:"go"`
}

func (r *run) writeManifest(s *Summary) error {
	path := filepath.Join(r.Folder.Dir, "manifest.json")
	m := manifest{
		Name: r.Folder.Plan.Name, Seed: r.Folder.Plan.Seed, Digest: s.Digest, Partial: s.Partial, Profile: r.profile, Resolved: r.Folder.Plan.Resolved, Facts: r.Facts,
		Note: "the noise of these experiments is seeded: nothing here is a private release",
	}
	r.manifestPlugins(&m)
	m.Runs = append(readRuns(path), manifestRun{
		Began: r.began.UTC().Truncate(time.Second), Seconds: time.Since(r.began).Seconds(), Known: r.counts.known, Trials: r.counts.trials, Served: r.counts.served,
		Interrupted: s.Interrupted, Ledger: Lines(r.Folder.Report), Failures: s.Failures, Alarms: s.Alarms, Notes: r.notes, GoVersion: runtime.Version(),
	})
	if r.Budget.Given() {
		m.Runs[len(m.Runs)-1].Budget = r.Budget.String()
	}
	raw, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("write manifest: %w", err)
	}
	return writeFile(path, append(raw, '\n'))
}

// manifestPlugins lists every plugin file that has made outcomes, and those that would have.
func (r *run) manifestPlugins(m *manifest) {
	files := map[string]string{}
	for file, digest := range r.Digests {
		files[digest] = file
	}
	counts := map[string]int64{}
	for _, o := range r.ledger.Origins() {
		counts[o.Digest] += o.Outcomes
	}
	for digest := range files {
		counts[digest] += 0
	}
	for digest, n := range counts {
		m.Plugins = append(m.Plugins, manifestPlugin{File: files[digest], Digest: digest, Outcomes: n})
	}
	slices.SortFunc(m.Plugins, func(a, b manifestPlugin) int {
		return cmp.Or(cmp.Compare(b.Outcomes, a.Outcomes), cmp.Compare(a.Digest, b.Digest))
	})
}

// readRuns gives the earlier runs of this folder. A manifest that cannot be read is written anew: it is not part of the result.
func readRuns(path string) []manifestRun {
	var m manifest
	if raw, err := os.ReadFile(path); err != nil || json.Unmarshal(raw, &m) != nil {
		return nil
	}
	return m.Runs
}
