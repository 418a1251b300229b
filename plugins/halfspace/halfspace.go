// Package halfspace learns large-margin halfspaces privately without boosting, by the two
// algorithms of Nguyen, Ullman and Zakynthinou ("Efficient Private Algorithms for Learning
// Large-Margin Halfspaces", 2019): halfspace/exponential draws one vector of a public net of unit
// vectors by the exponential mechanism, which is pure, and halfspace/noisy-gradient minimizes the
// hinge loss by gradient descent with Gaussian noise. Both can first project the examples to fewer
// dimensions, by a public random matrix.
//
// It guarantees privacy for neighbors that differ in one replaced example, with n public, for every
// net and projection. Every sum has a fixed order. Bounds are marked proved only if bounds.go
// proves them with all constants. The noise is seeded floating-point noise, suitable for
// experiments but not for a release of real data. The examples must be in the unit ball, with
// labels -1 and +1, and the target margin must be known.
//
// Start with [Plugins], then learnExponential and learnGradient for the algorithms, newNet for the
// nets, and bounds.go for the theory.
package halfspace

import (
	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
)

// Plugins returns the algorithms of this package: halfspace/exponential and
// halfspace/noisy-gradient.
func Plugins() []algo.Plugin { return []algo.Plugin{exponential(), noisyGradient()} }

// maxNumbers limits the numbers of a net or a projection: 256 MiB.
const maxNumbers = 1 << 25

// checkProblem returns an error if neither algorithm can learn the problem, or if it cannot project
// the examples to the given number of dimensions; 0 means no projection.
func checkProblem(name string, p algo.Problem, project int) error {
	switch {
	case p.Class != concept.Halfspace:
		return algo.Invalid("%s learns halfspaces, not class %q: "+
			"omit it here, or set problem.class to halfspace", name, p.Class)
	case p.Dim < 1:
		return algo.Invalid("%s requires dimension 1 or more, not %d", name, p.Dim)
	case project < 0 || project > p.Dim:
		return algo.Invalid("%s projects to fewer dimensions, so not from %d to %d: "+
			"lower project, or set it to 0 for no projection", name, p.Dim, project)
	case float64(project)*float64(p.Dim) > maxNumbers:
		return algo.Invalid("%s: a projection from %d to %d dimensions has %.4g numbers, and %d are allowed: "+
			"lower project to %d, or set it to 0 for no projection",
			name, p.Dim, project, float64(project)*float64(p.Dim), maxNumbers, maxNumbers/p.Dim)
	}
	return nil
}

// checkMargin returns an error if the target margin, given as the parameter name or guaranteed by
// the problem, is missing or out of range.
func checkMargin(name string, margin float64) error {
	switch {
	case margin == 0:
		return algo.Invalid("a margin is required and the problem guarantees none: set %s", name)
	case !(margin >= 1e-6 && margin <= 1):
		return algo.Invalid("%s must be between 1e-6 and 1, not %g", name, margin)
	}
	return nil
}

// dimension returns the dimension of the examples after the projection.
func dimension(p algo.Problem, project int) int {
	if project > 0 {
		return project
	}
	return p.Dim
}

// trainingErrorDoc describes the metric training_error of both algorithms.
const trainingErrorDoc = "examples that the hypothesis labels wrongly, compared with the given labels; a tie is " +
	"wrong (not private) [share of the sample]"
