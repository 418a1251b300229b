package online

import (
	"math"

	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite"
)

// ftplIIDParams holds the parameters of online/ftpl-iid.
type ftplIIDParams struct {
	Schedule string  `doc:"choice of eta: proved minimizes the proved bound at lstar, self-confident follows the least loss so far, doubling guesses it and restarts, fixed is the parameter eta" choices:"proved,self-confident,doubling,fixed"`
	LStar    float64 `param:"lstar" doc:"schedule proved: expected least loss of a hypothesis; -1: the number of rounds, which is always enough" min:"-1"`
	Eta      float64 `doc:"schedule fixed: argmin of losses + eta times a random number of this density for each hypothesis; 0 follows the leader" min:"0"`
	EtaMin   float64 `doc:"schedule self-confident: the least eta" min:"0"`
	Factor   float64 `doc:"schedule self-confident: eta is this times sqrt(least loss so far + ln|F|)" min:"0"`
	Density  string  `doc:"distribution of the noise: gaussian (standard deviation eta), laplace (scale eta), or exponential (mean eta, subtracted)" choices:"gaussian,laplace,exponential"`
	Noise    string  `doc:"fresh: drawn in each round; once: drawn at the start and kept, only for sequences that were fixed beforehand" choices:"fresh,once"`
	Exact    bool    `doc:"compute and answer the mean over the noise instead of drawing it: density gaussian, at most 128 hypotheses"`
}

// Values of the parameter density.
const (
	gaussianNoise    = "gaussian"
	laplaceNoise     = "laplace"
	exponentialNoise = "exponential"
)

// ftplIID returns the algorithm with independent noise for every hypothesis, as in Kalai and
// Vempala 2005 and Hutter and Poland 2004 for experts.
func ftplIID(known *sites) algo.Algorithm[ftplIIDParams] {
	return ftpl(algo.Algorithm[ftplIIDParams]{
		Name: "online/ftpl-iid",
		Doc: "Follow the perturbed leader with independent noise for every hypothesis " +
			"(Hutter and Poland 2004, Kalai and Vempala 2005).",
		Defaults: ftplIIDParams{
			Schedule: provedSchedule, LStar: -1, EtaMin: 2, Factor: 0.7, Density: gaussianNoise, Noise: freshNoise,
		},
		Metrics: ftplMetrics(""),
	}, known, planIID)
}

func planIID(known *sites, s *algo.Setting[ftplIIDParams]) (*plan, error) {
	p := s.Params
	return newPlan(known, s.Problem, s.Rounds, tuning{
		schedule: p.Schedule, eta: p.Eta, lstar: p.LStar, floor: p.EtaMin, factor: p.Factor,
		noise: p.Noise, exact: p.Exact,
	}, func(g *plan) error {
		cost := func(share float64) price { return unitPrice(2, g.lnF, s.Rounds, share) }
		g.noise.distribution = normalDistribution()
		switch p.Density {
		case laplaceNoise:
			g.noise.distribution, cost = laplaceDistribution(), func(float64) price { return purePrice(maxLaplace(g.lnF), 1) }
		case exponentialNoise: // a fixed hypothesis has a mean of 1 subtracted
			g.noise.distribution = exponentialDistribution()
			cost = func(float64) price { return purePrice(harmonic(g.lnF)-1, 1) }
		}
		if err := g.checkExact(); err != nil {
			return err
		}
		g.setSchedule(cost, nil,
			"be-the-leader and translation of the noise of one hypothesis (plugins/online, ftpl_theory)")
		return nil
	})
}

// ftplUniformParams holds the parameters of online/ftpl-uniform.
type ftplUniformParams struct {
	Schedule string  `doc:"choice of eta: proved is sqrt(T), fixed is the parameter eta" choices:"proved,fixed"`
	Eta      float64 `doc:"schedule fixed: argmin of losses + sum a_j f(z_j), f the 0/1 labels and a_j uniform on [-eta, eta]; 0 follows the leader" min:"0"`
	Noise    string  `doc:"fresh: drawn in each round; once: drawn at the start and kept, as in the paper, only for sequences that were fixed beforehand" choices:"fresh,once"`
	finite.SeparatorParams
}

// ftplUniform returns the generalized follow-the-perturbed-leader of Dudik et al. 2020, whose
// matrix holds the 0/1 labels at a separator.
func ftplUniform(known *sites) algo.Algorithm[ftplUniformParams] {
	return ftpl(algo.Algorithm[ftplUniformParams]{
		Name: "online/ftpl-uniform",
		Doc: "Generalized follow the perturbed leader: uniform noise on the labels at separating points " +
			"(Dudik et al. 2020).",
		Defaults: ftplUniformParams{
			Schedule: provedSchedule, Noise: freshNoise,
			SeparatorParams: finite.SeparatorParams{Separator: "standard"},
		},
		Metrics: ftplMetrics("m sqrt(T), the paper's rate with its open constants set to 1; not proved"),
	}, known, planUniform)
}

// planUniform makes the plan of ftplUniform. The bound on the regret is m/(4q) + T m q for 1/(2q) =
// eta, which is m sqrt(T) at eta = sqrt(T).
func planUniform(known *sites, s *algo.Setting[ftplUniformParams]) (*plan, error) {
	p := s.Params
	return newPlan(known, s.Problem, s.Rounds, tuning{
		schedule: p.Schedule, eta: p.Eta, lstar: -1, noise: p.Noise, separator: p.Separator, codeSeed: p.CodeSeed,
	}, func(g *plan) error {
		g.noise.fill = halfUniforms
		if p.Schedule == provedSchedule {
			g.tuning.schedule, g.tuning.eta = fixedSchedule, math.Sqrt(float64(max(1, s.Rounds)))
		}
		half := float64(g.site.separator.Len()) / 2
		cost := price{
			complexity: half, stability: func(float64) float64 { return 0 }, drift: half * float64(s.Rounds),
		}
		g.setSchedule(func(float64) price { return cost }, nil,
			"be-the-leader and the probability that the label at a point of the separator changes (plugins/online, ftpl_theory)")
		g.setRate("dudik-2020", "Dudik et al. 2020, Theorem 2.5, as stated by Block and Shetty 2025",
			func(float64) float64 { return printedUniform(g.site.separator.Len(), s.Rounds) })
		return nil
	})
}

// ftplLaplaceParams holds the parameters of online/ftpl-laplace.
type ftplLaplaceParams struct {
	Schedule string  `doc:"choice of eta: proved minimizes the proved bound at lstar, doubling guesses the least loss and restarts, fixed is the parameter eta" choices:"proved,doubling,fixed"`
	LStar    float64 `param:"lstar" doc:"schedule proved: expected least loss of a hypothesis; -1: the number of rounds, which is always enough" min:"-1"`
	Eta      float64 `doc:"schedule fixed: argmin of losses + eta sum a_j f(z_j), f the 0/1 labels and a_j of the given density (default: laplace) at scale 1; 0 follows the leader" min:"0"`
	Noise    string  `doc:"fresh: drawn in each round; once: drawn at the start and kept, only for sequences that were fixed beforehand" choices:"fresh,once"`
	finite.SeparatorParams
}

// laplaceDefaults returns the default parameters with a separator.
func laplaceDefaults(separator string) ftplLaplaceParams {
	return ftplLaplaceParams{
		Schedule: provedSchedule, LStar: -1, Noise: freshNoise,
		SeparatorParams: finite.SeparatorParams{Separator: separator},
	}
}

func (p ftplLaplaceParams) tuning() tuning {
	return tuning{
		schedule: p.Schedule, eta: p.Eta, lstar: p.LStar, noise: p.Noise, separator: p.Separator, codeSeed: p.CodeSeed,
	}
}

// ftplLaplace returns the algorithm of Syrgkanis, Krishnamurthy and Schapire 2016.
func ftplLaplace(known *sites) algo.Algorithm[ftplLaplaceParams] {
	return ftpl(algo.Algorithm[ftplLaplaceParams]{
		Name: "online/ftpl-laplace",
		Doc: "Follow the perturbed leader with Laplace noise on the labels at separating points " +
			"(Syrgkanis, Krishnamurthy and Schapire 2016).",
		Defaults: laplaceDefaults("standard"),
		Metrics: ftplMetrics("m^(3/4) sqrt(T ln|F|), the paper's rate with its open constants and logarithms of T " +
			"set to 1; not proved"),
	}, known, planLaplace)
}

func planLaplace(known *sites, s *algo.Setting[ftplLaplaceParams]) (*plan, error) {
	return newPlan(known, s.Problem, s.Rounds, s.Params.tuning(), func(g *plan) error {
		g.noise.fill = halfLaplaces
		cost := purePrice(laplaceComplexity(g.site.separator.Len(), g.lnF), 1/g.site.ratio())
		g.setSchedule(func(float64) price { return cost }, nil,
			"be-the-leader and translation of Laplace noise at all points by 1/h (plugins/online, ftpl_theory)")
		g.setRate("syrgkanis-2016",
			"Syrgkanis, Krishnamurthy and Schapire 2016, Theorem 2, as stated by Block and Shetty 2025",
			func(float64) float64 { return printedLaplace(g.site.separator.Len(), g.lnF, s.Rounds) })
		return nil
	})
}

// ftplApproximableParams holds the parameters of online/ftpl-approximable.
type ftplApproximableParams struct {
	Density string `doc:"distribution of the noise: laplace (Wang et al. 2022) or gaussian" choices:"laplace,gaussian"`
	ftplLaplaceParams
}

// ftplApproximable returns the algorithm of Wang et al. 2022 for gamma-approximable matrices. Its
// matrix holds the 0/1 labels at a separator.
func ftplApproximable(known *sites) algo.Algorithm[ftplApproximableParams] {
	return ftpl(algo.Algorithm[ftplApproximableParams]{
		Name: "online/ftpl-approximable",
		Doc: "Follow the perturbed leader with noise on a matrix that approximates the losses: " +
			"the labels at all points, or at separating ones (Wang et al. 2022).",
		Defaults: ftplApproximableParams{laplaceNoise, laplaceDefaults("cube")},
		Metrics: ftplMetrics("the paper's bound with its open constants set to 1, " +
			"at the least loss of a hypothesis in hindsight; not proved"),
	}, known, planApproximable)
}

// planApproximable makes the plan of ftplApproximable. gamma is 1 if the separator covers the
// domain: the loss at a point is linear in the label there. Otherwise the vector (2 F_f - 1)/h is
// used; its absolute values add up to gamma = m/h.
func planApproximable(known *sites, s *algo.Setting[ftplApproximableParams]) (*plan, error) {
	return newPlan(known, s.Problem, s.Rounds, s.Params.tuning(), func(g *plan) error {
		m, gamma, lnF := g.site.separator.Len(), 1.0, g.lnF
		if !g.site.covers() {
			gamma = 1 / g.site.ratio()
		}
		g.noise.fill = halfLaplaces
		pure := purePrice(laplaceComplexity(m, lnF), gamma)
		cost := func(float64) price { return pure }
		printed := func(lstar float64) float64 { return printedApproximable(m, gamma, lnF, lstar) }
		source := "Wang et al. 2022, Theorem 1"
		if s.Params.Density == gaussianNoise {
			g.noise.fill = normals(0.5)
			cost = func(share float64) price {
				return normalPrice(math.Sqrt(float64(m))*math.Sqrt(2*lnF), gamma, lnF, s.Rounds, share)
			}
			printed = func(lstar float64) float64 { return printedCorollary(m, gamma, lnF, lstar, s.Rounds) }
			source = "Block and Shetty 2025, Corollary 1"
		}
		g.setSchedule(cost, nil, "be-the-leader and translation of the noise by a vector "+
			"whose absolute values add up to gamma (plugins/online, ftpl_theory)")
		g.setPrinted("approximable", source+", constants 1", printed)
		for _, b := range g.bounds {
			b.With["gamma"] = gamma
		}
		return nil
	})
}
