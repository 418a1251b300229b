// Package expmech is the generic private learner of a finite class: expmech/em draws a hypothesis by the exponential mechanism,
// expmech/pf by permute-and-flip, the score being minus the number of errors on the sample. Both are exactly the mechanism of their
// name, for ordered domains of up to 2^40 points and for parities of up to 24 bits, because pipeline/concept counts the errors of all
// hypotheses exactly.
//
// They promise pure epsilon-differential privacy for neighbours that differ in one replaced example, n public, as distributions;
// their floating-point noise is for experiments and not for a release.
//
// Start with Plugins; the sample sizes of Bound are proved in bound.go. NeedleSuccess and NeedleSampleSize are exact answers to
// calibrate a whole run against.
package expmech

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
)

// Plugins are the algorithms of this package.
func Plugins() []algo.Plugin { return []algo.Plugin{EM(), PF()} }

// EM is expmech/em, the exponential mechanism: probability proportional to exp(-epsilon err(h)/2).
func EM() algo.Algorithm[struct{}] {
	a := mechanism(exponential, func(p concept.Profile, eps float64, r *rand.Rand) concept.Hypothesis {
		return p.Exponential(eps, r)
	})
	a.Name = "expmech/em"
	a.Doc = "Exponential mechanism on the number of errors over a finite class, sampled exactly."
	a.Guarantee = func(s *algo.Setting[struct{}]) (algo.Guarantee, error) {
		return algo.Guarantee{
			Pure: true, Epsilon: s.Epsilon, Rho: s.Epsilon * s.Epsilon / 8,
			Source: "exponential mechanism (McSherry and Talwar 2007), sensitivity 1; rho by bounded range (Cesar and Rogers 2021)",
		}, nil
	}
	return a
}

// PF is expmech/pf, permute-and-flip: the same privacy, and never more errors on the sample (in distribution).
func PF() algo.Algorithm[struct{}] {
	a := mechanism(permuteAndFlip, func(p concept.Profile, eps float64, r *rand.Rand) concept.Hypothesis {
		return p.PermuteAndFlip(eps, r)
	})
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

type draw func(p concept.Profile, eps float64, r *rand.Rand) concept.Hypothesis

func mechanism(rule selection, draw draw) algo.Algorithm[struct{}] {
	profiles := new(concept.Profiles)
	return algo.Algorithm[struct{}]{
		Version: "1.0.0",
		Learn: func(_ context.Context, t *algo.Trial[struct{}], sample *algo.Data) (algo.Model, error) {
			h, err := profiles.Draw(specOf(t.Problem), sample.Xs(), sample.Ys(), func(p concept.Profile) concept.Hypothesis {
				return draw(p, t.Epsilon, t.Rand)
			})
			if err != nil {
				return nil, err
			}
			return model{h}, nil
		},
		Check: check,
		Bound: func(s *algo.Setting[struct{}]) ([]algo.Bound, error) { return bounds(s, rule) },
	}
}

func specOf(p algo.Problem) concept.Spec {
	return concept.Spec{Name: p.Class, Domain: p.Domain, Dim: p.Dim, NoConstant: p.NoConstant, Matrix: p.Matrix}
}

// class is a class with an exact sampler.
func class(p algo.Problem) (concept.Class, error) {
	if p.Class == "halfspace" {
		return nil, algo.Invalid("expmech: no exact sampler for halfspaces, an infinite class: use boosting/hs-stl")
	}
	c, err := concept.New(specOf(p))
	if err != nil {
		return nil, algo.Invalid("expmech: %v", err)
	}
	if _, err := c.NewProfile(); err != nil {
		return nil, algo.Invalid("expmech: %v: take a smaller dimension or another class", err)
	}
	return c, nil
}

func check(s *algo.Setting[struct{}]) error {
	c, err := class(s.Problem)
	if err != nil {
		return err
	}
	if err := concept.CheckSample(c, s.N); err != nil {
		return algo.Invalid("expmech: n = %d: %v", s.N, err)
	}
	if !(s.Epsilon >= 0) || math.IsInf(s.Epsilon, 1) {
		return algo.Invalid("expmech: epsilon %v: use a number of at least 0; baseline/erm is the limit of large epsilon", s.Epsilon)
	}
	return nil
}

// model predicts with one hypothesis.
type model struct{ h concept.Hypothesis }

func (m model) Predict(_ context.Context, x *algo.Data, out []float64) error {
	m.h.Labels(x.Xs(), out)
	return nil
}
