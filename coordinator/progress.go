package coordinator

import (
	"math"
	"sort"
	"time"

	"github.com/shatterlab/shatter/pipeline/estimate"
)

// Progress is where a run stands.
type Progress struct {
	Cells, Decided int
	Trials         int64         // outcomes of this run
	Known          int64         // outcomes that the ledger had before
	Served         int64         // outcomes from the cache
	PerSecond      float64       // trials, lately
	Remaining      time.Duration // a guess; 0: none yet
	Settled        bool          // Remaining rests on trials of all cells that are not decided
	LeftTrials     int64         // that will probably still be read; 0 where Remaining is
	Slots          int           // that work, as far as is known
	Elapsed        time.Duration
	Failed         map[string]int64 // by kind
	First          []Failure        // the first of each kind
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
	served        int64   // from the cache
	seconds       float64 // of trials of this run, as workers report them
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
	r.pace.look(now, r.began, r.counts.trials)
	p := Progress{
		Cells: len(r.cells), Decided: len(r.cells) - r.open, Slots: r.slots,
		Trials: r.counts.trials, Known: r.counts.known, Served: r.counts.served, Elapsed: now.Sub(r.began), PerSecond: r.pace.perSecond(),
		Failed: map[string]int64{}, First: r.counts.list(), Working: r.working, NoWorkers: r.counts.idle && len(r.jobs) > 0,
	}
	for kind, f := range r.counts.failures {
		p.Failed[kind] = f.Count
	}
	p.Remaining, p.LeftTrials, p.Settled = r.remaining(now)
	return p
}

// pace is what progress remembers from one look to the next, so that its numbers are calm.
type pace struct {
	at           time.Time // of the last look
	trials       int64     // then
	rate, weight float64   // trials a second and its share of a whole average, with ages weighted exponentially

	foreseen   time.Time // when left was brought up to date
	left       float64   // seconds, smoothed
	leftTrials float64
	settled    bool
	next       int           // cell whose prediction is looked at next
	paused     time.Duration // by those who were told, perhaps with a question to a person
}

// look takes part of the trials since the last look into the rate, which forgets within some ten seconds.
func (p *pace) look(now, began time.Time, trials int64) {
	if p.at.IsZero() {
		p.at = began
	}
	dt := now.Sub(p.at).Seconds()
	if dt <= 0 {
		return
	}
	keep := math.Exp(-dt / 10)
	p.rate = float64(p.rate*keep) + float64(float64(trials-p.trials)/dt*(1-keep))
	p.weight = float64(p.weight*keep) + (1 - keep)
	p.at, p.trials = now, trials
}

func (p *pace) perSecond() float64 {
	if p.weight == 0 {
		return 0
	}
	return p.rate / p.weight
}

// smooth takes a new prediction of the time left into the one that runs down.
func (p *pace) smooth(now time.Time, left float64) {
	if p.left > 0 && left > 0 {
		dt := now.Sub(p.foreseen).Seconds()
		keep := math.Exp(-dt / 5)
		left = float64(max(0, p.left-dt)*keep) + float64(left*(1-keep))
	}
	p.foreseen, p.left = now, left
}

// remaining predicts the time left: what the cells still have to read, weighted by what it costs, over the slots. It is looked at once a second.
func (r *run) remaining(now time.Time) (left time.Duration, trials int64, settled bool) {
	p := &r.pace
	if p.foreseen.IsZero() || now.Sub(p.foreseen) >= time.Second {
		r.foresee(time.Now().Add(10 * time.Millisecond))
		var seconds float64
		seconds, p.leftTrials, p.settled = r.outlook()
		p.smooth(now, r.affordable(seconds)/float64(r.slots)/r.busy(now))
	}
	left = time.Duration(max(0, p.left-now.Sub(p.foreseen).Seconds()) * float64(time.Second)).Round(time.Second)
	if p.left > 0 {
		left = max(left, time.Second)
	}
	if left == 0 {
		return 0, 0, false
	}
	return left, int64(p.leftTrials), p.settled
}

// busy is the share of the slots' time that goes into trials.
func (r *run) busy(now time.Time) float64 {
	elapsed := (now.Sub(r.began) - r.pace.paused).Seconds()
	if elapsed < 3 {
		return 1 // plugins are starting
	}
	return min(max(r.counts.seconds/elapsed/float64(r.slots), 0.1), 1)
}

// outlook is what a cell will probably still take.
type outlook struct {
	fed             int64 // outcomes that it had when this was predicted
	made, measured  bool  // measured: its own trials say what one costs
	seconds, trials float64
}

// foresee brings the predictions of cells up to date, as many as the deadline allows; the next call goes on with the others.
func (r *run) foresee(deadline time.Time) {
	for range r.cells {
		r.pace.next %= len(r.cells)
		c := r.cells[r.pace.next]
		if !c.done && (!c.outlook.made || c.outlook.fed != c.fed) {
			if !time.Now().Before(deadline) {
				return
			}
			c.outlook = r.predict(c)
		}
		r.pace.next++
	}
}

// predict plays a cell on to its end.
func (r *run) predict(c *cell) outlook {
	o := outlook{fed: c.fed, made: true}
	for _, s := range c.sizes {
		o.measured = o.measured || s.trials > 0
	}
	search, searches := c.decider.(*estimate.Search)
	if searches && len(search.Result().Points) == 0 {
		first := r.forecasts.first(c.Cell, forecast{searchOf(c.Cell, len(r.cells)), c.least()})
		o.trials, o.seconds = first.trials(), first.cost(c.secondsPerTrial)
		return o
	}
	for _, b := range c.Left() {
		seconds := c.secondsPerTrial(b.N) * float64(b.Count)
		if searches {
			seconds = max(leastJob, seconds)
		}
		o.seconds += seconds
		o.trials += float64(b.Count)
	}
	return o
}

// least is the first sample size that the algorithm does not refuse, as far as it was asked.
func (c *cell) least() int64 {
	least := int64(1)
	for n, a := range c.answers {
		if a.infeasible != "" {
			least = max(least, n+1)
		}
	}
	return least
}

// outlook sums the predictions up. Cells of which no trial has come back are taken to cost what the others do on average.
func (r *run) outlook() (seconds, trials float64, settled bool) {
	typical, known := r.typical()
	settled = known
	for _, c := range r.cells {
		switch {
		case c.done:
			continue
		case c.outlook.measured:
			seconds += c.outlook.seconds
		default:
			seconds += typical
			settled = false
		}
		trials += c.outlook.trials
	}
	return seconds, trials, settled
}

// typical is what a cell of which trials have come back costs on average, from its first trial to its end.
func (r *run) typical() (seconds float64, known bool) {
	cells := 0
	for _, c := range r.cells {
		cost := 0.0
		for _, s := range c.sizes {
			cost += s.seconds
		}
		switch {
		case c.done && cost > 0:
			seconds, cells = seconds+cost, cells+1
		case !c.done && c.outlook.measured:
			seconds, cells = seconds+cost+c.outlook.seconds, cells+1
		}
	}
	return seconds / float64(max(cells, 1)), cells > 0
}

// Left is what a list of sample sizes still holds.
func (l *list) Left() (blocks []estimate.Block) {
	for _, s := range l.sizes {
		if l.open(s) {
			blocks = append(blocks, estimate.Block{N: s.N, Count: l.trials - s.Consumed - len(s.lost)})
		}
	}
	return blocks
}
