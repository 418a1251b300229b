package coordinator

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/shatterlab/shatter/coordinator/forecast"
	"github.com/shatterlab/shatter/pipeline/estimate"
)

// outlook is what a cell will probably still take.
type outlook struct {
	fed             int64 // outcomes that the cell had when this was predicted
	made            bool
	measured        bool // the cell's own trials tell what one costs
	seconds, trials float64
}

// outlooks predicts what the cells of a grid will still take.
type outlooks struct {
	grid      *grid
	forecasts forecast.Forecaster
	next      int // cell whose prediction is looked at next
}

// refresh brings the predictions of cells up to date, as many as the deadline allows. The next call
// goes on with the others.
func (o *outlooks) refresh(deadline time.Time) {
	cells := o.grid.cells
	for range cells {
		o.next %= len(cells)
		c := cells[o.next]
		if !c.done && (!c.outlook.made || c.outlook.fed != c.fed) {
			if !time.Now().Before(deadline) {
				return
			}
			c.outlook = o.predict(c)
		}
		o.next++
	}
}

// predict plays a cell on to its end.
func (o *outlooks) predict(c *cell) outlook {
	out := outlook{fed: c.fed, made: true}
	for _, s := range c.sizes {
		out.measured = out.measured || s.trials > 0
	}
	search, searches := c.decider.(*estimate.Search)
	if searches && len(search.Result().Points) == 0 {
		kind := forecast.Search{Find: searchOf(c.Cell, len(o.grid.cells)), Least: c.leastSize()}
		first := o.forecasts.First(c.Cell, kind)
		out.trials, out.seconds = first.Trials(), first.Cost(c.secondsPerTrial)
		return out
	}
	for _, b := range c.Left() {
		seconds := c.secondsPerTrial(b.N) * float64(b.Count)
		if searches {
			seconds = max(forecast.LeastJob, seconds)
		}
		out.seconds += seconds
		out.trials += float64(b.Count)
	}
	return out
}

// sum adds the predictions up. Cells of which no trial has come back are taken to cost what the
// others do on average; settled reports that there are none of these.
func (o *outlooks) sum() (seconds, trials float64, settled bool) {
	typical, known := o.typical()
	settled = known
	for _, c := range o.grid.cells {
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

// typical returns what a cell of which trials have come back costs on average, from its first trial
// to its end. known is false where there is no such cell.
func (o *outlooks) typical() (seconds float64, known bool) {
	cells := 0
	for _, c := range o.grid.cells {
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

// Undecided is a cell that a budget left over, with what deciding it would probably take.
type Undecided struct {
	Cell    string  `json:"cell"` // first digits of its key
	What    string  `json:"what"` // algorithm and problem, in words
	Trials  int64   `json:"trials"`
	Seconds float64 `json:"seconds"` // of one slot
}

// undecided lists the cells that are not done, the dearest first.
func (o *outlooks) undecided() (left []Undecided) {
	o.refresh(time.Now().Add(time.Minute))
	typical, _ := o.typical()
	for _, c := range o.grid.cells {
		if c.done {
			continue
		}
		seconds := c.outlook.seconds
		if !c.outlook.measured {
			seconds = typical
		}
		left = append(left, Undecided{
			Cell: c.Key.Short(), What: c.words(), Trials: int64(math.Ceil(c.outlook.trials)), Seconds: seconds,
		})
	}
	slices.SortStableFunc(left, func(a, b Undecided) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(b.Trials, a.Trials))
	})
	return left
}
