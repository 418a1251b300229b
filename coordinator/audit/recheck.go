package audit

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/coordinator/pool"
	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/result"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// minRechecks is the smallest number of trials of a cell that are rechecked, or all of a cell with fewer. It is less
// in a sweep of many small cells, where it would make rechecks more than maxShare of all trials, but at least
// leastRechecks, at any cost.
const (
	minRechecks   = 8
	leastRechecks = 2
	maxShare      = 0.1
	fewTrials     = 10_000 // trials of a sweep that has minRechecks per cell in any case
)

// How many sample sizes of a cell are rechecked. Fewer sizes need fewer jobs.
const (
	minSizes           = 3
	perSize            = 8  // rechecks per size, above minSizes
	perInteractiveSize = 32 // the same for interactive cells, whose least number is 1
)

// Bounds of a job.
const (
	aimSeconds = 0.25 // run time
	costFactor = 1.5  // run time of a recheck, in run times of the trial
	maxTrials  = 1024
)

// saveEvery is the shortest time between two writes of the record.
const saveEvery = 5 * time.Second

// A Cell is a decided cell whose trials can be rechecked.
type Cell struct {
	*trial.Cell
	Index   int                   // position in the plan
	Points  []estimate.Point      // trials that the table counts
	Seconds func(n int64) float64 // predicted run time of a trial; 0: unknown
}

// A Recheck re-runs a random share of the trials that the tables count: in a fresh process, with the points in another
// order and with other trials, and on another worker if there is one. The keys of the cells and the counted trials
// determine the choice. Plugins see neither, so they cannot predict it.
type Recheck struct {
	folder  *folder.Folder
	share   float64             // share of each cell's trials to recheck; 0: none
	record  *folder.Rechecks    // rechecks of this run and of earlier runs
	cells   []checked           // decided cells, in the order of the plan
	places  map[trial.Key]int   // indices in cells
	next    int                 // index of the first cell whose rechecks were not requested
	due     int64               // number of trials to recheck in this run
	done    int64               // number of rechecks that came back in this run
	seconds float64             // run time of all rechecks, as workers report it
	ended   bool                // this run has no more rechecks to make
	agreed  map[agreement]int64 // number of rechecks of this run that reproduced the outcome
	save    time.Time           // time of the next write of the record
}

// An agreement represents two workers that sent the same outcome for a trial of an algorithm.
type agreement struct{ algorithm, first, second string }

// A checked cell is a decided cell with its rechecks.
type checked struct {
	Cell
	trials    int64        // number of trials that the tables count
	chosen    []ranked     // trials to recheck, in the order of choice
	left      int64        // number of chosen trials that could not be rechecked
	reason    string       // reason for left; "": left is 0
	different *differences // rechecks with another outcome; nil: none
}

// NewRecheck returns the rechecks of a folder, with the record of earlier runs.
func NewRecheck(f *folder.Folder, share float64) *Recheck {
	return &Recheck{folder: f, share: share, record: f.ReadRechecks()}
}

func (k *Recheck) write() error { return k.folder.WriteRechecks(k.record) }

// Forget deletes the rechecks of a cell that reproduced its outcomes from the record, so that they run again.
func (k *Recheck) Forget(c *trial.Cell) { delete(k.record.Equal, c.Key) }

// Contradiction returns the contradiction that was found in a cell, by this run or an earlier one; nil if there is
// none, or if the outcome in question is no longer in the ledger.
func (k *Recheck) Contradiction(c *trial.Cell) *schemas.Contradiction {
	x, found := k.record.Contradictions[c.Key]
	if !found {
		return nil
	}
	if now, known := k.folder.Ledger.Find(c.Key, x.N, x.Repetition); !known || now.Fingerprint != x.Fingerprint {
		return nil
	}
	return &x.Found
}

// Contradicted returns the contradictions by cell.
func (k *Recheck) Contradicted() map[trial.Key]schemas.Contradiction {
	return k.record.Contradicted(k.folder.Ledger)
}

// Contradictions returns the contradictions in the order of the plan.
func (k *Recheck) Contradictions() (list []schemas.Contradiction) {
	for _, c := range k.folder.Plan.Cells {
		if x := k.Contradiction(c); x != nil {
			list = append(list, *x)
		}
	}
	return list
}

// Choose chooses trials of decided cells, in the order of the plan, and counts those that remain to be rechecked.
func (k *Recheck) Choose(cells []Cell) {
	k.cells, k.places = make([]checked, 0, len(cells)), make(map[trial.Key]int, len(cells))
	minPerCell := minPerCell(k.share, cells)
	for i, c := range cells {
		k.places[c.Key] = i
		x := checked{Cell: c, trials: countTrials(c)}
		if count := int(dueOf(k.share, x.trials, minPerCell)); count > 0 {
			if minPerCell < minRechecks && int64(count) < min(minRechecks, x.trials) {
				x.reason = "the sweep has many cells of few trials"
			}
			has := func(t ranked) bool {
				_, known := k.folder.Ledger.Find(c.Key, t.n, t.rep)
				return known
			}
			sizes := max(minSizes, count/perSize)
			if c.RoundTrips(1) > 0 {
				sizes = max(1, count/perInteractiveSize)
			}
			x.chosen = choose(c.NoiseKey, c.Points, has, count, sizes)
		}
		x.Points = nil
		k.cells = append(k.cells, x)
	}
	k.due = 0
	for i := range k.cells {
		k.due += int64(len(k.missing(&k.cells[i])))
	}
}

// countTrials returns the number of trials of a cell that the table counts and that have an outcome.
func countTrials(c Cell) (trials int64) {
	for _, p := range c.Points {
		trials += int64(p.Consumed - p.Lost)
	}
	return trials
}

// dueOf returns the number of rechecks that are due in a cell with a number of trials: at least minPerCell if the cell
// has so many.
func dueOf(share float64, trials, minPerCell int64) int64 {
	if share == 0 {
		return 0
	}
	return min(trials, max(minPerCell, int64(math.Ceil(share*float64(trials)))))
}

// minPerCell returns the smallest number of rechecks of a cell: see minRechecks.
func minPerCell(share float64, cells []Cell) int64 {
	for count := int64(minRechecks); count > leastRechecks; count-- {
		all, rechecks := int64(0), int64(0)
		for _, c := range cells {
			trials := countTrials(c)
			all, rechecks = all+trials, rechecks+dueOf(share, trials, count)
		}
		if all <= fewTrials || float64(rechecks) <= max(share, maxShare)*float64(all) {
			return count
		}
	}
	return leastRechecks
}

// Due returns the report on the rechecks of a folder that is only read, with the number of those that remain.
func Due(f *folder.Folder, share float64) folder.Due {
	return func(res *result.Result) (*schemas.Rechecks, int64) {
		k := NewRecheck(f, share)
		var cells []Cell
		for i, x := range res.Trials {
			if x.Refused || res.State.Open > 0 {
				continue
			}
			c := Cell{Cell: x.Cell, Index: i, Seconds: func(int64) float64 { return 0 }}
			for _, p := range x.Points {
				c.Points = append(c.Points, estimate.Point{N: p.N, Consumed: int(p.Consumed), Lost: len(p.Lost)})
			}
			cells = append(cells, c)
		}
		k.Choose(cells)
		return k.Report(), k.due
	}
}

// missing returns the chosen trials of a cell that were not rechecked. A cell with a contradiction needs no further
// rechecks.
func (k *Recheck) missing(x *checked) (trials []ranked) {
	if k.Contradiction(x.Cell.Cell) != nil {
		return nil
	}
	for _, t := range x.chosen {
		if !k.reproduced(x, t) {
			trials = append(trials, t)
		}
	}
	return trials
}

// reproduced reports whether a recheck of a trial has reproduced its present outcome.
func (k *Recheck) reproduced(x *checked, t ranked) bool {
	was, found := k.record.Equal[x.Key][t.n][t.rep]
	if !found {
		return false
	}
	now, known := k.folder.Ledger.Find(x.Key, t.n, t.rep)
	return known && was == now.Fingerprint
}

// countReproduced counts the chosen trials of a cell whose outcome was reproduced.
func (k *Recheck) countReproduced(x *checked) (count int64) {
	for _, t := range x.chosen {
		if k.reproduced(x, t) {
			count++
		}
	}
	return count
}

// Skip leaves out all rechecks that are missing, for a reason.
func (k *Recheck) Skip(reason string) {
	for i := range k.cells {
		x := &k.cells[i]
		if n := int64(len(k.missing(x))); n > 0 {
			x.left, x.reason = n, reason
		}
	}
	k.due, k.ended = 0, true
}

// Limit leaves out the missing rechecks beyond a number of trials and of seconds.
func (k *Recheck) Limit(trials int64, seconds float64) {
	for i := range k.cells {
		x := &k.cells[i]
		missing := k.missing(x)
		for i, t := range missing {
			if trials <= 0 || seconds <= 0 {
				x.left, x.reason = int64(len(missing)-i), "the budget was spent"
				k.due -= x.left
				break
			}
			trials--
			seconds -= costFactor * x.Seconds(t.n)
		}
	}
}

// requests returns the missing rechecks of the next cell that has some; nil: there is none. A request holds trials of
// one worker, and goes to another one if there is one.
func (k *Recheck) requests(alone bool) (list []*pool.Request) {
	for len(list) == 0 && k.next < len(k.cells) {
		x := &k.cells[k.next]
		k.next++
		type origin struct {
			n      int64
			worker string
		}
		var origins []origin
		picked := map[origin][]int64{}
		missing := k.missing(x)
		for _, t := range missing[:int64(len(missing))-x.left] {
			o := origin{n: t.n}
			if !alone {
				recorded, _ := k.folder.Ledger.Find(x.Key, t.n, t.rep)
				o.worker = recorded.Worker
			}
			if picked[o] == nil {
				origins = append(origins, o)
			}
			picked[o] = append(picked[o], t.rep)
		}
		for _, o := range origins {
			for _, r := range cut(x.Cell.Cell, o.n, trial.RecheckShuffled, picked[o], x.perJob(o.n)) {
				r.Seconds, r.Origin = costFactor*x.Seconds(o.n)*float64(r.Len()), o.worker
				if o.worker != "" {
					r.Avoid = []string{o.worker}
				}
				list = append(list, r)
			}
		}
	}
	return list
}

// perJob returns the largest number of trials of a size in one job.
func (x *checked) perJob(n int64) int {
	minTrials := 1
	if x.RoundTrips(n) > 0 {
		minTrials = blockTrials // each job has round trips
	}
	count := float64(maxTrials)
	if cost := costFactor * x.Seconds(n); cost > 0 {
		count = min(count, aimSeconds/cost)
	}
	return max(minTrials, int(count))
}

// Quarantined returns the workers whose results are dropped.
func (k *Recheck) Quarantined() []string { return k.record.Quarantined }

// Run makes the rechecks that are missing. It hands results of other jobs to other, and calls show now and then. It
// returns the workers that it has put in quarantine: after their outcomes are dropped and run again by others, the
// rechecks have to be chosen and run again.
func (k *Recheck) Run(
	ctx context.Context, p *pool.Pool, other pool.Source, show func(),
) (quarantined []string, err error) {
	if k.due == 0 {
		k.ended = true
		return nil, nil
	}
	k.save = time.Now().Add(saveEvery)
	defer func() {
		if e := k.write(); err == nil {
			err = e
		}
	}()
	k.agreed = map[agreement]int64{}
	again := &rerun{pool: p, other: other, show: show, ignored: k.record.Quarantined}
	again.more = func() []*pool.Request { return k.requests(p.Alone()) }
	lost := map[position]bool{} // trials that were lost once
	again.use = func(r *pool.Request, b *ledger.Batch, row int) error {
		x := &k.cells[k.places[r.Cell.Key]]
		at := position{x.Index, b.N, b.Repetition[row]}
		k.seconds += pool.Believable(b.Seconds) / float64(len(b.Repetition))
		if b.Status[row] == ledger.Lost && !lost[at] { // the limit of a machine may be a matter of chance
			lost[at] = true
			once := newRequest(doubleLimits(r.Cell), at.n, trial.RecheckShuffled, at.repetition)
			once.Avoid, once.Origin = []string{b.Worker}, r.Origin
			again.waiting = append(again.waiting, once)
			return nil
		}
		k.done++
		return k.recordRecheck(x, b, row, r.Origin)
	}
	show()
	if err := p.Run(ctx, again); err != nil {
		return nil, err
	}
	if quarantined, err = k.explain(ctx, p, other); err != nil {
		return nil, err
	}
	k.ended = len(quarantined) == 0
	return quarantined, nil
}

// doubleLimits returns a copy of a cell whose trials may take twice the time and memory.
func doubleLimits(c *trial.Cell) *trial.Cell {
	d := *c
	d.Limits.Trial, d.Limits.Memory = 2*c.Limits.Trial, 2*c.Limits.Memory
	return &d
}

// recordRecheck compares a recheck, a row of b, with the recorded outcome of a worker named first. A recheck that is
// lost even with double limits differs: otherwise an algorithm could escape rechecks by exceeding a limit. It writes
// the record from time to time.
func (k *Recheck) recordRecheck(x *checked, b *ledger.Batch, row int, first string) error {
	if agrees, fingerprint, known := k.folder.Ledger.Agrees(b, row); agrees {
		k.record.Add(x.Key, b.N, b.Repetition[row], fingerprint)
		k.agreed[agreement{x.As, first, b.Worker}]++
	} else if known {
		if x.different == nil {
			x.different = &differences{}
		}
		x.different.add(x.Cell.Cell, x.Index, b, row)
	}
	began := time.Now()
	if began.Before(k.save) {
		return nil
	}
	err := k.write()
	k.save = time.Now().Add(max(saveEvery, 20*time.Since(began))) // a large record takes its time
	return err
}

// explain finds the likely causes of differences and records them. It returns the workers that it has put in
// quarantine.
func (k *Recheck) explain(ctx context.Context, p *pool.Pool, other pool.Source) (quarantined []string, err error) {
	var found []*differences
	for i := range k.cells {
		if d := k.cells[i].different; d != nil {
			found = append(found, d)
		}
	}
	trials, err := examine(ctx, p, other, k.folder.Ledger, found...)
	if err != nil {
		return nil, err
	}
	if quarantined = k.wrongWorkers(trials); len(quarantined) > 0 {
		k.record.Quarantined = append(k.record.Quarantined, quarantined...)
		return quarantined, nil
	}
	for i := range k.cells {
		x := &k.cells[i]
		if x.different == nil {
			continue
		}
		worst, found := x.different.contradiction()
		found.Rechecked = x.different.count + k.countReproduced(x)
		recorded, _ := k.folder.Ledger.Find(x.Key, worst.at.n, worst.at.repetition)
		k.record.Contradictions[x.Key] = folder.Contradiction{
			N: worst.at.n, Repetition: worst.at.repetition, Fingerprint: recorded.Fingerprint, Found: found,
		}
	}
	return nil, nil
}

// minAgreements is the number of rechecks in which other workers have to agree before a worker is put in quarantine.
const minAgreements = 8

// wrongWorkers returns the workers that compute wrongly, by trials that were examined: a worker that is alone with its
// outcome about each examined trial of some algorithms, about which others agree without it.
func (k *Recheck) wrongWorkers(trials []*differing) (wrong []string) {
	suspect := map[string]string{} // key: algorithm; "": not one alone
	for _, d := range trials {
		worker := d.suspect()
		if other, seen := suspect[d.cell.As]; seen && other != worker {
			worker = ""
		}
		suspect[d.cell.As] = worker
	}
	agreements := map[string]int64{} // without the worker, about its algorithms
	for a, count := range k.agreed {
		if worker := suspect[a.algorithm]; worker != "" && a.first != worker && a.second != worker {
			agreements[worker] += count
		}
	}
	for worker, count := range agreements {
		if count >= minAgreements {
			wrong = append(wrong, worker)
		}
	}
	slices.Sort(wrong)
	return wrong
}

// maxNotes is the largest number of notes on single cells below a table.
const maxNotes = 5

// Report describes the rechecks for the manifest.
func (k *Recheck) Report() *schemas.Rechecks {
	m := &schemas.Rechecks{
		Share: k.share, Contradictions: k.Contradictions(), Cells: make([]schemas.CellRechecks, 0, len(k.cells)),
	}
	if k.share == 0 && len(k.cells) > 0 {
		m.Notes = append(m.Notes, "no rechecks: whether outcomes depend on anything but their trial was not checked")
	}
	noted := 0
	for i := range k.cells {
		x := &k.cells[i]
		m.Cells = append(m.Cells, schemas.CellRechecks{
			Cell: x.Key.Short(), Trials: x.trials, Due: int64(len(x.chosen)), Equal: k.countReproduced(x), Left: x.left,
			Why: x.reason,
		})
		if x.left == 0 {
			continue
		}
		if noted++; noted <= maxNotes {
			m.Notes = append(m.Notes, fmt.Sprintf("rechecks: %d of %d due at trials of cell %s (%s) were not made: %s",
				x.left, len(x.chosen), x.Key.Short(), x.Description(), x.reason))
		}
	}
	if more := noted - maxNotes; more > 0 {
		m.Notes = append(m.Notes, fmt.Sprintf("rechecks: some were not made at trials of %d more cells", more))
	}
	return m
}

// A Progress describes how far the rechecks of a run are.
type Progress struct {
	Due, Done int64   // number of trials to recheck in this run, and of rechecked ones
	Seconds   float64 // run time of these, as workers report it
	Left      int64   // trials that were due and were not rechecked
	Ended     bool    // nothing remains to be done in this run
}

// Progress returns how far the rechecks are.
func (k *Recheck) Progress() Progress {
	p := Progress{Due: k.due, Done: k.done, Seconds: k.seconds, Ended: k.ended, Left: k.due - k.done}
	if k.ended {
		p.Left = 0
		for i := range k.cells {
			p.Left += k.cells[i].left
		}
	}
	return p
}
