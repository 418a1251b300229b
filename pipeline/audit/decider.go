package audit

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/shatterlab/shatter/pipeline/estimate"
)

// A Claim is the guarantee to test, at some sample sizes.
type Claim struct {
	Epsilon, Delta float64
	Mu, Rho        float64 // Gaussian and zero-concentrated privacy; 0: not stated
	Sizes          []int64
	Trials         int     // largest number of trials at each size
	Confidence     float64 // probability that no claim of the whole table is refuted wrongly
	Cells          int     // number of cells of the table; they share the error probability
}

// A Decider is the [estimate.FeatureDecider] of an audit. It reads the trials of each sample size in
// order, until they refute the claim or are all read. It reads no size beyond a lost trial.
type Decider struct {
	claim Claim
	sizes []*size // ascending
}

// A size holds the trials of one sample size.
type size struct {
	n          int64
	limit      int           // number of trials
	processes  []*process    // one for each form
	read       int           // trials that were read, an even number
	failed     int           // number of failed trials among them
	exact      float64       // largest reported MetricExact among them
	known      map[int]trial // trials beyond
	lost       map[int]string
	infeasible string
}

type trial struct {
	result
	side  float64 // NaN for failed trials
	exact float64 // MetricExact; NaN if it is not reported
}

// start returns a process for each form of the claim, at one sample size. They share its part of the
// error probability.
func (c Claim) start() (all []*process) {
	forms := c.forms()
	level := (1 - c.Confidence) / float64(c.Cells*len(c.Sizes)*len(forms))
	for _, f := range forms {
		all = append(all, newProcess(f, level))
	}
	return all
}

// Least returns the number of trials at one sample size that refute the claim if the two samples of
// every pair always give different models. It is at most Trials+1: that many do not suffice.
func (c Claim) Least() int {
	x := size{processes: c.start()}
	different := [2]result{{values: make([]float64, len(Features))}, {values: slices.Repeat([]float64{1}, len(Features))}}
	for trials := 2; trials <= c.Trials; trials += 2 {
		if x.add(PairOf(int64(trials-2)), different); x.refuted() {
			return trials
		}
	}
	return c.Trials + 1
}

// NewDecider starts the test of a claim.
func NewDecider(c Claim) *Decider {
	d := &Decider{claim: c}
	for _, n := range slices.Sorted(slices.Values(c.Sizes)) {
		d.sizes = append(d.sizes, &size{n: n, limit: c.Trials &^ 1, processes: c.start(),
			known: map[int]trial{}, lost: map[int]string{}})
	}
	return d
}

func (d *Decider) find(n int64) *size {
	i, ok := slices.BinarySearchFunc(d.sizes, n, func(x *size, n int64) int { return cmp.Compare(x.n, n) })
	if !ok {
		return nil
	}
	return d.sizes[i]
}

// AddFeatures adds the outcome of a trial with its metrics.
func (d *Decider) AddFeatures(n int64, rep int, o estimate.Outcome, metric func(name string) float64) {
	t := trial{result{o == estimate.Failed, make([]float64, len(Features))}, metric(MetricSide), metric(MetricExact)}
	for i, f := range Features {
		t.values[i] = metric(f.Name)
	}
	if x := d.find(n); x != nil && x.read <= rep && rep < x.limit && !x.done() {
		if _, known := x.known[rep]; !known {
			x.known[rep] = t
			delete(x.lost, rep)
			x.readOn()
		}
	}
}

// Add adds the outcome of a trial without metrics.
func (d *Decider) Add(n int64, rep int, o estimate.Outcome) {
	d.AddFeatures(n, rep, o, func(string) float64 { return math.NaN() })
}

// Lost records that a trial cannot be run.
func (d *Decider) Lost(n int64, rep int, reason string) {
	if x := d.find(n); x != nil && x.read <= rep && rep < x.limit {
		if _, known := x.known[rep]; !known {
			x.lost[rep] = reason
		}
	}
}

// Infeasible records that the algorithm refuses a sample size.
func (d *Decider) Infeasible(n int64, reason string) {
	if x := d.find(n); x != nil {
		x.infeasible = reason
	}
}

// readOn reads the pairs that are complete.
func (x *size) readOn() {
	for !x.done() {
		a, known := x.known[x.read]
		b, both := x.known[x.read+1]
		if !known || !both {
			return
		}
		// A failed trial has no metrics, but it got the other side than its partner.
		first := 0
		if a.side == 1 || b.side == 0 {
			first = 1
		}
		pair := [2]result{a.result, b.result}
		if first == 1 {
			pair = [2]result{b.result, a.result}
		}
		x.add(PairOf(int64(x.read)), pair)
		for i, t := range []trial{a, b} {
			delete(x.known, x.read+i)
			if t.failed {
				x.failed++
			}
			if t.exact > x.exact {
				x.exact = t.exact
			}
		}
		x.read += 2
	}
}

func (x *size) add(which int, pair [2]result) {
	for _, p := range x.processes {
		p.add(which, pair)
	}
}

func (x *size) refuted() bool {
	return slices.ContainsFunc(x.processes, func(p *process) bool { return p.refuted == steps })
}

// atLoss reports whether the next pair has a lost trial.
func (x *size) atLoss() bool { return x.lost[x.read] != "" || x.lost[x.read+1] != "" }

func (x *size) done() bool {
	return x.refuted() || x.read >= x.limit || x.infeasible != "" || x.atLoss()
}

// Needs returns the sizes that are not done.
func (d *Decider) Needs() (sizes []int64) {
	for _, x := range d.sizes {
		if !x.done() {
			sizes = append(sizes, x.n)
		}
	}
	return sizes
}

// firstTrials is the number of trials that are requested first; then as many again as were read.
const firstTrials = 96

// Want returns the next missing trials of each size.
func (d *Decider) Want() (blocks []estimate.Block) {
	for _, x := range d.sizes {
		if x.done() {
			continue
		}
		for rep := x.read; rep < min(x.limit, max(firstTrials, 2*x.read)); rep++ {
			if _, known := x.known[rep]; known || x.lost[rep] != "" {
				continue
			}
			if last := len(blocks) - 1; last >= 0 && blocks[last].N == x.n && blocks[last].First+blocks[last].Count == rep {
				blocks[last].Count++
			} else {
				blocks = append(blocks, estimate.Block{N: x.n, First: rep, Count: 1})
			}
		}
	}
	return blocks
}

// Left returns the number of missing trials of each size, as if none refuted the claim.
func (d *Decider) Left() (blocks []estimate.Block) {
	for _, x := range d.sizes {
		if left := x.limit - x.read - len(x.known) - len(x.lost); !x.done() {
			blocks = append(blocks, estimate.Block{N: x.n, Count: max(1, left)})
		}
	}
	return blocks
}

// Done reports whether every size is done.
func (d *Decider) Done() bool { return len(d.Needs()) == 0 }

// Result returns what was found so far. Its Audit holds the largest refuted numbers of all sizes.
func (d *Decider) Result() estimate.Result {
	r := estimate.Result{Status: estimate.StatusUndecided, Audit: &estimate.Audit{Low: map[string]float64{}}}
	failed, refuted := 0, 0
	var lost, infeasible string
	for _, x := range d.sizes {
		if x.read > 0 {
			r.Points = append(r.Points, estimate.Point{N: x.n, Consumed: x.read, Failed: x.failed})
		}
		r.Trials, failed = r.Trials+int64(x.read), failed+x.failed
		r.Audit.Pairs += int64(x.read / 2)
		r.Audit.Exact = max(r.Audit.Exact, x.exact)
		for _, p := range x.processes {
			r.Audit.Low[p.name] = max(r.Audit.Low[p.name], p.low())
			if p.refuted > refuted {
				refuted, r.Audit.Event = p.refuted, fmt.Sprintf("n = %d, %s", x.n, p.event)
			}
			if p.refuted == steps && r.Audit.Refuted == "" {
				r.Audit.Refuted = p.words
			}
		}
		infeasible = cmp.Or(x.infeasible, infeasible)
		if x.atLoss() && !x.refuted() && x.infeasible == "" {
			lost = fmt.Sprintf("a trial at n = %d was lost: %s", x.n, cmp.Or(x.lost[x.read], x.lost[x.read+1]))
		}
	}
	switch {
	case !d.Done():
	case lost != "":
		r.Reason = lost
	case r.Trials > 0 && int64(failed) == r.Trials:
		r.Status, r.Reason = estimate.StatusFailed, estimate.NoneRan
	case r.Trials == 0 && infeasible != "":
		r.Status, r.Reason = estimate.StatusInfeasible, infeasible
	default:
		r.Status = estimate.StatusDecided
	}
	return r
}
