package online

import (
	"context"
	"math"

	"github.com/shatterlab/shatter/plugins/algo"
)

// Values of the parameter tuning of online/hedge.
const (
	worstTuning = "worst-case"
	smallTuning = "small-loss"
	fixedTuning = "fixed"
)

// hedgeParams holds the parameters of online/hedge.
type hedgeParams struct {
	Tuning string  `doc:"choice of the rate: worst-case is sqrt(8 ln|H|/T), small-loss is ln(1 + sqrt(2 ln|H|/lstar)), fixed is the parameter rate" choices:"worst-case,small-loss,fixed"`
	LStar  float64 `param:"lstar" doc:"tuning small-loss: a bound on the mistakes of the best function, known in advance; values below 1 count as 1" min:"0"`
	Rate   float64 `doc:"tuning fixed: k more mistakes multiply a function's weight by e^(-rate k)" min:"0"`
}

// hedge returns the algorithm that answers the mean of the labels of all functions, weighted by
// e^(-rate mistakes). Its loss is exactly the mean loss of drawing a function by these weights.
func hedge(known *boards) algo.Algorithm[hedgeParams] {
	return complete(algo.Algorithm[hedgeParams]{
		Name:     "online/hedge",
		Doc:      "Hedge (exponential weights) over all functions of a finite class, with its exact expected prediction.",
		Defaults: hedgeParams{Tuning: worstTuning},
		Metrics: map[string]string{
			"eta": "the rate [nats per mistake]",
			"proved_regret": "the least of the proved bounds for this rate, " +
				"with the actual mistakes of the best function [mistakes]",
		},
	}, func(s *algo.Setting[hedgeParams]) (*board, error) {
		if err := s.Params.check(); err != nil {
			return nil, err
		}
		return known.listed(s.Problem)
	}, func(t *algo.Trial[hedgeParams], b *board) (algo.Learner, error) {
		rate := t.Params.rate(b.lnSize, t.Rounds)
		return &hedger{trial: t, board: b, losses: b.losses(), powers: powers{rate: rate}}, nil
	}, hedgeBounds)
}

// check returns an Invalid error if a parameter is set that the tuning does not use, or one is
// missing that it requires.
func (p hedgeParams) check() error {
	switch {
	case p.Tuning == fixedTuning && p.Rate == 0:
		return algo.Invalid("online/hedge: tuning %s requires a rate above 0: set rate", fixedTuning)
	case p.Tuning != fixedTuning && p.Rate != 0:
		return algo.Invalid("online/hedge: rate is not used by tuning %s: omit it, or use tuning %s",
			p.Tuning, fixedTuning)
	case p.Tuning != smallTuning && p.LStar != 0:
		return algo.Invalid("online/hedge: lstar is not used by tuning %s: omit it, or use tuning %s",
			p.Tuning, smallTuning)
	}
	return nil
}

// rate returns the rate that the tuning chooses for a number of functions with logarithm lnN. It is
// 0 for one function, which needs no rate, unless it is fixed.
func (p hedgeParams) rate(lnN float64, rounds int) float64 {
	switch p.Tuning {
	case fixedTuning:
		return p.Rate
	case smallTuning:
		return math.Log1p(math.Sqrt(2 * lnN / max(1, p.LStar)))
	}
	return worstRate(lnN, rounds)
}

// worstRate returns the rate that minimizes hoeffdingRegret; the minimum is sqrt(T lnN/2).
func worstRate(lnN float64, rounds int) float64 { return math.Sqrt(8 * lnN / float64(max(1, rounds))) }

// hoeffdingRegret bounds the regret of exponential weights over N experts in the given number of
// rounds: by Hoeffding's lemma the logarithm of the sum of the weights falls by at least rate p -
// rate^2/8 in a round that costs p (Cesa-Bianchi and Lugosi 2006, Theorem 2.2).
func hoeffdingRegret(lnN, rate, rounds float64) float64 {
	if lnN == 0 {
		return 0
	}
	return min(rounds, lnN/rate+float64(rate*rounds)/8)
}

// smallLossRegret bounds the regret of exponential weights by the loss L* of the best expert: the
// logarithm of the sum of the weights falls by at least (1 - e^-rate) p in a round that costs p, so
// that the loss is at most (rate L* + lnN)/(1 - e^-rate) (Freund and Schapire 1997, Theorem 2). The
// bound on the loss grows with L*, and so does the bound on the regret.
func smallLossRegret(lnN, rate, best float64) float64 {
	if lnN == 0 {
		return 0
	}
	return (float64(rate*best)+lnN)/-math.Expm1(-rate) - best
}

// hedgeBounds returns bounds on the regret of hedge.
func hedgeBounds(s *algo.Setting[hedgeParams], b *board) (list []algo.Bound) {
	lnN := b.lnSize
	rate := s.Params.rate(lnN, s.Rounds)
	with := map[string]float64{"ln_h": lnN, "eta": rate}
	if s.Rounds > 0 {
		list = append(list, algo.Bound{
			Name: "worst-case", Source: "Hoeffding's lemma: ln|H|/eta + eta T/8 (Cesa-Bianchi and Lugosi 2006, Theorem 2.2)",
			Value: hoeffdingRegret(lnN, rate, float64(s.Rounds)), Unit: algo.Regret, Proved: true, With: with,
		})
	}
	if best := s.Params.LStar; s.Params.Tuning == smallTuning {
		with["lstar"] = best
		with["closed_form"] = math.Sqrt(2*max(1, best)*lnN) + lnN
		list = append(list, algo.Bound{
			Name: "small-loss",
			Source: "(eta L* + ln|H|)/(1 - e^-eta) - L* (Freund and Schapire 1997, Theorem 2), " +
				"if some function makes at most lstar mistakes",
			Value: smallLossRegret(lnN, rate, best), Proved: true, With: with,
		})
	}
	return list
}

// hedger plays one game of hedge.
type hedger struct {
	trial  *algo.Trial[hedgeParams]
	board  *board
	losses losses
	powers powers
	round  int
}

// Predict implements algo.Model.
func (h *hedger) Predict(_ context.Context, x *algo.Data, out []float64) error {
	weight := h.powers.upTo(h.losses.most() - h.losses.least())
	return h.board.predict(x, out, func(x []float64) (float64, error) { return h.losses.mean(x, weight), nil })
}

// Observe implements algo.Learner.
func (h *hedger) Observe(_ context.Context, x *algo.Data, y []float64) error {
	if err := h.board.observe(x, y, h.learn); err != nil {
		return err
	}
	h.trial.Report("eta", h.powers.rate)
	h.trial.Report("proved_regret", h.proved())
	return nil
}

func (h *hedger) learn(x []float64, y float64) error {
	h.losses.add(x, y)
	h.round++
	return nil
}

// proved bounds the regret in the rounds so far.
func (h *hedger) proved() float64 {
	lnN, best, rounds := h.board.lnSize, float64(h.losses.least()), float64(h.round)
	return min(rounds-best, hoeffdingRegret(lnN, h.powers.rate, rounds), smallLossRegret(lnN, h.powers.rate, best))
}

// powers computes the weights e^(-rate k) for k = 0, 1, ... on demand.
type powers struct {
	rate float64
	of   []float64 // the weights, by k
}

// upTo returns the weights, by k, for at least 0..k.
func (p *powers) upTo(k int) []float64 {
	for len(p.of) <= k {
		p.of = append(p.of, math.Exp(-float64(p.rate*float64(len(p.of)))))
	}
	return p.of
}
