package audit

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/coordinator/pool"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// minSample is the smallest number of trials of an algorithm in a sample that is a share of them.
const minSample = 20

// share returns the number of trials in a sample of a share.
func share(share float64, trials int64) int64 {
	return min(trials, max(minSample, int64(math.Ceil(share*float64(trials)))))
}

// A drawing is a uniform sample of recorded trials, drawn separately from each stratum.
type drawing struct {
	ledger  *ledger.Ledger
	random  *rand.Rand
	stratum func(*trial.Cell) string
	wanted  func(trials int64) int64                // size of the sample of a stratum
	match   func(c *trial.Cell, digest string) bool // selects trials by the code that made them
	largest int                                     // trials of each cell's largest size that are drawn in addition
	recheck trial.Recheck
}

// draw draws from the trials of a plan's cells. It returns them as requests, with their number and that of all trials
// that match.
func (d *drawing) draw(cells []*trial.Cell) (requests []*pool.Request, drawn, all int64, err error) {
	of := make(map[trial.Key]*trial.Cell, len(cells))
	for _, c := range cells {
		of[c.Key] = c
	}
	left, wanted := map[string]int64{}, map[string]int64{}
	for _, o := range d.ledger.Origins() {
		if c := of[o.Cell]; c != nil && d.match(c, o.Digest) {
			left[d.stratum(c)] += o.Outcomes
			all += o.Outcomes
		}
	}
	for s, trials := range left {
		wanted[s] = d.wanted(trials)
		drawn += wanted[s]
	}
	for _, c := range cells {
		s := d.stratum(c)
		if left[s] == 0 || wanted[s]+int64(d.largest) == 0 {
			continue
		}
		picked := map[int64][]int64{} // repetitions by sample size
		var top []int64               // first repetitions of the largest size
		last := int64(0)
		err := d.ledger.Each(c.Key, func(b *ledger.Batch) error {
			if !d.match(c, b.Digest) {
				return nil
			}
			if b.N > last {
				last, top = b.N, nil
			}
			top = append(top, b.Repetition[:min(len(b.Repetition), d.largest-len(top))]...)
			for _, repetition := range b.Repetition {
				if d.random.Int64N(left[s]) < wanted[s] { // each sample of that size is equally likely
					picked[b.N] = append(picked[b.N], repetition)
					wanted[s]--
				}
				left[s]--
			}
			return nil
		})
		if err != nil {
			return nil, 0, 0, err
		}
		for _, repetition := range top {
			if !slices.Contains(picked[last], repetition) {
				picked[last] = append(picked[last], repetition)
				drawn++
			}
		}
		for _, n := range slices.Sorted(maps.Keys(picked)) {
			requests = append(requests, cut(c, n, d.recheck, picked[n], blockTrials)...)
		}
	}
	return requests, drawn, all, nil
}

// A Sample is the size of a sample of recorded trials.
type Sample struct {
	Share float64 // share of each algorithm's trials, of which at least 20 are drawn
	Count int64   // number of trials of all algorithms, if Share is 0
}

// A Result is the result of [Verify].
type Result struct {
	Recorded, Again int64         // number of trials in the ledger, and of trials that were drawn from it
	Different       int64         // number of trials with another outcome
	First, What     string        // trial that shows the cause, or the first different one; and its difference
	Cause           schemas.Cause // likely cause of the differences
	Lost            int64         // number of trials that a limit of this machine ended: neither equal nor different
	FirstLost       string        // first lost trial, and the reason
}

// A ProfileError reports that the float profile of this machine differs from that of a folder's outcomes.
type ProfileError struct {
	Dir, Recorded, Here string

	Verify bool // the sweep was to be verified; false: to be continued
}

func (e *ProfileError) Error() string {
	return fmt.Sprintf("the outcomes in %q have the float profile %s, this machine's is %s: their last bits may differ",
		e.Dir, e.Recorded, e.Here)
}

// Verify runs a sample of the recorded trials again, drawn under the sweep's seed, and compares every bit. It changes
// nothing in the folder. It calls progress after each trial.
func Verify(
	ctx context.Context, f *folder.Folder, c pool.Config, s Sample, progress func(done, of int64),
) (*Result, error) {
	d := &drawing{
		ledger: f.Ledger, random: f.Plan.Seed.Rand(trial.DrawVerify), recheck: trial.RecheckShuffled,
		stratum: func(c *trial.Cell) string { return c.As },
		wanted:  func(trials int64) int64 { return share(s.Share, trials) },
		match:   func(*trial.Cell, string) bool { return true },
	}
	if s.Share == 0 {
		d.stratum = func(*trial.Cell) string { return "" } // all algorithms together
		d.wanted = func(trials int64) int64 { return min(trials, s.Count) }
	}
	x := &Result{}
	requests, again, recorded, err := d.draw(f.Plan.Cells)
	if x.Again, x.Recorded = again, recorded; err != nil || again == 0 {
		return x, err
	}
	profile, here := f.Profile(), trial.FloatProfile()
	if profile != here {
		return nil, &ProfileError{Dir: f.Dir, Recorded: profile, Here: here, Verify: true}
	}
	compared := comparison{
		result: x, ledger: f.Ledger, index: indexOf(f.Plan.Cells), firstLost: position{cell: len(f.Plan.Cells)},
	}
	done := int64(0)
	c.Term.Sweep, c.Cells = f.ID, f.Plan.Cells
	err = pool.With(ctx, c, func(p *pool.Pool) error {
		p.SetProfile(profile)
		err := run(ctx, p, nil, requests, func(r *pool.Request, b *ledger.Batch, row int) error {
			done++
			progress(done, x.Again)
			compared.add(r.Cell, b, row)
			return nil
		})
		if err != nil || compared.different.count == 0 {
			return err
		}
		_, err = examine(ctx, p, nil, f.Ledger, &compared.different)
		return err
	})
	if err != nil || compared.different.count == 0 {
		return x, err
	}
	_, found := compared.different.contradiction()
	x.Different, x.First, x.What, x.Cause = found.Different, found.Trial, found.Difference, found.Cause
	return x, nil
}

// A comparison compares trials that are run again with their records.
type comparison struct {
	result    *Result
	ledger    *ledger.Ledger
	index     map[trial.Key]int // places of cells in the plan
	different differences
	firstLost position
}

// add compares one trial, a row of b.
func (x *comparison) add(c *trial.Cell, b *ledger.Batch, row int) {
	at := position{x.index[c.Key], b.N, b.Repetition[row]}
	if b.Status[row] == ledger.Lost {
		if x.result.Lost++; at.compare(x.firstLost) < 0 {
			x.firstLost, x.result.FirstLost = at, c.TrialID(at.n, at.repetition)+": "+b.ReasonOf(row)
		}
		return
	}
	if agrees, _, known := x.ledger.Agrees(b, row); known && !agrees {
		x.different.add(c, at.cell, b, row)
	}
}
