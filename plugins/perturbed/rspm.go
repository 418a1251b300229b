package perturbed

import (
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
	return complete(algo.Algorithm[rspmParams]{
		Name: "perturbed/rspm",
		Doc: "Report separator-perturbed minimum (Neel, Roth and Wu 2019): " +
			"minimizes the errors plus independent noise on the labels at separating points.",
		Defaults: rspmParams{Noise: laplaceNoise, SeparatorParams: finite.SeparatorParams{Separator: "standard"}},
		Declares: algo.Always[rspmParams],
	}, resolveRSPM, func(l *learner, t *algo.Trial[rspmParams], sample *algo.Data) (algo.Model, error) {
		if t.Params.Noise == gaussianNoise {
			return l.declared(l.gaussian(sample, t.Params.Scale, t.Rand))
		}
		return l.declared(l.laplace(sample, t.Params.Scale, t.Rand))
	}, rspmGuarantee, rspmBounds)
}

// resolveRSPM sets the scale.
func resolveRSPM(s *algo.Setting[rspmParams], st *site) error {
	p := &s.Params
	if err := checkBudget(s.Epsilon, s.Delta, p.Noise == gaussianNoise); err != nil {
		return err
	}
	if p.Noise == laplaceNoise && st.separator.Points == nil {
		return algo.Invalid("perturbed: noise %s draws at each of %d points of separator %s, too many: "+
			"use separator standard or code, noise %s, or a smaller dimension",
			p.Noise, st.points, p.Separator, gaussianNoise)
	}
	least := laplaceScale(st.points, st.separator.Hamming, s.Epsilon)
	if p.Noise == gaussianNoise {
		least = noise(st.hamming(), signShift(st.points, st.class.LogSize(), s.Epsilon, s.Delta))
	}
	return resolveNoise("scale", &p.Scale, least)
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
