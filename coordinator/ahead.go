package coordinator

import "github.com/shatterlab/shatter/pipeline/estimate"

// ahead keeps account of repetitions that jobs were let run on into and that no search has asked for
// yet. Those that are asked for later were no waste. The zero value has none.
type ahead struct {
	seconds float64 // of all, as predicted; those of cells that were decided without them stay
	runs    map[aheadAt]aheadRun
}

type aheadAt struct {
	cell *cell
	n    int64
}

// aheadRun is how far jobs ran on at one sample size of a cell.
type aheadRun struct {
	end     int // the first repetition that was not run
	seconds float64
}

// add notes that the last more repetitions of a block were handed out ahead of time.
func (a *ahead) add(c *cell, b estimate.Block, more int) {
	if more <= 0 {
		return
	}
	if a.runs == nil {
		a.runs = map[aheadAt]aheadRun{}
	}
	seconds := believable(c.secondsPerTrial(b.N) * float64(more))
	a.seconds += seconds
	a.runs[aheadAt{c, b.N}] = aheadRun{b.First + b.Count, a.runs[aheadAt{c, b.N}].seconds + seconds}
}

// reach notes that a search asks for a block: what lies before it is needed.
func (a *ahead) reach(c *cell, b estimate.Block) {
	at := aheadAt{c, b.N}
	if run, ok := a.runs[at]; ok && b.First >= run.end {
		a.seconds -= run.seconds
		delete(a.runs, at)
	}
}

// settle gives up hope for repetitions of cells that are decided.
func (a *ahead) settle() {
	for at := range a.runs {
		if at.cell.done {
			delete(a.runs, at)
		}
	}
}
