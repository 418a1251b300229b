package forecast

import (
	"math"
	"slices"
	"sync"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// Range is a predicted quantity: the expected value, and two limits between which it lies four
// times in five if the assumptions of the prediction hold.
type Range struct{ Likely, Low, High float64 }

// Plus adds two quantities as if both erred in one direction.
func (r Range) Plus(s Range) Range {
	return Range{Likely: r.Likely + s.Likely, Low: r.Low + s.Low, High: r.High + s.High}
}

// Times multiplies a quantity by f, which is at least 0.
func (r Range) Times(f float64) Range {
	return r.Map(func(x float64) float64 { return x * f })
}

// Map returns the quantity that f makes of this one, which ascends as it does.
func (r Range) Map(f func(float64) float64) Range {
	return Range{Likely: f(r.Likely), Low: f(r.Low), High: f(r.High)}
}

// Scenario is one way in which success may grow with the sample: it reaches the target at star, and
// grows there like shape.
type Scenario struct {
	star  float64
	shape int // index of its shape
}

// A Course is one way through a search: the trials that it reads.
type Course struct {
	blocks []estimate.Block // in the order in which they are wanted
	spots  int              // index of the first block of the spot checks
	waits  []estimate.Block // runs of rounds whose largest sample size was N: Count of them
	sizes  int              // sample sizes that are read
}

// Jobs says how trials are handed out: the rule of the dispatcher, for predictions.
type Jobs struct {
	Seconds func(n int64) float64 // that a trial takes
	Best    func(n int64) float64 // best length of a job in seconds
}

// Work is what a search takes.
type Work struct {
	Counted float64 // trials that it reads
	Seconds float64 // of one slot
	Jobs    float64 // that carry them
}

// Plus adds two pieces of work.
func (w Work) Plus(v Work) Work {
	return Work{w.Counted + v.Counted, w.Seconds + v.Seconds, w.Jobs + v.Jobs}
}

// Times multiplies a piece of work.
func (w Work) Times(f float64) Work {
	return Work{w.Counted * f, w.Seconds * f, w.Jobs * f}
}

// Take returns the work of blocks of trials, one after the other. A block takes one job at least.
func (j Jobs) Take(blocks []estimate.Block) (w Work) {
	for _, b := range blocks {
		seconds := float64(b.Count) * j.Seconds(b.N)
		w.Counted += float64(b.Count)
		w.Seconds += seconds
		w.Jobs += max(1, seconds/j.Best(b.N))
	}
	return w
}

// LeastJob is the time in seconds below which a job costs more to carry than to run.
const LeastJob = 0.001

const (
	scenarioGap = 1.12    // ratio of the n* of neighbouring scenarios
	mostStars   = 120     // different n* among the scenarios of one search
	mostTrials  = 200_000 // that are imagined at one sample size: more would cost more than they are worth
)

// scenarios lays out what may hold of a search, with n* from below its range to far above it, where
// hardly a trial succeeds in the range.
func scenarios(find estimate.Find) (out []Scenario) {
	first, last := math.Log(float64(find.From))-math.Ln2/2, math.Log(float64(find.To))+2*math.Ln2
	steps := min(mostStars, 1+int(math.Ceil((last-first)/math.Log(scenarioGap))))
	for i := range steps {
		star := math.Exp(first + (last-first)*float64(i)/float64(max(1, steps-1)))
		for shape := range shapes {
			out = append(out, Scenario{star, shape})
		}
	}
	return out
}

// rate returns the chance of success at n; at star it is target.
func (sc Scenario) rate(n int64, target float64) float64 {
	return shapes[sc.shape].rate(float64(n)/sc.star, target)
}

// priorWeight weighs n* = star against other values, which are spaced evenly in ln n, before any
// trial; bound is the least one that is proved, +Inf if there is none. A proved bound inside the
// range is an upper one, and mostly several times too large: n* is hardly ever above it, and below
// it becomes rarer with the distance. A bound beyond the range, like those of proofs that do not
// care for constants, says nothing.
func priorWeight(star float64, find *trial.Find, bound float64) float64 {
	switch {
	case !(bound >= float64(find.From) && bound <= float64(find.To)):
		return 1
	case star <= bound:
		return math.Sqrt(star / bound)
	}
	beyond := bound / star
	return beyond * beyond * beyond
}

// Beliefs weighs the scenarios of a cell's search by the prior and by what trials have shown. The
// weights sum to 1. The algorithm refuses sample sizes below least.
func Beliefs(c *trial.Cell, all []Scenario, shown []estimate.Point, least int64) []float64 {
	weights, best := make([]float64, len(all)), math.Inf(-1)
	bound, target := Bound(c), 1-c.Beta
	for i, sc := range all {
		w := math.Log(shapes[sc.shape].weight * priorWeight(sc.star, c.Find, bound))
		if sc.star < float64(least)/scenarioGap {
			w -= 50 // refused sizes are insufficient
		}
		for _, p := range shown {
			if w > best-hopeless {
				w -= surprise(p, sc, target)
			}
		}
		weights[i], best = w, max(best, w)
	}
	sum := 0.0
	for i, w := range weights {
		weights[i] = math.Exp(w - best)
		sum += weights[i]
	}
	for i := range weights {
		weights[i] /= sum
	}
	return weights
}

// Bound returns the least bound of a cell that is proved and holds, +Inf where there is none.
func Bound(c *trial.Cell) float64 {
	if b, _ := c.LeastBound(); b != nil {
		return b.GetValue()
	}
	return math.Inf(1)
}

// deviance returns the logarithm of the likelihood of p at the rate of success that was seen, less
// that at the given rate.
func deviance(p estimate.Point, rate float64) float64 {
	n, seen := float64(p.Consumed), float64(p.Successes)/float64(p.Consumed)
	rate = min(max(rate, 0.003), 0.997) // rates follow no curve to its very ends
	sum := 0.0
	if seen > 0 {
		sum += n * seen * math.Log(seen/rate)
	}
	if seen < 1 {
		sum += n * (1 - seen) * math.Log((1-seen)/(1-rate))
	}
	return sum
}

// surprise says how much the trials at a sample size speak against a scenario. Its shape holds near
// n*, and further away with less probability; where it does not hold, the rate may be any on this side
// of the target, as that of guessing. Trials count for no more than trustedTrials, because no rate is of
// such a shape exactly.
func surprise(p estimate.Point, sc Scenario, target float64) float64 {
	trust := min(1, trustedTrials/float64(p.Consumed))
	x := math.Log(float64(p.N) / sc.star)
	holds := max(leastTrust, 1/(1+x*x))
	other, seen := anyRate, float64(p.Successes)/float64(p.Consumed)
	if (float64(p.N) < sc.star) == (seen > target) {
		other *= math.Exp(-trust * deviance(p, target))
	}
	return -math.Log(holds*math.Exp(-trust*deviance(p, sc.rate(p.N, target))) + (1-holds)*other)
}

const (
	hopeless      = 30   // logarithm of a likelihood ratio beyond which nothing needs to be known exactly
	trustedTrials = 250  // at one sample size
	leastTrust    = 0.25 // probability that a shape holds far from n*
	anyRate       = 0.08 // likelihood of what was seen over that of the best rate, where all are likely
)

// Median returns the n* below which half of the weight lies. The scenarios are in the order of n*.
func Median(all []Scenario, weights []float64) float64 {
	sum := 0.0
	for i, w := range weights {
		if sum += w; sum >= 0.5 {
			return all[i].star
		}
	}
	return all[len(all)-1].star
}

// Spread returns the range of a quantity over courses that are equally likely. The expected value is
// the mean of the middle half: what lies beyond the limits is rare, and too far off to be believed.
func Spread(courses []*Course, quantity func(*Course) float64) (r Range) {
	values := make([]float64, len(courses))
	for i, c := range courses {
		values[i] = quantity(c)
	}
	slices.Sort(values)
	tenth, quarter := len(values)/10, len(values)/4
	middle := values[quarter : len(values)-quarter]
	for _, v := range middle {
		r.Likely += v / float64(len(middle))
	}
	r.Low, r.High = values[tenth], values[len(values)-1-tenth]
	return r
}

// Forecaster keeps what is known of searches, which the cells of a grid mostly share. Its zero value is
// ready for use. Several runs may share one.
type Forecaster struct {
	plays plays

	mu        sync.Mutex
	scenarios map[estimate.Find][]Scenario
}

// Scenarios returns the scenarios of a search, in the order of n*.
func (f *Forecaster) Scenarios(find estimate.Find) []Scenario {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.scenarios == nil {
		f.scenarios = map[estimate.Find][]Scenario{}
	}
	if f.scenarios[find] == nil {
		f.scenarios[find] = scenarios(find)
	}
	return f.scenarios[find]
}

// Courses returns a number of courses that a search may take, all of them equally likely where its
// scenarios have these weights. Sizes below least are refused.
func (f *Forecaster) Courses(find estimate.Find, weights []float64, least int64, number int) (some []*Course) {
	all, sum := f.Scenarios(find), 0.0
	turns := map[float64]int{} // that scenarios of a slope have taken
	for i, w := range weights {
		for sum += w; len(some) < number && sum*float64(number) > float64(len(some))+0.5; {
			slope := shapes[all[i].shape].slope
			some = append(some, f.plays.course(find, all[i], turns[slope], least))
			turns[slope]++
		}
	}
	return some
}

// Work returns what the whole search takes.
func (c *Course) Work(jobs Jobs) Work { return jobs.Take(c.blocks) }

// Rest returns what the search takes after it has read that many trials: until it has its bracket,
// and for the spot checks outside of it.
func (c *Course) Rest(read int64, jobs Jobs) (claims, spots Work) {
	i := 0
	for ; i < c.spots && read > 0; i++ {
		read -= int64(c.blocks[i].Count)
	}
	return jobs.Take(c.blocks[i:c.spots]), jobs.Take(c.blocks[c.spots:])
}

// Path returns the time in seconds that the search takes however many slots work on it: its rounds
// follow one another.
func (c *Course) Path(seconds func(n int64) float64) float64 {
	sum := 0.0
	for _, w := range c.waits {
		sum += seconds(w.N) * float64(w.Count)
	}
	return sum
}

// Trials returns the number of trials that the search reads.
func (c *Course) Trials() float64 {
	sum := 0.0
	for _, b := range c.blocks {
		sum += float64(b.Count)
	}
	return sum
}

// Sizes returns the number of sample sizes that the search reads.
func (c *Course) Sizes() float64 { return float64(c.sizes) }
