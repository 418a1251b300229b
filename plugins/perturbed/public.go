package perturbed

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/privacy"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite"
)

// Values of the parameter preset of perturbed/public-data.
const (
	twoStagePreset = "two-stage" // half of the budget for each stage, see twoStage: not proved
	tracePreset    = "trace"     // all of the budget for the first stage, see traceNoise: proved
)

// publicParams holds the parameters of perturbed/public-data. An eta or a sigma of 0 means that of
// the preset; resolvePublic sets it.
type publicParams struct {
	Preset string  `doc:"two-stage: noise in both stages, half of the budget each, by an unproved rule; trace: noise only in the first stage, enough to make the labels of the public points private, proved" choices:"two-stage,trace"`
	Public int     `doc:"number of public unlabeled points, drawn uniformly from the domain for each trial" min:"1" max:"100000"`
	Eta    float64 `doc:"noise of the first stage: argmin of errors + eta <xi, s_f> for the unit vectors s_f of the -1/+1 labels of the public points; 0: by the preset; trace accepts any larger value" min:"0"`
	Sigma  float64 `doc:"standard deviation of the noise of the second stage, on -1/+1 labels; 0: by the preset (trace: none)" min:"0"`
}

// publicData returns perturbed/public-data, the algorithm of Block, Bun, Desai, Shetty and Wu 2024
// in concrete form: f^ minimizes the errors plus Gaussian noise on public points Z, f^ plus
// Gaussian noise labels these points, and the answer is the hypothesis nearest to these labels.
func publicData() algo.Algorithm[publicParams] {
	return complete(algo.Algorithm[publicParams]{
		Name: "perturbed/public-data",
		Doc: "Perturbed minimization on public unlabeled points, then the hypothesis nearest to its noisy labels there " +
			"(Block, Bun, Desai, Shetty and Wu 2024).",
		Defaults: publicParams{Preset: twoStagePreset, Public: 100},
		Declares: algo.Always[publicParams],
	}, resolvePublic, func(l *learner, t *algo.Trial[publicParams], sample *algo.Data) (algo.Model, error) {
		return l.declared(learnPublic(l.site, &t.Params, sample, t.Rand))
	}, publicGuarantee, nil)
}

// PlaceOf returns the place of a problem's class without a separator.
func (publicParams) PlaceOf(p algo.Problem) finite.Place { return finite.PlaceOf(p, "", 0) }

// resolvePublic sets eta and sigma.
func resolvePublic(s *algo.Setting[publicParams], st *site) error {
	p := &s.Params
	if err := checkBudget(s.Epsilon, s.Delta, true); err != nil {
		return err
	}
	if err := concept.CheckSample(st.class, s.N+p.Public); err != nil {
		return algo.Invalid("perturbed: n = %d and %d public points: %v", s.N, p.Public, err)
	}
	lnF := st.class.LogSize()
	if p.Preset == tracePreset {
		return resolveNoise("eta", &p.Eta, traceNoise(p.Public, lnF, s.Epsilon, s.Delta))
	}
	eta, sigma := twoStage(p.Public, lnF, s.Alpha, s.Beta, s.Epsilon, s.Delta)
	if p.Eta == 0 {
		p.Eta = eta
	}
	if p.Sigma == 0 {
		p.Sigma = sigma
	}
	if !(p.Eta <= maxNoise && p.Sigma <= maxNoise) {
		return algo.Infeasible("perturbed: noise eta %g and sigma %g hide all information: "+
			"raise epsilon or delta", p.Eta, p.Sigma)
	}
	return nil
}

// traceNoise returns the eta at which the first stage is private already, for m public points Z.
// Two patterns of labels on Z, the traces, differ on at least one of the points. The trace of f^
// minimizes, over all traces, the fewest errors of a hypothesis with this trace plus the noise. One
// replaced example changes each of these fewest errors by at most 1. So the lemma of theory.go
// holds for the traces, with h = 1, whether or not Z separates the hypotheses; and the second stage
// depends on the sample only through the trace. There are at most min(|F|, 2^m) traces.
func traceNoise(m int, lnF, eps, delta float64) float64 {
	return noise(2/float64(m), tightShift(min(lnF, float64(m)*math.Ln2), eps, delta))
}

// twoStage returns the noise of a run that spends eps/2 and delta/2 on each of its two stages, for
// m public points Z. As in the original, the first stage is stable up to a share a of Z, and the
// second hides a change of that size. It uses
//
//   - a = alpha mu^2/(8 ln(|F|/beta)), with the Gaussian mechanism's mu at (eps/2, delta/2): the
//     largest share that can be hidden while the answer still agrees with f^ on all except a share
//     alpha of Z, with probability 1 - beta;
//   - sigma = 2 sqrt(a m)/mu, the Gaussian mechanism for labels of which a m change by 2;
//   - eta = D/(2 a lambda), the noise of perturbed/gaussian for hypotheses that all differ on a
//     share of at least a.
//
// There is no proof that eta limits changes to the share a for hypotheses that are closer, and the
// constants differ from the original. For a m <= 1 this eta is above traceNoise.
func twoStage(m int, lnF, alpha, beta, eps, delta float64) (eta, sigma float64) {
	mu := privacy.GaussianMu(eps/2, delta/2)
	share := min(1, alpha*mu*mu/(8*(lnF-math.Log(beta))))
	return noise(2*share, tightShift(lnF, eps/2, delta/2)), 2 * math.Sqrt(share*float64(m)) / mu
}

func publicGuarantee(s *algo.Setting[publicParams], st *site) algo.Guarantee {
	g := algo.Guarantee{Epsilon: s.Epsilon, Delta: s.Delta}
	if s.Params.Preset == tracePreset {
		g.Source = "translation of the noise (plugins/perturbed, theory), for the labels of the public points, " +
			"then post-processing; for noise of real numbers"
		return g
	}
	g.Unproved = true
	g.Source = fmt.Sprintf("after Block, Bun, Desai, Shetty and Wu 2024, with noise by a rule of thumb: "+
		"not proved; preset %s proves eta of at least %.4g",
		tracePreset, traceNoise(s.Params.Public, st.class.LogSize(), s.Epsilon, s.Delta))
	return g
}

// learnPublic runs one trial. The points are independent of the sample, so the generator of the
// noise can draw them too.
func learnPublic(st *site, p *publicParams, sample *algo.Data, r *rand.Rand) (concept.Hypothesis, error) {
	z := drawPublic(st.class, st.Spec, p.Public, r)
	minimizer, err := st.class.NewMinimizer(z)
	if err != nil {
		return nil, err
	}
	c := make([]float64, p.Public)
	for j := range c {
		c[j] = p.Eta / math.Sqrt(float64(p.Public)) * r.NormFloat64()
	}
	first, _, err := minimizer.Minimize(sample.Xs(), sample.Ys(), nil, c)
	if err != nil {
		return nil, err
	}
	// sum_j (f(z_j) - label_j)^2 is -2 sum_j label_j f(z_j) plus a constant that does not depend on
	// f.
	first.Labels(z, c)
	for j, label := range c {
		c[j] = -label - float64(p.Sigma*r.NormFloat64())
	}
	nearest, _, err := minimizer.Minimize(nil, nil, nil, c)
	return nearest, err
}

// drawPublic returns m points, row-major, drawn uniformly from the domain of a class: each
// coordinate from 0..X-1, or from 0 and 1 if the class has no X.
func drawPublic(class concept.Class, spec concept.Spec, m int, r *rand.Rand) []float64 {
	values := spec.Domain
	if values == 0 {
		values = 2
	}
	z := make([]float64, m*class.Dim())
	for i := range z {
		z[i] = float64(r.Uint64N(values))
	}
	return z
}
