package perturbed

import (
	"math"
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/privacy"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite"
)

// A learner runs one trial at a site: one search over the class, and m draws.
type learner struct {
	*site
	minimizer concept.Minimizer // nil before the first search
}

// A normalProfile is a profile that can draw normal noise for all hypotheses at once.
type normalProfile interface {
	concept.Profile
	concept.Normal
}

// independent returns a profile that draws the noise by the number of errors, without the points,
// if the noise is independent for all hypotheses, and otherwise nil. With such a profile the
// separator need not list its points.
func (l *learner) independent() normalProfile {
	if !l.separator.Orthonormal {
		return nil
	}
	p, _ := l.class.NewProfile()
	normal, _ := p.(normalProfile)
	return normal
}

// gaussian returns the hypothesis with the least err(f) + eta <xi, s_f>, where s_f are its labels
// at the m points divided by sqrt(m), and xi is standard normal. If the s_f are orthonormal, every
// hypothesis has an independent normal.
func (l *learner) gaussian(sample *algo.Data, eta float64, r *rand.Rand) (concept.Hypothesis, error) {
	if p := l.independent(); p != nil {
		if err := p.Reset(sample.Xs(), sample.Ys()); err != nil {
			return nil, err
		}
		return p.Normal(eta, r), nil
	}
	scale := eta / math.Sqrt(float64(l.points))
	return l.search(sample, func() float64 { return scale * r.NormFloat64() })
}

// laplace returns the hypothesis with the least err(f) + sum_j a_j (1 + f(z_j))/2, for independent
// Laplace a_j of scale b: noise on 0/1 labels. It omits sum_j a_j/2, which is the same for all f.
func (l *learner) laplace(sample *algo.Data, b float64, r *rand.Rand) (concept.Hypothesis, error) {
	return l.search(sample, func() float64 { return privacy.Laplace(privacy.Uniform(r), b/2) })
}

// search returns the hypothesis that minimizes the errors plus a linear term, whose coefficients
// are drawn in the order of the points.
func (l *learner) search(sample *algo.Data, coefficient func() float64) (concept.Hypothesis, error) {
	h, _, err := l.least(sample, coefficient)
	return h, err
}

// least implements search and also returns the minimum.
func (l *learner) least(sample *algo.Data, coefficient func() float64) (concept.Hypothesis, float64, error) {
	if l.minimizer == nil {
		var err error
		if l.minimizer, err = l.class.NewMinimizer(l.separator.Points); err != nil {
			return nil, 0, err
		}
	}
	coefficients := make([]float64, l.points)
	for j := range coefficients {
		coefficients[j] = coefficient()
	}
	return l.minimizer.Minimize(sample.Xs(), sample.Ys(), nil, coefficients)
}

// declared returns the model of the hypothesis of a search at this site.
func (st *site) declared(h concept.Hypothesis, err error) (algo.Model, error) {
	if err != nil {
		return nil, err
	}
	return finite.Declare(h, st.Spec.Matrix), nil
}
