package finite

import (
	"math"

	"github.com/shatterlab/shatter/plugins/algo"
)

// The proved sample sizes. Write OPT for the least population error in H, h* for a hypothesis with
// this error, and call h bad if its error exceeds OPT + alpha. For a bad h let X_i = 1[h errs on
// example i] - 1[h* errs on it]. Suppose that an algorithm satisfies, for all values of the other
// hypotheses and for every s in (0, most],
//
//	P(h is answered | sample) <= C(s) e^(-s sum X_i).                                            (1)
//
// With independent examples, the union bound over at most |H|-1 bad h gives
//
//	P(the answer is bad) <= (|H|-1) C(s) (max over bad h of E e^(-s X))^n,
//
// hence n(s) = (ln(|H|-1) - ln beta + ln C(s)) / rate(s) examples suffice, and any larger number,
// for any s. An algorithm that minimizes the errors answers h only if sum X_i <= 0, for any rule to
// break ties: it satisfies (1) with C = 1 for every s. Package expmech proves (1) for its
// mechanisms.
//
// The union is over hypotheses and the examples are independent given the target, so the result
// holds for every choice of the target.

// Gap describes the distribution of X for the worst bad hypothesis, and the error probability with
// which a sample must distinguish it from h*. The zero values of Random and Adversary mean that all
// labels are right.
type Gap struct {
	Alpha, Beta float64 // goal of the proof
	LogSize     float64 // ln |H|
	Random      float64 // rate of independent label noise
	Adversary   float64 // share of the sample's labels that an adversary with access to the sample may flip

	realizable bool // whether h* labels every point rightly before the noise
}

// GapOf returns the gap of a setting for a class with logSize = ln |H|.
func GapOf[P any](s *algo.Setting[P], logSize float64) Gap {
	g := Gap{LogSize: logSize}
	g.Alpha, g.Beta = s.Proof()
	switch s.Problem.Noise {
	case "random":
		g.Random = s.Problem.NoiseRate
	case "adversarial", "malicious": // except for halfspaces both flip labels
		g.Adversary = s.Problem.NoiseRate
	}
	return g
}

// Need returns ln((|H|-1)/beta), the requirement of the union over bad hypotheses on each of them.
// It is -Inf for a single hypothesis.
func (g Gap) Need() float64 { return LogOthers(g.LogSize) - math.Log(g.Beta) }

// Mean returns the least mean of X before an adversary flips labels: independent noise shrinks each
// difference of errors by the same factor.
func (g Gap) Mean() float64 { return g.Alpha * (1 - 2*g.Random) }

// Edge returns the least mean of X minus the largest decrease of the sample average by an
// adversary: each flipped label changes sum X by at most 2. It is not positive if the adversary can
// compensate for any difference.
func (g Gap) Edge() float64 { return float64(g.Alpha*(1-2*g.Random)) - 2*g.Adversary }

// Noise describes the label noise for the source of a bound that uses Edge.
func (g Gap) Noise() string {
	switch {
	case g.Adversary > 0:
		return "; a flipped label changes a difference by at most 2"
	case g.Random > 0:
		return "; labels flipped independently"
	}
	return ""
}

// Sharp returns the bounds sharp-agnostic, on the excess over the best hypothesis, and
// sharp-realizable, for a target in the class, of an algorithm that satisfies (1) with C = 1 for
// every s up to most, which may be +Inf.
func (g Gap) Sharp(most float64) []algo.Bound {
	return g.bounds("", "", func(g Gap) size { return g.sharp(most) })
}

// Theta returns a function that returns the bounds of Sharp with the suffix -theta, for an
// algorithm that satisfies (1) with ln C(s) = c(s/most). The function c is at most 0, 0 at 0, and
// has its minimum at 1/2 or beyond; pairwise describes its source.
func Theta(c func(theta float64) float64, pairwise string) func(g Gap, most float64) []algo.Bound {
	return func(g Gap, most float64) []algo.Bound {
		return g.bounds("-theta", pairwise, func(g Gap) size { return g.theta(c, most) })
	}
}

// bounds returns the two bounds whose sizes the function computes.
func (g Gap) bounds(ending, how string, sizeOf func(Gap) size) []algo.Bound {
	bound := func(name, source string, p algo.Premise, n size) algo.Bound {
		return algo.Bound{
			Name: name + ending, Source: source + how + g.Noise(), Value: n.n, Proved: true,
			With:     map[string]float64{"ln_h": g.LogSize, "rate": n.rate, "s": n.s},
			Premises: []algo.Premise{p},
		}
	}
	agnostic := sizeOf(g)
	g.realizable = true
	return []algo.Bound{
		bound("sharp-agnostic", "Chernoff bound on differences of errors, union over bad hypotheses", algo.BestReference,
			agnostic),
		bound("sharp-realizable", "exponential moment of a bad hypothesis' errors, target in the class", algo.TargetInClass,
			sizeOf(g)),
	}
}

// rate returns minus the logarithm of the largest E e^(-s X), minus the adversary's contribution.
//
// In general X is in {-1, 0, 1} with a mean above g = Mean(). With a = P(X=1) and b = P(X=-1), E
// e^(-sX) = 1 + (a+b)(cosh s - 1) - (a-b) sinh s <= cosh s - g sinh s.
//
// In the realizable case h and h* differ with probability d > alpha, and X is then 1, or -1 if the
// label is flipped: E e^(-sX) = 1 - d(1 - (1-random)e^-s - random e^s), decreasing in d if the
// bracket is positive.
//
// Each flipped label changes sum X by at most 2: a factor e^(2 s adversary) per example.
func (g Gap) rate(s float64) float64 {
	if math.IsInf(s, 1) { // only the realizable case without noise has its best s at infinity
		return -math.Log1p(-g.Alpha)
	}
	if g.realizable {
		fall := -math.Expm1(-s)
		if g.Random > 0 {
			fall -= float64(g.Random * (math.Exp(s) - math.Exp(-s)))
		}
		return -math.Log1p(-g.Alpha*fall) - float64(2*s*g.Adversary)
	}
	// cosh s - m sinh s = e^-s (1 + ((1-m)/2)(e^2s - 1))
	m := g.Mean()
	return s - math.Log1p((1-m)/2*math.Expm1(2*s)) - float64(2*s*g.Adversary)
}

// best returns the s at which rate is largest. It is not positive if rate never is.
func (g Gap) best() float64 {
	a := g.Adversary
	switch {
	case !g.realizable:
		return math.Atanh(g.Mean()) - math.Atanh(2*a)
	case a > 0:
		return math.Log(g.Alpha * (1 - 2*a) / (2 * a * (1 - g.Alpha)))
	default:
		return math.Log((1-g.Random)/g.Random) / 2 // +Inf without noise
	}
}

// A size is a number of examples that suffices, with the s that proves it and the rate at this s.
type size struct{ n, s, rate float64 }

// sharp returns the size with C = 1, at the best s up to most.
func (g Gap) sharp(most float64) size {
	s := min(g.best(), most)
	if !(s > 0) {
		return size{n: examples(g.Need(), 0)}
	}
	return size{examples(g.Need(), g.rate(s)), s, g.rate(s)}
}

// theta returns the size with ln C(s) = c(s/most), at the best s found; every s is proved. The
// minimum of n(s) is between best and the s with the least c. A grid search followed by
// golden-section search finds it.
func (g Gap) theta(c func(theta float64) float64, most float64) size {
	sharp := g.sharp(most)
	if sharp.s == 0 || math.IsInf(most, 1) {
		return sharp // c(0) = 0
	}
	need := g.Need()
	value := func(s float64) float64 { return quotient(need+c(s/most), g.rate(s)) }
	const steps = 256
	low := min(g.best(), most/2)
	ratio := math.Pow(most/low, 1.0/steps)
	best, least := sharp.s, value(sharp.s)
	for s := low; s <= most; s *= ratio {
		if v := value(s); v < least {
			best, least = s, v
		}
	}
	s := section(value, max(low, best/ratio), min(most, best*ratio), best)
	return size{examples(need+c(s/most), g.rate(s)), s, g.rate(s)}
}

// section narrows low..high around a minimum of value by golden-section search. It returns the best
// of best and the midpoints of all steps. Unlike [numeric.Golden] it remembers all values, for
// functions that are not unimodal.
func section(value func(float64) float64, low, high, best float64) float64 {
	least := value(best)
	for range 60 {
		step := float64((high - low) * (math.Phi - 1))
		if a, b := high-step, low+step; value(a) < value(b) {
			high = b
		} else {
			low = a
		}
		middle := (low + high) / 2
		if v := value(middle); v < least {
			best, least = middle, v
		}
	}
	return best
}

// quotient returns need/rate, the real number of examples: 0 if none are needed, +Inf if no number
// suffices.
func quotient(need, rate float64) float64 {
	switch {
	case need <= 0:
		return 0
	case !(rate > 0):
		return math.Inf(1)
	}
	return need / rate
}

// examples returns quotient rounded up to an integer, at least 1.
func examples(need, rate float64) float64 { return max(1, math.Ceil(quotient(need, rate))) }
