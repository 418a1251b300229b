package estimate

import (
	"fmt"
	"math"
)

// knowledge holds the conclusions of a search about n* from the trials that it has read.
type knowledge struct {
	find      Find
	threshold float64 // evidence that refutes a hypothesis: ln(1/level)
	fixed     *fixedBets
	belief    belief

	low, high int64    // the bracket; 0 and To + 1 for an end that is not known
	refusal   string   // reason of the algorithm for refusing the low end; empty if it did not
	read      []*point // sizes with trials read, ascending
	trials    int64    // number of trials that were read

	say          func(n int64) string // name of a size in reasons; nil: "n = 100"
	fall, remedy string               // fields of Words; empty: those of sample sizes
	falls        bool                 // success falls, see fallen
}

// sizeName returns the name of a size in reasons.
func (k *knowledge) sizeName(n int64) string { return sizeInWords(k.say, n) }

// learn updates the belief.
func (k *knowledge) learn() {
	low, high := math.Log(float64(k.find.From))-1, math.Log(float64(k.find.To))+1
	if k.low > 0 {
		low = math.Log(float64(k.low))
	}
	if top := k.largestRead(); top > k.low {
		high = min(high, math.Log(float64(top))+1.5)
	}
	if k.high <= k.find.To {
		high = math.Log(float64(k.high))
	}
	near := func(p *point) bool { return p.N >= k.low/2 && p.N/2 <= k.high }
	var points []*point
	for _, p := range k.read {
		if near(p) {
			points = append(points, p)
		}
	}
	k.belief.learn(points, k.find.Target, coarse(low), coarse(high))
}

// largestRead returns the largest size of which trials were read, or 0 if there is none.
func (k *knowledge) largestRead() int64 {
	if len(k.read) == 0 {
		return 0
	}
	return k.read[len(k.read)-1].N
}

// mustDouble reports whether the search must continue at larger sizes because the largest size
// read succeeds too rarely.
func (k *knowledge) mustDouble() bool {
	if k.high <= k.find.To {
		return false
	}
	if k.largestRead() <= k.low {
		return true
	}
	p := k.read[len(k.read)-1]
	return p.N < k.find.To && float64(p.Successes) < k.find.Target*float64(p.Consumed)
}

// suspects returns two sizes inside the bracket of which, by their own trials alone, the smaller
// looks sufficient and the larger insufficient. It returns nil if there are none.
func (k *knowledge) suspects() (small, large *point) {
	const doubt = 1 // least logarithm of the e-process that makes a size suspect
	for _, p := range k.read {
		if p.N <= k.low || p.N >= k.high {
			continue
		}
		if small != nil && k.fixed.wealth(insufficient, p.Successes, p.Consumed) >= doubt {
			return small, p
		}
		if small == nil && k.fixed.wealth(sufficient, p.Successes, p.Consumed) >= doubt {
			small = p
		}
	}
	return nil, nil
}

// evidence returns the logarithms of the e-processes against "n* lies in gap i" for the gaps
// between the sizes read. Gap i ends at the i-th of these sizes, and the last gap has no end.
func (k *knowledge) evidence() []float64 {
	logs := make([]float64, len(k.read)+1)
	for _, p := range k.read {
		logs[0] += p.wealth[insufficient]
	}
	for i, p := range k.read {
		logs[i+1] = logs[i] - p.wealth[insufficient] + p.wealth[sufficient]
	}
	return logs
}

// narrow moves the bracket to the ends of the set of gaps that are not refuted. It returns false,
// and does not change the bracket, if every gap is refuted.
func (k *knowledge) narrow() bool {
	logs := k.evidence()
	refuted := func(gap int) bool {
		return logs[gap] >= k.threshold ||
			gap < len(k.read) && k.read[gap].N <= k.low ||
			gap > 0 && k.read[gap-1].N >= k.high
	}
	first, last := 0, len(k.read)
	for first <= last && refuted(first) {
		first++
	}
	for last >= first && refuted(last) {
		last--
	}
	if first > last {
		return false
	}
	if first > 0 && k.read[first-1].N > k.low {
		k.low, k.refusal = k.read[first-1].N, ""
	}
	if last < len(k.read) {
		k.high = min(k.high, k.read[last].N)
	}
	return true
}

// contradiction names the two sizes with the strongest evidence that the success rate falls.
func (k *knowledge) contradiction() string {
	var small, large *point
	most := math.Inf(-1)
	for i, p := range k.read {
		for _, q := range k.read[i+1:] {
			if sum := p.wealth[sufficient] + q.wealth[insufficient]; sum > most {
				small, large, most = p, q, sum
			}
		}
	}
	return k.fallen(fmt.Sprintf("%s is sufficient, %s is not", k.sizeName(small.N), k.sizeName(large.N)))
}

// allFailed reports whether trials were read and the algorithm failed in all of them.
func (k *knowledge) allFailed() bool {
	failed := 0
	for _, p := range k.read {
		failed += p.Failed
	}
	return k.trials > 0 && int64(failed) == k.trials
}
