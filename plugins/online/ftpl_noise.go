package online

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mathext"

	"github.com/shatterlab/shatter/pipeline/privacy"
)

// noise describes how the noise of a round is drawn, at scale 1: independently for all hypotheses,
// or at the points of a separator.
type noise struct {
	// distribution is that of the noise of each hypothesis; nil for noise at the points of a
	// separator.
	distribution *distribution
	// fill draws noise at the points z_j of a separator: the noise of hypothesis f is sum_j c[j]
	// f(z_j), f in -1, +1.
	fill func(c []float64, r *rand.Rand)
	// once reports whether the noise is drawn at the start of a game and kept.
	once bool
	// exact reports whether the answer is the mean over the distribution, which must be normal, so
	// that no noise is drawn.
	exact bool
}

// normals returns a function that fills c with normals of standard deviation sigma.
func normals(sigma float64) func(c []float64, r *rand.Rand) {
	return func(c []float64, r *rand.Rand) {
		for j := range c {
			c[j] = sigma * r.NormFloat64()
		}
	}
}

// halfLaplaces fills c with half of Laplace noise of scale 1, which is noise of scale 1 on the 0/1
// labels (1+f)/2. The signs of 64 numbers are the bits of one random word, so that there are no
// branches.
func halfLaplaces(c []float64, r *rand.Rand) {
	signs := uint64(0)
	for j := range c {
		if j%64 == 0 {
			signs = r.Uint64()
		}
		c[j] = math.Float64frombits(math.Float64bits(r.ExpFloat64()/2) ^ signs<<63)
		signs >>= 1
	}
}

// halfUniforms fills c with half of uniform noise on [-1, 1], which is noise on [-1, 1] on the 0/1
// labels.
func halfUniforms(c []float64, r *rand.Rand) {
	for j := range c {
		c[j] = r.Float64() - 0.5
	}
}

// A distribution is the continuous distribution of one number of noise. The hypothesis with the
// least losses + scale x number is played.
type distribution struct {
	normal  bool // whether the distribution is normal; shares computes probabilities under it
	draw    func(r *rand.Rand) float64
	above   func(z float64) float64 // P(number > z)
	lnAbove func(ln float64) float64
	// below bounds P(number < z) from above.
	below func(z float64) float64
	// reach is an upper bound on the difference between any number drawn and the least of up to
	// 2^20 others, for the numbers of privacy.Uniform.
	reach float64
}

// normalDistribution returns the standard normal distribution.
func normalDistribution() *distribution {
	return &distribution{
		normal: true,
		draw:   (*rand.Rand).NormFloat64,
		above:  func(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 },
		lnAbove: func(ln float64) float64 { // from the smaller tail, to avoid cancellation
			if ln < -math.Ln2 {
				return -mathext.NormalQuantile(math.Exp(ln))
			}
			return mathext.NormalQuantile(-math.Expm1(ln))
		},
		below: func(z float64) float64 {
			if z >= 0 {
				return 1
			}
			return math.Exp(-z*z/2) / 2
		},
		reach: 21,
	}
}

// laplaceDistribution returns the distribution with the density e^-|z|/2.
func laplaceDistribution() *distribution {
	return &distribution{
		draw: func(r *rand.Rand) float64 {
			if r.Uint64()&1 == 0 {
				return -r.ExpFloat64()
			}
			return r.ExpFloat64()
		},
		above: func(z float64) float64 {
			if z > 0 {
				return math.Exp(-z) / 2
			}
			return 1 - math.Exp(z)/2
		},
		lnAbove: func(ln float64) float64 {
			if ln < -math.Ln2 {
				return -ln - math.Ln2
			}
			return math.Log(-2 * math.Expm1(ln))
		},
		below: func(z float64) float64 {
			if z >= 0 {
				return 1
			}
			return math.Exp(z) / 2
		},
		reach: 90,
	}
}

// exponentialDistribution returns the distribution of -E, where E is exponential with mean 1.
func exponentialDistribution() *distribution {
	return &distribution{
		draw:    func(r *rand.Rand) float64 { return -r.ExpFloat64() },
		above:   func(z float64) float64 { return -math.Expm1(min(0, z)) },
		lnAbove: func(ln float64) float64 { return math.Log(-math.Expm1(ln)) },
		below:   func(z float64) float64 { return math.Exp(min(0, z)) },
		reach:   55,
	}
}

// A level counts hypotheses with the same loss.
type level struct {
	behind float64 // their loss minus the least loss
	count  int
}

// lead draws the level, of levels in ascending order, that has the least behind + scale x number
// over all of its members, for scale > 0, and returns that minimum divided by scale. The least of c
// numbers is above z with probability P(number > z)^c. Most levels are excluded by P(least < z) <=
// c P(number < z) alone.
func (l *distribution) lead(levels []level, scale float64, r *rand.Rand) (best int, bottom float64) {
	bottom = math.Inf(1)
	for i, v := range levels {
		u, behind, count := privacy.Uniform(r), v.behind/scale, float64(v.count)
		if 1-u >= float64(count*l.below(bottom-behind)) {
			continue
		}
		if score := l.lnAbove(math.Log(u)/count) + behind; score < bottom {
			best, bottom = i, score
		}
	}
	return best, bottom
}

// shares writes to out the probability of each single member of a level to be played under standard
// normal noise, by the trapezoid rule for
//
//	int phi(z - d_i)/Q(z - d_i) prod_j Q(z - d_j)^c_j dz,    d_j = behind_j/scale,    Q = 1 - Phi,
//
// where z is the least score of all. The integrand is analytic and both of its tails are negligible
// at the ends, so the error is about 1e-13 of the total.
func shares(levels []level, scale float64, out []float64) {
	clear(out)
	const lo, hi, step = -10.0, 9.0, 0.125
	hazard := make([]float64, len(levels))
	total := 0.0
	for k := range int((hi - lo) / step) {
		z, lnNone := lo+float64(step*float64(k)), 0.0 // ln P(no score below z)
		for i, v := range levels {
			x := z - v.behind/scale
			above := math.Erfc(x/math.Sqrt2) / 2
			lnNone += float64(float64(v.count) * math.Log(above))
			hazard[i] = math.Exp(-x*x/2) / above
		}
		if lnNone < -90 {
			break
		}
		none := math.Exp(lnNone)
		for i, v := range levels {
			p := float64(hazard[i] * none)
			out[i] += p
			total += float64(p * float64(v.count))
		}
	}
	for i := range out {
		out[i] /= total
	}
}
