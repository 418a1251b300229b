package cheats

import (
	"math"

	"github.com/shatterlab/shatter/plugins/algo"
)

// mean answers the exact mean of the labels that the exponential mechanism over thresholds gives to
// a point. One draw of the mechanism is private; its mean is a function of the sample without any
// noise.
var mean = private(learner("mean", "Answers the mean of the exponential mechanism.",
	func(t *algo.Trial[struct{}], sample *algo.Data) (algo.Model, error) {
		cuts := int(t.Problem.Domain) + 1
		errors, below := make([]float64, cuts), make([]float64, cuts)
		for i := range sample.Len() { // a threshold errs on +1 below it and on -1 from it on
			if at := int(sample.X(i)[0]); sample.Y(i) > 0 {
				errors[at+1]++
			} else {
				errors[0]++
				errors[at+1]--
			}
		}
		total := 0.0
		for cut, sum := 0, 0.0; cut < cuts; cut++ {
			sum += errors[cut]
			total += math.Exp(-t.Epsilon * sum / 2)
			below[cut] = total
		}
		return rule(func(x []float64) float64 { return 2*below[int(x[0])]/total - 1 }), nil
	}), "exponential mechanism (McSherry and Talwar 2007)")
