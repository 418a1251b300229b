package coordinator

import (
	"sort"
	"time"
)

// Progress is where a run stands.
type Progress struct {
	Cells, Decided int
	Trials         int64         // outcomes of this run
	Known          int64         // outcomes that the ledger had before
	Served         int64         // outcomes from the cache
	PerSecond      float64       // trials, since the start
	Remaining      time.Duration // a guess; 0: none yet
	Elapsed        time.Duration
	Failed         map[string]int64 // by kind
	Working        string           // the cell that was handed out last
	NoWorkers      bool             // nobody asks for work
}

// Failure is the first failed or lost trial of a kind.
type Failure struct {
	Kind   string `json:"kind"`
	Trial  string `json:"trial"`
	What   string `json:"what"` // algorithm and problem, in words
	Reason string `json:"reason"`
	Count  int64  `json:"count"`
}

type counts struct {
	known, trials int64
	served        int64 // from the cache
	failures      map[string]*Failure
	idle          bool
}

func newCounts() counts { return counts{failures: map[string]*Failure{}} }

func (n *counts) failure(c *cell, size, rep int64, kind, reason string) {
	f, ok := n.failures[kind]
	if !ok {
		f = &Failure{Kind: kind, Trial: c.TrialID(size, rep), What: c.words(), Reason: reason}
		n.failures[kind] = f
	}
	f.Count++
}

func (n *counts) list() []Failure {
	var out []Failure
	for _, f := range n.failures {
		out = append(out, *f)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Kind < out[j].Kind })
	return out
}

func (r *run) snapshot(now time.Time) Progress {
	elapsed := now.Sub(r.began)
	p := Progress{
		Cells: len(r.cells), Decided: len(r.cells) - r.open,
		Trials: r.counts.trials, Known: r.counts.known, Served: r.counts.served, Elapsed: elapsed,
		PerSecond: float64(r.counts.trials) / max(elapsed.Seconds(), 1e-3),
		Failed:    map[string]int64{}, Working: r.working, NoWorkers: r.counts.idle && len(r.jobs) > 0,
	}
	for kind, f := range r.counts.failures {
		p.Failed[kind] = f.Count
	}
	p.Remaining = r.remaining()
	return p
}

// remaining predicts the time left: what the lists of sample sizes still hold, and for each search that goes on as much
// as the decided ones took on average.
func (r *run) remaining() time.Duration {
	var left, spent float64
	var searched, searching int
	for _, c := range r.cells {
		cost := 0.0
		for _, s := range c.sizes {
			cost += s.seconds
		}
		switch {
		case c.Find == nil && !c.done:
			for _, b := range c.Want() {
				left += c.secondsPerTrial(b.N) * float64(b.Count)
			}
		case c.Find != nil && c.done:
			searched, spent = searched+1, spent+cost
		case c.Find != nil:
			searching, left = searching+1, left-cost
		}
	}
	if searching > 0 {
		if searched == 0 {
			return 0
		}
		left = max(0, left+spent/float64(searched)*float64(searching))
	}
	return time.Duration(left / float64(r.slots) * float64(time.Second)).Round(time.Second)
}
