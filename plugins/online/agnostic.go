package online

import (
	"context"
	"math"

	"github.com/shatterlab/shatter/plugins/algo"
)

const (
	maxRounds = 1 << 24 // keeps the number of experts, for dimensions up to 40, far below the largest float64
	maxSpaces = 1 << 16 // version spaces of experts
)

// agnosticParams are the parameters of online/agnostic-experts.
type agnosticParams struct {
	Rate float64 `doc:"an expert's weight after k mistakes is e^(-rate k); 0: sqrt(8 ln N/T) for N experts and T rounds" min:"0" max:"500"`
}

// agnosticExperts is exponential weights over the experts of Ben-David, Pal and Shalev-Shwartz 2009: one for each set of at most d rounds,
// d the Littlestone dimension of the class. An expert predicts with soa, but the opposite in the rounds of its set, and takes its own
// predictions for the truths. The expert whose set is the rounds in which soa errs on the labels of a function f predicts as f does, always.
func agnosticExperts(known *boards) algo.Algorithm[agnosticParams] {
	return algo.Algorithm[agnosticParams]{
		Name: "online/agnostic-experts", Version: "1.0.0",
		Doc: "Exponential weights over copies of the standard optimal algorithm that err in given rounds: regret by the Littlestone dimension, for any truths.",
		Metrics: map[string]string{
			"eta":            "the rate",
			"version_spaces": "different version spaces of all experts after the last round",
			"proved_regret":  "ln N/eta + eta T/8 for N experts",
		},
		Check: func(s *algo.Setting[agnosticParams]) error {
			b, _, _, err := known.solved(s.Problem)
			if err != nil {
				return err
			}
			return checkExperts(b, s.Rounds)
		},
		Online: func(_ context.Context, t *algo.Trial[agnosticParams]) (algo.Learner, error) {
			b, all, d, err := known.solved(t.Problem)
			if err != nil {
				return nil, err
			}
			return newExperts(t, b, all, d), nil
		},
		Bound: func(s *algo.Setting[agnosticParams]) ([]algo.Bound, error) {
			b, _, d, err := known.solved(s.Problem)
			if err != nil || s.Rounds == 0 {
				return nil, err
			}
			lnN, rate := s.Params.rate(s.Rounds, d)
			return []algo.Bound{{
				Name:   "agnostic",
				Source: "Ben-David, Pal and Shalev-Shwartz 2009: ln N/eta + eta T/8 for the N sets of at most Ldim rounds, against every function of the class",
				Value:  hoeffdingRegret(lnN, rate, float64(s.Rounds)), Proved: true,
				With: map[string]float64{"ldim": float64(d), "ln_experts": lnN, "ln_h": b.lnSize, "eta": rate},
			}}, nil
		},
	}
}

// checkExperts refuses games in which a round could take long.
func checkExperts(b *board, rounds int) error {
	if n := b.size; rounds > maxRounds || n > maxSpaces && rounds >= maxSpaces {
		return algo.Invalid("online/agnostic-experts: %d rounds with %d functions: at most %d rounds, and %d with more than %d functions, are possible: "+
			"take fewer, or online/hedge", rounds, n, maxRounds, maxSpaces-1, maxSpaces)
	}
	return nil
}

// rate resolves the rate; with it comes the logarithm of the number of experts.
func (p agnosticParams) rate(rounds, d int) (lnN, rate float64) {
	sets := subsets(rounds, d)
	lnN = math.Log(sets[d])
	if p.Rate > 0 {
		return lnN, p.Rate
	}
	return lnN, worstRate(lnN, rounds)
}

// subsets are the numbers of sets of at most 0, 1, ..., d of r things.
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

// flips are the shares of the experts that err on purpose in the next of r rounds, by the number f = 0..d of times that they still may:
// of the sets of at most f of r rounds, those with the first one.
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

// experts are all of them at once. Those with the same version space that may still err on purpose equally often differ only in the sets of
// rounds that they have before them, so that a group of them is one weight. The version spaces of different groups have no function in
// common: there are at most |H| of them, and for thresholds one more than rounds.
type experts struct {
	trial   *algo.Trial[agnosticParams]
	board   *board
	lnN     float64
	rate    float64
	mistake float64 // e^-rate
	round   int
	share   []float64 // flips in the round to come
	groups  []group
}

// group is the experts of one version space: weight[f] is the share of all weight that those have who may still err on purpose f times.
type group struct {
	versions versions
	weight   []float64
}

func newExperts(t *algo.Trial[agnosticParams], b *board, all versions, d int) *experts {
	e := &experts{trial: t, board: b, share: flips(t.Rounds, d), groups: []group{{all, make([]float64, d+1)}}}
	e.groups[0].weight[d] = 1
	e.lnN, e.rate = t.Params.rate(t.Rounds, d)
	e.mistake = math.Exp(-e.rate)
	return e
}

// Predict implements algo.Model.
func (e *experts) Predict(_ context.Context, x *algo.Data, out []float64) error {
	for i := range x.Len() {
		if err := e.board.check(x.X(i)); err != nil {
			return err
		}
		var err error
		if out[i], err = e.mean(x.X(i)); err != nil {
			return err
		}
	}
	return nil
}

// mean is that of the experts' predictions.
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

// divide is the weight in a group of those who predict with soa in the round to come, and of those who err on purpose.
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
	for i := range x.Len() {
		if err := e.board.checkRound(x.X(i), y[i]); err != nil {
			return err
		}
		if err := e.observe(x.X(i), y[i]); err != nil {
			return err
		}
	}
	e.trial.Report("eta", e.rate)
	e.trial.Report("version_spaces", float64(len(e.groups)))
	e.trial.Report("proved_regret", e.proved())
	return nil
}

// proved bounds the regret in the rounds so far.
func (e *experts) proved() float64 { return hoeffdingRegret(e.lnN, e.rate, float64(e.round)) }

// observe moves every expert to the version space of its own prediction, with its weight after the truth.
func (e *experts) observe(x []float64, y float64) error {
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
		if wrong.size() == 0 { // no function errs here with these experts: they keep the version space, and the bound does not need them
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

// move is the weights, after a round, of those in a group who predicted with soa, and of those who erred on purpose.
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

// scale makes the weights sum to 1.
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
