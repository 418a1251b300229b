package prediction

import (
	"math"

	"github.com/shatterlab/shatter/plugins/algo"
)

// The bounds of the algorithms are the rows of the paper's Table 1: what is printed, in orders of
// magnitude alone, and what is proved with all constants where there is such a proof. All of them
// assume a target in the class and labels without noise; other problems have no bounds.

const yan = "Yan, Private Prediction via Shrinkage"

// printed returns a row of Table 1 with all hidden factors taken as 1.
func printed(row string, value float64) algo.Bound {
	return algo.Bound{
		Name: "table-1", Value: value,
		Source: yan + ", Table 1, " + row +
			"; constants, logarithms and the other parameters are hidden there and taken as 1",
	}
}

// proved returns a bound with a proof, and what the sample size consists of.
func proved(name, source string, s size) algo.Bound {
	return algo.Bound{Name: name, Source: source, Value: s.n, Proved: true, With: s.with()}
}

// logPower returns d^a (ln t)^b.
func logPower(d, t int, a, b float64) float64 {
	return math.Pow(float64(d), a) * math.Pow(math.Log(float64(t)), b)
}

// goalOf returns what a setting asks for.
func goalOf[P any](s *algo.Setting[P]) goal {
	return goal{queries: s.Queries, alpha: s.Alpha, beta: s.Beta, epsilon: s.Epsilon, delta: s.Delta}
}

func obliviousBounds(s *algo.Setting[Oblivious]) ([]algo.Bound, error) {
	d, hypotheses, err := dimension(s.Problem, false)
	if err != nil || !noiseless(s.Problem) {
		return nil, err
	}
	a, g := s.Params.budget().account(), goalOf(s)
	list := []algo.Bound{
		printed("oblivious online adversary, d^3.5 (ln T)^3.5", logPower(d, s.Queries, 3.5, 3.5)),
		proved("oblivious", yan+", Theorem 4 with all constants, at the k and v given with it, "+
			"for exact minimisers and queries fixed beforehand; "+
			"of the final state only where the budget is not spent; mode "+a.mode,
			a.oblivious(g, d, labelingsOf(d, hypotheses, s.Queries))),
	}
	if hypotheses != nil {
		list = append(list, proved("adaptive",
			"as oblivious, by halving the class itself instead of its labelings of the queries: for all adversaries",
			a.oblivious(g, d, hypotheses)))
	}
	return list, nil
}

func halfspaceBounds(s *algo.Setting[Halfspaces]) ([]algo.Bound, error) {
	if !noiseless(s.Problem) {
		return nil, nil
	}
	a, d := s.Params.budget().account(), lifted(s.Problem, s.Params.Affine)-1
	return []algo.Bound{
		printed("adaptive online adversary, halfspaces, d^5.5 ln T", logPower(d, s.Queries, 5.5, 1)),
		proved("adaptive", yan+", Algorithm 4 with all constants, at the k and v given with it, "+
			"for exact maximisers of the convex depth; mode "+a.mode, a.halfspace(goalOf(s), d)),
	}, nil
}

func majorityBounds(s *algo.Setting[Majority]) ([]algo.Bound, error) {
	d, _, err := dimension(s.Problem, s.Params.Affine)
	if err != nil || !noiseless(s.Problem) {
		return nil, err
	}
	scale := majorityScale(s)
	k := majorityBlocks(s.Params.Noise, scale, s.Queries, s.Beta)
	m := consistentSize(d, s.Alpha/4, s.Beta/(2*k))
	return []algo.Bound{
		printed("online prediction in general, d sqrt(T)", float64(d)*math.Sqrt(float64(s.Queries))),
		{
			Name: "composition", Value: k * m, Proved: true,
			Source: "majorities of three quarters that noise does not change; " +
				"blocks by Blumer, Ehrenfeucht, Haussler and Warmuth 1989, Theorem 2.1",
			With: map[string]float64{"scale": scale, "k": k, "m": m},
		},
	}, nil
}

func offlineBounds(s *algo.Setting[struct{}]) ([]algo.Bound, error) {
	d, hypotheses, err := dimension(s.Problem, false)
	if err != nil || !noiseless(s.Problem) {
		return nil, err
	}
	mechanism, generalization := offlineSize(goalOf(s), d, labelingsOf(d, hypotheses, s.Queries))
	return []algo.Bound{
		printed("offline adversary, d ln T", logPower(d, s.Queries, 1, 1)),
		{
			Name: "offline", Value: max(mechanism, generalization), Proved: true,
			Source: "exponential mechanism over the labelings of the queries, and " + yan + ", Theorem 2; " +
				"some hypothesis with error at most alpha labels the queries so, " +
				"which the final state, made of the queries alone, need not be",
			With: map[string]float64{"n_mechanism": mechanism, "n_generalization": generalization},
		},
	}, nil
}

func nandiBassilyBounds(s *algo.Setting[NandiBassily]) ([]algo.Bound, error) {
	d, _, err := dimension(s.Problem, s.Params.Affine)
	if err != nil || !noiseless(s.Problem) {
		return nil, err
	}
	return []algo.Bound{printed("online stochastic adversary, d^1.5", math.Pow(float64(d), 1.5))}, nil
}

func everlastingBounds(s *algo.Setting[Everlasting]) ([]algo.Bound, error) {
	d, _, err := dimension(s.Problem, false)
	if err != nil || !noiseless(s.Problem) {
		return nil, err
	}
	return []algo.Bound{printed("online stochastic adversary with privacy of the queries, d^2", float64(d*d))}, nil
}
