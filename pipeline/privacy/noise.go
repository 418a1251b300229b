package privacy

import (
	"math"
	"math/rand/v2"
)

// Uniform draws one of the numbers (k + 1/2) 2^-52, k = 0..2^52-1, all equally likely: never 0 and never 1, so that each
// quantile below is finite.
func Uniform(r *rand.Rand) float64 { return (float64(r.Uint64()>>12) + 0.5) * 0x1p-52 }

// NormalPair turns two independent uniforms in (0, 1) into two independent standard normals (Box and Muller 1958).
func NormalPair(u, v float64) (float64, float64) {
	radius := math.Sqrt(-2 * math.Log(u))
	sine, cosine := math.Sincos(2 * math.Pi * v)
	return radius * cosine, radius * sine
}

// Gumbel is the quantile function of the standard Gumbel distribution, u in (0, 1). The maximum of c independent ones is
// distributed as one of them plus ln c.
func Gumbel(u float64) float64 { return -math.Log(-math.Log(u)) }

// Laplace is the quantile function of the Laplace distribution with density e^(-|x|/scale) / (2 scale), u in (0, 1).
func Laplace(u, scale float64) float64 {
	if u < 0.5 {
		return scale * math.Log(2*u)
	}
	return -scale * math.Log(2*(1-u))
}
