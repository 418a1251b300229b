package forecast

import (
	"cmp"
	"math"
	"math/rand/v2"
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

// Scenario is one course that a search can take: n* lies at star, where the logit of success has
// the given slope in ln n. Only likely scenarios are played.
type Scenario struct {
	star, slope float64
	prior       float64 // weight of the slope

	played sync.Once
	points []estimate.Point // trials that the search read, by sample size
	blocks []estimate.Block // the same in the order in which they were wanted
	spots  int              // index of the first block of the spot checks
	waits  []estimate.Block // runs of rounds whose largest sample size was N: Count of them
}

// Jobs says how trials are handed out: the rule of the dispatcher, for predictions.
type Jobs struct {
	Seconds func(n int64) float64 // that a trial takes
	Most    func(n int64) int     // trials that a job may have

	// Aims returns the least and the best length of a job in seconds. A shorter one runs on into later
	// repetitions.
	Aims func(n int64) (least, best float64)
}

// Fill returns the number of trials, at most most, that take the given time where one takes seconds.
func Fill(time, seconds float64, most int) int { return int(min(time/seconds, float64(most))) }

// Work is what a search takes.
type Work struct {
	Counted  float64 // trials that it reads
	Executed float64 // trials that are run for it: jobs run on, see Jobs
	Seconds  float64 // of one slot, for the executed ones
	Jobs     float64 // that carry them
}

// Plus adds two pieces of work.
func (w Work) Plus(v Work) Work {
	return Work{w.Counted + v.Counted, w.Executed + v.Executed, w.Seconds + v.Seconds, w.Jobs + v.Jobs}
}

// Times multiplies a piece of work.
func (w Work) Times(f float64) Work {
	return Work{w.Counted * f, w.Executed * f, w.Seconds * f, w.Jobs * f}
}

// Take returns the work of blocks of trials, one after the other. A block takes one job at least, and
// none if earlier jobs ran on over it.
func (j Jobs) Take(blocks []estimate.Block) (w Work) {
	var room [64]estimate.Block
	ran := room[:0] // of each size, the repetitions up to First
	for _, b := range blocks {
		w.Counted += float64(b.Count)
		end := b.First + b.Count
		size := slices.IndexFunc(ran, func(r estimate.Block) bool { return r.N == b.N })
		if size < 0 {
			size, ran = len(ran), append(ran, estimate.Block{N: b.N})
		}
		first := max(b.First, ran[size].First)
		if first >= end {
			continue
		}
		count, seconds := end-first, j.Seconds(b.N)
		least, best := j.Aims(b.N)
		if seconds > 0 {
			count = max(count, Fill(least, seconds, j.Most(b.N)))
		}
		ran[size].First = first + count
		w.Executed += float64(count)
		w.Seconds += float64(count) * seconds
		w.Jobs += max(1, float64(count)*seconds/best)
	}
	return w
}

// LeastJob is the time in seconds below which a job costs more to carry than to run.
const LeastJob = 0.001

// Negligible is the weight of a scenario that is too unlikely to be played.
const Negligible = 1e-4

const (
	scenarioGap = 1.12    // ratio of the n* of neighbouring scenarios
	mostStars   = 120     // different n* among the scenarios of one search
	mostTrials  = 200_000 // that are imagined at one sample size: more would cost more than they are worth
)

// slopes lists the slopes that learning curves have, with their prior weights.
var slopes = []struct{ slope, weight float64 }{
	{1.5, 0.05}, {2.2, 0.1}, {3, 0.2}, {4.5, 0.2}, {6.5, 0.2}, {9, 0.15}, {13, 0.1},
}

// scenarios lays out the courses of a search, with n* from below its range to far above it, where
// hardly a trial succeeds in the range.
func scenarios(find estimate.Find) (out []*Scenario) {
	first, last := math.Log(float64(find.From))-math.Ln2/2, math.Log(float64(find.To))+2*math.Ln2
	steps := min(mostStars, 1+int(math.Ceil((last-first)/math.Log(scenarioGap))))
	for i := range steps {
		star := math.Exp(first + (last-first)*float64(i)/float64(max(1, steps-1)))
		for _, s := range slopes {
			out = append(out, &Scenario{star: star, slope: s.slope, prior: s.weight})
		}
	}
	return out
}

// Play plays the search to its end with imagined outcomes, once.
func (sc *Scenario) Play(search Search) { sc.played.Do(func() { sc.play(search) }) }

func (sc *Scenario) play(search Search) {
	find := search.Find
	find.MaxTrials = min(find.MaxTrials, mostTrials)
	rng := rand.New(rand.NewPCG(math.Float64bits(sc.star), math.Float64bits(sc.slope)))
	s, err := estimate.NewSearch(find)
	if err != nil {
		return // a plan holds valid searches only
	}
	checking := false
	for !s.Done() {
		for _, n := range s.Needs() {
			if n < search.Least {
				s.Infeasible(n, "refused")
			}
		}
		if !checking && s.Checking() {
			checking, sc.spots = true, len(sc.blocks)
		}
		largest := int64(0)
		for _, b := range s.Want() {
			sc.blocks = append(sc.blocks, b)
			largest = max(largest, b.N)
			rate := sc.rate(b.N, find.Target)
			for i := range b.Count {
				o := estimate.Miss
				if rng.Float64() < rate {
					o = estimate.Success
				}
				s.Add(b.N, b.First+i, o)
			}
		}
		sc.countRound(largest)
	}
	if !checking {
		sc.spots = len(sc.blocks)
	}
	sc.points = s.Result().Points
}

// countRound counts a round of outcomes that the search waited for; n is the largest sample size in
// it.
func (sc *Scenario) countRound(n int64) {
	if last := len(sc.waits) - 1; last >= 0 && sc.waits[last].N == n {
		sc.waits[last].Count++
	} else if n > 0 {
		sc.waits = append(sc.waits, estimate.Block{N: n, Count: 1})
	}
}

// rate returns the chance of success at n. Its logit is a line in n, as it is where misses die out
// exponentially; at star the chance is target.
func (sc *Scenario) rate(n int64, target float64) float64 {
	return 1 / (1 + (1-target)/target*math.Exp(-sc.slope*(float64(n)/sc.star-1)))
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
func Beliefs(c *trial.Cell, all []*Scenario, shown []estimate.Point, least int64) []float64 {
	weights, best := make([]float64, len(all)), math.Inf(-1)
	bound := Bound(c)
	for i, sc := range all {
		w := math.Log(sc.prior * priorWeight(sc.star, c.Find, bound))
		if sc.star < float64(least)/scenarioGap {
			w -= 50 // refused sizes are insufficient
		}
		for _, p := range shown {
			w -= deviance(p, sc.rate(p.N, 1-c.Beta)) * nearness(p.N, sc.star)
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

// nearness discounts trials far from n*: they tell on which side it lies, but little about the
// slope there.
func nearness(n int64, star float64) float64 {
	x := math.Log(float64(n)/star) / 0.5
	return max(0.3, 1/(1+x*x))
}

// Median returns the n* below which half of the weight lies. The scenarios are in the order of n*.
func Median(all []*Scenario, weights []float64) float64 {
	sum := 0.0
	for i, w := range weights {
		if sum += w; sum >= 0.5 {
			return all[i].star
		}
	}
	return all[len(all)-1].star
}

// Spread returns the range of a quantity over weighted scenarios. The expected value is the mean
// between the limits: what lies beyond them is rare, and too far off to be believed.
func Spread(all []*Scenario, weights []float64, quantity func(*Scenario) float64) (r Range) {
	type weighted struct{ value, weight float64 }
	var values []weighted
	for i, sc := range all {
		if weights[i] >= Negligible {
			values = append(values, weighted{quantity(sc), weights[i]})
		}
	}
	slices.SortFunc(values, func(a, b weighted) int { return cmp.Compare(a.value, b.value) })
	sum, inside := 0.0, 0.0
	for i, v := range values {
		within := min(sum+v.weight, 0.9) - max(sum, 0.1)
		if within > 0 {
			if inside == 0 {
				r.Low = values[i].value
			}
			r.High = v.value
			r.Likely, inside = r.Likely+float64(within*v.value), inside+within
		}
		sum += v.weight
	}
	r.Likely /= max(inside, 1e-300)
	return r
}

// Search identifies a kind of search: what is looked for, and the first sample size that the
// algorithm does not refuse.
type Search struct {
	Find  estimate.Find
	Least int64
}

// Forecaster keeps the scenarios of each kind of search, which the cells of a grid mostly share. Its
// zero value is ready for use. Several runs may share one.
type Forecaster struct {
	mu    sync.Mutex
	known map[Search][]*Scenario
}

// Scenarios returns the scenarios of a search, in the order of n*.
func (f *Forecaster) Scenarios(s Search) []*Scenario {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil {
		f.known = map[Search][]*Scenario{}
	}
	if f.known[s] == nil {
		f.known[s] = scenarios(s.Find)
	}
	return f.known[s]
}

// Typical returns some of the scenarios, or near ones, at evenly spaced quantiles of their weights.
// They have been played.
func (f *Forecaster) Typical(s Search, weights []float64) (some []*Scenario) {
	all, sum := f.Scenarios(s), 0.0
	for i, w := range weights {
		for sum += w; len(some) < typical && sum*typical > float64(len(some))+0.5; {
			sc := all[representative(i, len(all))]
			sc.Play(s)
			some = append(some, sc)
		}
	}
	return some
}

const typical = 6 // scenarios that stand for all

// representative returns the index of a scenario like that at i: there are few of these, so that few
// are played while a sweep runs.
func representative(i, scenarios int) int {
	const stars = 4
	star, slope := i/len(slopes), i%len(slopes)
	star = min(star/stars*stars+stars/2, scenarios/len(slopes)-1)
	return star*len(slopes) + [...]int{1, 1, 3, 3, 3, 5, 5}[slope]
}

// Work returns what the whole search takes.
func (sc *Scenario) Work(jobs Jobs) Work { return jobs.Take(sc.blocks) }

// Rest returns what the search takes after it has read that many trials: until it has its bracket,
// and for the spot checks outside of it.
func (sc *Scenario) Rest(read int64, jobs Jobs) (claims, spots Work) {
	i := 0
	for ; i < sc.spots && read > 0; i++ {
		read -= int64(sc.blocks[i].Count)
	}
	return jobs.Take(sc.blocks[i:sc.spots]), jobs.Take(sc.blocks[sc.spots:])
}

// Path returns the time in seconds that the search takes however many slots work on it: its rounds
// follow one another.
func (sc *Scenario) Path(seconds func(n int64) float64) float64 {
	sum := 0.0
	for _, w := range sc.waits {
		sum += seconds(w.N) * float64(w.Count)
	}
	return sum
}

// Trials returns the number of trials that the search reads.
func (sc *Scenario) Trials() float64 {
	sum := 0.0
	for _, p := range sc.points {
		sum += float64(p.Consumed)
	}
	return sum
}

// Sizes returns the number of sample sizes that the search reads.
func (sc *Scenario) Sizes() float64 { return float64(len(sc.points)) }
