package prediction

import (
	"math"
	"testing"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/pipeline/privacy"
	"github.com/shatterlab/shatter/plugins/finite/finitetest"
)

// near checks that got equals want except for rounding.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-11*math.Abs(want)) {
		t.Errorf("%s: got %.17g, want %.17g", what, got, want)
	}
}

// args holds d, T, alpha, beta, epsilon and, if used, delta.
type args []float64

func (a args) goal() goal {
	g := goal{queries: int(a[1]), alpha: a[2], beta: a[3], epsilon: a[4]}
	if len(a) > 5 {
		g.delta = a[5]
	}
	return g
}

// sizes is a reference sample size; each list uses some of the fields.
type sizes struct {
	Args           args
	Hard           int     `json:"v"`
	Instances      int     `json:"V"`
	Eps0, Delta0   float64 // privacy of each instance
	K, M, N        float64
	KAcc           float64 `json:"k_acc"`
	KPrv           float64 `json:"k_prv"`
	AlphaBlock     float64 `json:"alpha_block"`
	Sigma          float64
	Mechanism      float64 `json:"n_exp"`
	Generalization float64 `json:"n_gen"`
}

// compare checks the parts of a sample size against their reference: v instances, a share of beta
// for misleading noise, and as much for a block that deviates by more than approximation.
func (c sizes) compare(t *testing.T, v, vc int, share, approximation float64) {
	t.Helper()
	g := c.Args.goal()
	// The better of basic and advanced composition.
	eps0, delta0 := privacy.Basic.Share(v, g.epsilon, g.delta)
	if e, d := privacy.Advanced.Share(v, g.epsilon, g.delta); e > eps0 {
		eps0, delta0 = e, d
	}
	eps0 = min(eps0, 1)
	accuracy, private := accurateBlocks(eps0, g.queries, v, share*g.beta), leastBlocks(Paper, eps0, delta0)
	k := math.Ceil(max(accuracy, private))
	m := blockSize(vc, approximation, share*g.beta/k)
	near(t, "v", float64(v), float64(c.Hard+c.Instances))
	near(t, "eps0", eps0, c.Eps0)
	near(t, "delta0", delta0, c.Delta0)
	near(t, "k", k, c.K)
	near(t, "k, accuracy", accuracy, c.KAcc)
	near(t, "k, privacy", private, c.KPrv)
	near(t, "alpha of a block", approximation, c.AlphaBlock)
	near(t, "m", m, c.M)
	near(t, "N", k*m, c.N)
}

// parameterVectors holds the reference values of the formulas in theory.go.
type parameterVectors struct {
	V []struct {
		D, T, V     int
		Beta, Log2L float64
	}
	K []struct {
		Eps0, Delta0, Beta float64
		T                  int
		V                  int     `json:"V"`
		K                  float64 `json:"k"`
		Accuracy           float64 `json:"k_accuracy"`
		Privacy            float64 `json:"k_privacy"`
	}
	Own []struct{ Eps0, Delta0, K float64 } `json:"k_privacy_own"`
	M   []struct {
		VC          int
		Alpha, Beta float64
		M           float64
	}
	Oblivious   []sizes `json:"N_oblivious"`
	Halfspace   []sizes `json:"N_halfspace"`
	Composition []sizes `json:"N_composition"`
	Offline     []sizes `json:"N_bns"`
}

func readParameterVectors(t *testing.T) (v parameterVectors) {
	t.Helper()
	finitetest.ReadJSON(t, "../../pipeline/privacy/testdata/prediction_params.json", &v)
	if len(v.V)*len(v.K)*len(v.Own)*len(v.M)*len(v.Oblivious)*len(v.Halfspace)*len(v.Composition)*len(v.Offline) == 0 {
		t.Fatal("a list of reference values is empty")
	}
	return v
}

func TestParameterVectors(t *testing.T) {
	v := readParameterVectors(t)
	for _, c := range v.V {
		near(t, "log2 of labelings", numeric.LogInt(sauer(c.D, c.T))/math.Ln2, c.Log2L)
		if got := hardQueries(sauer(c.D, c.T), c.Beta); got != c.V {
			t.Errorf("%+v: v = %d", c, got)
		}
	}
	for _, c := range v.K {
		near(t, "accuracy term", accurateBlocks(c.Eps0, c.T, c.V, c.Beta), c.Accuracy)
		near(t, "privacy term", leastBlocks(Paper, c.Eps0, c.Delta0), c.Privacy)
		near(t, "k", math.Ceil(max(c.Accuracy, c.Privacy)), c.K)
	}
	for _, c := range v.Own {
		near(t, "own privacy term", leastBlocks(Own, c.Eps0, c.Delta0), c.K)
	}
	for _, c := range v.M {
		near(t, "m", blockSize(c.VC, c.Alpha, c.Beta), c.M)
	}
}

func TestSizeVectors(t *testing.T) {
	v := readParameterVectors(t)
	for _, c := range v.Oblivious {
		g, d := c.Args.goal(), int(c.Args[0])
		v := hardQueries(sauer(d, g.queries), g.beta/3)
		// The reference allows all v instances to be spent, and bounds the states before that.
		claim := obliviousClaim(g, d, v+1, sauer(d, g.queries))
		if claim.spent > g.beta/3 {
			t.Errorf("v = %d instances more than one are spent with probability %v", v, claim.spent)
		}
		c.compare(t, v, d, 1.0/3, claim.approximation)
	}
	for _, c := range v.Halfspace {
		g, d := c.Args.goal(), int(c.Args[0])
		c.compare(t, d+1, d+1, 1.0/2, halfspaceClaim(g, d, d+1).approximation)
	}
	for _, c := range v.Composition {
		g := c.Args.goal()
		sigma := privacy.GaussianSigma(1, g.queries, g.epsilon, g.delta)
		k := majorityBlocks(Gaussian, sigma, g.queries, g.beta)
		m := consistentSize(int(c.Args[0]), g.alpha/4, g.beta/(2*k))
		near(t, "sigma", sigma, c.Sigma)
		near(t, "k", k, c.K)
		near(t, "m", m, c.M)
		near(t, "N", k*m, c.N)
	}
	for _, c := range v.Offline {
		mechanism, generalization := offlineSize(c.Args.goal(), int(c.Args[0]), sauer(int(c.Args[0]), int(c.Args[1])))
		near(t, "mechanism", mechanism, c.Mechanism)
		near(t, "generalization", generalization, c.Generalization)
		near(t, "N", max(mechanism, generalization), c.N)
	}
}

func unreported(string, float64) {}
