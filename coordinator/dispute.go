package coordinator

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// dispute is a difference between what two workers say of trials of a cell at one sample size. A
// claim is what a worker says of all of them, as a text; equal ones are equal bit for bit.
type dispute struct {
	cell    *cell
	n       int64
	reps    []int64            // in question, ascending
	size    bool               // in question is whether the algorithm refuses n
	parties [2]string          // the worker that stands in the ledger, and the one that contradicts it
	claims  map[string]string  // by worker: of the parties, and of those that were asked
	again   map[string]string  // of the parties when they ran the trials once more; "": it did not
	asked   []string           // workers beside the parties
	heard   map[string]heardOf // what a worker has said so far
}

// heardOf is what a worker has said of a dispute so far.
type heardOf struct {
	prints map[int64]uint64 // fingerprints of outcomes by repetition
	size   string           // what it says of the sample size
}

// takesOutcomes is what a worker says of a sample size of which it sends outcomes.
const takesOutcomes = "outcomes"

// An IntegrityError reports that workers differ and that nobody can say who is right.
type IntegrityError struct {
	Workers []string
	Why     string
}

func (e *IntegrityError) Error() string { return "integrity: " + e.Why }

// between reports whether a worker is a party.
func (d *dispute) between(worker string) bool { return slices.Contains(d.parties[:], worker) }

// hear takes in what a worker says of the trials.
func (d *dispute) hear(l *ledger.Ledger, v ledger.Verdict) {
	b := v.Batch
	h, ok := d.heard[b.Worker]
	if !ok {
		h.prints = map[int64]uint64{}
	}
	h.size = takesOutcomes
	if b.Refusal != nil {
		h.size = b.Refusal.String()
	}
	for i, rep := range b.Repetition {
		if b.Status[i] == ledger.Lost {
			continue
		}
		if known, ok := l.Fingerprint(b.Cell, b.N, rep); ok { // a conflict, below, has another one
			h.prints[rep] = known
		}
	}
	for _, x := range v.Conflicts {
		h.prints[x.Repetition] = x.Fingerprint()
	}
	d.heard[strings.Clone(b.Worker)] = h
}

// claim returns what a worker has said; "" where it has not said all.
func (d *dispute) claim(worker string) string {
	h := d.heard[worker]
	if d.size || h.size != "" && h.size != takesOutcomes {
		return h.size
	}
	return claimOf(d.reps, func(rep int64) (uint64, bool) { p, ok := h.prints[rep]; return p, ok })
}

// claimOf makes a claim of fingerprints; "" where one is missing.
func claimOf(reps []int64, printOf func(rep int64) (uint64, bool)) string {
	var b strings.Builder
	for _, rep := range reps {
		p, ok := printOf(rep)
		if !ok {
			return ""
		}
		fmt.Fprintf(&b, "%x ", p)
	}
	return b.String()
}

// mostCompared is the number of trials of a result that a dispute is about, at most.
const mostCompared = 64

// disagree deals with a result that contradicts what the ledger has from another worker. It reports
// whether that is or will be settled.
func (k *checks) disagree(c *cell, v ledger.Verdict, e *errand) bool {
	if k.share == 0 || len(v.Conflicts) == 0 && v.Clash == nil {
		return false
	}
	if x, ok := cargoOf(e).(*check); ok && x.dispute != nil {
		return true // it was asked
	}
	if v.Clash != nil {
		return k.disputeSize(c, v.Clash)
	}
	return k.disputeTrials(c, v.Conflicts)
}

// disputeTrials opens a dispute about outcomes, unless the one who contradicts is the one who has
// sent what is contradicted.
func (k *checks) disputeTrials(c *cell, conflicts []ledger.Conflict) bool {
	conflicts = conflicts[:min(len(conflicts), mostCompared)]
	d := &dispute{cell: c, n: conflicts[0].N}
	claimed := map[int64]uint64{}
	for _, x := range conflicts {
		recorded, err := k.ledger.Trial(x.Cell, x.N, x.Repetition)
		if err != nil || recorded == nil {
			continue // a damaged ledger is found by whoever makes the tables
		}
		if d.parties[0] == "" {
			d.parties = [2]string{strings.Clone(recorded.Worker), strings.Clone(x.Worker)}
		}
		if recorded.Worker == d.parties[0] {
			d.reps = append(d.reps, x.Repetition)
			claimed[x.Repetition] = x.Fingerprint()
		}
	}
	return k.open(d,
		claimOf(d.reps, func(rep int64) (uint64, bool) { return k.ledger.Fingerprint(c.Key, d.n, rep) }),
		claimOf(d.reps, func(rep int64) (uint64, bool) { return claimed[rep], true }))
}

// disputeSize opens a dispute about a sample size that one worker refuses.
func (k *checks) disputeSize(c *cell, x *ledger.Clash) bool {
	d := &dispute{cell: c, n: x.N, size: true, parties: [2]string{"", strings.Clone(x.Worker)}, reps: []int64{0}}
	if r, ok := k.ledger.Refusal(c.Key, x.N); ok {
		d.parties[0] = r.Worker
	} else {
		for o := range k.ledger.Outcomes(c.Key, x.N) {
			d.reps[0] = o.Repetition
			if recorded, err := k.ledger.Trial(c.Key, x.N, o.Repetition); err == nil && recorded != nil {
				d.parties[0] = strings.Clone(recorded.Worker)
			}
			break
		}
	}
	return k.open(d, x.First, x.Second)
}

// open opens a dispute with the claims of its parties. It reports false where there is nothing that
// another worker could settle.
func (k *checks) open(d *dispute, first, second string) bool {
	a, b := d.parties[0], d.parties[1]
	if a == "" || a == b || first == "" {
		return false
	}
	if k.guilty[a] != "" || k.guilty[b] != "" {
		return true
	}
	for _, other := range k.disputes {
		if other.between(a) && other.between(b) {
			return true
		}
	}
	d.claims, d.heard = map[string]string{a: first, b: second}, map[string]heardOf{}
	d.again = map[string]string{}
	k.disputes = append(k.disputes, d)
	k.journal.note(fmt.Sprintf("trial %s of %s came out differently on the workers %s and %s: a third one is asked",
		d.trial(), d.cell.As, a, b))
	k.settle(d)
	return true
}

// trial returns the ID of the first trial in question.
func (d *dispute) trial() string { return d.cell.TrialID(d.n, d.reps[0]) }

// settle ends a dispute where two workers agree, and asks another one where none do.
func (k *checks) settle(d *dispute) {
	supporters := map[string]int{}
	for _, claim := range d.claims {
		supporters[claim]++
	}
	for _, worker := range slices.Sorted(maps.Keys(d.claims)) {
		claim := d.claims[worker]
		if supporters[claim] < 2 {
			continue
		}
		for other, x := range d.claims {
			if x != claim {
				k.condemn(d, other, fmt.Sprintf("workers %s and %s agree on another one", worker, d.supporter(claim, worker)))
			}
		}
		return
	}
	x := k.newCheck(d.cell, d.n, slices.Clone(d.reps))
	x.dispute, x.road.never = d, append(d.parties[:2:2], d.asked...)
	k.waiting = append(k.waiting, x)
}

// supporter returns a worker that says the same as another one.
func (d *dispute) supporter(claim, of string) string {
	for _, worker := range slices.Sorted(maps.Keys(d.claims)) {
		if d.claims[worker] == claim && worker != of {
			return worker
		}
	}
	return ""
}

// runBothAgain has the parties of a dispute run its trials once more: who lies now and then may not
// do so twice.
func (k *checks) runBothAgain(d *dispute) {
	for _, party := range d.parties {
		x := k.newCheck(d.cell, d.n, slices.Clone(d.reps))
		x.dispute, x.again, x.road.only = d, party, party
		k.waiting = append(k.waiting, x)
	}
}

// ranAgain takes in what a party says when it was asked again; "" if it does not answer. One that
// contradicts itself, while the other one does not, has lied.
func (k *checks) ranAgain(d *dispute, party, claim string) {
	d.again[party] = claim
	if len(d.again) < len(d.parties) {
		return
	}
	stands := func(i int) bool { return d.again[d.parties[i]] == d.claims[d.parties[i]] }
	wavers := func(i int) bool { return d.again[d.parties[i]] != "" && !stands(i) }
	for i, party := range d.parties {
		if wavers(i) && !wavers(1-i) {
			k.condemn(d, party, fmt.Sprintf("worker %s has another one, and it did not stand by its own "+
				"when it was asked again", d.parties[1-i]))
			return
		}
	}
	k.failed = &IntegrityError{d.parties[:], fmt.Sprintf("trial %s of %s came out differently on the workers %s and %s, "+
		"each of them stands by what it sent, and there is no further worker to ask: start one and run again, or go on in "+
		"a new folder without the one that you do not trust; if you trust both, the algorithm's outcomes depend on more "+
		"than their trial", d.trial(), d.cell.As, d.parties[0], d.parties[1])}
}

// condemn finds a worker guilty and ends the dispute.
func (k *checks) condemn(d *dispute, worker, why string) {
	k.guilty[worker] = fmt.Sprintf("its outcome of trial %s is not the algorithm's: %s", d.trial(), why)
	k.disputes = slices.DeleteFunc(k.disputes, func(x *dispute) bool { return x == d })
}

// recall opens the disputes anew that an earlier run has left in the ledger.
func (k *checks) recall(report *ledger.Report) {
	if k.share == 0 {
		return
	}
	for _, x := range report.Conflicts {
		if c, ok := k.grid.byKey[trial.Key(x.Cell)]; ok {
			k.disputeTrials(c, []ledger.Conflict{x})
		}
	}
	for _, x := range report.Clashes {
		if c, ok := k.grid.byKey[trial.Key(x.Cell)]; ok {
			k.disputeSize(c, &x)
		}
	}
}
