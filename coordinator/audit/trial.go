package audit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/coordinator/pool"
	"github.com/shatterlab/shatter/pipeline/decision"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/plan"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/pipeline/wording"
)

// Trial is one trial of a plan.
type Trial struct {
	Cell          *trial.Cell
	N, Repetition int64
}

// FindTrial finds the trial that an ID names: cell/n/repetition, where cell is the first 10 hex
// digits of the cell's key. It may be any that the cell can have, run or not.
func FindTrial(plan *plan.Plan, id string) (*Trial, error) {
	parts := strings.Split(id, "/")
	if len(parts) != 3 {
		return nil, fmt.Errorf("trial %q: an ID is cell/n/repetition, like %s", id, example(plan.Cells[0]))
	}
	t := &Trial{}
	var known []string
	for _, c := range plan.Cells {
		known = append(known, c.Key.Short())
		if c.Key.Short() == strings.ToLower(parts[0]) {
			t.Cell = c
		}
	}
	if t.Cell == nil {
		return nil, fmt.Errorf("trial %q: the sweep has no cell %q%s", id, parts[0], wording.DidYouMean(parts[0], known))
	}
	var errs [2]error
	t.N, errs[0] = strconv.ParseInt(parts[1], 10, 64)
	t.Repetition, errs[1] = strconv.ParseInt(parts[2], 10, 64)
	if errors.Join(errs[:]...) != nil {
		return nil, fmt.Errorf("trial %q: n and repetition are whole numbers, as in %s", id, example(t.Cell))
	}
	return t, t.check(id)
}

// example returns the ID of a trial that the cell has.
func example(c *trial.Cell) string {
	if c.Find != nil {
		return c.TrialID(c.Find.From, 0)
	}
	return c.TrialID(c.N[0], 0)
}

// check returns an error if the cell cannot have the trial.
func (t *Trial) check(id string) error {
	c, most := t.Cell, t.Cell.Repetitions()
	switch {
	case c.Find == nil && !slices.Contains(c.N, t.N):
		return fmt.Errorf("trial %q: the cell has n = %s, not %d", id, numbers(c.N), t.N)
	case c.Find != nil && (t.N < c.Find.From || t.N > c.Find.To):
		return fmt.Errorf("trial %q: the cell has n from %d to %d, not %d", id, c.Find.From, c.Find.To, t.N)
	case t.Repetition < 0 || t.Repetition >= most:
		return fmt.Errorf("trial %q: the cell has repetitions 0 to %d at each n, not %d", id, most-1, t.Repetition)
	}
	return nil
}

func numbers(list []int64) string {
	var text []string
	for _, n := range list {
		text = append(text, strconv.FormatInt(n, 10))
	}
	return strings.Join(text, ", ")
}

// Outcome is one outcome of a trial as a worker gave it.
type Outcome struct {
	Status  string             `json:"status"`            // ok, failed, lost
	Kind    string             `json:"kind,omitempty"`    // what went wrong: crash, error, panic, ...
	Reason  string             `json:"reason,omitempty"`  // for people, with the end of stderr of a process that ended
	Error   *float64           `json:"error"`             // null: none
	Success *bool              `json:"success"`           // null: the task has no success, or the trial was lost
	Metrics map[string]float64 `json:"metrics"`           // those that were reported
	Seconds *float64           `json:"seconds,omitempty"` // only where the trial was run alone
	Worker  string             `json:"worker"`
	Digest  string             `json:"digest"` // of the plugin or built-in algorithm
	Profile string             `json:"profile"`
}

// Comparison holds a trial's outcome now and the recorded one.
type Comparison struct {
	Trial      string   `json:"trial"`
	What       string   `json:"what"` // algorithm and problem, in words
	Outcome    *Outcome `json:"outcome"`
	Recorded   *Outcome `json:"recorded"` // null: none
	Equal      *bool    `json:"equal"`    // to the last bit; null: there is nothing to compare
	Difference string   `json:"difference,omitempty"`
	Warnings   int64    `json:"warnings,omitempty"` // number of warnings of the plugin now
	Warning    string   `json:"warning,omitempty"`  // text of the first one
}

// RunTrial runs one trial alone and compares it with its record, which it leaves as it is. It returns a *RefusedError
// if the algorithm refuses the trial's sample size.
func RunTrial(ctx context.Context, f *folder.Folder, cfg pool.Config, t *Trial) (*Comparison, error) {
	c := t.Cell
	out := &Comparison{Trial: c.TrialID(t.N, t.Repetition), What: c.Description()}
	old, err := f.Ledger.Trial(c.Key, t.N, t.Repetition)
	if err != nil {
		return nil, err
	}
	if old != nil {
		out.Recorded = outcomeOf(c, old, 0)
	}
	cfg.Term.Sweep, cfg.Cells = f.ID, f.Plan.Cells
	err = pool.With(ctx, cfg, func(p *pool.Pool) error {
		p.SetProfile(trial.FloatProfile())
		requests := []*pool.Request{newRequest(c, t.N, "", t.Repetition)}
		return run(ctx, p, nil, requests, func(_ *pool.Request, b *ledger.Batch, row int) error {
			out.Outcome = outcomeOf(c, b, row)
			out.Outcome.Seconds = &b.Seconds
			out.Warnings, out.Warning = b.Warnings, b.Warning
			if old != nil && b.Status[row] != ledger.Lost {
				out.Difference = difference(old, b, row)
				equal := out.Difference == ""
				out.Equal = &equal
			}
			return nil
		})
	})
	return out, err
}

// outcomeOf copies one row of a batch, which is valid for a short time only.
func outcomeOf(c *trial.Cell, b *ledger.Batch, row int) *Outcome {
	o := &Outcome{
		Status: ledger.StatusName(b.Status[row]),
		Kind:   b.KindOf(row), Reason: b.ReasonOf(row),
		Metrics: map[string]float64{},
		Worker:  b.Worker, Digest: b.Digest, Profile: b.Profile,
	}
	if e := b.Error[row]; !math.IsNaN(e) {
		o.Error = &e
	}
	if c.CanSucceed() && b.Status[row] != ledger.Lost {
		success := decision.Success(b.Status[row], decision.Judged(c, b, row), c.Reference, c.Alpha)
		o.Success = &success
	}
	for i, name := range b.Metrics {
		if v := b.Values[i][row]; !math.IsNaN(v) {
			o.Metrics[name] = v
		}
	}
	return o
}
