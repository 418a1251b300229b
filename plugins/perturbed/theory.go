package perturbed

import (
	"math"

	"gonum.org/v1/gonum/mathext"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/pipeline/privacy"
)

// The stability lemma. Give every hypothesis f a vector v_f of R^m and let f* and f*' minimize M(f)
// + eta <xi, v_f> and M'(f) + eta <xi, v_f> for one xi. Write d = M' - M, D for max d - min d, and
// A_f, A'_f for the sets of xi with f* = f and with f*' = f. If a vector u_f has
//
//	eta <u_f, v_g - v_f> >= D for every g other than f,                                          (1)
//
// then A_f + u_f is a subset of A'_f: for xi in A_f, the value of g under M' and xi + u_f exceeds
// that of f by at least as much as under M and xi, because M' - M subtracts at most D and u_f adds
// D. (The excess never decreases, so a tie broken by an order is broken as before.) Hence P(f* = f)
// <= P(xi + u_f in A'_f), and it remains to compare the distribution of xi with its translate by
// u_f:
//
//   - xi standard normal: P(f* in O) <= e^eps P(f*' in O) + sum over f of delta_G(eps; |u_f|),
//     where delta_G is the delta of the Gaussian mechanism at that mu (Balle and Wang 2018);
//   - independent Laplace noise of scale b instead of eta xi (then with eta = 1 in (1)): the
//     density changes by a factor of at most e^(|u_f|_1/b), so
//     P(f* in O) <= e^(max |u_f|_1/b) P(f*' in O).
//
// Errors on a sample change by at most 1 when one example is replaced, some up and some down: D
// = 2. These u_f satisfy (1):
//
//   - p_f D/(eta r_f^2), where p_f is the point of least norm r_f > 0 in the hull of {v_g - v_f}:
//     it has <p_f, v_g - v_f> >= r_f^2, and |u_f| = D/(eta r_f);
//   - for v_f = the labels of f at m points, divided by sqrt(m), when any two hypotheses differ on
//     at least h of them: -lambda v_f with lambda = D m/(2 h eta), because
//     <-v_f, v_g - v_f> = |v_f - v_g|^2/2 >= 2h/m. In 0/1 values F and without a root of m this is
//     (D/(h eta)) (1 - 2 F_f), whose absolute values add up to D m/(h eta).
//
// In both cases |u_f| <= D/(eta radius), with radius the least r_f or 2h/m. If two hypotheses agree
// on all points, or one of them is in the hull of others (possible with real values: -1, 0 and 1 at
// one point), the radius is 0 and nothing is proved: {-1, 0, 1} is a counterexample to Lemmas 1 and
// 2 of Block and Shetty 2025.

// oscillation is D for neighbors that differ in one replaced example.
const oscillation = 2

// tightShift returns the largest lambda with |F| delta_G(eps; lambda) <= delta, where lnF is the
// logarithm of |F|. It is 0 if delta is 0: no Gaussian noise suffices.
func tightShift(lnF, eps, delta float64) float64 {
	return privacy.GaussianMu(eps, math.Exp(math.Log(delta)-lnF))
}

// simpleShift returns the lambda with eps = lambda w + lambda^2/2, where w has
// P(<xi, u_f> > w |u_f| for some f) <= delta: outside of that event the normal density at xi + u_f
// is at least e^-eps times that at xi. It is never above tightShift for the w of unionTail.
func simpleShift(w, eps float64) float64 { return 2 * eps / (w + math.Sqrt(float64(w*w)+2*eps)) }

// unionTail returns the w such that |F| standard normals, with any dependence, are all below w with
// probability at least 1 - delta.
func unionTail(lnF, delta float64) float64 {
	return -mathext.NormalQuantile(math.Exp(min(math.Log(delta)-lnF, -math.Ln2)))
}

// signTail returns a w with P(|xi|_1/sqrt(m) > w) <= delta: it bounds <xi, v> over all m-vectors v
// of labels divided by sqrt(m) at once, for any number of hypotheses. By Chernoff's bound with E
// e^(t |xi_j|) = 2 Phi(t) e^(t^2/2), for every t > 0:
//
//	w = (-ln delta + m (t^2/2 + ln(2 Phi(t)))) / (t sqrt(m)).
//
// The numerator is convex and positive and the denominator linear, so golden-section search finds
// the minimum.
func signTail(m int, delta float64) float64 {
	k := float64(m)
	value := func(lnT float64) float64 {
		t := math.Exp(lnT)
		return (float64(k*(float64(t*t/2)+math.Log(math.Erfc(-t/math.Sqrt2)))) - math.Log(delta)) / (t * math.Sqrt(k))
	}
	return value(numeric.Golden(value, -20, 20, 100))
}

// signShift returns the larger of the lambda of tightShift and that of signTail, for hypotheses
// that differ at m points. The second one is larger only if the hypotheses are almost all of the
// 2^m patterns of at least about a hundred points, or delta is large.
func signShift(m int, lnF, eps, delta float64) float64 {
	return max(tightShift(lnF, eps, delta), simpleShift(signTail(m, delta), eps))
}

// noise returns the eta at which the shift is lambda: D/(radius lambda).
func noise(radius, lambda float64) float64 { return oscillation / (radius * lambda) }

// laplaceScale returns the b at which Laplace noise on 0/1 labels is eps-private, at m points of
// which any two hypotheses differ on at least h: |u_f|_1/b = D m/(h b) = eps.
func laplaceScale(m, h int, eps float64) float64 {
	return oscillation * float64(m) / (float64(h) * eps)
}

// printedNoise returns the eta of Block and Shetty 2025, Lemma 2, constant (G + sqrt(2
// ln(2/delta))) / (rho^2 eps), in any one encoding of the labels: the constant is 8 as printed
// there, and 32 in Theorem 3. With 0/1 labels, for which the paper states its separations, rho^2 =
// h/m. A perturbation of eta on 0/1 labels is one of eta/2 on -1/+1 labels, except for a part that
// is the same for all hypotheses.
func printedNoise(constant, complexity, rho2, eps, delta float64) float64 {
	return constant * (complexity + math.Sqrt(2*math.Log(2/delta))) / (rho2 * eps)
}

// printedComplexity returns a bound on the Gaussian complexity G for 0/1 labels: half of that of
// |F| unit vectors. The paper's sqrt(ln|F|) is not such a bound.
func printedComplexity(lnF float64) float64 { return math.Sqrt(2*lnF) / 2 }

// The sample sizes. Write OPT for the least population error, h* for a hypothesis with this error,
// and call f bad if its error exceeds OPT + alpha. With X_i = 1[f errs on example i] - 1[h* errs on
// it], a bad f is answered only if sum X_i + N_f <= 0, where N_f is its noise minus that of h*. X_i
// is in [-1, 1]. For a = [finite.Gap.Edge] its mean exceeds a plus the largest decrease of the
// average by an adversary's flips. By Hoeffding's lemma, for s > 0,
//
//	P(f is answered) <= e^(n(s^2/2 - a s)) E e^(-s N_f),                                         (2)
//
// and the union bound over at most |F|-1 bad f requires this to be at most beta/(|F|-1).

// A goal holds the requirements on (2).
type goal struct {
	edge float64 // a
	need float64 // ln((|F|-1)/beta)
}

// gaussianSize returns the least n that (2) proves for N_f = eta <xi, v_f - v_h*>, of variance at
// most eta^2 kappa2 with kappa2 the largest |v_f - v_g|^2. Then (2) is
//
//	exp(n(s^2/2 - a s) + s^2 eta^2 kappa2/2),
//
// with its minimum at s = n a/(n + eta^2 kappa2), which is exp(-n^2 a^2/(2(n + eta^2 kappa2))).
func (g goal) gaussianSize(eta, kappa2 float64) float64 {
	switch {
	case g.need <= 0:
		return 1
	case !(g.edge > 0) || math.IsInf(eta, 1):
		return math.Inf(1)
	}
	a2 := g.edge * g.edge
	return math.Ceil((g.need + math.Sqrt(float64(g.need*g.need)+float64(2*a2*kappa2*eta*eta*g.need))) / a2)
}

// laplaceSize returns the least n that (2) proves for N_f = the sum of at most k independent
// Laplace variables of scale b, or of their negatives: E e^(-s N_f) <= (1 - s^2 b^2)^-k for every s
// below 1/b. It proves n(s) = (need - k ln(1 - s^2 b^2))/(a s - s^2/2), convex over concave, so
// golden-section search finds the minimum.
func (g goal) laplaceSize(b float64, k int) float64 {
	switch {
	case g.need <= 0:
		return 1
	case !(g.edge > 0) || math.IsInf(b, 1):
		return math.Inf(1)
	}
	value := func(s float64) float64 {
		return (g.need - float64(float64(k)*math.Log1p(-s*b*s*b))) / (s * (g.edge - s/2))
	}
	return math.Ceil(value(numeric.Golden(value, 0, min(1/b, 2*g.edge), 100)))
}
