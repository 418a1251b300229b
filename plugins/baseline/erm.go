// Package baseline holds the algorithms without privacy that the private ones are measured against: baseline/erm, an exact
// minimiser of the sample error over a finite class, and baseline/perceptron for halfspaces.
//
// Start with Plugins.
package baseline

import (
	"math"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite"
)

// Plugins are the algorithms of this package.
func Plugins() []algo.Plugin { return []algo.Plugin{ERM(), Perceptron()} }

// ERM is baseline/erm: a uniform one of the hypotheses with the fewest errors on the sample.
func ERM() algo.Algorithm[struct{}] {
	return algo.Algorithm[struct{}]{
		Name: "baseline/erm", Version: "1.0.0",
		Doc: "Empirical risk minimisation, exact, with uniform choice among the minimisers; not private.",
		Learn: finite.Learn(func(t *algo.Trial[struct{}], errors concept.Profile) concept.Hypothesis {
			return errors.Exponential(math.Inf(1), t.Rand)
		}),
		Check: checkERM,
		Bound: ermBounds,
	}
}

func checkERM(s *algo.Setting[struct{}]) error {
	class, err := classOf(s.Problem)
	if err != nil {
		return err
	}
	return finite.CheckSample("baseline/erm", class, s.N)
}

// classOf returns the class of a problem if it has an exact minimiser.
func classOf(p algo.Problem) (concept.Class, error) {
	if p.Class == "halfspace" {
		return nil, algo.Invalid("baseline/erm: no exact method finds the best halfspace of a sample: use baseline/perceptron")
	}
	return finite.Counted("baseline/erm", p)
}

// ermBounds: label noise leaves alpha(1 - 2 rate) of a difference of errors where it is independent, and alpha - 2 rate of the
// slack of uniform convergence where an adversary flips that share of the sample.
func ermBounds(s *algo.Setting[struct{}]) ([]algo.Bound, error) {
	c, err := classOf(s.Problem)
	if err != nil {
		return nil, err
	}
	lnH, alpha := c.LogSize(), s.Alpha
	switch s.Problem.Noise {
	case "random":
		alpha *= 1 - 2*s.Problem.NoiseRate
	case "adversarial":
		alpha = max(0, alpha-2*s.Problem.NoiseRate)
	}
	list := []algo.Bound{{
		Name: "hoeffding", Source: "uniform convergence of a finite class to alpha/2 (Hoeffding, union bound)",
		Value: math.Ceil(2 / (alpha * alpha) * (lnH + math.Ln2 - math.Log(s.Beta))), Proved: true,
		With: map[string]float64{"ln_h": lnH, "alpha": alpha},
	}}
	if consistent(s.Problem) {
		list = append(list, algo.Bound{
			Name: "finite-class", Source: "consistent hypotheses of a finite class (Blumer et al. 1987)",
			Value: math.Ceil((lnH - math.Log(s.Beta)) / s.Alpha), Proved: true,
			With: map[string]float64{"ln_h": lnH},
		}, vcBound(c.VC(), s.Alpha, s.Beta))
	}
	return list, nil
}

// consistent says that some hypothesis errs on no example, whatever the sample.
func consistent(p algo.Problem) bool {
	return p.Realizable && (p.Noise == "none" || p.NoiseRate == 0)
}

// vcBound is enough for any algorithm that answers a hypothesis without an error on the sample.
func vcBound(vc int, alpha, beta float64) algo.Bound {
	return algo.Bound{
		Name: "vc-realizable", Source: "Blumer, Ehrenfeucht, Haussler and Warmuth 1989, Theorem 2.1: max(4/alpha log2(2/beta), 8 VC/alpha log2(13/alpha))",
		Value: math.Ceil(max(4/alpha*math.Log2(2/beta), 8*float64(vc)/alpha*math.Log2(13/alpha))), Proved: true,
		With: map[string]float64{"vc": float64(vc)},
	}
}
