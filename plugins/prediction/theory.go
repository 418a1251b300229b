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

// logOf returns ln n for n >= 1.
func logOf(n *big.Int) float64 {
	mantissa := new(big.Float)
	exponent := new(big.Float).SetInt(n).MantExp(mantissa)
	m, _ := mantissa.Float64()
	return math.Log(m) + float64(float64(exponent)*math.Ln2)
}

// hardQueries bounds the number of hard queries of Algorithm 3, except with probability beta and as
// long as no noise misleads. Each one halves the set of labelings with probability 1/2 at least,
// because its coin is independent of the split, and removes one labeling at least. So v is the
// least with P(Bin(v, 1/2) >= floor(log2 labelings)) >= 1 - beta, and at most labelings - 1.
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
// law for a class of Vapnik-Chervonenkis dimension d, except with probability beta, by 4 (2em/d)^d
// e^(-m alpha^2/8) <= beta (Vapnik and Chervonenkis 1971), for alpha and beta in (0, 1). It is +Inf
// where floating-point numbers do not reach as far.
func blockSize(d int, alpha, beta float64) float64 {
	n := float64(max(d, 1))
	enough := func(m float64) bool {
		return math.Log(4)+float64(n*math.Log(2*math.E*m/n))-m*alpha*alpha/8 <= math.Log(beta)
	}
	lo := math.Floor(8 * n / (alpha * alpha)) // the left side is largest here, and above 1
	hi := 2*lo + 1
	for hi < math.Inf(1) && !enough(hi) { // alpha^2 may be 0
		lo, hi = hi, 2*hi
	}
	if hi >= 1<<53 {
		return hi
	}
	return numeric.BisectInt(lo, hi, enough)
}

// account says how (epsilon, delta) is spent on instances of BetweenThresholds.
type account struct {
	mode  string
	share func(v int, epsilon, delta float64) (eps0, delta0 float64)
}

// part returns the (eps0, delta0) of each of v instances. The proofs of their privacy need eps0 <=
// 1.
func (a account) part(v int, epsilon, delta float64) (eps0, delta0 float64) {
	eps0, delta0 = a.share(v, epsilon, delta)
	return min(eps0, 1), delta0
}

// goal describes what a predictor is to reach: all queries answered with error alpha, except with
// probability beta, (epsilon, delta)-privately.
type goal struct {
	queries                     int
	alpha, beta, epsilon, delta float64
}

// size is a sample size with what it consists of.
type size struct {
	v                 int     // number of instances
	eps0, delta0      float64 // privacy of each
	accuracy, privacy float64 // numbers of blocks that accuracy and privacy need
	k                 float64 // number of blocks
	approximation     float64 // by how much a block may deviate from the law
	m                 float64 // examples in a block
	n                 float64 // examples in all
}

// instances returns a size for v instances without m and n. share is the failure probability for
// their noise.
func (a account) instances(g goal, v int, share float64) size {
	s := size{v: v}
	s.eps0, s.delta0 = a.part(v, g.epsilon, g.delta)
	s.accuracy = accurateBlocks(s.eps0, g.queries, v, share)
	s.privacy = leastBlocks(a.mode, s.eps0, s.delta0)
	s.k = math.Ceil(max(s.accuracy, s.privacy))
	return s
}

// oblivious returns a sample size for Algorithm 3 and a class of Vapnik-Chervonenkis dimension d
// with the given number of labelings of the queries (Theorem 4 with all constants, realizable).
// With c hard queries the best hypothesis that agrees with them errs on no block more than 2c times
// as often as a block deviates, and answers err at most 4 times as often as hypotheses, so that a
// block may deviate by alpha/(4(2v+1)). beta is split evenly over the number of hard queries, the
// noise and the blocks.
func (a account) oblivious(g goal, d int, labelings *big.Int) size {
	v := max(1, hardQueries(labelings, g.beta/3))
	s := a.instances(g, v, g.beta/3)
	s.approximation = g.alpha / (4 * (2*float64(v) + 1))
	s.m = blockSize(d, s.approximation, g.beta/(3*s.k))
	s.n = s.k * s.m
	return s
}

// halfspace returns a sample size for Algorithm 4 in d dimensions, affine (the paper's adaptive
// result with all constants, realizable, for maximisers of the convex depth). No more than d
// queries are hard, and a block may deviate by alpha/(4(2d(d+1)+1)).
func (a account) halfspace(g goal, d int) size {
	s := a.instances(g, d+1, g.beta/2)
	n := float64(d)
	s.approximation = min(g.alpha/(4*(2*n*(n+1)+1)), 1/((2*n+1)*(n+2)+1))
	s.m = blockSize(d+1, s.approximation, g.beta/(2*s.k))
	s.n = s.k * s.m
	return s
}

// with returns what the size consists of, by the names that tables use.
func (s size) with() map[string]float64 {
	return map[string]float64{
		"v": float64(s.v), "eps0": s.eps0, "delta0": s.delta0, "k_accuracy": s.accuracy, "k_privacy": s.privacy, "k": s.k,
		"alpha_block": s.approximation, "m": s.m,
	}
}

// majorityBlocks returns the number of blocks at which noise of the given scale changes no majority
// of 3/4 in t queries, except with probability beta/2, by the tail of the Gaussian or the Laplace
// law at k/4.
func majorityBlocks(kind string, scale float64, t int, beta float64) float64 {
	if kind == Laplace {
		return math.Ceil(max(1, 4*scale*math.Log(float64(t)/beta)))
	}
	return math.Ceil(4 * scale * math.Sqrt(2*math.Log(2*float64(t)/beta)))
}

// consistentSize returns the sample size of Blumer, Ehrenfeucht, Haussler and Warmuth 1989 at which
// every consistent hypothesis errs at most with probability alpha, except with probability beta:
// max((4/alpha) log2(2/beta), (8d/alpha) log2(13/alpha)).
func consistentSize(d int, alpha, beta float64) float64 {
	return math.Ceil(max(4/alpha*math.Log2(2/beta), 8*float64(d)/alpha*math.Log2(13/alpha)))
}

// offlineSize returns sample sizes for the exponential mechanism over the labelings of the queries
// (realizable). With mechanism examples the labeling errs on at most alpha/20 of the sample;
// generalization examples suffice for the step from there to the law by the paper's Theorem 2.
func offlineSize(g goal, d int, labelings *big.Int) (mechanism, generalization float64) {
	mechanism = math.Ceil(2 / (g.epsilon * g.alpha / 20) * (logOf(labelings) + math.Log(2/g.beta)))
	complexity := float64(10 * float64(d) * math.Log(48*math.E/g.alpha))
	generalization = math.Ceil(48 / g.alpha * (complexity + math.Log(5/(g.beta/2))))
	return mechanism, generalization
}
