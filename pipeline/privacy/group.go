package privacy

import (
	"math"

	"github.com/shatterlab/shatter/pipeline/numeric"
)

// ImpliedEpsilon returns the least epsilon at which an (epsilon, delta)-private algorithm can reach
// a result on n examples with the given probability, if without data it reaches that result with
// probability at most prior. It returns 0 if even epsilon 0 allows it.
//
// Any two samples of n examples are n replacements apart, so by group privacy
//
//	probability <= e^(n epsilon) prior + delta (e^(n epsilon) - 1)/(e^epsilon - 1).
//
// probability, prior and delta are in [0, 1], prior is positive, and n is at least 1.
func ImpliedEpsilon(probability, prior, delta float64, n int64) float64 {
	steps := float64(n)
	if probability <= prior+float64(steps*delta) {
		return 0
	}
	most := (math.Log(probability) - math.Log(prior)) / steps // the answer for delta = 0
	if delta == 0 {
		return most
	}
	least, _ := numeric.Bisect(0, most, func(epsilon float64) bool {
		geometric := math.Expm1(steps*epsilon) / math.Expm1(epsilon)
		return probability > float64(math.Exp(steps*epsilon)*prior)+float64(delta*geometric)
	})
	return least
}
