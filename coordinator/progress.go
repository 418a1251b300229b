package coordinator

import (
	"math"
	"time"
)

// Progress tells where a run stands.
type Progress struct {
	Cells, Decided int
	Trials         int64         // outcomes of this run
	Known          int64         // outcomes that the ledger had before
	Served         int64         // outcomes from the cache
	PerSecond      float64       // trials, averaged over some ten seconds
	Remaining      time.Duration // predicted; 0: there is no prediction yet
	Settled        bool          // Remaining rests on trials of all cells that are not decided
	LeftTrials     int64         // that will probably still be read; 0 where Remaining is
	Slots          int           // that work, as far as is known
	Elapsed        time.Duration
	Failed         map[string]int64 // by kind
	First          []Failure        // the first of each kind
	Working        string           // the cell that was handed out last, in words
	NoWorkers      bool             // jobs are out and nobody asks for work
	Looks, Looked  int64            // trials to be looked at a second time, and those that were; 0 until that begins
}

// progress makes the progress of a run, with numbers that are calm from one look to the next.
type progress struct {
	grid     *grid
	tally    *tally
	jobs     *dispatcher
	outlooks *outlooks
	looks    *looks
	began    time.Time
	paused   time.Duration // by those who were told of the progress, perhaps with a question to a person

	rate     decayingRate
	foreseen time.Time // when what follows was brought up to date; zero: never
	left     float64   // seconds, smoothed
	trials   float64   // that will probably still be read
	settled  bool
}

// look returns the progress at a time.
func (p *progress) look(now time.Time) Progress {
	p.rate.add(now, p.began, p.tally.trials)
	out := Progress{
		Cells: len(p.grid.cells), Decided: len(p.grid.cells) - p.grid.open, Slots: p.jobs.slots,
		Trials: p.tally.trials, Known: p.tally.known, Served: p.tally.served,
		Elapsed: now.Sub(p.began), PerSecond: p.rate.perSecond(),
		Failed: map[string]int64{}, First: p.tally.listFailures(),
		Working: p.jobs.working, NoWorkers: p.jobs.idle && (len(p.jobs.jobs) > 0 || p.looks.pending > p.looks.looked),
		Looks: p.looks.pending, Looked: p.looks.looked,
	}
	for kind, f := range p.tally.failures {
		out.Failed[kind] = f.Count
	}
	out.Remaining, out.LeftTrials, out.Settled = p.remaining(now)
	return out
}

// remaining predicts the time left: what the cells still have to read, weighted by what it costs,
// over the slots. The prediction is brought up to date once a second.
func (p *progress) remaining(now time.Time) (left time.Duration, trials int64, settled bool) {
	if p.foreseen.IsZero() || now.Sub(p.foreseen) >= time.Second {
		p.outlooks.refresh(time.Now().Add(10 * time.Millisecond))
		var seconds float64
		seconds, p.trials, p.settled = p.outlooks.sum()
		p.smooth(now, p.affordable(seconds)/float64(p.jobs.slots)/p.busy(now))
	}
	left = time.Duration(max(0, p.left-now.Sub(p.foreseen).Seconds()) * float64(time.Second)).Round(time.Second)
	if p.left > 0 {
		left = max(left, time.Second)
	}
	if left == 0 {
		return 0, 0, false
	}
	return left, int64(p.trials), p.settled
}

// smooth takes a new prediction of the seconds left into the one that runs down.
func (p *progress) smooth(now time.Time, left float64) {
	if p.left > 0 && left > 0 {
		dt := now.Sub(p.foreseen).Seconds()
		keep := math.Exp(-dt / 5)
		left = float64(max(0, p.left-dt)*keep) + float64(left*(1-keep))
	}
	p.foreseen, p.left = now, left
}

// affordable returns the part of the predicted seconds that the budget allows.
func (p *progress) affordable(seconds float64) float64 {
	switch b := p.jobs.budget; {
	case b.Trials > 0:
		left := float64(b.Trials - p.tally.trials)
		return seconds * min(1, max(0, left)/max(1, p.trials))
	case b.Time > 0:
		return max(0, min(seconds, b.Time.Seconds()-p.tally.seconds))
	}
	return seconds
}

// busy returns the share of the slots' time that goes into trials.
func (p *progress) busy(now time.Time) float64 {
	elapsed := (now.Sub(p.began) - p.paused).Seconds()
	if elapsed < 3 {
		return 1 // plugins are starting
	}
	return min(max(p.tally.seconds/elapsed/float64(p.jobs.slots), 0.1), 1)
}

// decayingRate averages trials per second over some ten seconds: the weights of older ones decay
// exponentially.
type decayingRate struct {
	last         time.Time
	trials       int64   // at that time
	rate, weight float64 // weight is the share of a whole average that rate has
}

// add takes the trials since the last call into the rate. The first call counts from began on.
func (r *decayingRate) add(now, began time.Time, trials int64) {
	if r.last.IsZero() {
		r.last = began
	}
	dt := now.Sub(r.last).Seconds()
	if dt <= 0 {
		return
	}
	keep := math.Exp(-dt / 10)
	r.rate = float64(r.rate*keep) + float64(float64(trials-r.trials)/dt*(1-keep))
	r.weight = float64(r.weight*keep) + (1 - keep)
	r.last, r.trials = now, trials
}

func (r *decayingRate) perSecond() float64 {
	if r.weight == 0 {
		return 0
	}
	return r.rate / r.weight
}
