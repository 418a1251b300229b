package boosting

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/privacy"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite"
)

// PrivateParams holds the parameters of boosting/private-stumps. A number of 0 means that it
// follows from the other parameters.
type PrivateParams struct {
	Advantage float64 `doc:"assumed advantage gamma, which sets the defaults of rounds and lambda and is not checked; 0: 0.1" min:"0" max:"0.5"`
	Rounds    int     `doc:"boosting rounds T, which share the budget; 0: 2 ln(1/kappa)/gamma^2" min:"0" max:"1000000"`
	Lambda    float64 `doc:"learning rate of the log-weights, per unit of loss; 0: 2 gamma" min:"0" max:"1e6"`
	Kappa     float64 `doc:"density of the smooth distributions, in (0,1): the share of the sample that may be wrong; 0: alpha/2" min:"0" max:"1"`
}

// privateStumps returns boosting/private-stumps: Algorithms 1, 2 and 4 with a private weak learner
// in the sense of Definition 20, the exponential mechanism over all stumps h of the domain with the
// score q(h) = sum_i p_i y_i h(x_i), twice the advantage of h.
//
// Replace one example, and let the hypotheses of all earlier rounds be the same. Then q(h) changes
// by at most 2/(kappa n) for every h: the weights of the other examples change in one direction,
// and their total change equals the opposite change of the weight of the replaced example, from m
// to m', so that q(h) changes by at most (m + m' + |m - m'|)/(kappa n) = 2 max(m, m')/(kappa n),
// and no weight is above 1. With weights exp(c kappa n q(h)/4) for the stumps, their probabilities
// change by factors of at most e^c, and the largest and the least factor differ by a factor of at
// most e^c: a round is c-private, and c^2/8-zCDP (Cesar and Rogers 2021). T rounds are Tc-private,
// and T c^2/8-zCDP, and the answer depends only on them.
func privateStumps() algo.Algorithm[PrivateParams] {
	return algo.Algorithm[PrivateParams]{
		Name:    "boosting/private-stumps",
		Version: "1.0.0",
		Doc: "Lazy Bregman boosting (Bun, Carmosino and Sorrell 2020, Algorithms 1, 2 and 4) with a private weak learner, " +
			"the exponential mechanism over all decision stumps of a finite domain.",
		Metrics: map[string]string{
			"advantage": "mean over the rounds of the weak learner's advantage (1/2) sum_i p_i y_i h(x_i) " +
				"under the weights p of its round (not private) [probability]",
			"advantage_min":   "least advantage of a round (not private) [probability]",
			"round_epsilon":   "epsilon that each round spends [nats]",
			"training_error":  metricError,
			"margin_quantile": metricBelow + " (not private) [mean answer of h]",
			"certificate":     metricRegret + " (not private) [mean answer of h]",
		},
		Learn: learnPrivate,
		Check: resolvePrivate,
		Guarantee: func(s *algo.Setting[PrivateParams]) (algo.Guarantee, error) {
			return privateGuarantee(s), nil
		},
	}
}

// resolvePrivate checks a setting and sets the parameters that are zero, like resolveBoost for
// stumps. Resolving resolved parameters changes nothing.
func resolvePrivate(s *algo.Setting[PrivateParams]) error {
	const name = "boosting/private-stumps"
	switch {
	case !concept.ShapeOf(s.Problem.Class).Finite():
		return algo.Invalid("%s chooses among finitely many stumps, and points of class %q have infinitely many values: "+
			"use boosting/hs-stl, or a class on a finite domain", name, s.Problem.Class)
	case !(s.Epsilon > 0) || math.IsInf(s.Epsilon, 1):
		return algo.Invalid("%s needs privacy.epsilon above 0 and finite, not %g", name, s.Epsilon)
	case !(s.Delta >= 0 && s.Delta < 1):
		return algo.Invalid("%s needs privacy.delta in [0,1), not %g", name, s.Delta)
	}
	p := &s.Params
	inner := algo.Setting[BoostParams]{
		Params: BoostParams{
			Weak: "stump", Advantage: p.Advantage, Rounds: p.Rounds, Lambda: p.Lambda, Kappa: p.Kappa,
		},
		Problem: s.Problem, Alpha: s.Alpha,
	}
	if err := resolveBoost(&inner); err != nil {
		return err
	}
	p.Rounds, p.Lambda, p.Kappa = inner.Params.Rounds, inner.Params.Lambda, inner.Params.Kappa
	return nil
}

// roundEpsilon returns the largest c for T rounds: epsilon/T, or sqrt(8 rho/T) for the rho that is
// (epsilon, delta)-private.
func roundEpsilon(rounds int, epsilon, delta float64) (c float64, pure bool) {
	t := float64(rounds)
	basic, concentrated := epsilon/t, math.Sqrt(8*privacy.RhoFromEpsilon(epsilon, delta)/t)
	return max(basic, concentrated), basic >= concentrated
}

func privateGuarantee(s *algo.Setting[PrivateParams]) algo.Guarantee {
	c, pure := roundEpsilon(s.Params.Rounds, s.Epsilon, s.Delta)
	g := algo.Guarantee{
		Pure: pure, Epsilon: s.Epsilon, Delta: s.Delta, Rho: float64(s.Params.Rounds) * c * c / 8,
		Source: "T rounds of an exponential mechanism of sensitivity 2/(kappa n) (plugins/boosting, privateStumps), " +
			"each zCDP by bounded range (Cesar and Rogers 2021); composition by " + source2020 + ", after Definition 20",
	}
	if pure {
		g.Delta = 0
	}
	return g
}

// learnPrivate runs boosting/private-stumps.
func learnPrivate(ctx context.Context, t *algo.Trial[PrivateParams], sample *algo.Data) (algo.Model, error) {
	p := t.Params
	side := concept.Side(finite.SpecOf(t.Problem))
	if err := checkDomain(sample, side); err != nil {
		return nil, err
	}
	b := newBooster(BoostParams{Rounds: p.Rounds, Lambda: p.Lambda, Kappa: p.Kappa}.forBooster(), sample)
	c, _ := roundEpsilon(p.Rounds, t.Epsilon, t.Delta)
	mechanism := newStumpMechanism(sample, side, c*b.mass/4)
	learn := func(signed []float64) hypothesis { return mechanism.draw(signed, t.Rand) }
	// An early end that depends on the sample would not be private.
	found, advantages, err := b.assemble(ctx, learn, math.Inf(-1))
	if err != nil {
		return nil, err
	}
	t.Report("advantage", b.gain/float64(2*b.Rounds))
	t.Report("advantage_min", slices.Min(advantages))
	t.Report("round_epsilon", c)
	t.Report("certificate", b.certificate())
	reportMargins(t, b)
	return found, nil
}

// checkDomain returns an error if a coordinate of the sample is not one of 0..side-1.
func checkDomain(sample *algo.Data, side uint64) error {
	for _, v := range sample.Xs() {
		if !(v >= 0 && v < float64(side) && v == math.Trunc(v)) {
			return algo.Invalid("boosting/private-stumps: the sample has the coordinate %v, and the domain is 0..%d: "+
				"privacy requires a domain that does not depend on the sample", v, side-1)
		}
	}
	return nil
}

// stumpMechanism is the exponential mechanism over the stumps of a domain: the cuts between two values
// of 0..side-1 in each coordinate, with either side positive, and the two constants.
type stumpMechanism struct {
	stumps
	side  uint64
	scale float64 // a stump of score q weighs exp(scale q)
	cells []stumpCell
}

// A stumpCell is a set of stumps with one score: those of one coordinate and one positive side
// whose cuts have the same examples below them.
type stumpCell struct {
	coordinate  int
	first, cuts uint64 // they cut below first, first+1, ..., first+cuts-1; 0: a constant
	positive    float64
	logWeight   float64 // logarithm of the total weight of the cell
}

func newStumpMechanism(sample *algo.Data, side uint64, scale float64) *stumpMechanism {
	return &stumpMechanism{stumps: *newStumps(sample), side: side, scale: scale}
}

// draw draws a stump for the signed weights p_i y_i.
func (m *stumpMechanism) draw(signed []float64, r *rand.Rand) hypothesis {
	m.weigh(signed)
	most, total := math.Inf(-1), 0.0
	for _, c := range m.cells {
		most = max(most, c.logWeight)
	}
	for _, c := range m.cells {
		total += math.Exp(c.logWeight - most)
	}
	left, chosen := privacy.Uniform(r)*total, m.cells[len(m.cells)-1]
	for _, c := range m.cells {
		if left -= math.Exp(c.logWeight - most); left < 0 {
			chosen = c
			break
		}
	}
	at := math.Inf(-1)
	if chosen.cuts > 0 {
		at = float64(chosen.first + r.Uint64N(chosen.cuts))
	}
	return cut{chosen.coordinate, at, chosen.positive}
}

// weigh lists the cells, whose stumps are all stumps of the domain.
func (m *stumpMechanism) weigh(signed []float64) {
	m.cells = m.cells[:0]
	total := 0.0
	for _, w := range signed {
		total += w
	}
	m.add(0, 0, 0, total)
	for j, order := range m.order {
		below, first := 0.0, uint64(1)
		for k := 0; k < len(order); {
			x := m.sample.X(int(order[k]))[j]
			m.add(j, first, uint64(x)+1-first, total-2*below)
			for first = uint64(x) + 1; k < len(order) && m.sample.X(int(order[k]))[j] == x; k++ {
				below += signed[order[k]]
			}
		}
		m.add(j, first, m.side-first, total-2*below)
	}
}

// add adds the cells of the stumps that are +1 at and above their cuts, with this score, and of
// their negatives. Zero cuts represent a constant if first is 0, and otherwise no stump.
func (m *stumpMechanism) add(coordinate int, first, cuts uint64, score float64) {
	if cuts == 0 && first > 0 {
		return
	}
	log := math.Log(float64(max(cuts, 1)))
	for _, positive := range []float64{1, -1} {
		m.cells = append(m.cells, stumpCell{coordinate, first, cuts, positive, log + float64(m.scale*positive*score)})
	}
}
