// Package prior computes what a learner without data reaches: the largest probability, over the
// distribution of targets, with which the error of one hypothesis, chosen beforehand, is a success.
//
// What it computes is a property of the problem and the goal alone: no algorithm enters it. Errors
// are those under the distribution of points, not on an evaluation sample. It needs resolved
// problems. The hypothesis is one of the class, or a constant, and of some large classes the
// probability is an estimate: see concept.NewPrior.
//
// Start at Success.
package prior

import (
	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/pipeline/problem/distribution"
	"github.com/shatterlab/shatter/schemas"
)

// Goal says which errors are a success: those of at most Above + Alpha.
type Goal struct{ Above, Alpha float64 }

func (g Goal) allows(err float64) bool { return numeric.Within(err, g.Above, g.Alpha) }

// Drawn reports whether the target of a resolved problem is drawn for each trial. Otherwise it is
// the same in all trials, or there is none.
func Drawn(p *schemas.Problem) bool {
	return p.Target == concept.RandomTarget || p.Target == concept.UniformTarget
}

// Success returns the probability with which a learner without data succeeds on a resolved problem:
// 1 where the target is the same in all trials, because it can be known. matrix is the class matrix,
// "" for other classes. It reports false where that is not known: where a file or an adversary says
// the labels, where the target lies outside of the class, under distributions of points that are neither uniform
// nor even around the target, and for large classes that have neither a formula nor an estimate.
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
	targets := concept.Drawn{Uniform: p.Target == concept.UniformTarget, Literals: p.Literals}
	best, known := concept.NewPrior(distribution.Spec(p, matrix), targets, g.allows)
	return best.Success, known
}
