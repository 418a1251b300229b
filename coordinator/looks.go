package coordinator

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// How many trials of a cell are looked at a second time, besides the share that is asked for.
const (
	leastLooks = 8    // or all, of a cell that has fewer
	fewLooks   = 2    // where they are slow
	slowShare  = 0.03 // of the time of all cells together: more than this
	slowLooks  = 3.0  // and than so many seconds is slow
	lookFactor = 1.5  // time of a second look, in times of the first
)

// How many sample sizes of a cell are looked at: the fewer there are, the fewer jobs.
const (
	leastSizes     = 3
	trialsPerSize  = 8  // beyond
	trialsPerTrips = 32 // the same where each job has round trips for its queries, and leastSizes is 1
)

// keepLooks is the time after which looks are recorded while others are being made.
const keepLooks = 5 * time.Second

// looks makes the second looks of a run: it runs a share of the trials that the tables count again,
// with their points in another order and company, and compares everything bit by bit. Which trials
// follows from the cells' keys and from what was counted; plugins know neither.
type looks struct {
	grid    *grid
	folder  *folder.Folder
	ledger  *ledger.Ledger
	share   float64       // of each cell's trials; 0: none
	record  *folder.Looks // of this run and of earlier ones
	apart   bool          // there may be several workers: a trial goes to another one than the first time
	cells   []lookedCell  // those that are decided, in the order of the plan
	next    int           // place of the first cell whose looks have no jobs yet
	pending int64         // trials to be looked at in this run
	looked  int64         // those that have come back
	seconds float64       // that workers report for all runs of them
	ended   bool          // nothing more is to be done in this run
	keep    time.Time     // when the record is to be written next
}

// lookedCell is a cell at whose trials the run looks again.
type lookedCell struct {
	*cell
	trials    int64        // that the tables count
	chosen    []ranked     // in the order of choice
	left      int64        // those of them that could not be looked at
	why       string       // why there are such, or why fewer were chosen than are asked for
	differing *differences // nil: none
	sizes     []sizeTime   // nil: they were not measured, or the looks have their jobs
}

// sizeTime is what the trials of a sample size took.
type sizeTime struct {
	n            int64
	seconds      float64
	trials, jobs int64
}

// ranked is a trial with its place in the order of choice.
type ranked struct {
	rank   uint64
	n, rep int64
}

func (a ranked) compare(b ranked) int {
	return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.n, b.n), cmp.Compare(a.rep, b.rep))
}

// chooseLooks returns count of the trials that a table counts at each of the points and that have an
// outcome, at some of the points: those of least rank at the sizes of least rank. The rank of a
// trial is pseudo-random under the cell's NoiseKey.
func chooseLooks(
	key trial.Key, points []estimate.Point, has func(ranked) bool, count, sizes int,
) (chosen []ranked) {
	best := leastRanks(key, points, has, count)
	var order []int64
	for _, t := range best {
		if !slices.Contains(order, t.n) {
			order = append(order, t.n)
		}
	}
	if len(order) <= sizes {
		return best
	}
	sizes = max(sizes, 1)
	for i := 0; i < len(order) && len(chosen) < count; i += sizes {
		part := order[i:min(i+sizes, len(order))]
		some := slices.DeleteFunc(slices.Clone(points), func(p estimate.Point) bool { return !slices.Contains(part, p.N) })
		chosen = append(chosen, leastRanks(key, some, has, count-len(chosen))...)
	}
	return chosen
}

// leastRanks returns the count trials of least rank that have an outcome.
func leastRanks(key trial.Key, points []estimate.Point, has func(ranked) bool, count int) []ranked {
	total := 0.0
	for _, p := range points {
		total += float64(p.Consumed)
	}
	// Ranks are uniform: rarely are fewer than count so low, unless trials have no outcome.
	if share := (float64(count) + 8*math.Sqrt(float64(count)) + 8) / total; share < 0.5 {
		if best := ranksUpTo(uint64(math.Ldexp(share, 64)), key, points, has, count); len(best) == count {
			return best
		}
	}
	return ranksUpTo(math.MaxUint64, key, points, has, count)
}

// ranksUpTo returns the count trials of least rank that have an outcome, or all up to the limit.
func ranksUpTo(
	limit uint64, key trial.Key, points []estimate.Point, has func(ranked) bool, count int,
) []ranked {
	best := make([]ranked, 0, 2*count)
	cut := func() {
		slices.SortFunc(best, ranked.compare)
		best = best[:min(len(best), count)]
	}
	var seeds [2 * 256]uint64
	for _, p := range points {
		for rep := range p.Consumed {
			at := 2 * rep % len(seeds)
			if at == 0 {
				trial.Seeds(seeds[:], key, trial.Looks, uint64(p.N), uint32(rep))
			}
			rank := seeds[at]
			t := ranked{rank, p.N, int64(rep)}
			if rank > limit || !has(t) {
				continue
			}
			if best = append(best, t); len(best) == cap(best) {
				cut()
				limit = best[count-1].rank
			}
		}
	}
	cut()
	return best
}

// interactive reports whether a job of the cell has round trips for each query or round, which its
// trials share.
func (c *cell) interactive() bool { return c.Adversary != nil && !c.Adversary.Offline }

// sizesFor returns the number of sample sizes for that many looks.
func (c *cell) sizesFor(looks int) int {
	if c.interactive() {
		return max(1, looks/trialsPerTrips)
	}
	return max(leastSizes, looks/trialsPerSize)
}

// forgetForeign forgets the looks at cells of which other plugin files have made outcomes, because
// these are dropped.
func (l *looks) forgetForeign(files pluginFiles) error {
	changed := false
	for _, o := range l.ledger.Origins() {
		if c, ok := l.grid.byKey[o.Cell]; ok && files.foreign(c, o.Digest) {
			delete(l.record.Equal, c.Key)
			delete(l.record.Contradictions, c.Key)
			changed = true
		}
	}
	if !changed {
		return nil
	}
	return l.folder.WriteLooks(l.record)
}

// contradiction returns the contradiction that was found in a cell, now or by an earlier run; nil
// if there is none, or if the outcome in question is no longer in the ledger.
func (l *looks) contradiction(c *cell) *schemas.Contradiction {
	x, ok := l.record.Contradictions[c.Key]
	if !ok {
		return nil
	}
	if now, ok := l.ledger.Fingerprint(c.Key, x.N, x.Repetition); !ok || now != x.Fingerprint {
		return nil
	}
	return &x.Found
}

// isEqual reports whether a second look at the trial has found its outcome again.
func (l *looks) isEqual(c *cell, t ranked) bool {
	was, ok := l.record.Equal[c.Key].Fingerprint(t.n, t.rep)
	if !ok {
		return false
	}
	now, known := l.ledger.Fingerprint(c.Key, t.n, t.rep)
	return known && was == now
}

// choose chooses trials of each decided cell and counts those that this run has to look at.
func (l *looks) choose() error {
	l.cells = make([]lookedCell, 0, len(l.grid.cells))
	for _, c := range l.grid.cells {
		if !c.done || c.Refused != "" {
			continue
		}
		x := lookedCell{cell: c}
		points := c.Result().Points
		for _, p := range points {
			x.trials += int64(p.Consumed - p.Lost)
		}
		if l.share > 0 && x.trials > 0 {
			count := int(min(x.trials, max(leastLooks, int64(math.Ceil(l.share*float64(x.trials))))))
			has := func(t ranked) bool { return l.ledger.Has(c.Key, t.n, t.rep) }
			x.chosen = slices.Clone(chooseLooks(c.NoiseKey, points, has, count, c.sizesFor(count))) // without spare memory
		}
		l.cells = append(l.cells, x)
	}
	if l.count(); l.pending == 0 {
		return nil
	}
	defer l.count()
	return l.shorten()
}

// count sets pending.
func (l *looks) count() {
	l.pending = 0
	for i := range l.cells {
		l.pending += int64(len(l.missing(&l.cells[i])))
	}
}

// missing returns the chosen trials of a cell that were not looked at. A cell with a contradiction
// needs no further looks.
func (l *looks) missing(x *lookedCell) (trials []ranked) {
	if l.contradiction(x.cell) != nil {
		return nil
	}
	for _, t := range x.chosen {
		if !l.isEqual(x.cell, t) {
			trials = append(trials, t)
		}
	}
	return trials
}

// shorten chooses fewer trials where all looks together would take too long: then each cell has the
// share that is asked for, and beyond that the cheapest cells come first. Each algorithm has some
// looks in any case.
func (l *looks) shorten() error {
	all, wanted := 0.0, 0.0
	for i := range l.cells {
		x := &l.cells[i]
		seconds, err := x.measure(l.ledger)
		if err != nil {
			return err
		}
		all, wanted = all+seconds, wanted+x.price(len(x.chosen))
	}
	left := max(slowLooks, slowShare*all)
	if wanted <= left {
		return nil
	}
	granted, cheapest := make([]int, len(l.cells)), make([]int, len(l.cells)) // looks, and places of cells
	for i := range l.cells {
		x := &l.cells[i]
		granted[i], cheapest[i] = min(len(x.chosen), int(l.share*float64(x.trials))), i
		left -= x.price(granted[i])
	}
	slices.SortStableFunc(cheapest, func(a, b int) int {
		return cmp.Compare(l.cells[a].price(fewLooks), l.cells[b].price(fewLooks))
	})
	for most := fewLooks; most <= leastLooks; most++ {
		for _, i := range cheapest {
			x := &l.cells[i]
			count := min(most, len(x.chosen))
			if more := x.price(count) - x.price(granted[i]); count > granted[i] && more <= left {
				left -= more
				granted[i] = count
			}
		}
	}
	l.grantEach(cheapest, granted)
	for i := range l.cells {
		if x := &l.cells[i]; granted[i] < len(x.chosen) {
			x.chosen, x.why = slices.Clone(x.chosen[:granted[i]]), "too slow for more"
		}
	}
	return nil
}

// grantEach grants some looks to the first cell of each algorithm that has none. The places of the cells
// are in the order in which they come into question.
func (l *looks) grantEach(places, granted []int) {
	type algorithm struct{ plugin, name string }
	seen := map[algorithm]bool{}
	for i, x := range l.cells {
		seen[algorithm{x.Plugin, x.Algorithm}] = seen[algorithm{x.Plugin, x.Algorithm}] || granted[i] > 0
	}
	for _, i := range places {
		x := &l.cells[i]
		if a := (algorithm{x.Plugin, x.Algorithm}); !seen[a] && len(x.chosen) > 0 {
			granted[i], seen[a] = min(fewLooks, len(x.chosen)), true
		}
	}
}

// measure finds out what the cell's trials took, and returns the seconds of all of them. It reads what
// earlier runs recorded, or jobs that share round trips.
func (x *lookedCell) measure(l *ledger.Ledger) (all float64, err error) {
	x.sizes = nil
	known := int64(0)
	for _, s := range x.cell.sizes {
		known += s.trials
	}
	if known == x.fed && !x.interactive() {
		for _, s := range x.cell.sizes {
			if s.trials > 0 {
				x.sizes = append(x.sizes, sizeTime{n: s.n, seconds: believable(s.seconds), trials: s.trials})
				all += believable(s.seconds)
			}
		}
		return all, nil
	}
	err = l.Each(x.Key, func(b *ledger.Batch) error {
		t := x.took(b.N)
		if t == nil {
			x.sizes = append(x.sizes, sizeTime{n: b.N})
			t = &x.sizes[len(x.sizes)-1]
		}
		seconds := believable(b.Seconds)
		all += seconds
		t.seconds += seconds
		t.trials += int64(len(b.Repetition))
		t.jobs++
		return nil
	})
	return all, err
}

// took returns what the trials of a sample size took; nil: that was not measured.
func (x *lookedCell) took(n int64) *sizeTime {
	for i := range x.sizes {
		if x.sizes[i].n == n {
			return &x.sizes[i]
		}
	}
	return nil
}

// cost returns the cost of a look at a sample size, in seconds; 0: it was not measured.
func (x *lookedCell) cost(n int64) float64 {
	if t := x.took(n); t != nil {
		return t.seconds * (lookFactor / float64(t.trials))
	}
	return 0
}

// leastCost returns the least cost of a job at a sample size, in seconds; 0: there is none.
func (x *lookedCell) leastCost(n int64) float64 {
	if t := x.took(n); t != nil && x.interactive() {
		return t.seconds / float64(t.jobs)
	}
	return 0
}

// price returns the cost of the first looks at a cell that was measured, in seconds.
func (x *lookedCell) price(looks int) (total float64) {
	for _, t := range x.sizes {
		count := 0
		for _, trial := range x.chosen[:min(looks, len(x.chosen))] {
			if trial.n == t.n {
				count++
			}
		}
		if count > 0 {
			total += max(float64(count)*x.cost(t.n), x.leastCost(t.n))
		}
	}
	return total
}

// leave gives up all looks that are still missing.
func (l *looks) leave(why string) {
	for i := range l.cells {
		x := &l.cells[i]
		if n := int64(len(l.missing(x))); n > 0 {
			x.left, x.why = n, why
		}
	}
	l.pending, l.ended = 0, true
}

// limit leaves out the missing looks that are beyond a number of trials and seconds.
func (l *looks) limit(trials int64, seconds float64) {
	for i := range l.cells {
		x := &l.cells[i]
		missing := l.missing(x)
		for i, t := range missing {
			if trials <= 0 || seconds <= 0 {
				x.left, x.why = int64(len(missing)-i), "the budget was spent"
				l.pending -= x.left
				break
			}
			trials--
			seconds -= x.cost(t.n)
		}
	}
}

// nextBlocks returns the missing looks of the next cell that has some, without those that are left out, as
// jobs; nil: there is none.
func (l *looks) nextBlocks() (blocks []*rerunBlock) {
	for len(blocks) == 0 && l.next < len(l.cells) {
		x := &l.cells[l.next]
		missing := l.missing(x)
		blocks = x.cut(missing[:int64(len(missing))-x.left], l.workerOf)
		x.sizes = nil
		l.next++
	}
	return blocks
}

// workerOf returns the worker that made the recorded outcome of a trial; "" if this makes no difference.
func (l *looks) workerOf(c *cell, t ranked) string {
	if !l.apart {
		return ""
	}
	b, err := l.ledger.Trial(c.Key, t.n, t.rep)
	if err != nil || b == nil {
		return "" // verify finds damage of the ledger
	}
	return strings.Clone(b.Worker)
}

// cut makes jobs of trials of the cell. A job holds trials of one worker, and goes to another one if there is one.
func (x *lookedCell) cut(trials []ranked, workerOf func(*cell, ranked) string) (blocks []*rerunBlock) {
	slices.SortFunc(trials, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.rep, b.rep))
	})
	type origin struct {
		n      int64
		worker string
	}
	last := map[origin]*rerunBlock{}
	for _, t := range trials {
		from := origin{t.n, workerOf(x.cell, t)}
		if b := last[from]; b != nil && len(b.picked) < x.lookTrials(t.n) {
			b.add(t.rep)
			continue
		}
		b := again(x.cell, t.n, t.rep, trial.LookShuffled)
		b.road.avoid = from.worker
		last[from] = b
		blocks = append(blocks, b)
	}
	return blocks
}

// lookTrials returns how many trials of a size are looked at in one job, at most.
func (x *lookedCell) lookTrials(n int64) int {
	// A look asks about points one by one, which trials share: a job of a thousand fast trials costs
	// little more than one of a few.
	const most = 1024
	least := 1
	if x.interactive() {
		least = blockTrials // each job has round trips
	}
	count := float64(most)
	if cost := x.cost(n); cost > 0 {
		count = min(count, aimJob/cost)
	}
	return min(max(least, int(count)), x.SessionTrials(n))
}

// lookAgain makes the second looks that are missing, as far as the budget goes.
func (r *run) lookAgain(ctx context.Context) error {
	l := r.looks
	if err := l.choose(); err != nil {
		return err
	}
	profile, here := r.recordedProfile(), trial.FloatProfile()
	if r.Workers != nil && profile != here {
		l.leave(fmt.Sprintf("their float profile is %s, this machine's is %s", profile, here))
		return nil
	}
	trials, seconds := int64(math.MaxInt64), math.Inf(1)
	if r.Budget.Trials > 0 {
		trials = r.Budget.Trials - r.jobs.handed
	}
	if r.Budget.Time > 0 {
		seconds = r.Budget.Time.Seconds() - r.tally.seconds
	}
	if l.limit(trials, seconds); l.pending > 0 {
		if err := r.look(ctx, profile); err != nil {
			return err
		}
	}
	l.ended = true
	return nil
}

// look runs the trials that are to be looked at again and records what comes of it.
func (r *run) look(ctx context.Context, profile string) (err error) {
	l := r.looks
	l.keep = time.Now().Add(keepLooks)
	defer func() {
		if e := l.folder.WriteLooks(l.record); err == nil {
			err = e
		}
	}()
	x := &lookRun{
		looks: l, rerun: r.newRerun(nil, profile, nil), lost: map[position]bool{},
	}
	x.show = func() {
		if now := time.Now(); r.Progress != nil && now.Sub(x.shown) > 200*time.Millisecond {
			x.shown = now
			r.Progress(r.progress.look(now))
		}
	}
	x.show()
	x.rerun.more, x.rerun.use, x.rerun.show = l.nextBlocks, x.use, x.show
	if err := x.rerun.run(ctx); err != nil {
		return err
	}
	return r.explain(ctx, profile)
}

// lookRun takes in looks while they are made.
type lookRun struct {
	*looks
	rerun *rerun
	lost  map[position]bool // trials that were lost once
	show  func()            // shows the progress
	shown time.Time
}

// use takes in one look, a row of b. A trial that is lost is run once more, because the limit of a
// machine may be a matter of chance.
func (x *lookRun) use(c *cell, b *ledger.Batch, row int) error {
	where := position{c.index, b.N, b.Repetition[row]}
	x.seconds += believable(b.Seconds) / float64(len(b.Repetition))
	if b.Status[row] == ledger.Lost && !x.lost[where] {
		x.lost[where] = true
		look := again(c, where.n, where.repetition, trial.LookShuffled)
		look.road.avoid = strings.Clone(b.Worker)
		x.rerun.waiting = append(x.rerun.waiting, look)
		return nil
	}
	x.looked++
	x.show()
	return x.take(x.cellOf(c), b, row)
}

// cellOf returns what is known of the looks at a cell that is decided.
func (l *looks) cellOf(c *cell) *lookedCell {
	i, _ := slices.BinarySearchFunc(l.cells, c.index, func(x lookedCell, index int) int {
		return cmp.Compare(x.index, index)
	})
	return &l.cells[i]
}

// take takes in one look: a row of b.
func (l *looks) take(x *lookedCell, b *ledger.Batch, row int) error {
	if b.Status[row] == ledger.Lost {
		x.lose(strings.Clone(b.ReasonOf(row)))
	} else if agrees, fingerprint := l.ledger.Agrees(b, row); agrees {
		l.record.Add(x.Key, b.N, b.Repetition[row], fingerprint)
	} else {
		if x.differing == nil {
			x.differing = &differences{}
		}
		x.differing.add(x.cell, b, row)
	}
	began := time.Now()
	if began.Before(l.keep) {
		return nil
	}
	err := l.folder.WriteLooks(l.record)
	l.keep = time.Now().Add(max(keepLooks, 20*time.Since(began))) // a large record takes its time
	return err
}

// lose counts a look that a limit of the machine has ended twice.
func (x *lookedCell) lose(reason string) {
	x.left++
	line, _, _ := strings.Cut(reason, "\n")
	x.why = "lost: " + line
}

// explain finds out what the trials depend on that came out differently, and records it.
func (r *run) explain(ctx context.Context, profile string) error {
	l := r.looks
	var trials []*differing
	for i := range l.cells {
		if d := l.cells[i].differing; d != nil {
			trials = append(trials, d.first...)
		}
	}
	if len(trials) == 0 {
		return nil
	}
	if err := r.examine(ctx, trials, profile); err != nil {
		return err
	}
	for i := range l.cells {
		x := &l.cells[i]
		if x.differing == nil {
			continue
		}
		worst, found, err := x.differing.contradiction(l.ledger)
		if err != nil {
			return err
		}
		found.Looked = x.differing.count + l.equal(x)
		fingerprint, _ := l.ledger.Fingerprint(x.Key, worst.n, worst.rep)
		l.record.Contradictions[x.Key] = folder.Contradiction{
			N: worst.n, Repetition: worst.rep, Fingerprint: fingerprint, Found: found,
		}
	}
	return nil
}

// equal counts the chosen trials of a cell whose second look found their outcome again.
func (l *looks) equal(x *lookedCell) (count int64) {
	for _, t := range x.chosen {
		if l.isEqual(x.cell, t) {
			count++
		}
	}
	return count
}

// listContradictions returns the contradictions in the order of the plan.
func (l *looks) listContradictions() (list []schemas.Contradiction) {
	for _, c := range l.grid.cells {
		if x := l.contradiction(c); x != nil {
			list = append(list, *x)
		}
	}
	return list
}

// mostLookNotes is the most notes on single cells that stand below a table.
const mostLookNotes = 5

// lookCounts counts the second looks at a cell's trials, in less memory than schemas.CellLooks.
type lookCounts struct {
	cell                     int32 // place in the plan
	why                      int32 // place in toldLooks.why
	trials, due, equal, left int64
}

// toldLooks is what the manifest tells of second looks, until it is written.
type toldLooks struct {
	*schemas.Looks // without Cells
	counts         []lookCounts
	why            []string
}

// tell tells which trials were looked at.
func (l *looks) tell() toldLooks {
	m := toldLooks{
		Looks:  &schemas.Looks{Share: l.share, Contradictions: l.listContradictions()},
		counts: make([]lookCounts, len(l.cells)), why: []string{""},
	}
	if l.share == 0 && len(l.cells) > 0 {
		m.Notes = append(m.Notes, "no second looks: whether outcomes depend on anything but their trial was not checked")
	}
	noted, reasons := 0, map[string]int32{"": 0}
	for i := range l.cells {
		x := &l.cells[i]
		why, known := reasons[x.why]
		if !known {
			why = int32(len(m.why))
			m.why, reasons[x.why] = append(m.why, x.why), why
		}
		y := lookCounts{
			cell: int32(x.index), why: why, trials: x.trials, due: int64(len(x.chosen)), equal: l.equal(x), left: x.left,
		}
		m.counts[i] = y
		if y.left == 0 && x.why == "" {
			continue
		}
		switch noted++; {
		case noted > mostLookNotes:
		case y.left > 0:
			m.Notes = append(m.Notes, fmt.Sprintf("second looks: %d of %d due at trials of %s were not made: %s",
				y.left, y.due, x.Words(), x.why))
		default:
			m.Notes = append(m.Notes, fmt.Sprintf("second looks: %d of %d trials of %s: %s",
				y.due, y.trials, x.Words(), x.why))
		}
	}
	if more := noted - mostLookNotes; more > 0 {
		m.Notes = append(m.Notes, fmt.Sprintf("second looks: fewer than asked for at trials of %d more cells", more))
	}
	return m
}

// manifest returns what was told, of cells that stand in the order of the plan.
func (m toldLooks) manifest(cells []*trial.Cell) *schemas.Looks {
	m.Looks.Cells = make([]schemas.CellLooks, len(m.counts))
	for i, x := range m.counts {
		m.Looks.Cells[i] = schemas.CellLooks{
			Cell: cells[x.cell].Key.Short(), Trials: x.trials, Due: x.due, Equal: x.equal, Left: x.left, Why: m.why[x.why],
		}
	}
	return m.Looks
}

// leftOver counts the looks that were due and were not made.
func (l *looks) leftOver() (count int64) {
	if !l.ended {
		return l.pending - l.looked
	}
	for i := range l.cells {
		count += l.cells[i].left
	}
	return count
}
