package privacy

import (
	"math"
	"math/rand/v2"
)

// Uniform draws one of the numbers (k + 1/2) 2^-52, k = 0..2^52-1, all equally likely. It is
// never 0 and never 1, so that the quantile functions of this package are finite at it. It uses
// one word of r.
func Uniform(r *rand.Rand) float64 { return (float64(r.Uint64()>>12) + 0.5) * 0x1p-52 }

// Gumbel returns the quantile at u, in (0, 1), of the standard Gumbel distribution. The maximum of
// c independent standard Gumbel variables is distributed as one of them plus ln c.
func Gumbel(u float64) float64 { return -math.Log(-math.Log(u)) }

// Laplace returns the quantile at u, in (0, 1), of the Laplace distribution with density
// e^(-|x|/scale) / (2 scale).
func Laplace(u, scale float64) float64 {
	if u < 0.5 {
		return scale * math.Log(2*u)
	}
	return -scale * math.Log(2*(1-u))
}
