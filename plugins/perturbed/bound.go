package perturbed

import (
	"math"

	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite"
)

// goalOf returns the goal of the sample size under the problem's label noise, and a description of
// that noise for the source of a bound.
func goalOf[P any](s *algo.Setting[P], st *site) (g goal, source string) {
	gap := finite.GapOf(s, st.class.LogSize())
	return goal{gap.Edge(), gap.Need()}, gap.Noise()
}

// gaussianBounds returns the bounds of perturbed/gaussian. The explicit bound covers only accuracy
// for a preset of the paper, and its source states that.
func gaussianBounds(s *algo.Setting[gaussianParams], st *site) []algo.Bound {
	explicit := gaussianBound(s, st, s.Params.Eta, gaussianRadius(s.Params.Margin, st))
	if p := s.Params.Preset; printedConstant(p) > 0 && p != corollary2Preset {
		explicit.Source += "; covers only accuracy: the privacy of this preset's noise is not proved"
	}
	bounds := append([]algo.Bound{explicit}, printedBounds(s, st)...)
	if s.Params.Preset == corollary2Preset {
		g, d, m := finite.GapOf(s, st.class.LogSize()), float64(st.class.VC()), float64(st.points)
		alpha2 := g.Mean() * g.Mean()
		bounds = append(bounds, rate(st, "corollary-2", "Block and Shetty 2025, Corollary 2, "+
			"with alpha^2 epsilon as printed, where its Theorem 2 has alpha epsilon",
			max(d/alpha2, m*d/(alpha2*s.Epsilon))))
	}
	return bounds
}

// rate returns a bound of which a paper prints only the order, in the VC dimension of the class.
func rate(st *site, name, source string, value float64) algo.Bound {
	return algo.Bound{
		Name: name, Source: source + ", constants 1", Value: math.Ceil(value), Order: true,
		With:     st.values(map[string]float64{"vc": float64(st.class.VC())}),
		Premises: []algo.Premise{algo.BestReference, algo.IndependentNoise},
	}
}

// printedRSPM returns the bound of Block and Shetty 2025 for the algorithm of Neel, Roth and Wu:
// d/alpha^2 + m^(3/2)/(alpha epsilon), and m^2 instead of m^(3/2) for pure privacy.
func printedRSPM(s *algo.Setting[rspmParams], st *site) algo.Bound {
	g, d, m := finite.GapOf(s, st.class.LogSize()), float64(st.class.VC()), float64(st.points)
	power := m * m
	if s.Params.Noise == gaussianNoise {
		power = m * math.Sqrt(m)
	}
	return rate(st, "neel-2020", "Neel et al. 2020, as stated by Block and Shetty 2025",
		d/(g.Mean()*g.Mean())+power/(g.Mean()*s.Epsilon))
}

// gaussianBound returns the bound of gaussianSize for an eta that is proved private.
func gaussianBound[P any](s *algo.Setting[P], st *site, eta, radius float64) algo.Bound {
	g, source := goalOf(s, st)
	return algo.Bound{
		Name: "explicit",
		Source: "Hoeffding's lemma and the Gaussian exponential moment, union over bad hypotheses " +
			"(plugins/perturbed, theory)" + source,
		Value: g.gaussianSize(eta, st.separator.Spread), Proved: true,
		With: st.values(map[string]float64{
			"eta": eta, "lambda": oscillation / (radius * eta), "w": unionTail(st.class.LogSize(), s.Delta),
			"radius": radius, "alpha": g.edge,
		}),
		Premises: []algo.Premise{algo.BestReference},
	}
}

// printedBounds returns the bounds of the paper, which hides their constants: with constants 1 they
// are orders of magnitude. They are for 0/1 labels: Lemma 3 at the eta used here, and Theorem 2 at
// its own eta, with the product from its proof instead of the printed G^2 + sqrt(ln(1/delta)
// ln(1/beta)). The paper does not cover adversarial noise.
func printedBounds(s *algo.Setting[gaussianParams], st *site) []algo.Bound {
	g := finite.GapOf(s, st.class.LogSize())
	alpha, eta01 := g.Mean(), 2*s.Params.Eta
	complexity, tail := printedComplexity(g.LogSize), math.Sqrt(-math.Log(g.Beta))
	learn := (float64(complexity*complexity) + float64(tail*tail)) / (alpha * alpha)
	private := (complexity + math.Sqrt(-math.Log(s.Delta))) * (complexity + tail) / (alpha * s.Epsilon * st.ratio())
	const corrected = ", constants 1, sqrt(ln|F|/2) for the Gaussian complexity (the printed bound on it is too small)"
	with := func() map[string]float64 {
		return st.values(map[string]float64{
			"complexity_01": complexity, "eta_01": eta01, "rho_01": st.separator.Rho01(), "alpha": alpha,
		})
	}
	premises := []algo.Premise{algo.BestReference, algo.IndependentNoise}
	return []algo.Bound{
		{
			Name: "lemma-3", Source: "Block and Shetty 2025, Lemma 3" + corrected,
			Value: math.Ceil(max(learn, eta01*(complexity+tail)/alpha)), With: with(),
			Order: true, Premises: premises,
		},
		{
			Name: "theorem-2",
			Source: "Block and Shetty 2025, Theorem 2" + corrected +
				", with a product instead of the printed sum; its privacy is not proved",
			Value: math.Ceil(max(learn, private)), With: with(),
			Order: true, Premises: premises,
		},
	}
}

// rspmBounds returns the bounds of perturbed/rspm.
func rspmBounds(s *algo.Setting[rspmParams], st *site) []algo.Bound {
	scale := s.Params.Scale
	if s.Params.Noise == gaussianNoise {
		b := gaussianBound(s, st, scale, st.hamming())
		b.With["w_signs"] = signTail(st.points, s.Delta)
		return []algo.Bound{b, printedRSPM(s, st)}
	}
	g, source := goalOf(s, st)
	return []algo.Bound{{
		Name: "explicit",
		Source: "Hoeffding's lemma and the Laplace exponential moment, union over bad hypotheses " +
			"(plugins/perturbed, theory)" + source,
		Value: g.laplaceSize(scale, st.widest()), Proved: true,
		With:     st.values(map[string]float64{"b": scale, "widest": float64(st.widest()), "alpha": g.edge}),
		Premises: []algo.Premise{algo.BestReference},
	}, printedRSPM(s, st)}
}

// values adds the values that every bound uses to with, and returns it.
func (st *site) values(with map[string]float64) map[string]float64 {
	with["ln_f"] = st.class.LogSize()
	with["m"] = float64(st.points)
	with["h"] = float64(st.separator.Hamming)
	with["rho_pm"] = st.separator.RhoPM()
	with["kappa2"] = st.separator.Spread
	return with
}
