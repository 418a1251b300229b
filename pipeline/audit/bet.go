package audit

import (
	"fmt"
	"math"
	"slices"
)

// A result holds the features of one trial.
type result struct {
	failed bool
	values []float64 // index: feature; NaN: none
}

// An event is a set of outcomes: the value of a feature is at least a limit, or it is not. It favors
// the sample with which it is claimed to be too likely.
type event struct {
	feature int // index of Features; -1: the trial failed
	limit   float64
	not     bool
	favors  int // 0 or 1
}

func (e event) holds(r result) bool {
	in := r.failed
	if e.feature >= 0 {
		in = r.values[e.feature] >= e.limit // false for NaN
	}
	return in != e.not
}

// describe names the event and the sample with which it is too likely.
func (e event) describe() string {
	words := "the trial fails"
	switch {
	case e.feature < 0 && e.not:
		words = "the trial does not fail"
	case e.feature >= 0 && e.not:
		words = fmt.Sprintf("%s is not at least %.6g", Features[e.feature].words, e.limit)
	case e.feature >= 0:
		words = fmt.Sprintf("%s is at least %.6g", Features[e.feature].words, e.limit)
	}
	return words + [2]string{", with the first sample", ", with the second sample"}[e.favors]
}

// maxLimits is the largest number of limits per feature that are tried.
const maxLimits = 16

// events returns the events that the trials of some pairs suggest.
func events(history [][2]result) (all []event) {
	add := func(feature int, limit float64) {
		for _, not := range []bool{false, true} {
			all = append(all, event{feature, limit, not, 0}, event{feature, limit, not, 1})
		}
	}
	add(-1, 0)
	for f := range Features {
		var seen []float64
		for _, h := range history {
			for _, r := range h {
				if v := r.values[f]; !math.IsNaN(v) {
					seen = append(seen, v)
				}
			}
		}
		slices.Sort(seen)
		seen = slices.Compact(seen)
		for i := 1; i <= min(maxLimits, len(seen)); i++ { // with one value, whether there is any
			add(f, seen[(i*len(seen)-1)/min(maxLimits, len(seen))])
		}
	}
	return all
}

// A bet stakes a share of the wealth on an event. The wealth of a process against the claim
// P(E) <= ratio Q(E) + delta is multiplied by 1 + stake (x - ratio y - delta) at each pair, where x
// and y are 1 if the favored and the other trial are in E, and else 0. If the claim is true, the
// mean of this factor is at most 1.
type bet struct {
	event
	ratio, delta, stake float64
}

// maxStake is the largest share of the greatest permitted stake.
const maxStake = 0.95

// caution is the number of standard errors by which frequencies are corrected against the bettor,
// because the event with the best frequencies looks better than it is.
const caution = 1.0

// counted is an event with the numbers of pairs whose favored and whose other trial are in it.
type counted struct {
	event
	in, out int
}

func count(e event, history [][2]result) counted {
	c := counted{event: e}
	for _, h := range history {
		if e.holds(h[e.favors]) {
			c.in++
		}
		if e.holds(h[1-e.favors]) {
			c.out++
		}
	}
	return c
}

// choose returns the bet against a number of a form with the largest expected growth of the
// wealth's logarithm, if each frequency among m pairs, smoothed, is a probability. A stake of 0 means
// that no bet gains.
func choose(all []counted, m int, f form, number float64) (best bet) {
	growth := 0.0
	for _, c := range all {
		p, q := (float64(c.in)+0.5)/float64(m+1), (float64(c.out)+0.5)/float64(m+1)
		p, q = p-float64(caution*math.Sqrt(p*(1-p)/float64(m))), q+float64(caution*math.Sqrt(q*(1-q)/float64(m)))
		if p <= q {
			continue
		}
		ratio, delta := f.tangent(number, p, q)
		if p <= float64(ratio*q)+delta {
			continue
		}
		odds := [4]float64{p * (1 - q), p * q, (1 - p) * q, (1 - p) * (1 - q)}
		gains := [4]float64{1 - delta, 1 - ratio - delta, -ratio - delta, -delta}
		low, high := 0.0, maxStake/(ratio+delta)
		for range 30 {
			stake, slope := (low+high)/2, 0.0
			for i, gain := range gains {
				slope += odds[i] * gain / (1 + float64(stake*gain))
			}
			if slope > 0 {
				low = stake
			} else {
				high = stake
			}
		}
		g := 0.0
		for i, gain := range gains {
			g += float64(odds[i] * math.Log1p(low*gain))
		}
		if g > growth {
			best, growth = bet{c.event, ratio, delta, low}, g
		}
	}
	return best
}

// gain returns the logarithm of the factor by which a pair of trials changes the wealth.
func (b bet) gain(pair [2]result) float64 {
	if b.stake == 0 {
		return 0
	}
	won := -b.delta
	if b.holds(pair[b.favors]) {
		won++
	}
	if b.holds(pair[1-b.favors]) {
		won -= b.ratio
	}
	return math.Log1p(b.stake * won)
}
