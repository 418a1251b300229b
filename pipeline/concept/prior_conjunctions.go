package concept

import (
	"math"

	"gonum.org/v1/gonum/stat/combin"
)

// maxPriorLiterals is the largest number of literals of an answer: more leave points that are too
// few to matter.
const maxPriorLiterals = 64

// conjunctionPrior returns the Prior of the conjunctions of literals, or of bits where signs is
// false. The conjunction of m literals and one of k that has c of them in common, and contradicts
// none, are both +1 at a share 2^-(k+m-c) of the points.
func conjunctionPrior(signs bool) func(s Spec, law Drawn, ok Allowed) (Prior, bool) {
	return func(s Spec, law Drawn, ok Allowed) (Prior, bool) {
		c := conjunctionCounter{dim: s.Dim, signs: signs, ok: ok}
		if law.Uniform {
			c.uniform()
		} else {
			c.sizes = make([]float64, law.Literals+1)
			c.sizes[law.Literals] = 1
		}
		best := Prior{c.constant(), Conjunction{Dim: s.Dim, Ones: 1, Zeros: 1}}
		for m := range min(s.Dim, maxPriorLiterals-1) + 1 {
			if share := c.share(m); share > best.Success {
				best = Prior{share, Conjunction{Dim: s.Dim, Ones: 1<<m - 1}}
			}
		}
		return best, true
	}
}

// conjunctionCounter adds up the probabilities of the targets near a conjunction.
type conjunctionCounter struct {
	dim   int
	signs bool // targets have negated literals too
	ok    Allowed
	sizes []float64 // probability of targets of 0, 1, ... literals
	never float64   // probability of targets that are -1 but for a share of the points below 2^-64
}

// uniform sets the probabilities of a uniform member of the class.
func (c *conjunctionCounter) uniform() {
	d, literal, all := c.dim, 0.5, 1.0
	if c.signs { // one of 3^d+1 is -1 everywhere
		literal, all = 2./3, 1-1/(math.Pow(3, float64(d))+1)
	}
	rest := 1.0
	for k := range min(d, maxPriorLiterals) + 1 {
		log := combin.LogGeneralizedBinomial(float64(d), float64(k)) + float64(k)*math.Log(literal) +
			float64(d-k)*math.Log1p(-literal)
		c.sizes = append(c.sizes, all*math.Exp(log))
		rest -= c.sizes[k]
	}
	c.never = max(0, rest)
}

// constant returns the probability of the targets near the function -1.
func (c *conjunctionCounter) constant() float64 {
	sum := c.never
	for k, p := range c.sizes {
		if c.ok(math.Ldexp(1, -k)) {
			sum += p
		}
	}
	return sum
}

// share returns the probability of the targets near a conjunction of m literals.
func (c *conjunctionCounter) share(m int) (sum float64) {
	if c.ok(math.Ldexp(1, -m)) {
		sum = c.never
	}
	for k, p := range c.sizes {
		if p > 0 {
			sum += p * c.near(m, k)
		}
	}
	return sum
}

// near returns the share of the targets of k literals that are near a conjunction of m.
func (c *conjunctionCounter) near(m, k int) (sum float64) {
	alone := math.Ldexp(1, -k) + math.Ldexp(1, -m)
	apart := 1.0 // the share of those that contradict the answer
	for common := max(0, k+m-c.dim); common <= min(k, m); common++ {
		share := c.common(m, k, common)
		if c.signs {
			share = math.Ldexp(share, -common)
		}
		apart -= share
		if c.ok(alone - math.Ldexp(1, 1-(k+m-common))) {
			sum += share
		}
	}
	if c.signs && c.ok(alone) {
		sum += max(0, apart)
	}
	return sum
}

// common returns the probability that k of d positions have so many in common with m given ones.
func (c conjunctionCounter) common(m, k, common int) float64 {
	chance := 1.0
	for i := range common { // binom(k, common) times falling factorials over d (d-1) ... (d-k+1)
		chance *= float64(k-i) / float64(i+1) * float64(m-i) / float64(c.dim-i)
	}
	for i := range k - common {
		chance *= float64(c.dim-m-i) / float64(c.dim-common-i)
	}
	return chance
}
