package expmech

import (
	"math"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite"
)

// The proved sample sizes are those of [finite.Gap]. In its terms let Y = (eps/2) sum X_i: the
// mechanism's weight of a bad h is e^-Y times that of h*. Both mechanisms satisfy, for all values
// of the other hypotheses and for every theta in (0, 1],
//
//	P(h is answered | sample) <= C(theta) e^(-theta Y)   and also   <= e^(-theta Y),
//
// see selection. This is condition (1) there for s = theta eps/2, up to s = eps/2. The bounds
// "sharp-*" use C = 1, "sharp-*-theta" use C.

// A selection is the function ln C(theta), for theta in [0, 1].
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

// lectureTheorem returns the least n with |H| (e^(-eps n alpha/6) + 2 e^(-2 n alpha^2/9)) <= beta.
func lectureTheorem(lnH, eps, alpha, beta float64) float64 {
	enough := func(n float64) bool {
		a, b := lnH-eps*n*alpha/6, lnH+math.Ln2-2*n*alpha*alpha/9
		return max(a, b)+math.Log1p(math.Exp(-math.Abs(a-b))) <= math.Log(beta)
	}
	// Each of the two terms is at most beta/2 at this n.
	private := 6 / (eps * alpha) * (lnH + math.Ln2 - math.Log(beta))
	learn := 9 / (2 * alpha * alpha) * (lnH + 2*math.Ln2 - math.Log(beta))
	high := math.Ceil(max(private, learn))
	if !(high < 1<<52) {
		return high
	}
	return numeric.BisectInt(0, high+1, enough)
}

// boundsOf returns the bounds of the mechanism with the given selection.
func boundsOf(rule selection) func(*algo.Setting[struct{}]) ([]algo.Bound, error) {
	theta := finite.Theta(rule, ", with the pairwise bound on the mechanism's choice")
	return func(s *algo.Setting[struct{}]) ([]algo.Bound, error) {
		class, err := classOf(s.Problem)
		if err != nil {
			return nil, err
		}
		g, most := finite.GapOf(s, class.LogSize()), s.Epsilon/2
		list := append([]algo.Bound{printedBound(g, s.Epsilon)}, g.Sharp(most)...)
		return append(list, theta(g, most)...), nil
	}
}

// printedBound returns the lecture's theorem, at the alpha that random label noise leaves; it does
// not cover adversarial noise. Its proof bounds the probability of h by exp(-(eps/2)(err(h) - least
// err)), which holds for permute-and-flip as well.
func printedBound(g finite.Gap, epsilon float64) algo.Bound {
	return algo.Bound{
		Name: "theorem-1",
		Source: "Kalavasis, PAC Learning with Pure DP and Online Learning, Theorem 1, " +
			"with the constants of its proof at t = alpha/3",
		Value:    lectureTheorem(g.LogSize, epsilon, g.Mean(), g.Beta),
		With:     map[string]float64{"ln_h": g.LogSize, "alpha": g.Mean()},
		Premises: []algo.Premise{algo.BestReference, algo.IndependentNoise},
	}
}
