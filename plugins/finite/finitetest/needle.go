package finitetest

import (
	"fmt"
	"math"

	"github.com/shatterlab/shatter/pipeline/numeric"
)

// Needle is the distribution of the thresholds t = 0..X-1 on the points 0..X-1, with a target t*. A
// point is t*-1 with probability Mass, t* with probability Mass, and otherwise X-1, where all
// thresholds agree. So only the target has an error below Mass: each of the Left thresholds below
// it errs on every point t*-1, and each of the Right thresholds above it on every point t*.
type Needle struct {
	Mass        float64 // in (0, 1/2]
	Left, Right float64 // t* and X-1-t*
}

// Success returns the exact probability that expmech/em returns the target after n examples: the
// mean of 1/(1 + Left e^(-epsilon kl/2) + Right e^(-epsilon kr/2)) over the multinomial counts kl
// and kr of the points t*-1 and t*. The double sum takes O(n Mass) terms.
func (distribution Needle) Success(n int, epsilon float64) float64 {
	given := distribution.Mass / (1 - distribution.Mass)
	return binomialMean(n, distribution.Mass, func(kl int) float64 {
		others := 1 + float64(distribution.Left*math.Exp(-epsilon/2*float64(kl)))
		return binomialMean(n-kl, given, func(kr int) float64 {
			return 1 / (others + float64(distribution.Right*math.Exp(-epsilon/2*float64(kr))))
		})
	})
}

// binomialMean returns the mean of f(k) under Bin(n, p), for f in [0, 1] and 0 <= p <= 1. It
// proceeds down and up from the mode, in units of the mode's probability, and omits terms below
// 1e-20 of it: an error far below 1e-12.
func binomialMean(n int, p float64, f func(k int) float64) float64 {
	if p >= 1 {
		return f(n)
	}
	mode, odds := min(n, int(float64(n+1)*p)), p/(1-p)
	sum, total := f(mode), 1.0
	for k, w := mode, 1.0; k > 0; k-- {
		if w *= float64(k) / (float64(n-k+1) * odds); w < 1e-20 {
			break
		}
		sum, total = sum+float64(w*f(k-1)), total+w
	}
	for k, w := mode, 1.0; k < n; k++ {
		if w *= float64(n-k) * odds / float64(k+1); w < 1e-20 {
			break
		}
		sum, total = sum+float64(w*f(k+1)), total+w
	}
	return sum / total
}

// SampleSize returns the exact n* of expmech/em: the least n at which Success is at least 1 - beta,
// if Success increases with n. It does so in all computed cases, but this is not proved. SampleSize
// returns an error if 2^20 examples are not enough.
func (distribution Needle) SampleSize(epsilon, beta float64) (int, error) {
	const largest = 1 << 20
	enough := func(n float64) bool { return distribution.Success(int(n), epsilon) >= 1-beta }
	high := 1.0
	for !enough(high) {
		if high *= 2; high > largest {
			return 0, fmt.Errorf("needle distribution of mass %v at epsilon %v: more than %d examples needed for success %v",
				distribution.Mass, epsilon, largest, 1-beta)
		}
	}
	return int(numeric.BisectInt(math.Floor(high/2), high, enough)), nil
}
