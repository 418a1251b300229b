package coordinator

import (
	"math"
	"slices"
	"time"

	"github.com/shatterlab/shatter/coordinator/forecast"
	"github.com/shatterlab/shatter/coordinator/pool"
)

// Progress describes how far a run is. Coordinators send it to `shatter status` as JSON.
type Progress struct {
	Cells, Decided int
	Trials         int64   // outcomes of this run
	Known          int64   // outcomes that the ledger had before this run
	Served         int64   // outcomes from the cache
	PerSecond      float64 // trials, averaged over about ten seconds
	Slots          int     // estimated number of slots that work
	Elapsed        time.Duration
	Failed         map[string]int64 // number of failed trials by kind
	First          []Failure        // first failure of each kind
	Working        string           // description of the cell that was requested last
	pool.Status
	TimeLeft            *Remaining // predicted remaining time; nil: unknown
	SlotSecondsLeft     float64    // predicted seconds of one slot until the end; see progress.slotSecondsLeft
	Refused             int64      // results of workers that were dropped
	Rechecks, Rechecked int64      // trials to recheck, and rechecked trials; 0 before rechecks begin
}

// firstHeartbeat is the time after the beginning of a run during which heartbeats of running
// workers may not have arrived yet.
const firstHeartbeat = 5 * time.Second

// StallReason returns the reason why no trials are running, in words; "": some are running.
func (p *Progress) StallReason() string {
	switch {
	case !p.NoWorkers:
		return p.Stuck
	case p.Elapsed < firstHeartbeat:
		return "no heartbeat of a worker has arrived yet"
	}
	return "no worker is running: start `shatter worker --server URL`"
}

// Remaining predicts the remaining time and trials of a run, within about a factor of two.
type Remaining struct {
	Seconds float64 // time until the end of the run
	Counted int64   // trials that the table will count
}

// progress computes the [Progress] of a run. Its numbers are smoothed over successive calls.
type progress struct {
	*state
	jobs   *scheduler
	intake *intake
	began  time.Time
	shown  time.Time // time of the last report

	rate      decayingRate
	predicted time.Time // time of the prediction; zero: none yet
	rest      forecast.Work
	ends      []prediction // predictions of the second half of the run so far
	opened    int          // number of open cells at the first report
}

// snapshot returns the progress at a time.
func (p *progress) snapshot(now time.Time) Progress {
	p.rate.add(now, p.began, p.tally.trials)
	p.opened = max(p.opened, p.grid.open)
	out := Progress{
		Cells: len(p.grid.cells), Decided: len(p.grid.cells) - p.grid.open, Slots: p.jobs.slots,
		Trials: p.tally.trials, Known: p.tally.known, Served: p.tally.served,
		Elapsed: now.Sub(p.began), PerSecond: p.rate.perSecond(),
		Failed: map[string]int64{}, First: sortedValues(p.tally.failures),
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

// A prediction of the end of a run.
type prediction struct{ at, end time.Time }

// Times in which predictions have to agree before the remaining time is shown.
const (
	minSettled = 5 * time.Second
	maxSettled = 5 * time.Minute
)

// maxExtrapolated bounds the remaining time that is shown, as a multiple of the elapsed time, until
// manyDecided cells were decided in this run.
const (
	maxExtrapolated = 10
	manyDecided     = 30
)

// timeLeft divides the predicted work among the slots. It returns nil if the predictions in the
// second half of the run so far differ by more than a factor of two. In the first half of a large
// sweep without a budget it extrapolates the rate of decided cells instead, whose order visits all axes.
func (p *progress) timeLeft(now time.Time) *Remaining {
	renewed := p.predicted.IsZero() || now.Sub(p.predicted) >= time.Second
	if renewed {
		p.predicted, p.rest = now, forecast.Work{}
		for _, w := range p.grid.workLeft(p.tally) {
			p.rest = p.rest.Plus(w)
		}
	}
	work := p.expected()
	if work == 0 {
		return nil
	}
	seconds := work/float64(p.jobs.slots)/p.busy(now) - now.Sub(p.predicted).Seconds()
	if renewed {
		p.ends = append(p.ends, prediction{now, now.Add(time.Duration(seconds * float64(time.Second)))})
	}
	elapsed := now.Sub(p.began)
	decided := p.opened - p.grid.open
	if !p.jobs.budget.Limited() && decided >= manyDecided && decided < p.grid.open && elapsed >= minSettled {
		cells := float64(p.grid.open) / float64(decided)
		return &Remaining{Seconds: elapsed.Seconds() * cells, Counted: int64(p.rest.Trials)}
	}
	settled := min(max(elapsed/2, minSettled), maxSettled)
	p.ends = slices.DeleteFunc(p.ends, func(e prediction) bool { return now.Sub(e.at) > settled })
	if elapsed < minSettled || len(p.ends) == 0 {
		return nil
	}
	byEnd := func(a, b prediction) int { return a.end.Compare(b.end) }
	first, last := slices.MinFunc(p.ends, byEnd).end.Sub(now), slices.MaxFunc(p.ends, byEnd).end.Sub(now)
	if first <= 0 || last > 2*first || last > maxExtrapolated*elapsed {
		return nil
	}
	return &Remaining{Seconds: seconds, Counted: int64(p.rest.Trials)}
}

// slotSecondsLeft returns the signal for an autoscaler: the predicted seconds of one slot until the
// end of the run. Before the first outcome it is one second per open cell, so that the autoscaler
// starts the first worker.
func (p *progress) slotSecondsLeft() float64 {
	if work := p.expected(); work > 0 {
		return work
	}
	return float64(p.grid.open)
}

// expected returns the predicted seconds of one slot until the end of the run, as far as the budget
// allows; 0 before the first outcome.
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

// busy returns the share of the slots' time that is spent on trials.
func (p *progress) busy(now time.Time) float64 {
	elapsed := now.Sub(p.began).Seconds()
	if elapsed < 3 {
		return 1 // plugins are starting
	}
	return min(max(p.tally.seconds/elapsed/float64(p.jobs.slots), 0.1), 1)
}

// decayingRate averages trials per second over about ten seconds with exponentially decaying
// weights.
type decayingRate struct {
	last         time.Time
	trials       int64   // trials at time last
	rate, weight float64 // rate: weighted sum of rates; weight: sum of the weights, at most 1
}

// add updates the rate with the trials since the last call; the first call counts from began.
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
