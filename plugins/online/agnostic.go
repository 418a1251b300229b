package online

import (
	"context"
	"math"

	"github.com/shatterlab/shatter/plugins/algo"
)

const (
	maxRounds = 1 << 24 // keeps the number of experts, for dimensions up to 40, far below the largest float64
	maxSpaces = 1 << 16 // largest number of version spaces of the experts
)

// agnosticParams holds the parameters of online/agnostic-experts.
type agnosticParams struct {
	Rate float64 `doc:"an expert's weight after k mistakes is e^(-rate k); 0: sqrt(8 ln N/T) for N experts and T rounds" min:"0" max:"500"`
}

// agnosticExperts returns exponential weights over the experts of Ben-David, Pal and Shalev-Shwartz
// 2009: one for each set of at most d rounds, where d is the Littlestone dimension of the class. An
// expert predicts with soa, except in the rounds of its set, where it predicts the opposite. It
// takes its own predictions as the truths. The expert whose set is the rounds in which soa errs on
// the labels of a function f always predicts like f.
func agnosticExperts(known *boards) algo.Algorithm[agnosticParams] {
	a := complete(algo.Algorithm[agnosticParams]{
		Name: "online/agnostic-experts",
		Doc: "Exponential weights over copies of the standard optimal algorithm that err in chosen rounds: " +
			"regret by the Littlestone dimension, for any truths.",
		Metrics: map[string]string{
			"eta":            "the rate [nats per mistake]",
			"version_spaces": "different version spaces of all experts after the last round [version spaces]",
			"proved_regret":  "ln N/eta + eta T/8 for N experts [mistakes]",
		},
	}, func(s *algo.Setting[agnosticParams]) (opening, error) {
		return known.solved(s.Problem)
	}, func(t *algo.Trial[agnosticParams], o opening) (algo.Learner, error) {
		return newExperts(t, o), nil
	}, agnosticBounds)
	a.Check = func(s *algo.Setting[agnosticParams]) error {
		o, err := known.solved(s.Problem)
		if err != nil {
			return err
		}
		return checkExperts(o.board, s.Rounds)
	}
	return a
}

// agnosticBounds returns the bound on the regret in a fixed number of rounds.
func agnosticBounds(s *algo.Setting[agnosticParams], o opening) []algo.Bound {
	if s.Rounds == 0 {
		return nil
	}
	lnN, rate := s.Params.rate(s.Rounds, o.ldim)
	return []algo.Bound{{
		Name: "agnostic",
		Source: "Ben-David, Pal and Shalev-Shwartz 2009: " +
			"ln N/eta + eta T/8 for the N sets of at most Ldim rounds, against every function of the class",
		Value: hoeffdingRegret(lnN, rate, float64(s.Rounds)), Unit: algo.Regret, Proved: true,
		With: map[string]float64{"ldim": float64(o.ldim), "ln_experts": lnN, "ln_h": o.board.lnSize, "eta": rate},
	}}
}

// checkExperts returns an Invalid error for games in which a round could take a long time.
func checkExperts(b *board, rounds int) error {
	if n := b.size; rounds > maxRounds || n > maxSpaces && rounds >= maxSpaces {
		return algo.Invalid("online/agnostic-experts: %d rounds with %d functions"+
			"the limit is %d rounds, or %d with more than %d functions: use fewer, or online/hedge",
			rounds, n, maxRounds, maxSpaces-1, maxSpaces)
	}
	return nil
}

// rate returns the logarithm of the number of experts, and the rate with its default resolved.
func (p agnosticParams) rate(rounds, d int) (lnN, rate float64) {
	sets := subsets(rounds, d)
	lnN = math.Log(sets[d])
	if p.Rate > 0 {
		return lnN, p.Rate
	}
	return lnN, worstRate(lnN, rounds)
}

// subsets returns the numbers of sets of at most 0, 1, ..., d of r elements.
func subsets(r, d int) []float64 {
	sums := make([]float64, d+1)
	binomial, sum := 1.0, 0.0
	for i := range sums {
		sum += binomial
		sums[i] = sum
		binomial = float64(binomial * (float64(r-i) / float64(i+1)))
	}
	return sums
}

// flips returns the share of the experts that err on purpose in the next of r rounds, by the number
// f = 0..d of their remaining deliberate errors: the share of the sets of at most f of r rounds
// that contain the first round.
func flips(r, d int) []float64 {
	share := make([]float64, d+1)
	if r < 1 {
		return share
	}
	sets, later := subsets(r, d), subsets(r-1, d)
	for f := 1; f <= d; f++ {
		share[f] = later[f-1] / sets[f]
	}
	return share
}

// experts plays one game of agnostic-experts. Experts with the same version space and the same
// number of remaining deliberate errors differ only in the sets of their future rounds, so one
// weight represents all of them. The version spaces of different groups have no function in common:
// there are at most |H| of them, and for thresholds at most one more than rounds.
type experts struct {
	trial   *algo.Trial[agnosticParams]
	board   *board
	lnN     float64 // logarithm of the number of experts
	rate    float64
	mistake float64 // e^-rate
	round   int
	share   []float64 // result of flips for the next round
	groups  []group
}

// A group holds the experts of one version space: weight[f] is the share of the total weight of the
// experts with f remaining deliberate errors.
type group struct {
	versions versions
	weight   []float64
}

// newExperts puts all experts into one group.
func newExperts(t *algo.Trial[agnosticParams], o opening) *experts {
	d := o.ldim
	e := &experts{trial: t, board: o.board, share: flips(t.Rounds, d), groups: []group{{o.all, make([]float64, d+1)}}}
	e.groups[0].weight[d] = 1
	e.lnN, e.rate = t.Params.rate(t.Rounds, d)
	e.mistake = math.Exp(-e.rate)
	return e
}

// Predict implements algo.Model.
func (e *experts) Predict(_ context.Context, x *algo.Data, out []float64) error {
	return e.board.predict(x, out, e.mean)
}

// mean returns the weighted mean of the experts' predictions for x.
func (e *experts) mean(x []float64) (float64, error) {
	minus, plus := 0.0, 0.0
	for _, g := range e.groups {
		label, err := largerDimension(g.versions.split(x))
		if err != nil {
			return 0, err
		}
		follow, flip := e.divide(g)
		if label < 0 {
			follow, flip = flip, follow
		}
		plus += follow
		minus += flip
	}
	return (plus - minus) / (minus + plus), nil
}

// divide returns the weight of a group's experts that predict with soa in the next round, and of
// those that err on purpose.
func (e *experts) divide(g group) (follow, flip float64) {
	for f, w := range g.weight {
		part := float64(w * e.share[f])
		flip += part
		follow += w - part
	}
	return follow, flip
}

// Observe implements algo.Learner.
func (e *experts) Observe(_ context.Context, x *algo.Data, y []float64) error {
	if err := e.board.observe(x, y, e.learn); err != nil {
		return err
	}
	e.trial.Report("eta", e.rate)
	e.trial.Report("version_spaces", float64(len(e.groups)))
	e.trial.Report("proved_regret", e.proved())
	return nil
}

// proved bounds the regret in the rounds so far.
func (e *experts) proved() float64 { return hoeffdingRegret(e.lnN, e.rate, float64(e.round)) }

// learn moves every expert to the version space of its own prediction, with its weight after the
// truth y.
func (e *experts) learn(x []float64, y float64) error {
	var next []group
	for _, g := range e.groups {
		minus, plus := g.versions.split(x)
		label, err := largerDimension(minus, plus)
		if err != nil {
			return err
		}
		right, wrong := minus, plus
		if label > 0 {
			right, wrong = plus, minus
		}
		follow, flip := e.move(g, label == y)
		// No version labels x like the experts that err on purpose. The bound does not depend on
		// their version space, so they keep the versions of the others.
		if wrong.size() == 0 {
			for f, w := range flip {
				follow[f] += w
			}
			flip = nil
		}
		for _, g := range []group{{right, follow}, {wrong, flip}} {
			if total(g.weight) > 0 {
				next = append(next, g)
			}
		}
	}
	e.round++
	e.groups = next
	e.share = flips(e.trial.Rounds-e.round, len(e.share)-1)
	e.scale()
	return nil
}

// move returns the weights, after a round, of a group's experts that predicted with soa, and of
// those that erred on purpose. right reports whether soa was right.
func (e *experts) move(g group, right bool) (follow, flip []float64) {
	follow, flip = make([]float64, len(g.weight)), make([]float64, len(g.weight))
	followed, flipped := 1.0, e.mistake
	if !right {
		followed, flipped = e.mistake, 1
	}
	for f, w := range g.weight {
		follow[f] = float64(w * (1 - e.share[f]) * followed)
		if f > 0 {
			flip[f-1] = float64(w * e.share[f] * flipped)
		}
	}
	return follow, flip
}

// scale divides the weights by their sum.
func (e *experts) scale() {
	sum := 0.0
	for _, g := range e.groups {
		sum += total(g.weight)
	}
	for _, g := range e.groups {
		for f := range g.weight {
			g.weight[f] /= sum
		}
	}
}

func total(weight []float64) float64 {
	sum := 0.0
	for _, w := range weight {
		sum += w
	}
	return sum
}
