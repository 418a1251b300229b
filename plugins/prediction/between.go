package prediction

import (
	"math"
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/pipeline/privacy"
)

// The thresholds of the paper and the gap between them.
const (
	lowThreshold  = 0.375
	highThreshold = 0.625
	gap           = highThreshold - lowThreshold
)

// noise draws the random numbers of a predictor: unit Laplace numbers and fair coins.
type noise interface {
	// threshold draws the noise of a new instance of BetweenThresholds.
	threshold() float64
	// query draws the noise of a query.
	query() float64
	// coin draws -1 or +1 after a hard query.
	coin() float64
}

// seeded draws noise from a trial's random numbers.
type seeded struct{ *rand.Rand }

func (s seeded) threshold() float64 { return privacy.Laplace(privacy.Uniform(s.Rand), 1) }
func (s seeded) query() float64     { return privacy.Laplace(privacy.Uniform(s.Rand), 1) }

func (s seeded) coin() float64 { return numeric.Coin(s.Rand) }

// A verdict is the answer of BetweenThresholds to a query.
type verdict int

const (
	left   verdict = iota // clearly below: L
	right                 // clearly above: R
	hard                  // between the thresholds: TOP; ends the instance
	public                // the budget is spent (not a verdict of BetweenThresholds)
)

// between is one instance of BetweenThresholds (Bun, Steinke and Ullman 2016; the paper's
// Algorithm 1) over k blocks. It answers queries with values in [0, 1] that one block changes by at
// most 1/k. It holds the noisy thresholds and the scale of the noise on each query.
type between struct{ lo, hi, scale float64 }

// newBetween starts an instance. The unit Laplace number unit shifts its thresholds.
func newBetween(eps0 float64, k int, unit float64) between {
	n := eps0 * float64(k)
	mu := float64(unit * (2 / n))
	return between{lowThreshold + mu, highThreshold - mu, 6 / n}
}

// judge adds noise, the unit Laplace number unit times the scale, to q and compares the sum with
// the thresholds in the order that the privacy proof assumes: if mu is so large that lo > hi, a
// value between them is left.
func (b between) judge(q, unit float64) verdict {
	c := q + float64(b.scale*unit)
	switch {
	case c < b.lo:
		return left
	case c > b.hi:
		return right
	}
	return hard
}

// Values of the parameter mode. It selects the proof that an instance is (eps0,
// delta0)-differentially private.
const (
	Paper = "paper" // the paper's Lemma 1: (48/eps0)(ln(10/eps0) + ln(1/delta0) + 1) blocks
	Own   = "own"   // (16/eps0)(ln(1/delta0) + 1.22) blocks, proved at leastBlocks
)

// leastBlocks returns the number of blocks, before rounding up, at and above which an instance is
// (eps0, delta0)-differentially private by the proof of the given mode, for eps0 in (0, 1] and
// delta0 in (0, 1).
//
// Proof for Own. Let D = 1/k, b = 6D/eps0, g the gap. Neighbors change every query by at most D.
// Couple mu with mu + D on the neighbor: its density changes by at most e^(eps0/2), lo rises and hi
// falls by D, and with the same noise of the queries each left stays left and, if hi - lo >= 2D,
// each right stays right. A query is hard if the noise is in an interval of length W = g - 2 mu,
// and on the neighbor in a subinterval that is shorter by 2D. Because the Laplace density's
// logarithm is 1/b-Lipschitz, the two probabilities have ratio at most (1-x)/(e^(-eps0/3) - x) for
// x = e^(-W/b), which is at most e^(eps0/2) iff x <= (e^(eps0/6)-1)/(e^(eps0/2)-1). For eps0 <= 1
// that is at least 0.2796, so W >= 1.275 b suffices, and it gives hi - lo >= 2D. The remaining
// event, mu > (g - 1.275 b)/2, has probability exp(1.9125 - eps0 k g/4)/2, which is delta0 at k =
// (4/(eps0 g))(ln(1/delta0) + 1.22).
func leastBlocks(mode string, eps0, delta0 float64) float64 {
	if mode == Paper {
		return 12 / (gap * eps0) * (math.Log(10/eps0) - math.Log(delta0) + 1)
	}
	return 4 / (gap * eps0) * (1.22 - math.Log(delta0))
}

// accurateBlocks returns the number of blocks, before rounding up, at and above which the noise of
// v instances and t queries shifts no comparison by more than 1/8, except with probability beta:
// all |mu| <= 1/32 and |nu| <= 3/32 except with probability (t+v) e^(-eps0 k/64).
func accurateBlocks(eps0 float64, t, v int, beta float64) float64 {
	return 64 / eps0 * math.Log(float64(t+v)/beta)
}

// misleading bounds the probability that, with k blocks, the noise of v instances and t queries
// shifts some comparison by more than 1/8. It is beta at k = accurateBlocks.
func misleading(eps0 float64, t, v int, k float64) float64 {
	return float64(t+v) * math.Exp(-eps0*k/64)
}
