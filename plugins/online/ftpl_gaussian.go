package online

import (
	"math"

	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite"
)

// ftplGaussianParams holds the parameters of online/ftpl-gaussian.
type ftplGaussianParams struct {
	Schedule string  `doc:"choice of eta: proved minimizes the proved bound at lstar, paper is the printed choice at lstar (many times more noise), self-confident follows the least loss so far, doubling guesses it and restarts, fixed is the parameter eta" choices:"proved,paper,self-confident,doubling,fixed"`
	LStar    float64 `param:"lstar" doc:"schedules proved and paper: expected least loss of a hypothesis; -1: the number of rounds, which is always enough" min:"-1"`
	Eta      float64 `doc:"schedule fixed: argmin of losses + eta <xi, s_f>, for unit vectors s_f of -1/+1 labels; 0 follows the leader" min:"0"`
	EtaMin   float64 `doc:"schedule self-confident: the least eta" min:"0"`
	Factor   float64 `doc:"schedule self-confident: eta is this times sqrt(least loss so far + ln|F|)" min:"0"`
	Noise    string  `doc:"fresh: drawn in each round; once: drawn at the start and kept, only for sequences that were fixed beforehand" choices:"fresh,once"`
	finite.SeparatorParams
	Exact bool `doc:"compute and answer the mean over the noise instead of drawing it: for independent noise (parities with separator cube) and at most 128 hypotheses"`
}

// ftplGaussian returns Algorithm 1 of Block and Shetty 2025, with unit vectors.
func ftplGaussian(known *sites) algo.Algorithm[ftplGaussianParams] {
	return ftpl(algo.Algorithm[ftplGaussianParams]{
		Name: "online/ftpl-gaussian",
		Doc: "Follow the perturbed leader with a Gaussian process that is linear in the labels at separating points " +
			"(Block and Shetty 2025, Algorithm 1).",
		Defaults: ftplGaussianParams{
			Schedule: provedSchedule, LStar: -1, EtaMin: 2, Factor: 0.7, Noise: freshNoise,
			SeparatorParams: finite.SeparatorParams{Separator: "standard"},
		},
		Metrics: ftplMetrics("Theorem 1 as printed, (2), at the least loss of a hypothesis in hindsight; not proved"),
	}, known, planGaussian)
}

func planGaussian(known *sites, s *algo.Setting[ftplGaussianParams]) (*plan, error) {
	p := s.Params
	return newPlan(known, s.Problem, s.Rounds, tuning{
		schedule: p.Schedule, eta: p.Eta, lstar: p.LStar, floor: p.EtaMin, factor: p.Factor,
		noise: p.Noise, exact: p.Exact, separator: p.Separator, codeSeed: p.CodeSeed,
	}, func(g *plan) error {
		z := g.site.separator
		g.noise.fill = normals(1 / math.Sqrt(float64(z.Len())))
		if z.Orthonormal {
			g.noise.distribution = normalDistribution()
		}
		if err := g.checkExact(); err != nil {
			return err
		}
		rho := z.Rho01()
		paper := func(lstar float64) float64 {
			return printedScale(rho, g.lnF, lstar, s.Rounds) / 2
		}
		g.setSchedule(func(share float64) price { return unitPrice(4*rho*rho, g.lnF, s.Rounds, share) }, paper,
			"be-the-leader and translation of the noise by a unit vector (plugins/online, ftpl_theory)")
		g.setPrinted("theorem-1", "Block and Shetty 2025, Theorem 1, (2); its lemma does not hold as printed",
			func(lstar float64) float64 { return printedRegret(rho, g.lnF, lstar, s.Rounds) })
		if eta := g.schedule().scale(); p.Schedule == paperSchedule {
			g.bounds = append(g.bounds, algo.Bound{
				Name: "theorem-1-display",
				Source: "Block and Shetty 2025, last display of the proof of Theorem 1 at its own eta, " +
					"with the lost factor eta restored",
				Value: printedDisplay(rho, g.lnF, g.lstar(), 2*eta, s.Rounds), With: g.values(),
			})
		}
		return nil
	})
}
