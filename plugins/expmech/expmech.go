// Package expmech contains the generic private learners of a finite class: expmech/em draws a
// hypothesis by the exponential mechanism, and expmech/pf by permute-and-flip.
// expmech/em-divergence is expmech/em with a metric for the change of its distribution between
// neighbors. The score of a hypothesis is minus its number of errors on the sample.
//
// Both mechanisms guarantee pure epsilon-differential privacy for neighbors that differ in one
// replaced example, with n public, for noise of real numbers. Their floating-point noise is
// suitable for experiments but not for a release. They draw exactly from the distribution of their
// mechanism, for ordered domains of up to 2^40 points and parities of up to 24 bits. They require a
// class for which pipeline/concept can count the errors of all hypotheses exactly.
//
// Start with [Plugins]; the sample sizes of Bound are proved in bound.go and at [finite.Gap].
// Package calibration has the exact success probability of expmech/em on one distribution, to
// calibrate a whole run.
package expmech

import (
	"math"
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite"
)

// Plugins returns the algorithms of this package.
func Plugins() []algo.Plugin { return []algo.Plugin{EM(), PF(), Divergence()} }

// EM returns expmech/em, the exponential mechanism: it returns h with probability proportional to
// exp(-epsilon err(h)/2), where err(h) is the number of errors of h on the sample.
func EM() algo.Algorithm[struct{}] {
	a := mechanism(exponential, concept.Profile.Exponential)
	a.Name = "expmech/em"
	a.Doc = "Exponential mechanism on the number of errors over a finite class, sampled exactly."
	a.Guarantee = func(s *algo.Setting[struct{}]) (algo.Guarantee, error) {
		return algo.Guarantee{
			Pure: true, Epsilon: s.Epsilon, Rho: s.Epsilon * s.Epsilon / 8,
			Source: "exponential mechanism (McSherry and Talwar 2007), sensitivity 1; " +
				"rho by bounded range (Cesar and Rogers 2021)",
		}, nil
	}
	return a
}

// PF returns expmech/pf, permute-and-flip: it has the same privacy as expmech/em and its number of
// errors on the sample is stochastically no larger.
func PF() algo.Algorithm[struct{}] {
	a := mechanism(permuteAndFlip, concept.Profile.PermuteAndFlip)
	a.Name = "expmech/pf"
	a.Doc = "Permute-and-flip on the number of errors over a finite class, sampled exactly."
	a.Guarantee = func(s *algo.Setting[struct{}]) (algo.Guarantee, error) {
		return algo.Guarantee{
			Pure: true, Epsilon: s.Epsilon,
			Source: "permute-and-flip (McKenna and Sheldon 2020), sensitivity 1",
		}, nil
	}
	return a
}

// mechanism returns the common part of the two algorithms. pick draws a hypothesis given the errors
// of all hypotheses, and rule bounds its choice.
func mechanism(
	rule selection, pick func(errors concept.Profile, epsilon float64, r *rand.Rand) concept.Hypothesis,
) algo.Algorithm[struct{}] {
	return algo.Algorithm[struct{}]{
		Version: "1.0.0",
		Learn: finite.Learn(func(t *algo.Trial[struct{}], errors concept.Profile) concept.Hypothesis {
			return pick(errors, t.Epsilon, t.Rand)
		}),
		Declares: algo.Always[struct{}],
		Check:    check,
		Bound:    boundsOf(rule),
	}
}

// classOf returns the class of a problem if its errors can be counted exactly.
func classOf(p algo.Problem) (concept.Class, error) {
	if p.Class == concept.Halfspace {
		return nil, algo.Invalid("expmech: no exact sampler for halfspaces, an infinite class: use boosting/hs-stl")
	}
	return finite.Counted("expmech", p)
}

// check returns an error if the class has no exact sampler for samples of that size, or if the
// budget is out of range.
func check(s *algo.Setting[struct{}]) error {
	class, err := classOf(s.Problem)
	if err != nil {
		return err
	}
	if err := finite.CheckSample("expmech", class, s.N); err != nil {
		return err
	}
	if !(s.Epsilon >= 0) || math.IsInf(s.Epsilon, 1) {
		return algo.Invalid("expmech: epsilon %v: use a number of at least 0; baseline/erm is the limit of large epsilon",
			s.Epsilon)
	}
	return nil
}
