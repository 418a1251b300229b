// Package perturbed learns privately by one perturbed minimization: it returns the hypothesis with
// the fewest errors on the sample plus a random linear term at the points of a separator, which
// distinguishes all hypotheses.
//
//   - perturbed/gaussian is Algorithm 2 of Block and Shetty 2025, "Small Loss Bounds for Online
//     Learning Separated Function Classes: A Gaussian Process Perspective".
//   - perturbed/rspm is the algorithm of Neel, Roth and Wu 2019, with Laplace or Gaussian noise.
//   - perturbed/real is Algorithm 2 for functions with real values and squared or absolute loss, with
//     noise that makes it private for them.
//   - perturbed/public-data draws the points from public data, after Block, Bun, Desai, Shetty and
//     Wu 2024.
//
// They guarantee differential privacy for neighbors that differ in one replaced example, with n
// public, for noise of real numbers, unless their Guarantee is marked unproved. The proof is in
// theory.go, because the printed proofs for Gaussian noise do not hold. Their floating-point noise
// is suitable for experiments but not for a release. They require a finite class that
// pipeline/concept can separate and minimize over.
//
// Start with [Plugins], then theory.go.
package perturbed

import (
	"context"
	"math"

	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite"
)

// Plugins returns the algorithms of this package.
func Plugins() []algo.Plugin { return []algo.Plugin{gaussian(), rspm(), realValued(), publicData()} }

// placed constrains the parameters of an algorithm to types that determine the place of a problem.
type placed interface {
	PlaceOf(p algo.Problem) finite.Place
}

// complete sets the functions of an algorithm, which share its sites. resolve sets the parameters
// that depend on others; its error is the reason why the setting cannot run or be proved private.
// It changes nothing in a resolved setting, and the other functions require one. bounds may be nil.
func complete[P placed](
	a algo.Algorithm[P], resolve func(*algo.Setting[P], *site) error,
	learn func(*learner, *algo.Trial[P], *algo.Data) (algo.Model, error),
	guarantee func(*algo.Setting[P], *site) algo.Guarantee, bounds func(*algo.Setting[P], *site) []algo.Bound,
) algo.Algorithm[P] {
	known := new(sites)
	at := func(s *algo.Setting[P]) (*site, error) { return known.at(s.Params.PlaceOf(s.Problem)) }
	a.Version = "1.0.0"
	a.Check = func(s *algo.Setting[P]) error {
		st, err := at(s)
		if err != nil {
			return err
		}
		return resolve(s, st)
	}
	a.Learn = func(_ context.Context, t *algo.Trial[P], sample *algo.Data) (algo.Model, error) {
		st, err := at(&t.Setting)
		if err != nil {
			return nil, err
		}
		return learn(&learner{site: st}, t, sample)
	}
	a.Guarantee = func(s *algo.Setting[P]) (algo.Guarantee, error) {
		st, err := at(s)
		if err != nil {
			return algo.Guarantee{}, err
		}
		return guarantee(s, st), nil
	}
	if bounds != nil {
		a.Bound = func(s *algo.Setting[P]) ([]algo.Bound, error) {
			st, err := at(s)
			if err != nil {
				return nil, err
			}
			return bounds(s, st), nil
		}
	}
	return a
}

// checkBudget returns an error if no noise satisfies the budget, or if the budget requires none.
func checkBudget(eps, delta float64, gaussian bool) error {
	switch {
	case !(eps > 0) || math.IsInf(eps, 1):
		return algo.Invalid("perturbed: epsilon %g: use a number above 0; baseline/erm is the limit of large epsilon", eps)
	case gaussian && !(delta > 0 && delta < 1):
		return algo.Invalid("perturbed: delta %g: Gaussian noise is never pure, "+
			"set privacy.delta in (0,1), or use perturbed/rspm with noise %s", delta, laplaceNoise)
	}
	return nil
}

// maxNoise is the largest accepted noise. It keeps the objective finite.
const maxNoise = 1e100

// resolveNoise sets the parameter of this name, if it is 0, to the least noise that satisfies the
// budget. It returns an error if a given value is less, except for rounding differences between
// machines, or if either is above maxNoise.
func resolveNoise(name string, given *float64, least float64) error {
	switch {
	case !(least <= maxNoise):
		return algo.Infeasible("perturbed: this budget requires %s %g, which hides all information: "+
			"raise epsilon or delta", name, least)
	case *given == 0:
		*given = least
	case *given < least*(1-1e-9):
		return algo.Infeasible("perturbed: %s %g is below %g, the least that satisfies epsilon and delta: "+
			"raise it, or omit it", name, *given, least)
	case !(*given <= maxNoise):
		return algo.Invalid("perturbed: %s %g is above the largest allowed, %g", name, *given, maxNoise)
	}
	return nil
}
