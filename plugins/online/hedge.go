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

// hedgeParams are the parameters of online/hedge.
type hedgeParams struct {
	Tuning string  `doc:"where the rate comes from: worst-case is sqrt(8 ln|H|/T), small-loss is ln(1 + sqrt(2 ln|H|/lstar)), fixed is the parameter rate" choices:"worst-case,small-loss,fixed"`
	LStar  float64 `param:"lstar" doc:"tuning small-loss: a bound on the mistakes of the best function, known in advance; below 1 it tunes like 1" min:"0"`
	Rate   float64 `doc:"tuning fixed: a function with k mistakes more weighs e^(-rate k) as much" min:"0"`
}

// hedge answers the mean of the labels of all functions, weighted by e^(-rate mistakes): exactly what a draw of a function by these weights
// costs on average.
func hedge(known *boards) algo.Algorithm[hedgeParams] {
	return algo.Algorithm[hedgeParams]{
		Name: "online/hedge", Version: "1.0.0",
		Doc:      "Hedge (exponential weights) over all functions of a finite class, with its exact expected prediction.",
		Defaults: hedgeParams{Tuning: worstTuning},
		Metrics: map[string]string{
			"eta":           "the rate",
			"proved_regret": "the least of the bounds proved for this rate, with the mistakes of the best function as they came",
		},
		Check: func(s *algo.Setting[hedgeParams]) error {
			if err := s.Params.check(); err != nil {
				return err
			}
			_, err := known.listed(s.Problem)
			return err
		},
		Online: func(_ context.Context, t *algo.Trial[hedgeParams]) (algo.Learner, error) {
			b, err := known.listed(t.Problem)
			if err != nil {
				return nil, err
			}
			rate := t.Params.rate(b.lnSize, t.Rounds)
			return &hedger{trial: t, board: b, losses: b.losses(), powers: powers{rate: rate}}, nil
		},
		Bound: func(s *algo.Setting[hedgeParams]) ([]algo.Bound, error) {
			b, err := known.listed(s.Problem)
			if err != nil {
				return nil, err
			}
			return hedgeBounds(s, b.lnSize), nil
		},
	}
}

// check refuses parameters that the tuning does not know.
func (p hedgeParams) check() error {
	switch {
	case p.Tuning == fixedTuning && p.Rate == 0:
		return algo.Invalid("online/hedge: tuning %s needs a rate above 0: give rate", fixedTuning)
	case p.Tuning != fixedTuning && p.Rate != 0:
		return algo.Invalid("online/hedge: rate has no meaning with tuning %s: leave it out, or take tuning %s", p.Tuning, fixedTuning)
	case p.Tuning != smallTuning && p.LStar != 0:
		return algo.Invalid("online/hedge: lstar has no meaning with tuning %s: leave it out, or take tuning %s", p.Tuning, smallTuning)
	}
	return nil
}

// rate is that of a tuning, for ln of the number of functions and T rounds. One function needs none: 0.
func (p hedgeParams) rate(lnN float64, rounds int) float64 {
	switch p.Tuning {
	case fixedTuning:
		return p.Rate
	case smallTuning:
		return math.Log1p(math.Sqrt(2 * lnN / max(1, p.LStar)))
	}
	return worstRate(lnN, rounds)
}

// worstRate makes hoeffdingRegret least: sqrt(T lnN/2).
func worstRate(lnN float64, rounds int) float64 { return math.Sqrt(8 * lnN / float64(max(1, rounds))) }

// hoeffdingRegret bounds the regret of exponential weights over N experts in T rounds: by Hoeffding's lemma the logarithm of the sum of the
// weights falls by at least rate p - rate^2/8 in a round that costs p (Cesa-Bianchi and Lugosi 2006, Theorem 2.2).
func hoeffdingRegret(lnN, rate, rounds float64) float64 {
	if lnN == 0 {
		return 0
	}
	return min(rounds, lnN/rate+float64(rate*rounds)/8)
}

// smallLossRegret bounds it by the loss L* of the best expert: the same logarithm falls by at least (1 - e^-rate) p, so that the loss is at
// most (rate L* + lnN)/(1 - e^-rate) (Freund and Schapire 1997, Theorem 2). This grows with L*, and so does the regret.
func smallLossRegret(lnN, rate, best float64) float64 {
	if lnN == 0 {
		return 0
	}
	return (float64(rate*best)+lnN)/-math.Expm1(-rate) - best
}

func hedgeBounds(s *algo.Setting[hedgeParams], lnN float64) (list []algo.Bound) {
	rate := s.Params.rate(lnN, s.Rounds)
	with := map[string]float64{"ln_h": lnN, "eta": rate}
	if s.Rounds > 0 {
		list = append(list, algo.Bound{
			Name: "worst-case", Source: "Hoeffding's lemma: ln|H|/eta + eta T/8 (Cesa-Bianchi and Lugosi 2006, Theorem 2.2)",
			Value: hoeffdingRegret(lnN, rate, float64(s.Rounds)), Proved: true, With: with,
		})
	}
	if best := s.Params.LStar; s.Params.Tuning == smallTuning {
		with["lstar"] = best
		with["closed_form"] = math.Sqrt(2*max(1, best)*lnN) + lnN
		list = append(list, algo.Bound{
			Name: "small-loss", Source: "(eta L* + ln|H|)/(1 - e^-eta) - L* (Freund and Schapire 1997, Theorem 2), where some function makes at most lstar mistakes",
			Value: smallLossRegret(lnN, rate, best), Proved: true, With: with,
		})
	}
	return list
}

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
	for i := range x.Len() {
		if err := h.board.check(x.X(i)); err != nil {
			return err
		}
		out[i] = h.losses.mean(x.X(i), weight)
	}
	return nil
}

// Observe implements algo.Learner.
func (h *hedger) Observe(_ context.Context, x *algo.Data, y []float64) error {
	for i := range x.Len() {
		if err := h.board.checkRound(x.X(i), y[i]); err != nil {
			return err
		}
		h.losses.add(x.X(i), y[i])
		h.round++
	}
	h.trial.Report("eta", h.powers.rate)
	h.trial.Report("proved_regret", h.proved())
	return nil
}

// proved bounds the regret in the rounds so far.
func (h *hedger) proved() float64 {
	lnN, best, rounds := h.board.lnSize, float64(h.losses.least()), float64(h.round)
	return min(rounds-best, hoeffdingRegret(lnN, h.powers.rate, rounds), smallLossRegret(lnN, h.powers.rate, best))
}

// powers are the e^(-rate k), computed when first needed.
type powers struct {
	rate float64
	of   []float64
}

func (p *powers) upTo(k int) []float64 {
	for len(p.of) <= k {
		p.of = append(p.of, math.Exp(-float64(p.rate*float64(len(p.of)))))
	}
	return p.of
}
