package estimate

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// AuditEpsilon gives a lower limit of epsilon for a mechanism that claims (epsilon, delta)-differential privacy: it lies above the
// truth with probability at most level. An event was chosen before; it came up k of n times on one data set and k0 of n0
// times on a neighbouring one. The event and its complement, in both orders, share four exact limits at level/4.
func AuditEpsilon(k, n, k0, n0 int, delta, level float64) float64 {
	low, high := CPLower(k, n, level/4), CPUpper(k, n, level/4)
	low0, high0 := CPLower(k0, n0, level/4), CPUpper(k0, n0, level/4)
	ratio := 1.0
	for _, r := range [][2]float64{{low, high0}, {low0, high}, {1 - high, 1 - low0}, {1 - high0, 1 - low}} {
		ratio = max(ratio, (r[0]-delta)/r[1])
	}
	return math.Log(ratio)
}

// AuditMu gives a lower limit of mu for a mechanism that claims mu-Gaussian differential privacy, from a test of the one data set
// against the other with that many false positives of n0 and false negatives of n1 runs; level/2 for each rate.
func AuditMu(falsePositives, n0, falseNegatives, n1 int, level float64) float64 {
	mu := mathext.NormalQuantile(1-CPUpper(falsePositives, n0, level/2)) - mathext.NormalQuantile(CPUpper(falseNegatives, n1, level/2))
	return max(0, mu)
}

// AuditReach gives the largest epsilon that AuditEpsilon can certify with that many runs on each side: a statement of power that
// belongs beside every audit.
func AuditReach(runs int, level float64) float64 {
	q := math.Pow(level/4, 1/float64(runs))
	return max(0, math.Log(q/(1-q)))
}
