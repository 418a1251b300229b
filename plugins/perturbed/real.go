package perturbed

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite"
)

// realParams holds the parameters of perturbed/real. An eta of 0 means the least that satisfies the
// budget; resolveReal sets it.
type realParams struct {
	Loss   string  `doc:"loss of a value a for the label y: squared is (a-y)^2/4, absolute is |a-y|/2, the error of a mean" choices:"squared,absolute"`
	Levels int     `doc:"the functions are c f for the hypotheses f and c = 1/levels, 2/levels, ..., 1" min:"1" max:"100"`
	Eta    float64 `doc:"noise: argmin of losses + eta <xi, v> for the unit vectors v of the functions; 0: the least that satisfies the budget; a larger value is accepted" min:"0"`
	finite.SeparatorParams
}

func (p realParams) real() finite.Real { return finite.Real{Loss: p.Loss, Levels: p.Levels} }

// realValued returns perturbed/real, Algorithm 2 of Block and Shetty 2025 for the real-valued
// functions of [finite.Real]. Nothing is proved for noise on the values alone, because some of them
// can be in the convex hull of others. The lemma of theory.go holds for the unit vectors (c s_f,
// sqrt(1-c^2)), with half of their least squared distance as the radius, because losses in [0, 1]
// change like mistakes.
func realValued() algo.Algorithm[realParams] {
	return complete(algo.Algorithm[realParams]{
		Name: "perturbed/real",
		Doc: "Minimizes the squared or absolute loss of real-valued functions, hypotheses times confidences, plus a " +
			"Gaussian process on lifted values (Block and Shetty 2025, Algorithm 2, with noise that is proved private).",
		Defaults: realParams{
			Loss: finite.SquaredLoss, Levels: 2, SeparatorParams: finite.SeparatorParams{Separator: "standard"},
		},
		Metrics: map[string]string{
			"confidence":    "c of the answered function c f [ratio]",
			"sample_excess": "mean loss on the sample minus that of the best function there [loss per example]",
		},
		Declares: func(s *algo.Setting[realParams]) bool { return !s.Means },
	}, resolveReal, learnReal, realGuarantee, realBounds)
}

// resolveReal sets eta.
func resolveReal(s *algo.Setting[realParams], st *site) error {
	p := &s.Params
	if err := p.real().Check("perturbed/real"); err != nil {
		return err
	}
	if err := checkBudget(s.Epsilon, s.Delta, true); err != nil {
		return err
	}
	if st.separator.Points == nil {
		return algo.Invalid("perturbed/real: separator %s has %d points, too many to list: "+
			"use separator standard or code, or a smaller dimension", p.Separator, st.points)
	}
	return resolveNoise("eta", &p.Eta, realNoise(st, p.real(), s.Epsilon, s.Delta))
}

// realNoise returns the least eta that satisfies the budget.
func realNoise(st *site, real finite.Real, eps, delta float64) float64 {
	lifted, _ := real.Separation(st.separator.Hamming, st.points)
	return noise(lifted/2, tightShift(real.LogSize(st.class.LogSize()), eps, delta))
}

// learnReal runs one trial.
func learnReal(l *learner, t *algo.Trial[realParams], sample *algo.Data) (algo.Model, error) {
	h, c, excess, err := l.real(sample, t.Params.real(), t.Params.Eta, t.Rand)
	t.Report("sample_excess", excess)
	t.Report("confidence", c)
	if !t.Means { // the more probable label
		return l.declared(h, err)
	}
	return realModel{h, c}, err
}

// real returns the function c h with the least loss on the sample plus eta <xi, (c s_h,
// sqrt(1-c^2))>, and the difference between its mean loss and the least one.
func (l *learner) real(
	sample *algo.Data, real finite.Real, eta float64, r *rand.Rand,
) (h concept.Hypothesis, c, excess float64, err error) {
	scale, n := eta/math.Sqrt(float64(l.points)), float64(sample.Len())
	h, value, err := l.least(sample, func() float64 { return scale * r.NormFloat64() })
	if err != nil {
		return nil, 0, 0, err
	}
	c, _ = real.Best(n, value, float64(eta*r.NormFloat64()))
	_, fewest, err := l.minimizer.Minimize(sample.Xs(), sample.Ys(), nil, nil)
	if err != nil || n == 0 {
		return h, c, 0, err
	}
	labels, loss := make([]float64, sample.Len()), 0.0
	h.Labels(sample.Xs(), labels)
	for i, label := range labels {
		loss += real.Of(float64(c*label), sample.Y(i))
	}
	_, least := real.Best(n, fewest, 0)
	return h, c, (loss - least) / n, nil
}

// realModel answers c h.
type realModel struct {
	h concept.Hypothesis
	c float64
}

// Predict implements [algo.Model].
func (m realModel) Predict(_ context.Context, x *algo.Data, out []float64) error {
	m.h.Labels(x.Xs(), out)
	for i := range out {
		out[i] *= m.c
	}
	return nil
}

func realGuarantee(s *algo.Setting[realParams], _ *site) algo.Guarantee {
	return algo.Guarantee{
		Epsilon: s.Epsilon, Delta: s.Delta, RealValued: true,
		Source: "translation of the noise of lifted functions by a vector that outweighs one example: the deltas of " +
			"the Gaussian mechanism (Balle and Wang 2018) summed over the functions, which are released " +
			"(plugins/perturbed, theory); for noise of real numbers",
	}
}

// realBounds returns the sample size that (2) in theory.go proves for absolute loss: the error of a
// mean is that loss, and lifted vectors are at most 2 apart.
func realBounds(s *algo.Setting[realParams], st *site) []algo.Bound {
	lnG := s.Params.real().LogSize(st.class.LogSize())
	gap := finite.GapOf(s, lnG)
	b := algo.Bound{
		Name: "explicit",
		Source: "Hoeffding's lemma and the Gaussian exponential moment, union over bad functions " +
			"(plugins/perturbed, theory)" + gap.Noise(),
		Value: goal{gap.Edge(), gap.Need()}.gaussianSize(s.Params.Eta, 4), Proved: true,
		With:     st.values(map[string]float64{"eta": s.Params.Eta, "ln_g": lnG, "alpha": gap.Edge()}),
		Premises: []algo.Premise{algo.BestReference},
	}
	switch {
	case s.Params.Loss != finite.AbsoluteLoss:
		b.Fails = "the error of a mean is its absolute loss, and loss " + s.Params.Loss + " is minimized"
	case !s.Means:
		b.Fails = "it bounds the error of means: set goal.answers: mean"
	}
	return []algo.Bound{b}
}
