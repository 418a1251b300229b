package coordinator

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/wording"
)

// Budget is what one run may spend: trials, or the time that workers report for them, summed over all slots. When it is spent, nothing more
// is handed out; what is in work comes back first. Under a budget nothing is run on a guess. Outcomes from the cache cost
// nothing, and trials that are run again to compare plugin files are not counted. The zero Budget is no limit.
type Budget struct {
	Trials int64
	Time   time.Duration
}

// Given reports whether there is a limit.
func (b Budget) Given() bool { return b.Trials > 0 || b.Time > 0 }

// String is "budget of 50000 trials", or "budget of 2h of CPU time".
func (b Budget) String() string {
	if b.Trials > 0 {
		return fmt.Sprintf("budget of %d trials", b.Trials)
	}
	return fmt.Sprintf("budget of %s of CPU time", InWords(b.Time))
}

// InWords is a time for people: 2h instead of 2h0m0s, 1m40s instead of 1m39.7s.
func InWords(d time.Duration) string {
	switch {
	case d >= 10*time.Hour:
		d = d.Round(time.Hour)
	case d >= time.Hour:
		d = d.Round(time.Minute)
	case d >= 10*time.Second:
		d = d.Round(time.Second)
	case d >= time.Second:
		d = d.Round(100 * time.Millisecond)
	default:
		d = d.Round(time.Millisecond)
	}
	return wording.Duration(d)
}

// afford cuts a block to what the budget still allows, or reports that it is spent.
func (r *run) afford(c *cell, b estimate.Block) (_ estimate.Block, spent bool) {
	switch {
	case r.Budget.Trials > 0:
		left := r.Budget.Trials - r.handed
		b.Count = int(min(int64(b.Count), left))
		return b, left <= 0
	case r.Budget.Time > 0:
		left := r.Budget.Time.Seconds() - r.counts.seconds
		for _, j := range r.jobs {
			left -= j.cell.secondsPerTrial(j.block.N) * float64(j.missing)
		}
		most := 1.0 // of unknown cost
		if t := c.secondsPerTrial(b.N); t > 0 {
			most = max(1, left/t)
		}
		b.Count = int(min(float64(b.Count), most))
		return b, left <= 0
	}
	return b, false
}

// affordable is the part of the seconds left that the budget allows.
func (r *run) affordable(seconds float64) float64 {
	switch {
	case r.Budget.Trials > 0:
		left := float64(r.Budget.Trials - r.counts.trials)
		return seconds * min(1, max(0, left)/max(1, r.pace.leftTrials))
	case r.Budget.Time > 0:
		return max(0, min(seconds, r.Budget.Time.Seconds()-r.counts.seconds))
	}
	return seconds
}

// Undecided is a cell that a budget left over, with what deciding it would probably take.
type Undecided struct {
	Cell    string  `json:"cell"` // first digits of its key
	What    string  `json:"what"` // algorithm and problem, in words
	Trials  int64   `json:"trials"`
	Seconds float64 `json:"seconds"` // of one slot
}

// undecided lists the cells that are not done, the dearest first.
func (r *run) undecided() (left []Undecided) {
	r.foresee(time.Now().Add(time.Minute))
	typical, _ := r.typical()
	for _, c := range r.cells {
		if c.done {
			continue
		}
		o := c.outlook
		if !o.measured {
			o.seconds = typical
		}
		left = append(left, Undecided{Cell: c.Key.Short(), What: c.words(), Trials: int64(math.Ceil(o.trials)), Seconds: o.seconds})
	}
	slices.SortStableFunc(left, func(a, b Undecided) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(b.Trials, a.Trials))
	})
	return left
}

// partial says why the result is not that of the whole sweep; "" where it is.
func (r *run) partial() string {
	switch {
	case r.open == 0:
		return ""
	case r.spent:
		return r.Budget.String() + " was spent"
	}
	return r.limited
}

// verdict is the cell's result, with what deciding it would take where a limit ended it.
func (r *run) verdict(c *cell) estimate.Result {
	res := c.Result()
	if partial := r.partial(); partial != "" && !c.done {
		res.Status = estimate.StatusUndecided
		res.Reason = fmt.Sprintf("%s; deciding it would take about %d more trials", partial, estimate.Roughly(r.predict(c).trials))
	}
	return res
}
