package privacy_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/privacy"
)

// The mean of 1000 numbers in [0, 1] changes by at most 1/1000 if one of them is replaced. Ten
// such answers must be (1, 1e-6)-differentially private together.
func ExampleGaussianSigma() {
	fmt.Printf("%.4f\n", privacy.GaussianSigma(1.0/1000, 10, 1, 1e-6))
	// Output: 0.0134
}

// With the exact theorem each of 100 mechanisms has a larger share than with basic composition.
func ExampleComposition_Share() {
	for _, theorem := range []privacy.Composition{privacy.Basic, privacy.Advanced, privacy.Optimal} {
		epsilon, delta := theorem.Share(100, 1, 1e-6)
		fmt.Printf("%s: epsilon %.4f, delta %.1e\n", theorem, epsilon, delta)
	}
	// Output:
	// basic: epsilon 0.0100, delta 1.0e-08
	// advanced: epsilon 0.0183, delta 5.0e-09
	// optimal: epsilon 0.0232, delta 5.0e-09
}

// Noise is a function of the seed.
func ExampleLaplace() {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3 {
		fmt.Printf("%.3f\n", privacy.Laplace(privacy.Uniform(r), 2))
	}
	// Output:
	// 1.548
	// 0.530
	// 1.683
}
