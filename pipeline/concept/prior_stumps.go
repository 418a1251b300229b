package concept

import (
	"math"
	"slices"
)

// maxStumpCuts is the number of cuts up to which stumpPrior tries all of them.
const maxStumpCuts = 1 << 13

// stumpPrior returns the Prior of the stumps. Among the stumps that are +1 above a cut s of one axis, and
// the constant +1 at s = 0, it looks for the cut with the most targets nearby. Turning all signs, or
// the order of an axis, changes no distance, so that the others do no better. In more than
// maxStumpCuts values only the cuts are tried at which the best one would lie if cuts were real
// numbers, which costs at most the share of one cut, 1/(X+1).
func stumpPrior(s Spec, law Drawn, ok Allowed) (Prior, bool) {
	c := stumpCounter{x: s.Domain, others: float64(s.Dim - 1), uniform: law.Uniform, ok: ok}
	c.most = mostWrong(s.Domain, ok)
	best, cut := -1.0, uint64(0)
	for _, at := range c.cuts() {
		if share := c.share(at); share > best {
			best, cut = share, at
		}
	}
	return Prior{best, Stump{Dim: s.Dim, T: float64(cut), Above: 1}}, true
}

// stumpCounter counts the targets near a stump.
type stumpCounter struct {
	x       uint64
	most    uint64  // points of one axis that may be labelled wrongly
	others  float64 // axes besides that of the stump
	uniform bool    // targets of both signs and cuts 1..X-1, and the constants once
	ok      Allowed
}

// cuts lists the cuts that share is to be asked about.
func (c *stumpCounter) cuts() (list []uint64) {
	if c.x < maxStumpCuts {
		for s := range c.x/2 + 1 {
			list = append(list, s)
		}
		return list
	}
	k, x := c.most, float64(c.x)
	list = []uint64{0, 1, k, min(k+1, c.x/2), c.x / 2}
	// The cuts of the other axes that are near enough are (a-p)/(1-2p) of all, where p is the share
	// below the cut and a what is allowed; on the own axis they are p+a.
	a := float64(k) / x
	if root := c.others * (1 - 2*a); root > 0 && root < 1 {
		list = append(list, uint64((1-math.Sqrt(root))/2*x))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// share returns the probability that a target is near enough to the stump that is +1 from s on, s at
// most X/2.
func (c *stumpCounter) share(s uint64) float64 {
	x, k := c.x, c.most
	low, high := s-min(s, k), min(s+k, x) // the near cuts of the own axis
	far := c.last(s)                      // those of the others are 0..far-1
	if !c.uniform {
		return (float64(high-low+1) + c.others*float64(far)) / (float64(c.others+1) * float64(x+1))
	}
	inner := func(from, to uint64) float64 { // cuts from..to that are no constants
		from, to = max(from, 1), min(to, x-1)
		if from > to {
			return 0
		}
		return float64(to - from + 1)
	}
	near := inner(low, high)
	if s+k >= x { // of the opposite sign: t - s >= X - k, or s - t >= X - k
		near += inner(s+x-k, x)
		if s >= x-k {
			near += inner(0, s-(x-k))
		}
	} else if k > s {
		near += inner(x-(k-s), x)
	}
	if s <= k {
		near++
	}
	if x-s <= k {
		near++
	}
	if far > 0 {
		near += 2 * c.others * inner(0, far-1)
	}
	return near / ((c.others+1)*2*float64(x-1) + 2)
}

// last returns how many cuts t = 0, 1, ... of another axis are near enough to s.
func (c *stumpCounter) last(s uint64) uint64 {
	p := float64(s) / float64(c.x)
	far := func(t uint64) bool {
		q := float64(t) / float64(c.x)
		return !c.ok(p + q - 2*p*q)
	}
	low, high := uint64(0), c.x+1 // the first far one is in [low, high]
	for low < high {
		if middle := low + (high-low)/2; far(middle) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low
}
