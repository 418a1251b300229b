package coordinator

import (
	"math"
	"time"

	"github.com/shatterlab/shatter/coordinator/forecast"
)

// Progress tells where a run stands.
type Progress struct {
	Cells, Decided int
	Trials         int64          // outcomes of this run
	Known          int64          // outcomes that the ledger had before
	Served         int64          // outcomes from the cache
	PerSecond      float64        // trials, averaged over some ten seconds
	Left           *Left          // what is still to be done; nil: not known well enough to be told
	Work           forecast.Range // seconds of one slot that are still to be spent; see progress.work
	Slots          int            // that work, as far as is known
	Elapsed        time.Duration
	Failed         map[string]int64 // by kind
	First          []Failure        // the first of each kind
	Working        string           // the cell that was handed out last, in words
	Late           string           // the job that has run far longer than expected, in words; "": none
	Workers        int              // that are there
	Out, Again     int              // jobs that workers have, and those that wait to be sent again
	Unread         int              // results on the server that the ledger does not have yet
	NoWorkers      bool             // nobody is there who would work
	Stuck          string           // why nobody can run what comes next; "" where somebody can
	Refused        int64            // results of workers that were dropped
	Looks, Looked  int64            // trials to be looked at a second time, and those that were; 0 until that begins
}

// announcing is the time after the beginning of a run in which workers that are there may not have been
// heard of yet.
const announcing = 5 * time.Second

// Stands returns why nothing moves, in words; "" where it does.
func (p *Progress) Stands() string {
	switch {
	case !p.NoWorkers:
		return p.Stuck
	case p.Elapsed < announcing:
		return "no worker has announced itself yet"
	}
	return "no worker is there: start `shatter worker --server URL`"
}

// Left predicts what a run still takes.
type Left struct {
	Seconds forecast.Range // until its end
	Counted int64          // trials that will probably enter the table
}

// mostSpread is the ratio of the limits of a prediction from which on it is not worth telling.
const mostSpread = 10

// progress makes the progress of a run, with numbers that are calm from one look to the next.
type progress struct {
	grid     *grid
	tally    *tally
	jobs     *dispatcher
	outlooks *outlooks
	looks    *looks
	intake   *intake
	began    time.Time
	paused   time.Duration // by those who were told of the progress, perhaps with a question to a person

	rate     decayingRate
	foreseen time.Time      // when what follows was brought up to date; zero: never
	seconds  forecast.Range // left, smoothed
	total    total
}

// look returns the progress at a time.
func (p *progress) look(now time.Time) Progress {
	p.rate.add(now, p.began, p.tally.trials)
	out := Progress{
		Cells: len(p.grid.cells), Decided: len(p.grid.cells) - p.grid.open, Slots: p.jobs.slots,
		Trials: p.tally.trials, Known: p.tally.known, Served: p.tally.served,
		Elapsed: now.Sub(p.began), PerSecond: p.rate.perSecond(),
		Failed: map[string]int64{}, First: p.tally.listFailures(),
		Working: p.jobs.working, Late: p.jobs.crew.late(),
		Workers: len(p.jobs.crew.members), Out: len(p.jobs.crew.errands), Again: len(p.jobs.crew.waiting),
		Unread: p.jobs.crew.unread, Refused: p.intake.refused(),
		Looks: p.looks.pending, Looked: p.looks.looked,
	}
	out.NoWorkers, out.Stuck = p.jobs.crew.nobody(now)
	for kind, f := range p.tally.failures {
		out.Failed[kind] = f.Count
	}
	out.Left = p.left(now)
	out.Work = p.work()
	return out
}

// left predicts what is left: what the cells still have to run, weighted by what it costs, over the
// slots. The prediction is brought up to date once a second.
func (p *progress) left(now time.Time) *Left {
	if p.foreseen.IsZero() || now.Sub(p.foreseen) >= time.Second {
		p.outlooks.refresh(time.Now().Add(100 * time.Millisecond))
		p.total = p.outlooks.sum(p.looks.share)
		p.smooth(now, p.expected().Times(1/float64(p.jobs.slots)/p.busy(now)))
	}
	past := now.Sub(p.foreseen).Seconds()
	left := &Left{
		Seconds: p.seconds.Map(func(s float64) float64 { return max(1, s-past) }),
		Counted: int64(p.total.counted),
	}
	if p.seconds.Likely == 0 || left.Seconds.High > mostSpread*left.Seconds.Low {
		return nil
	}
	return left
}

// work returns what an autoscaler should follow: the seconds of one slot that the run still takes,
// as it was last predicted. While no trial has come back, nothing can be predicted; it is then one
// second for each open cell, so that the first worker is asked for.
func (p *progress) work() forecast.Range {
	seconds := p.expected()
	if p.grid.open > 0 && seconds.Likely == 0 {
		return exactly(float64(p.grid.open))
	}
	return seconds
}

// expected returns the seconds of one slot that the run still takes, as they were last predicted.
func (p *progress) expected() forecast.Range {
	seconds := p.affordable(p.total.seconds)
	if p.grid.open == 0 && p.looks.pending > 0 { // second looks are all that is left
		seconds = seconds.Times(1 - float64(p.looks.looked)/float64(p.looks.pending))
	}
	return seconds
}

// smooth takes a new prediction of the seconds left into the one that runs down. What was predicted
// while little was known is soon forgotten: the memory is a part of the time that the run has taken.
func (p *progress) smooth(now time.Time, left forecast.Range) {
	if p.seconds.Likely > 0 && left.Likely > 0 {
		dt := now.Sub(p.foreseen).Seconds()
		keep := math.Exp(-dt / min(5, now.Sub(p.began).Seconds()/5))
		mix := func(old, now float64) float64 {
			return math.Pow(max(0.1, old-dt), keep) * math.Pow(max(0.1, now), 1-keep)
		}
		left.Low, left.Likely = mix(p.seconds.Low, left.Low), mix(p.seconds.Likely, left.Likely)
		left.High = mix(p.seconds.High, left.High)
	}
	p.foreseen, p.seconds = now, left
}

// affordable returns the part of the predicted seconds that the budget allows.
func (p *progress) affordable(seconds forecast.Range) forecast.Range {
	switch b := p.jobs.budget; {
	case b.Trials > 0:
		left := float64(b.Trials - p.tally.trials)
		return seconds.Times(min(1, max(0, left)/max(1, p.total.counted)))
	case b.Time > 0:
		left := max(0, b.Time.Seconds()-p.tally.seconds)
		return seconds.Map(func(s float64) float64 { return min(s, left) })
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
