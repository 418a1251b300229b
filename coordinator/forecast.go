package coordinator

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/shatterlab/shatter/pipeline/estimate"

	"github.com/shatterlab/shatter/pipeline/trial"
)

// Range is a predicted quantity: what is expected, and two limits between which it lies four times in five if the assumptions of the
// prediction hold.
type Range struct{ Likely, Low, High float64 }

func (r Range) plus(s Range) Range {
	return Range{Likely: r.Likely + s.Likely, Low: r.Low + s.Low, High: r.High + s.High} // as if all cells erred in one direction
}

func (r Range) times(f float64) Range {
	return Range{Likely: r.Likely * f, Low: r.Low * f, High: r.High * f}
}

// scenario is one course that a search can take: n* lies at star, where the logit of success has that slope in ln n.
type scenario struct {
	star, slope float64
	prior       float64 // weight of the slope

	played bool // only those that are likely are played
	points []estimate.Point
	waits  []estimate.Block // times that it had to wait for outcomes, by the largest size of which it did
}

const (
	scenarioGap = 1.12 // ratio of the n* of neighbouring scenarios
	mostSteps   = 120  // n* of one search, at most
	mostTrials  = 200_000
	negligible  = 1e-4 // weight of a scenario that is not played
)

// slopes that learning curves have, with their prior weights.
var slopes = []struct{ slope, weight float64 }{{1.5, 0.05}, {2.2, 0.1}, {usualSlope, 0.2}, {4.5, 0.2}, {6.5, 0.2}, {9, 0.15}, {13, 0.1}}

const usualSlope = 3 // where nothing is known

// scenarios lays out the courses of a search with n* from below its range to above it.
func scenarios(find estimate.Find) (out []*scenario) {
	first, last := math.Log(float64(find.From))-math.Ln2/2, math.Log(float64(find.To))+math.Ln2/2
	steps := min(mostSteps, 1+int(math.Ceil((last-first)/math.Log(scenarioGap))))
	for i := range steps {
		star := math.Exp(first + (last-first)*float64(i)/float64(max(1, steps-1)))
		for _, s := range slopes {
			out = append(out, &scenario{star: star, slope: s.slope, prior: s.weight})
		}
	}
	return out
}

// play imagines the search to its end, once. least is the first size that the algorithm does not refuse.
func (sc *scenario) play(find estimate.Find, least int64) {
	if sc.played {
		return
	}
	sc.played = true
	find.MaxTrials = min(find.MaxTrials, mostTrials) // beyond that the imagination costs more than it is worth
	rng := rand.New(rand.NewPCG(math.Float64bits(sc.star), math.Float64bits(sc.slope)))
	s, err := estimate.NewSearch(find)
	if err != nil {
		return // the plan has searches only that can be
	}
	for !s.Done() {
		for _, n := range s.Needs() {
			if n < least {
				s.Infeasible(n, "refused")
			}
		}
		wait := int64(0)
		for _, b := range s.Want() {
			wait = max(wait, b.N)
			rate := sc.rate(b.N, find.Target)
			for i := range b.Count {
				o := estimate.Miss
				if rng.Float64() < rate {
					o = estimate.Success
				}
				s.Add(b.N, b.First+i, o)
			}
		}
		sc.wait(wait)
	}
	sc.points = s.Result().Points
}

func (sc *scenario) wait(n int64) {
	if last := len(sc.waits) - 1; last >= 0 && sc.waits[last].N == n {
		sc.waits[last].Count++
	} else if n > 0 {
		sc.waits = append(sc.waits, estimate.Block{N: n, Count: 1})
	}
}

// rate is the chance of success at n: its logit is a line in n, as where misses die out exponentially, and that of target at star.
func (sc *scenario) rate(n int64, target float64) float64 {
	return 1 / (1 + (1-target)/target*math.Exp(-sc.slope*(float64(n)/sc.star-1)))
}

// priorWeight says how probable n* = star is beside others, on a logarithmic scale, before any trial. A proved bound inside the range is an
// upper one, and mostly some times too large: above it n* can hardly be, and below it becomes rarer with the distance. A bound beyond the
// range, as those of proofs that did not care for constants, says nothing.
func priorWeight(star float64, c *trial.Cell) float64 {
	bound := math.Inf(1)
	for _, b := range c.Bounds {
		if b.Proved {
			bound = min(bound, b.Value)
		}
	}
	switch {
	case !(bound >= float64(c.Find.From) && bound <= float64(c.Find.To)):
		return 1
	case star <= bound:
		return math.Sqrt(star / bound)
	}
	beyond := bound / star
	return beyond * beyond * beyond
}

// beliefs weighs scenarios by the prior and by what trials have shown; the weights sum to 1. Sizes below least are refused.
func beliefs(c *trial.Cell, all []*scenario, shown []estimate.Point, least int64) []float64 {
	weights, best := make([]float64, len(all)), math.Inf(-1)
	for i, sc := range all {
		w := math.Log(sc.prior * priorWeight(sc.star, c))
		if sc.star < float64(least)/scenarioGap {
			w -= 50 // n* is not there: refused sizes are insufficient
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

// deviance is how much less probable what was seen is at a rate of success than at the rate seen: the difference of the logarithms.
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

// nearness discounts trials far from n*: they tell on which side it lies, but less of the slope there.
func nearness(n int64, star float64) float64 {
	x := math.Log(float64(n)/star) / 0.5
	return max(0.3, 1/(1+x*x))
}

// median is the n* below which half of the belief lies.
func median(all []*scenario, weights []float64) float64 {
	sum := 0.0
	for i, w := range weights {
		if sum += w; sum >= 0.5 {
			return all[i].star
		}
	}
	return all[len(all)-1].star
}

// spread is the range of a quantity of scenarios. What is expected is the mean between the limits: the rest is rare, and too far off to be
// believed.
func spread(all []*scenario, weights []float64, quantity func(*scenario) float64) (r Range) {
	type weighted struct{ value, weight float64 }
	var values []weighted
	for i, sc := range all {
		if weights[i] >= negligible {
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

// forecaster imagines each kind of search once: the cells of a grid mostly share theirs.
type forecaster map[forecast][]*scenario

type forecast struct {
	find  estimate.Find
	least int64 // the first size that the algorithm does not refuse
}

func (f forecaster) scenarios(k forecast) []*scenario {
	if f[k] == nil {
		f[k] = scenarios(k.find)
	}
	return f[k]
}

// first is the scenario that is taken where no trial has come back: n* in the middle of the prior, and the usual slope.
func (f forecaster) first(c *trial.Cell, k forecast) *scenario {
	all := f.scenarios(k)
	star := median(all, beliefs(c, all, nil, k.least))
	i := slices.IndexFunc(all, func(s *scenario) bool { return s.star >= star && s.slope == usualSlope })
	all[i].play(k.find, k.least)
	return all[i]
}

// cost is what a search costs in a scenario, in seconds of one slot, when a trial at n costs seconds(n). A round trip that is worth it takes
// leastJob: jobs of cheaper trials run on into what may be needed next.
func (sc *scenario) cost(seconds func(n int64) float64) float64 {
	sum := 0.0
	for _, p := range sc.points {
		sum += max(leastJob, seconds(p.N)*float64(p.Consumed))
	}
	return sum
}

// path is the time that the search takes however many slots work on it: its rounds follow one another.
func (sc *scenario) path(seconds func(n int64) float64) float64 {
	sum := 0.0
	for _, w := range sc.waits {
		sum += seconds(w.N) * float64(w.Count)
	}
	return sum
}

func (sc *scenario) trials() float64 {
	sum := 0.0
	for _, p := range sc.points {
		sum += float64(p.Consumed)
	}
	return sum
}

func (sc *scenario) rounds() float64 {
	sum := 0.0
	for _, w := range sc.waits {
		sum += float64(w.Count)
	}
	return sum
}
