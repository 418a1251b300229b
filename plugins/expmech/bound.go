package expmech

import (
	"math"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite"
)

// The proved sample sizes. Write OPT for the least population error in H, h* for a hypothesis that
// has it, and call h bad where its error exceeds OPT + alpha. For a bad h let
// X_i = 1[h errs on example i] - 1[h* errs on it], and Y = (eps/2) sum X_i: the mechanism's weight
// of h is e^-Y times that of h*. Both mechanisms satisfy, whatever the other hypotheses do and for
// every theta in (0, 1],
//
//	P(h is answered | sample) <= C(theta) e^(-theta Y)   and also   <= e^(-theta Y),             (1)
//
// see selection. With s = theta eps/2 in (0, eps/2] and independent examples, the union bound over
// at most |H|-1 bad h gives
//
//	P(the answer is bad) <= (|H|-1) C(2s/eps) (max over bad h of E e^(-s X))^n,
//
// hence n(s) = (ln(|H|-1) - ln beta + ln C(2s/eps)) / rate(s) examples suffice, for any s; rate is
// in type gap. The bounds "sharp-*" use C = 1 and its best s, "sharp-*-theta" use C and the best s
// found for it.

// selection is the function ln C(theta) of (1), for theta in [0, 1].
type selection func(theta float64) float64

// exponential returns the selection at theta of the exponential mechanism, for which
//
//	P(h | sample) <= w(h)/(w(h) + w(h*)) = 1/(1 + e^Y).
//
// Over all Y, e^(theta Y)/(1 + e^Y) is largest at e^Y = theta/(1-theta), where it is
// theta^theta (1-theta)^(1-theta) <= 1.
func exponential(theta float64) float64 { return xlogx(theta) + xlogx(1-theta) }

// permuteAndFlip returns the selection at theta of permute-and-flip. With p = p_h,
// q = p_h* = p e^Y <= 1 and F(u) the product over all g of (1 - u p_g),
//
//	P(h | sample) = p (integral of F(u)/(1 - u p) over (0, 1))
//	             <= p (integral of 1 - u q over (0, 1)) = p (1 - q/2).
//
// If Y >= 0 this is e^-Y q(1 - q/2) <= e^-Y/2. If Y < 0 it is p(1 - p e^Y/2) <= 1 - e^Y/2.
// Multiplied by e^(theta Y), the first is at most 1/2. The second is largest at
// e^Y = 2 theta/(1+theta), where it is (2 theta)^theta/(1+theta)^(1+theta), in [1/2, 1].
func permuteAndFlip(theta float64) float64 {
	if theta == 0 {
		return 0
	}
	return float64(theta*math.Log(2*theta)) - float64((1+theta)*math.Log1p(theta))
}

func xlogx(x float64) float64 {
	if x == 0 {
		return 0
	}
	return float64(x * math.Log(x)) // rounded here, never fused into a sum
}

// gap describes the law of X for the worst bad hypothesis.
type gap struct {
	alpha      float64
	random     float64 // rate of independent label noise
	adversary  float64 // share of the sample's labels that an adversary who has seen it may flip
	realizable bool    // h* labels every point rightly before the noise
}

// gapOf returns the gap of a problem, for a target outside the class.
func gapOf(s *algo.Setting[struct{}]) gap {
	g := gap{alpha: s.Alpha}
	switch s.Problem.Noise {
	case "random":
		g.random = s.Problem.NoiseRate
	case "adversarial":
		g.adversary = s.Problem.NoiseRate
	}
	return g
}

// rate returns minus the logarithm of the largest E e^(-s X), less what the adversary can take
// back.
//
// In general X is in {-1, 0, 1} with mean above g = alpha(1 - 2 random), because independent noise
// shrinks each difference of errors by that factor. With a = P(X=1) and b = P(X=-1),
// E e^(-sX) = 1 + (a+b)(cosh s - 1) - (a-b) sinh s <= cosh s - g sinh s.
//
// In the realizable case h and h* differ with probability d > alpha, and X is then 1, or -1 where
// the label is flipped: E e^(-sX) = 1 - d(1 - (1-random)e^-s - random e^s), decreasing in d where
// the bracket is positive.
//
// Each flipped label changes sum X by at most 2: a factor e^(2 s adversary) per example.
func (g gap) rate(s float64) float64 {
	if math.IsInf(s, 1) { // only the realizable case without noise has its best s there
		return -math.Log1p(-g.alpha)
	}
	if g.realizable {
		fall := -math.Expm1(-s)
		if g.random > 0 {
			fall -= float64(g.random * (math.Exp(s) - math.Exp(-s)))
		}
		return -math.Log1p(-g.alpha*fall) - float64(2*s*g.adversary)
	}
	// cosh s - m sinh s = e^-s (1 + ((1-m)/2)(e^2s - 1))
	m := g.alpha * (1 - 2*g.random)
	return s - math.Log1p((1-m)/2*math.Expm1(2*s)) - float64(2*s*g.adversary)
}

// best returns the s at which rate is largest. It is not positive where rate never is.
func (g gap) best() float64 {
	a := g.adversary
	switch {
	case !g.realizable:
		return math.Atanh(g.alpha*(1-2*g.random)) - math.Atanh(2*a)
	case a > 0:
		return math.Log(g.alpha * (1 - 2*a) / (2 * a * (1 - g.alpha)))
	default:
		return math.Log((1-g.random)/g.random) / 2 // +Inf without noise
	}
}

// size is a number of examples that suffices, with the s that proves it and the rate there.
type size struct{ n, s, rate float64 }

// sharp returns the bound with C = 1, where need is ln(|H|-1) - ln beta.
func (g gap) sharp(need, eps float64) size {
	s := min(g.best(), eps/2)
	if !(s > 0) {
		return size{n: examples(need, 0)}
	}
	return size{examples(need, g.rate(s)), s, g.rate(s)}
}

// theta returns the bound with C = c, at the best s found: any s is proved. n(s) can only be least
// between g.best() and the s with the least C, which is eps/4 or eps/2. A grid and then golden
// sections search there.
func (g gap) theta(need, eps float64, c selection) size {
	sharp := g.sharp(need, eps)
	if sharp.s == 0 || math.IsInf(eps, 1) {
		return sharp // C(0) = 1
	}
	value := func(s float64) float64 { return quotient(need+c(2*s/eps), g.rate(s)) }
	const steps = 256
	best, low, high := sharp.s, min(sharp.s, eps/4), eps/2
	ratio := math.Pow(high/low, 1.0/steps)
	for s := low; s <= high; s *= ratio {
		if value(s) < value(best) {
			best = s
		}
	}
	s := section(value, max(low, best/ratio), min(high, best*ratio), best)
	return size{examples(need+c(2*s/eps), g.rate(s)), s, g.rate(s)}
}

// section narrows low..high around a minimum of value by golden sections. It returns the best of
// best and the middles of all steps. Unlike [numeric.Golden] it remembers what it has seen, for
// functions that do not simply fall and then rise.
func section(value func(float64) float64, low, high, best float64) float64 {
	for range 60 {
		step := float64((high - low) * (math.Phi - 1))
		if a, b := high-step, low+step; value(a) < value(b) {
			high = b
		} else {
			low = a
		}
		if middle := (low + high) / 2; value(middle) < value(best) {
			best = middle
		}
	}
	return best
}

// quotient returns need/rate, the real number of examples: 0 where nothing is needed, +Inf where no
// number is enough.
func quotient(need, rate float64) float64 {
	switch {
	case need <= 0:
		return 0
	case !(rate > 0):
		return math.Inf(1)
	}
	return need / rate
}

// examples returns quotient rounded up to a whole number of examples, at least 1.
func examples(need, rate float64) float64 { return max(1, math.Ceil(quotient(need, rate))) }

// lectureTheorem returns the least n with |H| (e^(-eps n alpha/6) + 2 e^(-2 n alpha^2/9)) <= beta.
func lectureTheorem(lnH, eps, alpha, beta float64) float64 {
	enough := func(n float64) bool {
		a, b := lnH-eps*n*alpha/6, lnH+math.Ln2-2*n*alpha*alpha/9
		return max(a, b)+math.Log1p(math.Exp(-math.Abs(a-b))) <= math.Log(beta)
	}
	// Each of the two terms is at most beta/2 here.
	private := 6 / (eps * alpha) * (lnH + math.Ln2 - math.Log(beta))
	learn := 9 / (2 * alpha * alpha) * (lnH + 2*math.Ln2 - math.Log(beta))
	high := math.Ceil(max(private, learn))
	if !(high < 1<<52) {
		return high
	}
	return numeric.BisectInt(0, high+1, enough)
}

// bounds returns the theory of the mechanism whose choice rule bounds.
func bounds(s *algo.Setting[struct{}], rule selection) ([]algo.Bound, error) {
	class, err := classOf(s.Problem)
	if err != nil {
		return nil, err
	}
	lnH := class.LogSize()
	need := finite.LogOthers(lnH) - math.Log(s.Beta)
	g := gapOf(s)
	var list []algo.Bound
	if g.adversary == 0 { // the lecture knows no adversary
		list = append(list, printedBound(lnH, s.Alpha*(1-2*g.random), s))
	}
	add := func(name, source string, n size) {
		list = append(list, algo.Bound{
			Name: name, Source: source + g.noise(), Value: n.n, Proved: true,
			With: map[string]float64{"ln_h": lnH, "rate": n.rate, "s": n.s},
		})
	}
	const pairwise = ", with the pairwise bound on the mechanism's choice"
	add("sharp-agnostic", "Chernoff bound on differences of errors, union over bad hypotheses", g.sharp(need, s.Epsilon))
	add("sharp-agnostic-theta", "as sharp-agnostic"+pairwise, g.theta(need, s.Epsilon, rule))
	if s.Problem.Realizable {
		g.realizable = true
		add("sharp-realizable", "exponential moment of a bad hypothesis' errors, target in the class",
			g.sharp(need, s.Epsilon))
		add("sharp-realizable-theta", "as sharp-realizable"+pairwise, g.theta(need, s.Epsilon, rule))
	}
	return list, nil
}

// printedBound returns the lecture's theorem, at the alpha that random label noise leaves. Its
// proof bounds the probability of h by exp(-(eps/2)(err(h) - least err)), which holds for
// permute-and-flip as well.
func printedBound(lnH, alpha float64, s *algo.Setting[struct{}]) algo.Bound {
	return algo.Bound{
		Name: "theorem-1",
		Source: "Kalavasis, PAC Learning with Pure DP and Online Learning, Theorem 1, " +
			"with the constants of its proof at t = alpha/3",
		Value: lectureTheorem(lnH, s.Epsilon, alpha, s.Beta),
		With:  map[string]float64{"ln_h": lnH, "alpha": alpha},
	}
}

// noise returns what a bound's source says of the label noise.
func (g gap) noise() string {
	switch {
	case g.adversary > 0:
		return "; a flipped label changes a difference by at most 2"
	case g.random > 0:
		return "; labels flipped independently"
	}
	return ""
}
