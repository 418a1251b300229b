package boosting

import (
	"context"
	"slices"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/plugins/algo"
)

// NoisedParams holds the parameters of boosting/m-eta: eta and those of boosting/hs-stl with preset
// calibrated, with the same defaults.
type NoisedParams struct {
	Eta    float64 `doc:"rate at which the mechanism itself flips labels of its sample, below 1/2" min:"0" max:"0.499"`
	Rounds int     `doc:"boosting rounds T; 0: like boosting/hs-stl with preset calibrated" min:"0"`
	Lambda float64 `doc:"learning rate of the log-weights, per unit of loss; 0: like boosting/hs-stl" min:"0" max:"1e6"`
	Kappa  float64 `doc:"density of the smooth distributions, in (0,1); 0: like boosting/hs-stl" min:"0" max:"1"`
	Sigma  float64 `doc:"standard deviation of the noise per coordinate: always from epsilon, delta and n; 0 before n is fixed (see the metric sigma)" min:"0"`
	Tau    float64 `doc:"target margin; 0: the margin that the problem guarantees" min:"0" max:"1"`
}

// noised returns boosting/m-eta, Algorithm 3 on top of HS-StL. It flips each label with probability
// eta, independently of the sample, so it is as private as HS-StL: given the flips, neighbors
// remain neighbors. So Theorem 19 applies to the query err_H on the sample without the flips, which
// is the metric query.
func noised() algo.Algorithm[NoisedParams] {
	return algo.Algorithm[NoisedParams]{
		Name:    "boosting/m-eta",
		Version: "1.0.0",
		Doc: "HS-StL on a sample whose labels the mechanism itself flips at rate eta " +
			"(Bun, Carmosino and Sorrell 2020, Algorithm 3), which turns privacy into generalization from noisy labels.",
		Defaults: NoisedParams{Eta: 0.01},
		Metrics: map[string]string{
			"sigma":   metricSigma,
			"flipped": "labels that the mechanism flipped [share of the sample]",
			"training_error": "examples that the hypothesis labels wrongly, compared with the flipped labels (not " +
				"private) [share of the sample]",
			"query": "examples that the hypothesis labels wrongly, compared with the given labels: the query err_H(S), " +
				"to compare with the error (not private) [share of the sample]",
		},
		Learn: learnNoised, Declares: algo.Always[NoisedParams],
		Check: func(s *algo.Setting[NoisedParams]) error {
			inner := withoutEta(s)
			if err := resolve(&inner); err != nil {
				return err
			}
			s.Params = fromInner(s.Params.Eta, inner.Params)
			return nil
		},
		Guarantee: func(s *algo.Setting[NoisedParams]) (algo.Guarantee, error) {
			inner := withoutEta(s)
			g, err := guarantee(&inner)
			g.Source += "; labels flipped independently of the sample do not change it (" + source2020 + ", Algorithm 3)"
			return g, err
		},
		Bound: func(s *algo.Setting[NoisedParams]) ([]algo.Bound, error) {
			inner := withoutEta(s)
			if s.Params.Eta > 0 {
				inner.Problem.Noise, inner.Problem.NoiseRate = "random", s.Params.Eta
			}
			list, err := bounds(&inner)
			for i := range list {
				if !slices.Contains(list[i].Premises, algo.CleanLabels) { // except for the mechanism's own flips
					list[i].Premises = append(list[i].Premises, algo.CleanLabels)
				}
			}
			return list, err
		},
	}
}

// withoutEta returns the setting of the HS-StL that the mechanism runs.
func withoutEta(s *algo.Setting[NoisedParams]) algo.Setting[Params] {
	p := s.Params
	return algo.Setting[Params]{
		Params: Params{
			Preset: Calibrated, Rounds: p.Rounds, Lambda: p.Lambda, Kappa: p.Kappa, Sigma: p.Sigma, Weak: Raw, Loss: Linear,
			Tau: p.Tau,
		},
		Task: s.Task, Problem: s.Problem, N: s.N, Alpha: s.Alpha, Reference: s.Reference, Beta: s.Beta,
		Epsilon: s.Epsilon, Delta: s.Delta, Test: s.Test,
	}
}

// fromInner returns the parameters for resolved ones of HS-StL.
func fromInner(eta float64, p Params) NoisedParams {
	return NoisedParams{Eta: eta, Rounds: p.Rounds, Lambda: p.Lambda, Kappa: p.Kappa, Sigma: p.Sigma, Tau: p.Tau}
}

// learnNoised runs boosting/m-eta. With eta = 0 it is boosting/hs-stl, bit for bit.
func learnNoised(ctx context.Context, t *algo.Trial[NoisedParams], sample *algo.Data) (algo.Model, error) {
	inner := withoutEta(&t.Setting)
	if err := checkBall(sample, "privacy"); err != nil {
		return nil, err
	}
	y, flipped := make([]float64, sample.Len()), 0
	for i, label := range sample.Ys() {
		if y[i] = label; t.Params.Eta > 0 && t.Rand.Float64() < t.Params.Eta {
			y[i] = -label
			flipped++
		}
	}
	b := newBooster(inner.Params, algo.NewData(sample.Xs(), sample.Dim(), y))
	if err := b.run(ctx, t.Rand.NormFloat64); err != nil {
		return nil, err
	}
	model := b.model()
	answers := make([]float64, len(y))
	if err := model.Predict(ctx, sample, answers); err != nil {
		return nil, err
	}
	wrong := 0
	for i, answer := range answers {
		if answer != sample.Y(i) {
			wrong++
		}
	}
	t.Report("sigma", inner.Params.Sigma)
	t.Report("flipped", float64(flipped)/float64(len(y)))
	t.Report("query", float64(wrong)/float64(len(y)))
	t.Report("training_error", numeric.ShareUpTo(b.margins(), 0))
	return model, nil
}
