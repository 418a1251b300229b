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
	fed      int64          // outcomes that the cell had when this was predicted
	measured bool           // the cell's own trials tell what one costs
	seconds  forecast.Range // of one slot
	counted  float64        // trials that will be read
}

// foreseen returns what was predicted of the cell, the zero value if nothing was.
func (c *cell) foreseen() outlook {
	if c.outlook == nil {
		return outlook{}
	}
	return *c.outlook
}

// outlooks predicts what the cells of a grid will still take.
type outlooks struct {
	grid      *grid
	forecasts *forecast.Forecaster
	next      int // cell whose prediction is looked at next

	unread map[unread][]*forecast.Course // the courses of searches that have read nothing
}

// unread tells apart what cells expect that have read nothing.
type unread struct {
	find  estimate.Find
	bound float64
	least int64
}

// refresh brings the predictions of cells up to date, as many as the deadline allows. The next call
// goes on with the others.
func (o *outlooks) refresh(deadline time.Time) {
	cells := o.grid.cells
	for range cells {
		o.next %= len(cells)
		c := cells[o.next]
		if !c.done && c.outlook.stale(c) {
			if !time.Now().Before(deadline) {
				return
			}
			predicted := o.predict(c)
			c.outlook = &predicted
		}
		o.next++
	}
}

// stale reports whether the cell has gone on noticeably since it was predicted.
func (o *outlook) stale(c *cell) bool {
	if c.ladder != nil {
		return true // other rungs go on
	}
	if c.Find == nil {
		return o == nil || o.fed != c.fed
	}
	return o == nil || float64(c.fed) > 1.05*float64(o.fed)
}

// predict returns what a cell will take from now to its end.
func (o *outlooks) predict(c *cell) outlook {
	cost := c.costs()
	out := outlook{fed: c.fed, measured: len(cost) > 0}
	low := func(n int64) float64 { l, _ := cost.limits(n); return l }
	high := func(n int64) float64 { _, h := cost.limits(n); return h }
	search, searches := c.decider.(*estimate.Search)
	var courses []*forecast.Course
	if searches {
		courses = o.courses(c, search)
	}
	if len(courses) == 0 {
		for _, b := range c.Left() {
			out.counted += float64(b.Count)
			one := forecast.Range{Likely: cost.at(b.N), Low: low(b.N), High: high(b.N)}
			out.seconds = out.seconds.Plus(one.Times(float64(b.Count)))
		}
		return out
	}
	left := func(seconds func(n int64) float64, ownError float64) (work []forecast.Work) {
		for _, sc := range courses {
			work = append(work, remaining(search, sc, c.jobRule(seconds), ownError))
		}
		slices.SortFunc(work, func(a, b forecast.Work) int { return cmp.Compare(a.Seconds, b.Seconds) })
		return work
	}
	likely, cut, third := left(cost.at, 1), len(courses)/8, len(courses)/3
	if out.measured {
		out.seconds.Low, out.seconds.High = left(low, 0.6)[cut].Seconds, left(high, 1.7)[len(likely)-1-cut].Seconds
	}
	middle := likely[third : len(likely)-third] // of more, the few long courses would outweigh the others
	for _, w := range middle {
		part := 1 / float64(len(middle))
		out.counted += w.Counted * part
		out.seconds.Likely += w.Seconds * part
	}
	return out
}

// trialsLeft predicts the trials that a cell will still read. It is a function of the outcomes alone,
// and stands in tables.
func (o *outlooks) trialsLeft(c *cell) (trials float64) {
	search, searches := c.decider.(*estimate.Search)
	if searches && len(search.Result().Points) == 0 {
		courses := o.courses(c, search)
		for _, sc := range courses {
			trials += sc.Trials() / float64(len(courses))
		}
		return trials
	}
	left := c.Left()
	if c.ladder != nil {
		left = c.ladder.search.Left()
	}
	for _, b := range left {
		trials += float64(b.Count)
	}
	return trials
}

// courses returns some courses that a search can take after what it has read. Cells that have read
// nothing mostly share theirs.
func (o *outlooks) courses(c *cell, s *estimate.Search) []*forecast.Course {
	read := s.Result().Points
	find, least := searchOf(c.Cell, o.grid.tests), c.leastSize()
	expected := func(points []estimate.Point) []*forecast.Course {
		weights := forecast.Beliefs(c.Cell, o.forecasts.Scenarios(find), points, least)
		return o.forecasts.Courses(find, weights, least, expectedCourses)
	}
	if len(read) == 0 {
		as := unread{find, forecast.Bound(c.Cell), least}
		known, ok := o.unread[as]
		if !ok {
			known = expected(nil)
			if o.unread == nil {
				o.unread = map[unread][]*forecast.Course{}
			}
			o.unread[as] = known
		}
		return known
	}
	var points []estimate.Point
	for _, p := range read {
		if !p.Spot {
			points = append(points, p)
		}
	}
	return expected(points)
}

// expectedCourses is the number of courses by which a running sweep predicts a search.
const expectedCourses = 12

// remaining returns what a search will still take if it goes on like a course. The more it has read
// the more it knows itself: from a third of its trials on, it says which are left before the spot
// checks. This is taken times ownError.
func remaining(s *estimate.Search, course *forecast.Course, jobs forecast.Jobs, ownError float64) forecast.Work {
	if s.Checking() {
		return jobs.Take(s.Left()).Times(ownError)
	}
	read := s.Result().Trials
	claims, spots := course.Rest(read, jobs)
	if read == 0 {
		return claims.Plus(spots)
	}
	own := jobs.Take(s.Left()).Times(ownError)
	share := min(1, 3*float64(read)/(float64(read)+claims.Counted+spots.Counted))
	return claims.Times(1 - share).Plus(own.Times(share)).Plus(spots)
}

// total is what all cells will probably still take.
type total struct {
	seconds forecast.Range // of one slot
	counted float64        // trials, see outlook
}

// sum adds the predictions up. Cells of which no trial has come back are taken to cost about what the
// others do on average; this may be wrong by a factor of 4 for one cell, and of 2 for many. share is
// that of the trials that are looked at a second time.
func (o *outlooks) sum(share float64) (t total) {
	unknown := 0
	for _, c := range o.grid.cells {
		if !c.done && !c.foreseen().measured {
			unknown++
		}
	}
	limits := max(2, 1+3/math.Sqrt(float64(unknown)))
	typical := o.typical()
	all, looks := 0.0, 0.0
	for _, c := range o.grid.cells {
		if share > 0 && c.fed > 0 {
			spent := c.spent()
			all += spent
			looks += lookFactor * spent / float64(c.fed) * max(leastLooks, share*float64(c.fed)/4)
			looks += forecast.LeastJob * leastSizes
		}
		switch {
		case c.done:
			continue
		case c.foreseen().measured:
			t.seconds = t.seconds.Plus(c.foreseen().seconds)
		default:
			t.seconds = t.seconds.Plus(forecast.Range{
				Likely: typical.Likely, Low: typical.Low / limits, High: typical.High * limits,
			})
		}
		t.counted += c.foreseen().counted
	}
	looks = min(looks, max(slowLooks, slowShare*(all+t.seconds.Likely)))
	t.seconds = t.seconds.Plus(exactly(looks))
	return t
}

// typical returns what a cell of which trials have come back costs on average, in seconds from its
// first trial to its end; 0 where there is no such cell. Its limits are those of all of them at once,
// for the others err as these do.
func (o *outlooks) typical() (seconds forecast.Range) {
	cells := 0
	for _, c := range o.grid.cells {
		if cost := c.spent(); cost > 0 {
			seconds, cells = seconds.Plus(exactly(cost)), cells+1
			if !c.done {
				seconds = seconds.Plus(c.foreseen().seconds)
			}
		}
	}
	return seconds.Times(1 / float64(max(cells, 1)))
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
	typical := o.typical().Likely
	for _, c := range o.grid.cells {
		if c.done {
			continue
		}
		seconds := c.foreseen().seconds.Likely
		if !c.foreseen().measured {
			seconds = typical
		}
		left = append(left, Undecided{
			Cell: c.Key.Short(), What: c.words(), Trials: int64(math.Ceil(c.foreseen().counted)), Seconds: seconds,
		})
	}
	slices.SortStableFunc(left, func(a, b Undecided) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(b.Trials, a.Trials))
	})
	return left
}
