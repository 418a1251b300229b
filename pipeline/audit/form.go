package audit

import (
	"fmt"
	"math"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/pipeline/privacy"
)

// A form of privacy is stated by one number. It bounds P(E) for each event E by a concave function
// of Q(E). So each tangent of that function is a bound too: P(E) <= ratio Q(E) + delta.
type form struct {
	name   string
	words  string // the claim
	stated float64

	// tangent returns a tangent for a number of the form. The nearer it is to that at Q(E) = q, the
	// better is the bet on P(E) = p; 0 < q < p < 1.
	tangent func(number, p, q float64) (ratio, delta float64)
}

// forms returns the forms in which a claim states privacy.
func (c Claim) forms() []form {
	all := []form{{
		name: "epsilon", words: fmt.Sprintf("(%v, %v)-private", c.Epsilon, c.Delta), stated: c.Epsilon,
		tangent: func(epsilon, _, _ float64) (ratio, delta float64) { return math.Exp(epsilon), c.Delta },
	}}
	if c.Mu > 0 {
		all = append(all, form{"mu", fmt.Sprintf("mu-GDP with mu %.6g", c.Mu), c.Mu, gaussian})
	}
	if c.Rho > 0 {
		all = append(all, form{"rho", fmt.Sprintf("rho-zCDP with rho %.6g", c.Rho), c.Rho, concentrated})
	}
	return all
}

// gaussian returns a tangent of Phi(Phi^-1(Q) + mu), the bound of mu-Gaussian differential privacy
// (Dong, Roth and Su 2019): it is (epsilon, GaussianDelta(mu, epsilon))-private for each epsilon
// (Balle and Wang 2018). Instead of a slope below 1 it returns the slope 1: for such an event, a bet on its complement
// with the samples exchanged gains more.
func gaussian(mu, _, q float64) (ratio, delta float64) {
	z := -math.Sqrt2 * math.Erfcinv(2*q)
	epsilon := max(0, -mu*(z+mu/2))
	return math.Exp(epsilon), privacy.GaussianDelta(mu, epsilon)
}

// concentrated returns the tangent at q of the largest P with kl(P, Q) <= rho. The divergence of an
// event is at most the divergence of the models, and rho-zero-concentrated privacy bounds the Renyi
// divergences of all orders above 1, so also the limit at order 1 (Bun and Steinke 2016). P is concave
// in Q because kl is convex in both.
func concentrated(rho, p, q float64) (ratio, delta float64) {
	if numeric.Divergence(p, q) <= rho {
		return 1, 1 // no bet gains
	}
	_, most := numeric.Bisect(q, p, func(p float64) bool { return numeric.Divergence(p, q) <= rho })
	ratio = (most - q) / (q * (1 - q)) / math.Log(most*(1-q)/(q*(1-most)))
	return ratio, most - float64(ratio*q)
}
