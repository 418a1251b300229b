package boosting

import (
	"context"
	"math"

	"github.com/shatterlab/shatter/plugins/algo"
)

// BregmanParams holds the parameters of boosting/lazy-bregman and boosting/bregman. A number of 0
// means that it follows from the margin.
type BregmanParams struct {
	Weak   string  `doc:"weak learner: unit (the normalized mean of y x) or raw (the mean itself)" choices:"raw,unit"`
	Rounds int     `doc:"boosting rounds T; 0: by the margin (unit: 8 ln(1/kappa)/tau^2, raw: 4 ln(1/kappa)/tau^2)" min:"0"`
	Lambda float64 `doc:"learning rate of the log-weights, per unit of loss; 0: by the margin (unit: tau, raw: 2)" min:"0" max:"1e6"`
	Kappa  float64 `doc:"density of the smooth distributions, in (0,1): the share of the sample that may be wrong; 0: alpha/2" min:"0" max:"1"`
	Tau    float64 `doc:"target margin, halved if labels are noisy; 0: the margin that the problem guarantees" min:"0" max:"1"`
}

// lazyBregman returns boosting/lazy-bregman.
func lazyBregman() algo.Algorithm[BregmanParams] {
	return bregmanBooster("boosting/lazy-bregman", false,
		"Halfspaces with a margin by boosting with lazy Bregman projection "+
			"(Bun, Carmosino and Sorrell 2020, LazyBregBoost), noise-free; not private.")
}

// bregman returns boosting/bregman.
func bregman() algo.Algorithm[BregmanParams] {
	return bregmanBooster("boosting/bregman", true,
		"Halfspaces with a margin by boosting with eager Bregman projection "+
			"(Barak, Hardt and Kale 2009, BregBoost); not private: "+
			"each round projects the last projection, so that caps compose over rounds and one example may move "+
			"the weak learner by far more than the 2/(kappa n) of a lazy projection.")
}

// bregmanBooster returns an algorithm that boosts without noise, with eager or lazy projection.
func bregmanBooster(name string, eager bool, doc string) algo.Algorithm[BregmanParams] {
	return algo.Algorithm[BregmanParams]{
		Name: name, Version: "1.0.0", Doc: doc,
		Defaults: BregmanParams{Weak: Unit},
		Metrics: map[string]string{
			"training_error":  metricError,
			"margin_quantile": metricQuantile,
			"certificate":     metricRegret + " (not private) " + inBall,
		},
		Learn: func(ctx context.Context, t *algo.Trial[BregmanParams], sample *algo.Data) (algo.Model, error) {
			if err := checkBall(sample, "round bound"); err != nil {
				return nil, err
			}
			b := newBooster(t.Params.forBooster(), sample)
			b.eager = eager
			if err := b.run(ctx, noiseless); err != nil {
				return nil, err
			}
			t.Report("certificate", b.certificate())
			reportMargins(t, b)
			return b.model(), nil
		},
		Declares: algo.Always[BregmanParams],
		Check:    func(s *algo.Setting[BregmanParams]) error { return resolveBregman(name, s) },
		Bound: func(s *algo.Setting[BregmanParams]) ([]algo.Bound, error) {
			return []algo.Bound{bregmanBound(s)}, nil
		},
	}
}

// forBooster returns the parameters of the booster. Without noise no margin y h(x) exceeds 1, so
// all losses are equal.
func (p BregmanParams) forBooster() Params {
	return Params{Rounds: p.Rounds, Lambda: p.Lambda, Kappa: p.Kappa, Tau: p.Tau, Weak: p.Weak, Loss: Linear}
}

// resolveBregman checks a setting and sets the parameters that are zero: for the unit weak learner
// lambda = 2 gamma and T = 2 ln(1/kappa)/gamma^2, where gamma = tau/2 is its advantage. The
// advantage of the raw learner grows with the edge, so lambda need not shrink with it; see
// relativeMargin.
func resolveBregman(name string, s *algo.Setting[BregmanParams]) error {
	if err := checkClass(name, s.Problem); err != nil {
		return err
	}
	p := &s.Params
	if err := setTau(&p.Tau, s.Problem); err != nil {
		return err
	}
	if p.Tau == 0 && (p.Rounds == 0 || p.Lambda == 0) {
		return algo.Invalid("%s derives rounds and lambda from the margin, and the problem guarantees none: "+
			"set tau, or both of them", name)
	}
	if p.Kappa == 0 {
		p.Kappa = s.Alpha / 2
	}
	if err := checkKappa(p.Kappa); err != nil {
		return err
	}
	tau := effectiveMargin(p.Tau, s.Problem.NoiseRate)
	lambda, rounds := tau, -8*math.Log(p.Kappa)/(tau*tau)
	if p.Weak == Raw {
		lambda, rounds = 2, rounds/2
	}
	if p.Lambda == 0 {
		p.Lambda = lambda
	}
	if p.Rounds == 0 {
		p.Rounds = int(math.Ceil(rounds))
	}
	resolved := p.forBooster()
	return checkNumbers(&resolved)
}

// bregmanBound returns the n that is proved to suffice for the parameters of a setting.
func bregmanBound(s *algo.Setting[BregmanParams]) algo.Bound {
	g, p := goalOf(s), s.Params.forBooster()
	theta := p.relativeMargin(effectiveMargin(g.margin, g.rate))
	with := map[string]float64{"rounds": float64(p.Rounds), "lambda": p.Lambda}
	return provedBound(g, p.Kappa, theta, sourceBregman, with)
}

// relativeMargin returns a theta such that fewer than kappa n examples have y <w, x> < theta |w|
// after noise-free rounds with these parameters. A theta that is not positive gives no guarantee.
// tau is the least norm of a centering vector z_t.
//
// Write L = ln(1/kappa), and s^2 for the mean of |z_t|^2. By the regret of the rounds, eager or
// lazy (see booster.certificate), fewer than kappa n examples have y <w, x> below
//
//	unit: tau - lambda/4 - 2L/(lambda T), because all y h(x) are in [-1, 1]; and |w| <= 1
//	raw:  s^2 - lambda s^2/4 - 2L/(lambda T); and |w| <= s, where tau is the worst of all s >= tau
//
// With the rounds and lambda of resolveBregman the thetas are tau/2 and tau/4.
func (p *Params) relativeMargin(tau float64) float64 {
	regret := -2 * math.Log(p.Kappa) / (p.Lambda * float64(p.Rounds))
	if p.Weak == Unit {
		return tau - p.Lambda/4 - regret
	}
	if p.Lambda >= 4 { // the margin need not grow with s in this case
		return 0
	}
	return float64(tau*(1-p.Lambda/4)) - regret/tau
}
