package prediction

import (
	"math"
	"math/big"

	"github.com/shatterlab/shatter/pipeline/numeric"
)

// sauer returns the largest number of labelings that a class of Vapnik-Chervonenkis dimension d has
// on t points: the sum of C(t,i) over i <= d.
func sauer(d, t int) *big.Int {
	sum, term := big.NewInt(1), big.NewInt(1)
	for i := 1; i <= min(d, t); i++ {
		term.Mul(term, big.NewInt(int64(t-i+1)))
		term.Quo(term, big.NewInt(int64(i)))
		sum.Add(sum, term)
	}
	return sum
}

// hardQueries bounds the number of hard queries of Algorithm 3, except with probability beta, as
// long as no noise misleads. Each hard query halves the set of labelings with probability at least
// 1/2, because its coin is independent of the split, and removes at least one labeling. So v is the
// least number with P(Bin(v, 1/2) >= floor(log2 labelings)) >= 1 - beta, and at most labelings - 1.
func hardQueries(labelings *big.Int, beta float64) int {
	halvings := labelings.BitLen() - 1
	most := new(big.Int).Sub(labelings, big.NewInt(1))
	lo, hi := halvings-1, max(halvings, 1)
	for tooFew(hi, halvings) > beta {
		lo, hi = hi, 2*hi
	}
	if halvings == 0 {
		return 0
	}
	hi = int(numeric.BisectInt(float64(lo), float64(hi), func(v float64) bool {
		return !(tooFew(int(v), halvings) > beta)
	}))
	if most.IsInt64() {
		return int(min(int64(hi), most.Int64()))
	}
	return hi
}

// tooFew returns P(Bin(v, 1/2) < a).
func tooFew(v, a int) float64 {
	all, _ := math.Lgamma(float64(v) + 1)
	sum := 0.0
	for i := 0; i < a && i <= v; i++ {
		in, _ := math.Lgamma(float64(i) + 1)
		out, _ := math.Lgamma(float64(v-i) + 1)
		sum += math.Exp(all - in - out - float64(float64(v)*math.Ln2))
	}
	return sum
}

// blockSize returns the least m at which a sample of m examples is an alpha-approximation of its
// distribution for a class of Vapnik-Chervonenkis dimension d, except with probability beta, by 4
// (2em/d)^d e^(-m alpha^2/8) <= beta (Vapnik and Chervonenkis 1971), for alpha and beta in (0, 1).
// It is +Inf if m exceeds the range of floating-point numbers.
func blockSize(d int, alpha, beta float64) float64 {
	n := float64(max(d, 1))
	enough := func(m float64) bool {
		return math.Log(4)+float64(n*math.Log(2*math.E*m/n))-m*alpha*alpha/8 <= math.Log(beta)
	}
	lo := math.Floor(8 * n / (alpha * alpha)) // the left side is largest at this point, and above 1
	hi := 2*lo + 1
	for hi < math.Inf(1) && !enough(hi) { // alpha^2 may be 0
		lo, hi = hi, 2*hi
	}
	if hi >= 1<<53 {
		return hi
	}
	return numeric.BisectInt(lo, hi, enough)
}

// A goal is the target of a predictor: all of its states err at most alpha, except with probability
// beta, (epsilon, delta)-privately.
type goal struct {
	queries                     int
	alpha, beta, epsilon, delta float64
}

// spent bounds the probability that v instances of Algorithm 3 are all spent on t queries, as long
// as no noise misleads. After v-1 hard queries another one needs two labelings that agree with all
// of them, so that fewer than floor(log2 labelings) of the v-1 have halved the labelings. See
// hardQueries.
func spent(labelings *big.Int, v, t int) float64 {
	if v > t || labelings.Cmp(big.NewInt(int64(v))) <= 0 {
		return 0
	}
	return tooFew(v-1, labelings.BitLen()-1)
}

// A claim is a statement proved for a generator if no noise misleads and every block deviates from
// the distribution by at most approximation, for all hypotheses of a class of Vapnik-Chervonenkis
// dimension vc: each of the generator's hypotheses errs at most alpha/4 on the distribution as long
// as the budget lasts. The budget is exhausted with probability at most spent.
type claim struct {
	vc            int
	approximation float64
	spent         float64
	enough        int    // a budget that lasts with probability at least 1 - beta/2
	fails         string // reason why the claim is not proved; empty if it is proved
}

// obliviousClaim returns the claim of Algorithm 3 with a budget of v, for a class of dimension d
// with the given number of labelings of the queries and exact minimizers, realizable.
//
// After c hard queries some hypothesis that agrees with them, that of a block, errs on the
// distribution at most 2c-1 times as often as a block deviates, hence on every block at most 2c
// times, and so do their minimizers, hence 2c+1 times on the distribution. As long as the budget
// lasts, c <= v-1.
func obliviousClaim(g goal, d, v int, labelings *big.Int) claim {
	return claim{
		vc: d, approximation: g.alpha / (4 * (2*float64(v) - 1)), spent: spent(labelings, v, g.queries),
		enough: min(hardQueries(labelings, g.beta/2), g.queries) + 1,
	}
}

// halfspaceClaim returns the claim of Algorithm 4 with a budget of v in R^(d+1), for exact
// maximizers of the convex depth, realizable.
//
// After c hard queries convex depths on a block are at least 1 - 2c times its deviation (as for
// obliviousClaim: a segment between two blocks' hypotheses meets the hyperplane), hence errors on
// it at most 2c(d+1) times. The d-th hard query reduces W to a line; for another hard query two
// hypotheses would be on both sides of 0, whose convex depth is at most (d+1)/(d+2), less than
// theirs.
func halfspaceClaim(g goal, d, v int) claim {
	n := float64(d)
	c := claim{
		vc: d + 1, approximation: min(g.alpha/(4*(2*n*(n+1)+1)), 1/((2*n+1)*(n+2)+1)), enough: min(d, g.queries) + 1,
	}
	if v < c.enough {
		c.spent = 1
	}
	return c
}

// A size is a sample size with its components.
type size struct {
	k             float64 // number of blocks
	v             int     // number of instances
	eps0          float64 // privacy of each instance
	spent, noise  float64 // probabilities that the budget is spent and that noise misleads
	approximation float64 // largest deviation of a block from the distribution
	m             float64 // examples in a block
	n             float64 // examples in all; +Inf if none are enough
}

// size returns the n at and above which all T+1 states err at most alpha, except with probability
// beta, if a claim holds for the generator and the budget starts v instances of privacy eps0. It
// uses k blocks; if these are too few, it uses enough blocks that noise misleads with half of the
// probability that the budget does not use.
//
// Let no noise mislead (see accurateBlocks) while the budget lasts. Then a state labels a point
// wrongly only if 1/4 of the blocks do, so that it errs at most 4 times as often as the hypotheses
// on average. That is a property of the noise alone, hence true for all states and points at once.
// A state without an instance answers from public data, and nothing bounds its errors.
func (c claim) size(g goal, k, v int, eps0 float64) size {
	s := size{k: float64(k), v: v, eps0: eps0, spent: c.spent, approximation: c.approximation, n: math.Inf(1)}
	left := g.beta - c.spent
	if !(left > 0) {
		return s
	}
	if s.noise = misleading(eps0, g.queries, v, s.k); s.noise >= left {
		s.k = math.Ceil(accurateBlocks(eps0, g.queries, v, left/2))
		s.noise = misleading(eps0, g.queries, v, s.k)
	}
	s.m = blockSize(c.vc, c.approximation, (left-s.noise)/s.k)
	s.n = s.k * s.m
	return s
}

// with returns the components of the size, by the names that tables use.
func (s size) with() map[string]float64 {
	return map[string]float64{
		"v": float64(s.v), "eps0": s.eps0, "k": s.k, "spent": s.spent, "noise": s.noise, "alpha_block": s.approximation,
		"m": s.m,
	}
}

// majorityBlocks returns the number of blocks at which noise of the given scale changes no majority
// of 3/4 in t states, except with probability beta/2, by the tail of the Gaussian or the Laplace
// distribution at k/4.
func majorityBlocks(kind string, scale float64, t int, beta float64) float64 {
	if kind == Laplace {
		return math.Ceil(max(1, 4*scale*math.Log(2*float64(t)/beta)))
	}
	return math.Ceil(4 * scale * math.Sqrt(2*math.Log(2*float64(t)/beta)))
}

// majorityNoise bounds the probability that noise of the given scale changes a majority of 3/4 of k
// blocks in one of t states: that it exceeds k/4 on either side.
func majorityNoise(kind string, scale float64, t int, k float64) float64 {
	if kind == Laplace {
		return float64(t) * math.Exp(-k/(4*scale))
	}
	return float64(t) * math.Erfc(k/(4*math.Sqrt2*scale))
}

// consistentSize returns the sample size of Blumer, Ehrenfeucht, Haussler and Warmuth 1989 at which
// every consistent hypothesis errs at most with probability alpha, except with probability beta:
// max((4/alpha) log2(2/beta), (8d/alpha) log2(13/alpha)).
func consistentSize(d int, alpha, beta float64) float64 {
	return math.Ceil(max(4/alpha*math.Log2(2/beta), 8*float64(d)/alpha*math.Log2(13/alpha)))
}

// offlineSize returns sample sizes for the exponential mechanism over the labelings of the queries
// (realizable). With mechanism examples the labeling errs on at most alpha/20 of the sample. With
// generalization examples the paper's Theorem 2 extends that to the distribution.
func offlineSize(g goal, d int, labelings *big.Int) (mechanism, generalization float64) {
	mechanism = math.Ceil(2 / (g.epsilon * g.alpha / 20) * (numeric.LogInt(labelings) + math.Log(2/g.beta)))
	complexity := float64(10 * float64(d) * math.Log(48*math.E/g.alpha))
	generalization = math.Ceil(48 / g.alpha * (complexity + math.Log(5/(g.beta/2))))
	return mechanism, generalization
}
