package coordinator

import (
	"math"
	"time"

	"github.com/shatterlab/shatter/coordinator/audit"
	"github.com/shatterlab/shatter/coordinator/forecast"
	"github.com/shatterlab/shatter/coordinator/pool"
)

// Progress describes how far a run is. Coordinators send it to `shatter status` as JSON.
type Progress struct {
	Cells, Decided int
	Trials         int64   // outcomes of this run
	Known          int64   // outcomes that the ledger had before
	Served         int64   // outcomes from the cache
	PerSecond      float64 // trials, averaged over about ten seconds
	Slots          int     // estimated number of slots that work
	Elapsed        time.Duration
	Failed         map[string]int64 // by kind
	First          []Failure        // the first of each kind
	Working        string           // the cell that was handed out last, in words
	pool.Status
	TimeLeft            *Remaining // predicted rest; nil: unknown
	SlotSecondsLeft     float64    // predicted seconds of one slot until the end; see progress.slotSecondsLeft
	Refused             int64      // results of workers that were dropped
	Rechecks, Rechecked int64      // trials to be rechecked, and those that were; 0 until that begins
}

// firstHeartbeat is the time after the beginning of a run in which heartbeats of running workers may not have
// arrived yet.
const firstHeartbeat = 5 * time.Second

// StallReason returns why no trials are running, in words; "": some are.
func (p *Progress) StallReason() string {
	switch {
	case !p.NoWorkers:
		return p.Stuck
	case p.Elapsed < firstHeartbeat:
		return "no heartbeat of a worker has arrived yet"
	}
	return "no worker is there: start `shatter worker --server URL`"
}

// Remaining predicts the rest of a run, within about a factor of two.
type Remaining struct {
	Seconds float64 // time until its end
	Counted int64   // trials that the table will count
}

// progress makes the progress of a run, with numbers that are calm from one look to the next.
type progress struct {
	grid    *grid
	tally   *tally
	jobs    *scheduler
	pool    *pool.Pool
	recheck *audit.Recheck
	intake  *intake
	began   time.Time
	shown   time.Time // when the progress was shown last

	rate     decayingRate
	foreseen time.Time // time of the prediction; zero: there is none
	rest     forecast.Work
}

// look returns the progress at a time.
func (p *progress) look(now time.Time) Progress {
	p.rate.add(now, p.began, p.tally.trials)
	out := Progress{
		Cells: len(p.grid.cells), Decided: len(p.grid.cells) - p.grid.open, Slots: p.jobs.slots,
		Trials: p.tally.trials, Known: p.tally.known, Served: p.tally.served,
		Elapsed: now.Sub(p.began), PerSecond: p.rate.perSecond(),
		Failed: map[string]int64{}, First: p.tally.listFailures(),
		Status: p.pool.Status(now), Refused: p.intake.refused(),
	}
	if r := p.jobs.last; r != nil {
		out.Working = r.Cell.DescriptionAt(r.N)
	}
	rechecks := p.recheck.Progress()
	out.Rechecks, out.Rechecked = rechecks.Due, rechecks.Done
	for kind, f := range p.tally.failures {
		out.Failed[kind] = f.Count
	}
	out.TimeLeft = p.timeLeft(now)
	out.SlotSecondsLeft = p.slotSecondsLeft()
	return out
}

// timeLeft divides the predicted work among the slots.
func (p *progress) timeLeft(now time.Time) *Remaining {
	if p.foreseen.IsZero() || now.Sub(p.foreseen) >= time.Second {
		p.foreseen, p.rest = now, p.grid.workLeft(p.tally)
	}
	work := p.expected()
	if work == 0 {
		return nil
	}
	seconds := work/float64(p.jobs.slots)/p.busy(now) - now.Sub(p.foreseen).Seconds()
	return &Remaining{Seconds: max(1, seconds), Counted: int64(p.rest.Trials)}
}

// slotSecondsLeft returns the number that an autoscaler should follow: the predicted seconds of one slot until the end
// of the run. Before the first outcome it is one second for each open cell, so that the first worker is asked for.
func (p *progress) slotSecondsLeft() float64 {
	if work := p.expected(); work > 0 {
		return work
	}
	return float64(p.grid.open)
}

// expected returns the predicted seconds of one slot until the end of the run, as far as the budget allows; 0
// before the first outcome.
func (p *progress) expected() float64 {
	seconds := p.rest.Seconds
	switch b := p.jobs.budget; {
	case p.grid.open == 0: // rechecks remain
		r := p.recheck.Progress()
		return float64(r.Due-r.Done) * p.tally.average()
	case b.Trials > 0:
		seconds *= min(1, max(0, float64(b.Trials-p.tally.trials))/max(1, p.rest.Trials))
	case b.Time > 0:
		seconds = min(seconds, max(0, b.Time.Seconds()-p.tally.seconds))
	}
	return seconds
}

// busy returns the share of the slots' time that goes into trials.
func (p *progress) busy(now time.Time) float64 {
	elapsed := now.Sub(p.began).Seconds()
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
