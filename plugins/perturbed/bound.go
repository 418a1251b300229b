package perturbed

import (
	"math"

	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite"
)

// goalOf is what the sample size has to reach, under the problem's label noise, and what to say of that noise.
func goalOf[P any](s *algo.Setting[P], at *site) (g goal, noise string) {
	g = goal{edge: s.Alpha, need: finite.LogOthers(at.class.LogSize()) - math.Log(s.Beta)}
	switch rate := s.Problem.NoiseRate; {
	case s.Problem.Noise == "adversarial" && rate > 0:
		g.edge, noise = s.Alpha-2*rate, "; a flipped label changes a difference by at most 2"
	case s.Problem.Noise == "random" && rate > 0:
		g.edge, noise = s.Alpha*(1-2*rate), "; labels flipped independently"
	}
	return g, noise
}

func gaussianBounds(s *algo.Setting[gaussianParams], at *site) []algo.Bound {
	explicit := gaussianBound(s, at, s.Params.Eta, gaussianRadius(s.Params.Margin, at))
	if printedConstant(s.Params.Preset) > 0 {
		explicit.Proved = false
		explicit.Source += "; accuracy alone"
	}
	if s.Problem.Noise == "adversarial" && s.Problem.NoiseRate > 0 {
		return []algo.Bound{explicit} // the paper knows no adversary
	}
	return append([]algo.Bound{explicit}, printedBounds(s, at)...)
}

// gaussianBound is what gaussianSize proves, for an eta that is certified.
func gaussianBound[P any](s *algo.Setting[P], at *site, eta, radius float64) algo.Bound {
	g, noise := goalOf(s, at)
	return algo.Bound{
		Name: "explicit", Source: "Hoeffding's lemma and the Gaussian exponential moment, union over bad hypotheses (plugins/perturbed, theory)" + noise,
		Value: g.gaussianSize(eta, at.separator.Spread), Proved: true,
		With: at.values(map[string]float64{
			"eta": eta, "lambda": oscillation / (radius * eta), "w": unionTail(at.class.LogSize(), s.Delta), "radius": radius, "alpha": g.edge,
		}),
	}
}

// printedBounds are the paper's with constants 1, in 0/1 labels: Lemma 3 at the eta used here, and Theorem 2 at its own, with the product
// that its proof gives where it prints G^2 + sqrt(ln(1/delta) ln(1/beta)).
func printedBounds(s *algo.Setting[gaussianParams], at *site) []algo.Bound {
	g, _ := goalOf(s, at)
	alpha, eta01 := g.edge, 2*s.Params.Eta
	complexity, tail := printedComplexity(at.class.LogSize()), math.Sqrt(-math.Log(s.Beta))
	learn := (float64(complexity*complexity) + float64(tail*tail)) / (alpha * alpha)
	private := (complexity + math.Sqrt(-math.Log(s.Delta))) * (complexity + tail) / (alpha * s.Epsilon * at.ratio())
	const corrected = ", constants 1, sqrt(ln|F|/2) for the Gaussian complexity (the printed bound on it is too small)"
	with := func() map[string]float64 {
		return at.values(map[string]float64{"complexity_01": complexity, "eta_01": eta01, "rho_01": at.separator.Rho01(), "alpha": alpha})
	}
	return []algo.Bound{
		{Name: "lemma-3", Source: "Block and Shetty 2025, Lemma 3" + corrected, Value: math.Ceil(max(learn, eta01*(complexity+tail)/alpha)), With: with()},
		{Name: "theorem-2", Source: "Block and Shetty 2025, Theorem 2" + corrected + ", a product for the printed sum; its privacy is not proved",
			Value: math.Ceil(max(learn, private)), With: with()},
	}
}

func rspmBounds(s *algo.Setting[rspmParams], at *site) []algo.Bound {
	scale := s.Params.Scale
	if s.Params.Noise == gaussianNoise {
		b := gaussianBound(s, at, scale, at.hamming())
		b.With["w_signs"] = signTail(at.points, s.Delta)
		return []algo.Bound{b}
	}
	g, noise := goalOf(s, at)
	return []algo.Bound{{
		Name: "explicit", Source: "Hoeffding's lemma and the Laplace exponential moment, union over bad hypotheses (plugins/perturbed, theory)" + noise,
		Value: g.laplaceSize(scale, at.widest()), Proved: true,
		With: at.values(map[string]float64{"b": scale, "widest": float64(at.widest()), "alpha": g.edge}),
	}}
}

// values adds what every bound rests on.
func (s *site) values(with map[string]float64) map[string]float64 {
	with["ln_f"] = s.class.LogSize()
	with["m"] = float64(s.points)
	with["h"] = float64(s.separator.Hamming)
	with["rho_pm"] = s.separator.RhoPM()
	with["kappa2"] = s.separator.Spread
	return with
}
