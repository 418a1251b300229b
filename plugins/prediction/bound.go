package prediction

import (
	"fmt"
	"math"
	"math/big"

	"github.com/shatterlab/shatter/plugins/algo"
)

// The bounds of the algorithms are the rows of the paper's Table 1: the printed orders of
// magnitude, and, if there is a proof with all constants, a proved bound for all states and for the
// k and v of the row.

const yan = "Yan, Private Prediction via Shrinkage"

// realizable returns the premises of all bounds and the other premises given.
func realizable(others ...algo.Premise) []algo.Premise {
	return append([]algo.Premise{algo.TargetInClass, algo.CleanLabels}, others...)
}

// printed returns a row of Table 1 with all hidden factors set to 1, and a value of at least 1
// example.
func printed(row string, value float64, others ...algo.Premise) algo.Bound {
	return algo.Bound{
		Name: "table-1", Value: max(1, value), Order: true, Premises: realizable(others...),
		Source: yan + ", Table 1, " + row +
			"; constants, logarithms and the other parameters are hidden there and set to 1 here",
	}
}

// proved returns the bound that a claim proves for the blocks and instances of a budget. If these
// are too few, the bound fails and its reason names sufficient numbers.
func (b budget) proved(name, source string, g goal, c claim, others ...algo.Premise) algo.Bound {
	eps0, _ := b.part(b.share*g.epsilon, g.delta)
	s := c.size(g, *b.k, *b.v, eps0)
	bound := algo.Bound{
		Name: name, Source: source + "; mode " + b.mode, Value: s.n, Proved: true, With: s.with(), Fails: c.fails,
		Premises: realizable(others...),
	}
	switch {
	case c.fails != "":
	case !(c.spent < g.beta):
		bound.Fails = fmt.Sprintf("v = %d instances are spent with probability up to %.3g, and public answers after "+
			"that have no bound: set v to %d", *b.v, c.spent, c.enough)
	case s.k != float64(*b.k):
		bound.Fails = fmt.Sprintf("it requires k = %.0f blocks, and this row has k = %d for v = %d instances: "+
			"set k to %.0f", s.k, *b.k, *b.v, s.k)
	}
	return bound
}

// logPower returns d^a (ln t)^b.
func logPower(d, t int, a, b float64) float64 {
	return math.Pow(float64(d), a) * math.Pow(math.Log(float64(t)), b)
}

// goalOf returns the goal of a setting: the error to reach and the privacy.
func goalOf[P any](s *algo.Setting[P]) goal {
	alpha, beta := s.Proof()
	return goal{queries: s.Queries, alpha: alpha, beta: beta, epsilon: s.Epsilon, delta: s.Delta}
}

func obliviousBounds(s *algo.Setting[Oblivious]) ([]algo.Bound, error) {
	d, hypotheses, err := dimension(s.Problem, false)
	if err != nil {
		return nil, err
	}
	b, g := s.Params.budget(), goalOf(s)
	by := func(labelings *big.Int) claim {
		c := obliviousClaim(g, d, *b.v, labelings)
		if most := familyOf(s.Problem.Class).noisyDim; most > 0 && s.Problem.Dim > most {
			c.fails = fmt.Sprintf("in dimension %d the hypotheses may not have the fewest errors; use dimension %d or less",
				s.Problem.Dim, most)
		}
		return c
	}
	list := []algo.Bound{
		printed("oblivious online adversary, d^3.5 (ln T)^3.5", logPower(d, s.Queries, 3.5, 3.5), algo.FixedBeforehand),
		b.proved("oblivious", yan+", Theorem 4 with all constants, for all states and this row's k and v",
			g, by(labelingsOf(d, hypotheses, s.Queries)), algo.FixedBeforehand),
	}
	if hypotheses != nil {
		list = append(list, b.proved("adaptive",
			"Shatter's own: as oblivious, by halving the class itself instead of its labelings of the queries",
			g, by(hypotheses)))
	}
	return list, nil
}

func halfspaceBounds(s *algo.Setting[AffineBlocks]) ([]algo.Bound, error) {
	b, g, d := s.Params.budget(), goalOf(s), lifted(s.Problem, s.Params.Affine)-1
	c := halfspaceClaim(g, d, *b.v)
	if d+1 > maxCellDim {
		c.fails = fmt.Sprintf("hypotheses of %d coefficients may not have the largest convex depth; use at most %d",
			d+1, maxCellDim)
	}
	return []algo.Bound{
		printed("adaptive online adversary, halfspaces, d^5.5 ln T", logPower(d, s.Queries, 5.5, 1)),
		b.proved("adaptive", yan+", Algorithm 4, repaired at the origin, with all constants, for all states and "+
			"this row's k and v", g, c),
	}, nil
}

func majorityBounds(s *algo.Setting[Majority]) ([]algo.Bound, error) {
	d, _, err := dimension(s.Problem, s.Params.Affine)
	if err != nil {
		return nil, err
	}
	return []algo.Bound{
		printed("online prediction in general, d sqrt(T)", float64(d)*math.Sqrt(float64(s.Queries))),
		compositionBound(s, d),
	}, nil
}

// compositionBound returns the n at and above which all states err at most alpha. If noise stays
// within k/4 in each state, a state is wrong only on points where more than 1/4 of the blocks are
// wrong, so that it errs at most 4 times as often as the hypotheses on average.
func compositionBound(s *algo.Setting[Majority], d int) algo.Bound {
	alpha, beta := s.Proof()
	kind, scale, k := s.Params.Noise, majorityScale(s), float64(s.Params.K)
	b := algo.Bound{
		Name: "composition", Proved: true, Premises: realizable(),
		Source: "Shatter's own: majorities of three quarters that noise changes in no state; " +
			"blocks by Blumer, Ehrenfeucht, Haussler and Warmuth 1989, Theorem 2.1",
	}
	if majorityNoise(kind, scale, s.Queries, k) >= beta {
		k = majorityBlocks(kind, scale, s.Queries, beta)
		b.Fails = fmt.Sprintf("it requires k = %.0f blocks, and this row has k = %d: set k to %.0f",
			k, s.Params.K, k)
	}
	noise := majorityNoise(kind, scale, s.Queries, k)
	m := consistentSize(d, alpha/4, (beta-noise)/k)
	b.Value, b.With = k*m, map[string]float64{"scale": scale, "k": k, "noise": noise, "m": m}
	return b
}

func offlineBounds(s *algo.Setting[struct{}]) ([]algo.Bound, error) {
	d, hypotheses, err := dimension(s.Problem, false)
	if err != nil {
		return nil, err
	}
	mechanism, generalization := offlineSize(goalOf(s), d, labelingsOf(d, hypotheses, s.Queries))
	return []algo.Bound{
		printed("offline adversary, d ln T", logPower(d, s.Queries, 1, 1)),
		{
			Name: "offline", Value: max(mechanism, generalization), Proved: true, Premises: realizable(),
			Source: "exponential mechanism over the labelings of the queries, and " + yan + ", Theorem 2",
			With:   map[string]float64{"n_mechanism": mechanism, "n_generalization": generalization},
			Fails: "it covers a hypothesis that gives the same answers; the states, whose errors are measured, " +
				"depend only on the queries and the labels chosen for them",
		},
	}, nil
}

func nandiBassilyBounds(s *algo.Setting[NandiBassily]) ([]algo.Bound, error) {
	d, _, err := dimension(s.Problem, s.Params.Affine)
	if err != nil {
		return nil, err
	}
	return []algo.Bound{
		printed("online stochastic adversary, d^1.5", math.Pow(float64(d), 1.5), algo.FixedBeforehand),
	}, nil
}

func everlastingBounds(s *algo.Setting[Everlasting]) ([]algo.Bound, error) {
	d, _, err := dimension(s.Problem, false)
	if err != nil {
		return nil, err
	}
	return []algo.Bound{
		printed("online stochastic adversary with privacy of the queries, d^2", float64(d*d), algo.FixedBeforehand),
	}, nil
}
