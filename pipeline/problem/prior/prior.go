// Package prior computes the success of a learner without data: the largest probability, over the
// distribution of targets, that the error of one hypothesis, chosen beforehand, is a success.
//
// The result depends on the problem and the goal only, not on an algorithm. Errors are those
// under the distribution of points, not on an evaluation sample. Problems must be resolved. The
// hypothesis is one of the class, or a constant, and for some large classes the probability is an
// estimate: see concept.NewPrior.
//
// Start at Success.
package prior

import (
	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/pipeline/problem/distribution"
	"github.com/shatterlab/shatter/schemas"
)

// Goal defines the errors that are a success: those of at most Reference + Alpha.
type Goal struct{ Reference, Alpha float64 }

func (g Goal) allows(err float64) bool { return numeric.Within(err, g.Reference, g.Alpha) }

// Drawn reports whether the target of a resolved problem is drawn for each trial. Otherwise it is
// the same in all trials, or there is none.
func Drawn(p *schemas.Problem) bool {
	return p.Target == concept.RandomTarget || p.Target == concept.UniformTarget
}

// Success returns the probability that a learner without data succeeds on a resolved problem. It
// is 1 if the target is the same in all trials, because the learner may contain it. matrix is the
// class matrix, "" for other classes. known is false if the probability is unknown: if a file or
// an adversary determines the labels, if the target lies outside of the class, for distributions
// of points that are neither uniform nor symmetric around the target, and for large classes
// without a formula or an estimate.
func Success(p *schemas.Problem, matrix string, g Goal) (share float64, known bool) {
	l := distribution.Lookup(p.Distribution)
	switch {
	case p.Target == "" || l == nil || distribution.LeastError(p) > 0:
		return 0, false
	case !Drawn(p):
		return 1, true
	case l.MarginAt != nil:
		return evenSuccess(p.Dim, func(v float64) float64 { return l.MarginAt(p.Dim, p.Margin, v) }, g.allows), true
	case !l.Uniform:
		return 0, false
	}
	best, known := concept.NewPrior(distribution.Spec(p, matrix), drawn(p), g.allows)
	return best.Success, known
}

// Limit returns an upper bound on the success of every learner without data on a resolved problem,
// whose answers may be any function. known is false if [Success] is unknown or an estimate, and if
// the points depend on the target.
//
// If a function errs by at most r on two targets, these targets differ by at most 2r under the
// distribution of points. So all targets that it reaches lie within 2r of one of them, which is a
// hypothesis of the class: the bound is the Success of the doubled goal.
func Limit(p *schemas.Problem, matrix string, g Goal) (share float64, known bool) {
	l := distribution.Lookup(p.Distribution)
	if !Drawn(p) || l == nil || !l.Uniform || l.MarginAt != nil || distribution.LeastError(p) > 0 {
		return 0, false
	}
	doubled := Goal{Reference: 2 * g.Reference, Alpha: 2 * g.Alpha}
	best, known := concept.ExactPrior(distribution.Spec(p, matrix), drawn(p), doubled.allows)
	return best.Success, known
}

// drawn describes how the targets of a resolved problem are drawn.
func drawn(p *schemas.Problem) concept.Drawn {
	return concept.Drawn{Uniform: p.Target == concept.UniformTarget, Literals: p.Literals}
}
