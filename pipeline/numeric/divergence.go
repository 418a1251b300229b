package numeric

import "math"

// Divergence returns the relative entropy, in nats, of a coin of mean a from one of mean b. It
// bounds large deviations: the mean of n independent numbers in [0, 1] with expectation b is a,
// or further off to that side, with probability at most exp(-n Divergence(a, b)) (Hoeffding 1963,
// Theorem 1). It is infinite if b is not inside of (0, 1).
func Divergence(a, b float64) float64 {
	if !(b > 0 && b < 1) {
		return math.Inf(1)
	}
	term := func(p, q float64) float64 {
		if p == 0 {
			return 0
		}
		return float64(p * math.Log(p/q))
	}
	return term(a, b) + term(1-a, 1-b)
}
