package perturbed

import (
	"fmt"

	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite"
)

// Values of the parameter preset of perturbed/gaussian, which determines eta.
const (
	tightPreset   = "tight"    // the exact sum of the lemma's deltas: the least eta that theory.go proves private
	simplePreset  = "simple"   // its closed form; more noise than tight
	paper8Preset  = "paper-8"  // the constant printed in Lemma 2 of the paper
	paper32Preset = "paper-32" // the constant printed in its Theorem 3

	// The learner of Corollary 2: the noise of Lemma 2 for any separator, so that rho^2 is taken to
	// be 1/m on 0/1 labels.
	corollary2Preset = "corollary-2"
)

// Values of the parameter margin: the radius of the stability lemma in theory.go.
const (
	hammingMargin = "hamming" // 2h/m
	hullMargin    = "hull"    // the distance of a hypothesis's vector from the hull of the others
)

// gaussianParams holds the parameters of perturbed/gaussian. An eta of 0 means that of the preset;
// resolveGaussian sets it.
type gaussianParams struct {
	Preset string `doc:"choice of eta: tight and simple are proved; paper-8 and paper-32 have the constants printed in the paper, on 0/1 labels, and are not proved; corollary-2 is paper-8 for any separator of m points (rho^2 = 1/m), proved if it is no less than tight" choices:"tight,simple,paper-8,paper-32,corollary-2"`
	finite.SeparatorParams
	Margin string  `doc:"radius that proves stability: hamming (2h/m) or hull (the distance from the convex hull of the others: less noise; computed for at most 500 hypotheses if it has no formula)" choices:"hamming,hull"`
	Eta    float64 `doc:"noise: argmin of errors + eta <xi, s_f> for unit vectors s_f of -1/+1 labels; 0: by the preset; proved presets accept any larger one" min:"0"`
}

// gaussian returns perturbed/gaussian, Algorithm 2 of Block and Shetty 2025.
func gaussian() algo.Algorithm[gaussianParams] {
	return complete(algo.Algorithm[gaussianParams]{
		Name: "perturbed/gaussian",
		Doc: "Minimizes the errors plus a Gaussian process that is linear in the labels at separating points " +
			"(Block and Shetty 2025, Algorithm 2), with noise that is proved private.",
		Defaults: gaussianParams{
			Preset: tightPreset, SeparatorParams: finite.SeparatorParams{Separator: "standard"}, Margin: hammingMargin,
		},
		Declares: algo.Always[gaussianParams],
	}, resolveGaussian, func(l *learner, t *algo.Trial[gaussianParams], sample *algo.Data) (algo.Model, error) {
		return l.declared(l.gaussian(sample, t.Params.Eta, t.Rand))
	}, gaussianGuarantee, gaussianBounds)
}

// resolveGaussian sets eta.
func resolveGaussian(s *algo.Setting[gaussianParams], st *site) error {
	p := &s.Params
	if err := checkBudget(s.Epsilon, s.Delta, true); err != nil {
		return err
	}
	if constant := printedConstant(p.Preset); constant > 0 {
		return resolvePrinted(s, st, constant)
	}
	least, err := provedNoise(p.Preset, gaussianRadius(p.Margin, st), st.class.LogSize(), s.Epsilon, s.Delta)
	if err != nil {
		return err
	}
	return resolveNoise("eta", &p.Eta, least)
}

// provedNoise returns the least eta of a proved preset for vectors of this radius.
func provedNoise(preset string, radius, lnF, eps, delta float64) (float64, error) {
	if !(radius > 0) {
		return 0, algo.Invalid("perturbed: a hypothesis is in the convex hull of the others (margin %g), "+
			"so no eta is proved: use a class of binary functions and a separator of it", radius)
	}
	switch preset {
	case tightPreset:
		return noise(radius, tightShift(lnF, eps, delta)), nil
	case simplePreset:
		return noise(radius, simpleShift(unionTail(lnF, delta), eps)), nil
	}
	return 0, algo.Invalid("perturbed: unknown preset %q: use tight, simple, paper-8, paper-32 or corollary-2", preset)
}

// gaussianRadius returns the radius of the stability lemma for a value of the parameter margin.
func gaussianRadius(margin string, st *site) float64 {
	if margin == hullMargin {
		return st.margin().Lower
	}
	return st.hamming()
}

// printedConstant returns the constant of a preset from the paper, or 0 for other presets.
func printedConstant(preset string) float64 {
	switch preset {
	case paper8Preset, corollary2Preset:
		return 8
	case paper32Preset:
		return 32
	}
	return 0
}

// resolvePrinted sets the eta that the paper prints with this constant. It returns an error if
// another value is given.
func resolvePrinted(s *algo.Setting[gaussianParams], st *site, constant float64) error {
	p := &s.Params
	if p.Margin != hammingMargin {
		return algo.Invalid("perturbed: margin %s is not used by preset %s: omit it, or use preset %s",
			p.Margin, p.Preset, tightPreset)
	}
	rho2 := st.ratio()
	if p.Preset == corollary2Preset {
		rho2 = 1 / float64(st.points)
	}
	want := printedNoise(constant, printedComplexity(st.class.LogSize()), rho2, s.Epsilon, s.Delta) / 2
	if p.Eta != 0 && !(p.Eta >= want*(1-1e-9) && p.Eta <= want*(1+1e-9)) {
		return algo.Invalid("perturbed: preset %s fixes eta at %g, not %g: omit eta, or use preset %s",
			p.Preset, want, p.Eta, tightPreset)
	}
	return resolveNoise("eta", &p.Eta, want)
}

func gaussianGuarantee(s *algo.Setting[gaussianParams], st *site) algo.Guarantee {
	g := algo.Guarantee{Epsilon: s.Epsilon, Delta: s.Delta}
	least := noise(st.hamming(), tightShift(st.class.LogSize(), s.Epsilon, s.Delta))
	if p := s.Params; printedConstant(p.Preset) > 0 && !(p.Preset == corollary2Preset && p.Eta >= least) {
		g.Unproved = true
		g.Source = fmt.Sprintf("Block and Shetty 2025, Lemma 2 as printed, whose proof does not hold: "+
			"not proved; preset %s proves eta of at least %.4g", tightPreset, least)
		return g
	}
	g.Source = "translation of the noise by a vector that outweighs one example (plugins/perturbed, theory): " +
		"the deltas of the Gaussian mechanism (Balle and Wang 2018) summed over the hypotheses, " +
		"margin " + s.Params.Margin + "; for noise of real numbers"
	return g
}
