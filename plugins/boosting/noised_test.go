package boosting

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shatterlab/shatter/plugins/algo"
)

// noisedTrial returns a trial of boosting/m-eta with 4,000 examples of margin 0.3.
func noisedTrial(eta float64, seed uint64) *algo.Trial[NoisedParams] {
	s := unbudgeted(NoisedParams{Eta: eta})
	s.Epsilon, s.Delta, s.N, s.Problem.Margin = 1, 1e-6, 4000, 0.3
	return trialOf(noised(), s, seed)
}

// M_eta is HS-StL on labels that it has flipped with the first of its random numbers, and equals
// HS-StL if it flips none.
func TestNoisedIsHSStLOnFlippedLabels(t *testing.T) {
	for _, eta := range []float64{0, 0.2} {
		sample := newDistribution(rand.New(rand.NewPCG(4, 1)), 5, 0.3, true).draw(4000)
		got, err := learnNoised(t.Context(), noisedTrial(eta, 7), sample)
		if err != nil {
			t.Fatal(err)
		}
		twin := noisedTrial(eta, 7)
		y, flips := slices.Clone(sample.Ys()), 0
		for i := range y {
			if eta > 0 && twin.Rand.Float64() < eta {
				y[i] = -y[i]
				flips++
			}
		}
		plain := withoutEta(&twin.Setting)
		want, err := learn(t.Context(), &algo.Trial[Params]{Setting: plain, Rand: twin.Rand},
			algo.NewData(sample.Xs(), sample.Dim(), y))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(weightsOf(sample, got), weightsOf(sample, want)) {
			t.Errorf("eta %v: %v, want %v", eta, got, want)
		}
		if share := float64(flips) / 4000; share < eta-0.05 || share > eta+0.05 {
			t.Errorf("eta %v: a share of %v is flipped", eta, share)
		}
	}
}

// Resolving a resolved setting changes nothing, and the guarantee is that of HS-StL.
func TestNoisedSettings(t *testing.T) {
	a := noised()
	s := noisedTrial(0.1, 1).Setting
	for range 2 {
		if err := a.Check(&s); err != nil {
			t.Fatal(err)
		}
	}
	want := withoutEta(&s)
	g, err := a.Guarantee(&s)
	if err != nil {
		t.Fatal(err)
	}
	inner, err := guarantee(&want)
	if err != nil {
		t.Fatal(err)
	}
	if g.Mu != inner.Mu || g.Epsilon != 1 || g.Delta != 1e-6 || !(s.Params.Sigma > 0) || s.Params.Eta != 0.1 {
		t.Errorf("%+v with the guarantee %+v", s.Params, g)
	}
	list, err := a.Bound(&s)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range list {
		if !slices.Contains(b.Premises, algo.CleanLabels) {
			t.Errorf("bound %s holds of eta alone, and states the premises %v", b.Name, b.Premises)
		}
	}
}
