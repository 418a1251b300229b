package coordinator

import (
	"context"
	crand "crypto/rand"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline/bus"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// checks has results of workers made again by other workers while the sweep runs, and compares them
// bit by bit. What differs is settled by a third worker, or where there is none, by running it on
// both once more; a worker that was found to send other outcomes than the others is set aside, and
// nothing counts any more that it has sent, now or in earlier runs of the sweep.
//
// Result number k of a worker in a run is checked with chance c(k) = max(share, 1/(k+1)): a half of
// the first ones, and the share from about 1/share on. A refusal of a sample size is always checked,
// because one decides about a whole cell. Only the leader knows what it has drawn, and a job that
// checks another one differs from the others in nothing that a worker sees.
//
// If others do not lie, a worker that forges a share f of its results, independently, is not found
// out by J of them with chance Π(1 - c(k) f), and the number of forged results that reach a table is
// on average
//
//	Σ f (1 - c(k)) / (1 - c(k) f) · Π (1 - c(k) f),  k = 1 ... J,
//
// that is J f (1-c) (1-cf)^(J-1) where c(k) = c. Whatever f and J are, this is at most 1/(e c): 37
// results at the usual share of 1 %. A forger of single outcomes in results of m trials each, a share
// g of them, has f = 1 - (1-g)^m; a result then has g m / f forged ones.
//
// Workers that lie alike, and are asked about each other, are believed: a majority has to be honest.
type checks struct {
	crew    *crew
	grid    *grid
	ledger  *ledger.Ledger
	journal *journal
	tally   *tally
	share   float64 // of results; 0: none are checked
	rng     *rand.Rand

	workers  map[string]*schemas.ManifestWorker // by name
	waiting  []*check                           // to be sent for the first time
	out      map[*check]bool                    // sent, or on the way to another worker
	disputes []*dispute                         // that are not settled
	guilty   map[string]string                  // workers that are to be set aside, and why
	failed   error                              // why the sweep cannot go on
}

// check is a cargo of trials whose outcomes are known and are compared.
type check struct {
	rerunBlock
	suspect string   // that has sent the outcomes; "" of a dispute
	dispute *dispute // nil: none
	again   string   // party of the dispute that runs the trials once more; "": somebody else does
	differs bool     // some outcome is another one
	lost    bool     // some trial was lost, so nothing is known of it
	over    bool     // nobody needs it any more
}

// left returns the job of the trials that have not come back.
func (x *check) left() *trial.Job {
	if x.over {
		return nil
	}
	t := x.rerunBlock.left()
	if t != nil {
		t.ID = "" // it looks like any other
	}
	return t
}

// newChecks returns the checks of a run. What they draw is known to nobody else.
func newChecks(r *run) *checks {
	var seed [32]byte
	_, _ = crand.Read(seed[:]) // never fails
	k := &checks{
		crew: r.crew, grid: r.grid, ledger: r.Folder.Ledger, journal: r.journal, tally: r.tally,
		share: r.CheckShare, rng: rand.New(rand.NewChaCha8(seed)),
		workers: map[string]*schemas.ManifestWorker{}, out: map[*check]bool{}, guilty: map[string]string{},
	}
	if r.crew.alone {
		k.share = 0
	}
	return k
}

// mostKnown is the number of workers of which account is kept: whoever reaches the queue can make
// names up.
const mostKnown = 10_000

// of returns the account of a worker.
func (k *checks) of(worker string) *schemas.ManifestWorker {
	x := k.workers[worker]
	if x == nil {
		x = &schemas.ManifestWorker{Name: strings.Clone(worker)}
		if len(k.workers) < mostKnown {
			k.workers[x.Name] = x
		}
	}
	return x
}

// chance returns the chance that result number k of a worker, from 1 on, is checked.
func (k *checks) chance(result int64) float64 { return max(k.share, 1/float64(result+1)) }

// consider counts a result that was taken in and may choose it to be checked.
func (k *checks) consider(c *cell, v ledger.Verdict, m *bus.Message) {
	worker := k.of(m.Worker)
	if worker.Results++; k.share == 0 {
		return
	}
	b := v.Batch
	switch {
	case v.Refused:
		t, _ := k.crew.readTicket(m)
		k.ask(k.newCheck(c, b.N, []int64{t.first}), worker.Name)
	case len(v.New) > 0 && k.rng.Float64() < k.chance(worker.Results):
		picked := make([]int64, len(v.New))
		for i, row := range v.New {
			picked[i] = b.Repetition[row]
		}
		k.ask(k.newCheck(c, b.N, picked), worker.Name)
	}
}

// newCheck returns a check of some repetitions.
func (k *checks) newCheck(c *cell, n int64, picked []int64) *check {
	return &check{rerunBlock: rerunBlock{
		cell: c, n: n, picked: picked, missing: len(picked), profile: k.tally.profile,
		seconds: believable(c.secondsPerTrial(n) * float64(len(picked))),
	}}
}

// mostWaiting is the number of checks that wait until another worker is there.
const mostWaiting = 10_000

// ask has a check made of what a worker has sent.
func (k *checks) ask(x *check, suspect string) {
	x.suspect, x.road.never = suspect, []string{suspect}
	if len(k.waiting) >= mostWaiting {
		k.of(suspect).Left++
		return
	}
	k.waiting = append(k.waiting, x)
}

// mostOffered is the number of checks that workers are offered at a time.
const mostOffered = 16

// send sends the checks that workers take now.
func (k *checks) send(ctx context.Context) error {
	for x := range k.out {
		if x.road.waits && x.road.unable && !x.road.soon && len(x.road.errands) == 0 {
			k.giveUp(x)
		}
	}
	for range min(len(k.waiting), mostOffered) {
		if !k.crew.room() {
			return nil
		}
		x := k.waiting[0]
		k.waiting = k.waiting[1:]
		if x.dispute == nil && !k.crew.allowed(&x.road) { // another worker may come
			k.waiting = append(k.waiting, x)
			continue
		}
		sent, err := k.crew.send(ctx, x)
		switch {
		case err != nil:
			k.waiting = append(k.waiting, x)
			return err
		case sent && !x.over:
			k.out[x] = true
		case x.over:
		case x.dispute != nil && x.road.unable && !x.road.soon:
			k.giveUp(x)
		default:
			k.waiting = append(k.waiting, x)
		}
	}
	return nil
}

// settled reports whether there is nothing to wait for, once all cells are decided: checks that nobody
// can make, or that take far too long, are left.
func (k *checks) settled() bool {
	for x := range k.out {
		if k.hopeless(x) {
			k.giveUp(x)
		}
	}
	for _, x := range slices.Clone(k.waiting) {
		if x.dispute != nil && len(k.crew.members) > 0 && k.hopeless(x) {
			k.waiting = slices.DeleteFunc(k.waiting, func(y *check) bool { return x == y })
			k.giveUp(x)
		}
	}
	return len(k.out)+len(k.disputes)+len(k.guilty) == 0 && !slices.ContainsFunc(k.waiting, func(x *check) bool {
		return !k.hopeless(x)
	})
}

// hopeless reports whether a check will not come back soon: whoever has it takes far too long, or
// nobody is there to whom it could go.
func (k *checks) hopeless(x *check) bool {
	if len(x.road.errands) > 0 {
		return !slices.ContainsFunc(x.road.errands, func(e *errand) bool { return !e.late() })
	}
	if x.road.unable {
		return x.dispute == nil || !x.road.soon
	}
	return !k.crew.allowed(&x.road)
}

// giveUp ends a check that nobody can make.
func (k *checks) giveUp(x *check) {
	x.over = true
	delete(k.out, x)
	switch d := x.dispute; {
	case d == nil:
		k.of(x.suspect).Left++
	case x.again != "":
		k.ranAgain(d, x.again, "")
	default:
		k.runBothAgain(d)
	}
}

// answered takes in a result of a check, after it was compared with the ledger.
func (k *checks) answered(x *check, v ledger.Verdict) {
	if x.over {
		return
	}
	b := v.Batch
	x.differs = x.differs || len(v.Conflicts) > 0 || v.Clash != nil
	if x.dispute != nil {
		x.dispute.hear(k.ledger, v)
	}
	x.lost = x.lost || slices.Contains(b.Status, ledger.Lost)
	for _, rep := range b.Repetition {
		if i, ok := slices.BinarySearch(x.picked, rep); ok && !x.returned.Has(int64(i)) {
			x.returned.Set(int64(i))
			x.missing--
		}
	}
	if b.Refusal != nil {
		x.missing = 0
	}
	if x.missing > 0 {
		return
	}
	x.over = true
	delete(k.out, x)
	switch d := x.dispute; {
	case d == nil && x.lost && !x.differs: // another worker may do better
		more := k.newCheck(x.cell, x.n, x.picked)
		k.ask(more, x.suspect)
		more.road.never = append(slices.Clone(x.road.never), strings.Clone(b.Worker))
	case d == nil:
		s := k.of(x.suspect)
		if s.Checked++; x.differs {
			s.Differing++
		}
	case x.again != "":
		k.ranAgain(d, x.again, d.claim(b.Worker))
	default:
		d.asked = append(d.asked, strings.Clone(b.Worker))
		if claim := d.claim(b.Worker); claim != "" {
			d.claims[strings.Clone(b.Worker)] = claim
		}
		k.settle(d)
	}
}

// setAside writes down that a worker was set aside, which has happened, and forgets what it is asked
// and suspected of.
func (k *checks) setAside(r ledger.Retraction) {
	s := k.of(r.Worker)
	s.SetAside, s.Dropped = r.Reason, r.Outcomes
	delete(k.guilty, r.Worker)
	k.disputes = slices.DeleteFunc(k.disputes, func(d *dispute) bool { return d.between(r.Worker) })
	for _, d := range k.disputes {
		delete(d.claims, r.Worker) // it was asked
	}
	obsolete := func(x *check) bool {
		return x.suspect == r.Worker || x.dispute != nil && x.dispute.between(r.Worker)
	}
	for x := range k.out {
		if obsolete(x) {
			x.over = true
			delete(k.out, x)
		}
	}
	k.waiting = slices.DeleteFunc(k.waiting, obsolete)
}

// Checks counts the results of all workers: see schemas.ManifestWorker.
type Checks struct {
	Checked, Differing, Refused, Dropped int64
	SetAside                             []string // workers
}

// sum sums up the accounts of all workers.
func (k *checks) sum() (s Checks) {
	for _, name := range slices.Sorted(maps.Keys(k.workers)) {
		x := k.workers[name]
		s.Checked, s.Differing = s.Checked+x.Checked, s.Differing+x.Differing
		s.Refused, s.Dropped = s.Refused+x.Refused, s.Dropped+x.Dropped
		if x.SetAside != "" {
			s.SetAside = append(s.SetAside, name)
		}
	}
	return s
}

// list returns the accounts of workers by name.
func (k *checks) list() (all []schemas.ManifestWorker) {
	left := map[string]int64{}
	for _, x := range k.waiting {
		left[x.suspect]++
	}
	for _, name := range slices.Sorted(maps.Keys(k.workers)) {
		x := *k.workers[name]
		x.Left += left[name]
		all = append(all, x)
	}
	return all
}
