// Package baseline contains the algorithms without privacy with which the private ones are
// compared:
//
//   - baseline/erm minimizes the number of errors on the sample exactly, over a finite class, and
//     chooses uniformly among the minimizers;
//   - baseline/perceptron learns halfspaces through the origin;
//   - baseline/prior answers the best hypothesis without data;
//   - baseline/queries uses no sample, and shows how much the queries of task predict reveal.
//
// They are not private and have no guarantee. The first two require labels of -1 and +1;
// baseline/erm also requires a class whose errors pipeline/concept can count, and points of its
// domain.
//
// Start with [Plugins].
package baseline

import (
	"math"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite"
)

// Plugins returns the algorithms of this package.
func Plugins() []algo.Plugin { return []algo.Plugin{ERM(), Perceptron(), Prior(), Queries()} }

// ERM returns baseline/erm, empirical risk minimization: it answers one of the hypotheses with the
// fewest errors on the sample, each with equal probability.
func ERM() algo.Algorithm[struct{}] {
	return algo.Algorithm[struct{}]{
		Name: "baseline/erm", Version: "1.0.0",
		Doc: "Empirical risk minimization, exact, with uniform choice among the minimizers; not private.",
		Learn: finite.Learn(func(t *algo.Trial[struct{}], errors concept.Profile) concept.Hypothesis {
			return errors.Exponential(math.Inf(1), t.Rand)
		}),
		Declares: algo.Always[struct{}],
		Check:    checkERM,
		Bound:    ermBounds,
	}
}

// checkERM returns an error if the class has no exact minimizer for samples of that size.
func checkERM(s *algo.Setting[struct{}]) error {
	class, err := classOf(s.Problem)
	if err != nil {
		return err
	}
	return finite.CheckSample("baseline/erm", class, s.N)
}

// classOf returns the class of a problem if it has an exact minimizer.
func classOf(p algo.Problem) (concept.Class, error) {
	if p.Class == concept.Halfspace {
		return nil, algo.Invalid("baseline/erm: no exact method finds the best halfspace of a sample: " +
			"use baseline/perceptron")
	}
	return finite.Counted("baseline/erm", p)
}

// ermBounds returns sample sizes for which the minimizer's error is at most alpha above the
// reference with probability 1 - beta, for the alpha and beta of s.Proof:
//
//   - sharp-agnostic, sharp-realizable: the exponential moments of finite.Gap at any s, because the
//     minimizer answers a bad hypothesis only if that errs no more often than the best one does.
//     It is the exponential mechanism at epsilon = infinity.
//   - hoeffding: uniform convergence to half of the alpha that remains under noise. An adversary who
//     flips a share r of the sample's labels changes the difference of two errors by at most 2r.
//   - finite-class, vc-realizable: without wrong labels, and with the target in the class, the
//     minimizer errs on no example.
func ermBounds(s *algo.Setting[struct{}]) ([]algo.Bound, error) {
	class, err := classOf(s.Problem)
	if err != nil {
		return nil, err
	}
	g := finite.GapOf(s, class.LogSize())
	edge := max(0, g.Edge())
	return append(g.Sharp(math.Inf(1)), algo.Bound{
		Name: "hoeffding", Source: "uniform convergence of a finite class to alpha/2 (Hoeffding, union bound)" + g.Noise(),
		Value: math.Ceil(2 / (edge * edge) * (g.LogSize + math.Ln2 - math.Log(g.Beta))), Proved: true,
		With:     map[string]float64{"ln_h": g.LogSize, "alpha": edge},
		Premises: []algo.Premise{algo.BestReference},
	}, algo.Bound{
		Name: "finite-class", Source: "consistent hypotheses of a finite class (Blumer et al. 1987)",
		Value: math.Ceil((g.LogSize - math.Log(g.Beta)) / g.Alpha), Proved: true,
		With:     map[string]float64{"ln_h": g.LogSize},
		Premises: []algo.Premise{algo.TargetInClass, algo.CleanLabels},
	}, vcBound(class.VC(), g.Alpha, g.Beta)), nil
}

// vcBound returns a sample size that suffices for every algorithm that answers a hypothesis without
// errors on the sample, from a class of Vapnik-Chervonenkis dimension vc: Theorem 2.1 of Blumer,
// Ehrenfeucht, Haussler and Warmuth 1989.
func vcBound(vc int, alpha, beta float64) algo.Bound {
	return algo.Bound{
		Name: "vc-realizable",
		Source: "Blumer, Ehrenfeucht, Haussler and Warmuth 1989, Theorem 2.1: " +
			"max(4/alpha log2(2/beta), 8 VC/alpha log2(13/alpha))",
		Value:    math.Ceil(max(4/alpha*math.Log2(2/beta), 8*float64(vc)/alpha*math.Log2(13/alpha))),
		Proved:   true,
		With:     map[string]float64{"vc": float64(vc)},
		Premises: []algo.Premise{algo.TargetInClass, algo.CleanLabels},
	}
}
