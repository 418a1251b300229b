package estimate

import (
	"math"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/shatterlab/shatter/pipeline/numeric"
)

// CPLower returns the exact lower limit of Clopper and Pearson (1934) for a success probability,
// from k successes in n trials. It exceeds the true probability with probability at most level. 0
// <= k <= n, and level is in (0, 1). The limit is 0 for k = 0.
func CPLower(k, n int, level float64) float64 {
	if k <= 0 {
		return 0
	}
	return betaQuantile(float64(k), float64(n-k+1), level)
}

// CPUpper returns the exact upper limit of Clopper and Pearson, which lies below the true
// probability with probability at most level. It is 1 for k = n.
func CPUpper(k, n int, level float64) float64 {
	if k >= n {
		return 1
	}
	return 1 - betaQuantile(float64(n-k), float64(k+1), level)
}

// ClopperPearson returns the exact limits of a success probability, each at level/2, from n
// trials of which k succeeded and lost were lost. The interval misses the true probability with
// probability at most level, provided that n was chosen before the trials were seen (otherwise,
// see [ShowsAtLeast]). A lost trial counts as a miss for the lower limit and as a success for the
// upper one. This holds for any cause of the losses: without losses, the number of successes
// would lie between k and k + lost, and both limits ascend in that number.
func ClopperPearson(k, lost, n int, level float64) (low, high float64) {
	return CPLower(k, n, level/2), CPUpper(k+lost, n, level/2)
}

// betaQuantile returns the x at which the regularized incomplete beta function I_x(a, b) is p. It
// bisects because mathext.InvRegIncBeta is wrong if b is small and a is large.
func betaQuantile(a, b, p float64) float64 {
	low, _ := numeric.Bisect(0, 1, func(x float64) bool { return mathext.RegIncBeta(a, b, x) < p })
	return low
}

// MeanInterval returns the confidence interval of a mean by Student's t, from the mean and the
// standard deviation of n independent values. Each end misses the mean with probability level/2.
// The ends are infinite if n is below 2 or the deviation is NaN.
func MeanInterval(mean, deviation float64, n int, level float64) (low, high float64) {
	if n < 2 || math.IsNaN(deviation) {
		return math.Inf(-1), math.Inf(1)
	}
	t := distuv.StudentsT{Sigma: 1, Nu: float64(n - 1)}
	half := t.Quantile(1-level/2) * deviation / math.Sqrt(float64(n))
	return mean - half, mean + half
}
