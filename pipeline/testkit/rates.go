package testkit

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// A Rate is the chance of success at z times the least sufficient sample size: it rises, and is target
// at 1.
type Rate func(z, target float64) float64

// LogisticRate returns the rate whose odds are a power of z. The slope is that of their logarithm in
// ln z.
func LogisticRate(slope float64) Rate {
	return func(z, target float64) float64 { return 1 / (1 + (1-target)/target*math.Pow(z, -slope)) }
}

// ProbitRate returns the rate that is a normal distribution function of slope ln z.
func ProbitRate(slope float64) Rate {
	return func(z, target float64) float64 {
		return 0.5 * math.Erfc(-(mathext.NormalQuantile(target)+slope*math.Log(z))/math.Sqrt2)
	}
}

// GompertzRate returns the rate whose logarithm is a power of z: misses become rare as z^-k.
func GompertzRate(k float64) Rate {
	return func(z, target float64) float64 { return math.Pow(target, math.Pow(z, -k)) }
}

// WeibullRate returns the rate of misses whose logarithm is a power of z: with k = 1 they die out
// exponentially.
func WeibullRate(k float64) Rate {
	return func(z, target float64) float64 { return 1 - math.Pow(1-target, math.Pow(z, k)) }
}

// PowerRate returns the rate of misses that are a power of z, as far as that is below 1.
func PowerRate(k float64) Rate {
	return func(z, target float64) float64 { return max(0, 1-(1-target)*math.Pow(z, -k)) }
}
