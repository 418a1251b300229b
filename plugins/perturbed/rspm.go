package perturbed

import (
	"context"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite"
)

// Values of the parameter noise of perturbed/rspm.
const (
	laplaceNoise  = "laplace"  // pure privacy
	gaussianNoise = "gaussian" // like perturbed/gaussian, with the better of two tails
)

// rspmParams holds the parameters of perturbed/rspm. A scale of 0 means the least that satisfies
// the budget; resolveRSPM sets it.
type rspmParams struct {
	Noise string `doc:"laplace: pure epsilon-differential privacy; gaussian: like perturbed/gaussian, with the tail over all sign patterns if that requires less noise" choices:"laplace,gaussian"`
	finite.SeparatorParams
	Scale float64 `doc:"laplace: the scale b of the noise on 0/1 labels at each point; gaussian: eta, as in perturbed/gaussian; 0: the least that satisfies the budget; a larger value is accepted" min:"0"`
}

// rspm returns perturbed/rspm, report separator-perturbed minimum (Neel, Roth and Wu 2019).
func rspm() algo.Algorithm[rspmParams] {
	known := new(sites)
	resolve := func(s *algo.Setting[rspmParams]) (*site, error) { return resolveRSPM(known, s) }
	return complete(algo.Algorithm[rspmParams]{
		Name:    "perturbed/rspm",
		Version: "1.0.0",
		Doc: "Report separator-perturbed minimum (Neel, Roth and Wu 2019): " +
			"minimizes the errors plus independent noise on the labels at separating points.",
		Defaults: rspmParams{Noise: laplaceNoise, SeparatorParams: finite.SeparatorParams{Separator: "standard"}},
		Declares: algo.Always[rspmParams],
		Learn: func(_ context.Context, t *algo.Trial[rspmParams], sample *algo.Data) (algo.Model, error) {
			if t.Params.Scale == 0 {
				if _, err := resolve(&t.Setting); err != nil {
					return nil, err
				}
			}
			place := t.Params.PlaceOf(t.Problem)
			return known.learn(place, func(l *learner) (concept.Hypothesis, error) {
				if t.Params.Noise == gaussianNoise {
					return l.gaussian(sample, t.Params.Scale, t.Rand)
				}
				return l.laplace(sample, t.Params.Scale, t.Rand)
			})
		},
	}, resolve, rspmGuarantee, rspmBounds)
}

// resolveRSPM returns the site of a setting and sets the scale. Its error is the reason why the
// setting cannot run. Resolving resolved parameters changes nothing.
func resolveRSPM(known *sites, s *algo.Setting[rspmParams]) (*site, error) {
	p := &s.Params
	if err := checkBudget(s.Epsilon, s.Delta, p.Noise == gaussianNoise); err != nil {
		return nil, err
	}
	st, err := known.at(p.PlaceOf(s.Problem))
	if err != nil {
		return nil, err
	}
	if p.Noise == laplaceNoise && st.separator.Points == nil {
		return nil, algo.Invalid("perturbed: noise %s draws at each of %d points of separator %s, too many: "+
			"use separator standard or code, noise %s, or a smaller dimension",
			p.Noise, st.points, p.Separator, gaussianNoise)
	}
	least := laplaceScale(st.points, st.separator.Hamming, s.Epsilon)
	if p.Noise == gaussianNoise {
		least = noise(st.hamming(), signShift(st.points, st.class.LogSize(), s.Epsilon, s.Delta))
	}
	return st, resolveNoise("scale", &p.Scale, least)
}

func rspmGuarantee(s *algo.Setting[rspmParams], _ *site) algo.Guarantee {
	if s.Params.Noise == gaussianNoise {
		return algo.Guarantee{
			Epsilon: s.Epsilon, Delta: s.Delta,
			Source: "translation of Gaussian noise by a vector that outweighs one example " +
				"(plugins/perturbed, theory); for noise of real numbers",
		}
	}
	return algo.Guarantee{
		Pure: true, Epsilon: s.Epsilon,
		Source: "translation of Laplace noise by a vector that outweighs one example " +
			"(Neel, Roth and Wu 2019; plugins/perturbed, theory); for noise of real numbers",
	}
}
