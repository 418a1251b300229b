package prediction

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/privacy"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite/finitetest"
)

// near checks that got equals want but for rounding.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-11*math.Abs(want)) {
		t.Errorf("%s: got %.17g, want %.17g", what, got, want)
	}
}

// args holds d, T, alpha, beta, epsilon and, where it matters, delta.
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
	Eps0, Delta0   float64 // of each instance
	K, M, N        float64
	KAcc           float64 `json:"k_acc"`
	KPrv           float64 `json:"k_prv"`
	AlphaBlock     float64 `json:"alpha_block"`
	Sigma          float64
	Mechanism      float64 `json:"n_exp"`
	Generalization float64 `json:"n_gen"`
}

// compare checks the parts of a sample size against their reference: v instances, of which noise
// misleads with a share of beta, as some block deviates by more than approximation does.
func (c sizes) compare(t *testing.T, a account, v, vc int, share, approximation float64) {
	t.Helper()
	g := c.Args.goal()
	eps0, delta0 := a.part(v, g.epsilon, g.delta)
	accuracy, private := accurateBlocks(eps0, g.queries, v, share*g.beta), leastBlocks(a.mode, eps0, delta0)
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

// parameterVectors has the reference values of the formulas in theory.go.
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
	finitetest.ReadJSON(t, "testdata/prediction_params.json", &v)
	if len(v.V)*len(v.K)*len(v.Own)*len(v.M)*len(v.Oblivious)*len(v.Halfspace)*len(v.Composition)*len(v.Offline) == 0 {
		t.Fatal("a list of reference values is empty")
	}
	return v
}

func TestParameterVectors(t *testing.T) {
	v := readParameterVectors(t)
	for _, c := range v.V {
		near(t, "log2 of labelings", logOf(sauer(c.D, c.T))/math.Ln2, c.Log2L)
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
	// The better of basic and advanced composition.
	a := account{Paper, func(v int, epsilon, delta float64) (float64, float64) {
		e, d := privacy.Basic.Share(v, epsilon, delta)
		if e2, d2 := privacy.Advanced.Share(v, epsilon, delta); e2 > e {
			return e2, d2
		}
		return e, d
	}}
	for _, c := range v.Oblivious {
		g, d := c.Args.goal(), int(c.Args[0])
		v := hardQueries(sauer(d, g.queries), g.beta/3)
		// The reference lets all v instances be spent, and bounds the states before that.
		claim := obliviousClaim(g, d, v+1, sauer(d, g.queries))
		if claim.spent > g.beta/3 {
			t.Errorf("v = %d instances more than one are spent with probability %v", v, claim.spent)
		}
		c.compare(t, a, v, d, 1.0/3, claim.approximation)
	}
	for _, c := range v.Halfspace {
		g, d := c.Args.goal(), int(c.Args[0])
		c.compare(t, a, d+1, d+1, 1.0/2, halfspaceClaim(g, d, d+1).approximation)
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

// replay takes noise from lists: mu and the coin by instance, nu by query.
type replay struct {
	mu, nu, coins     []float64
	instance, queries int
}

func (r *replay) threshold() float64 { r.instance++; return r.mu[r.instance-1] }
func (r *replay) query() float64     { r.queries++; return r.nu[r.queries-1] }
func (r *replay) coin() float64      { return r.coins[r.instance-1] }

func unreported(string, float64) {}

// verdictNames holds the names of the verdicts in the reference vectors.
var verdictNames = []string{left: "L", right: "R", hard: "TOP", public: "PUBLIC"}

// transcriptStep holds a query, the verdict on it and its label.
type transcriptStep [3]any

// predictorVectors has the reference runs of BetweenThresholds and of the predictor.
type predictorVectors struct {
	Between []struct {
		N       int
		Eps     float64
		Mu      float64   `json:"mu_unit"`
		Nu      []float64 `json:"nu_unit"`
		Q       []float64
		Lo      float64 `json:"t_lo"`
		Hi      float64 `json:"t_hi"`
		NuScale float64 `json:"nu_scale"`
		Out     []string
	} `json:"between_thresholds"`
	K          int
	Eps0       float64
	X          uint64
	Blocks     [][2][]float64
	Queries    []float64
	Mu         []float64 `json:"mu_units"`
	Nu         []float64 `json:"nu_units"`
	Coins      []float64
	Thresholds []struct {
		Shrink     bool
		V          int
		Transcript []transcriptStep
		Lo         float64 `json:"final_lo"`
		Hi         float64 `json:"final_hi"`
	}
	Matrix struct {
		H          [][]float64
		Blocks     [][2][]float64
		Queries    []float64
		Transcript []transcriptStep
		Final      []int `json:"f_final"`
		Alive      []int
	}
}

func readPredictorVectors(t *testing.T) *predictorVectors {
	t.Helper()
	var v predictorVectors
	finitetest.ReadJSON(t, "testdata/predictor.json", &v)
	if len(v.Between)*len(v.Thresholds)*len(v.Matrix.Transcript) == 0 {
		t.Fatal("a list of reference values is empty")
	}
	return &v
}

// blocksOf returns blocks from lists of points and labels.
func blocksOf(lists [][2][]float64) []block {
	var blocks []block
	for _, l := range lists {
		blocks = append(blocks, block{l[0], l[1]})
	}
	return blocks
}

// play checks the verdicts and labels of a predictor with the noise of the vectors.
func (v *predictorVectors) play(t *testing.T, what string, g generator, budget int, want []transcriptStep) {
	t.Helper()
	p := newPredictor(g, &replay{mu: v.Mu, nu: v.Nu, coins: v.Coins}, v.K, budget, v.Eps0, unreported)
	for j, s := range want {
		label, verdict, err := p.next([]float64{s[0].(float64)})
		if err != nil || verdictNames[verdict] != s[1] || label != s[2] {
			t.Errorf("%s, query %d: %s, %v, %v, want %v", what, j, verdictNames[verdict], label, err, s)
		}
	}
}

func TestBetweenVectors(t *testing.T) {
	v := readPredictorVectors(t)
	for i, c := range v.Between {
		b := newBetween(c.Eps, c.N, c.Mu)
		near(t, "lo", b.lo, c.Lo)
		near(t, "hi", b.hi, c.Hi)
		near(t, "scale", b.scale, c.NuScale)
		for j, want := range c.Out {
			if got := verdictNames[b.judge(c.Q[j], c.Nu[j])]; got != want {
				t.Errorf("instance %d, query %d: %s, want %s", i, j, got, want)
			}
		}
	}
}

func TestThresholdPredictorVectors(t *testing.T) {
	v := readPredictorVectors(t)
	for _, c := range v.Thresholds {
		g := newThresholds(blocksOf(v.Blocks), v.X, false)
		var kind generator = g
		if !c.Shrink {
			kind = recorded{static{g}}
		}
		v.play(t, "thresholds", kind, c.V, c.Transcript)
		if g.lo != c.Lo || g.hi != c.Hi {
			t.Errorf("thresholds, shrink %v, V %d: left are %v..%v", c.Shrink, c.V, g.lo, g.hi)
		}
	}
}

func TestMatrixPredictorVectors(t *testing.T) {
	v := readPredictorVectors(t)
	var text strings.Builder
	for _, row := range v.Matrix.H {
		for _, label := range row {
			text.WriteByte("0 1"[int(label)+1])
		}
	}
	g, err := newMatrix(blocksOf(v.Matrix.Blocks), text.String(), len(v.Matrix.H[0]))
	if err != nil {
		t.Fatal(err)
	}
	v.play(t, "matrix", g, 20, v.Matrix.Transcript)
	for i, want := range v.Matrix.Final {
		if g.picks[i] != want {
			t.Errorf("matrix: block %d has row %d, want %d", i, g.picks[i], want)
		}
	}
	if len(g.alive) != len(v.Matrix.Alive) || g.alive[0] != v.Matrix.Alive[0] {
		t.Errorf("matrix: rows %v are left, want %v", g.alive, v.Matrix.Alive)
	}
}

func TestOfflineVectors(t *testing.T) {
	var v struct {
		X                                uint64
		XS                               []float64 `json:"x"`
		Y, Queries, Gumbel, Best, Labels []float64
		Eps                              float64
	}
	var raw map[string]json.RawMessage
	finitetest.ReadJSON(t, "testdata/offline.json", &raw)
	for key, into := range map[string]any{
		"X": &v.X, "x": &v.XS, "y": &v.Y, "queries": &v.Queries, "gumbel": &v.Gumbel, "best": &v.Best, "labels": &v.Labels,
		"eps": &v.Eps,
	} {
		if err := json.Unmarshal(raw[key], into); err != nil {
			t.Fatal(err)
		}
	}
	c, err := labelings(algo.Problem{Class: "thresholds", Domain: v.X, Dim: 1}, block{v.XS, v.Y}, v.Queries)
	if err != nil || len(c.list) != len(v.Best) {
		t.Fatalf("%d cells, %v, want %d", len(c.list), err, len(v.Best))
	}
	for i, want := range v.Best {
		if float64(c.list[i].errors) != want {
			t.Errorf("cell %d: %d errors, want %v", i, c.list[i].errors, want)
		}
	}
	next := -1
	h := c.draw(v.Eps, func() float64 { next++; return v.Gumbel[next] })
	for i, want := range v.Labels {
		if got := h(v.Queries[i : i+1]); got != want {
			t.Errorf("query %v: %v, want %v", v.Queries[i], got, want)
		}
	}
}

// recorded is static with the public answers of the reference vectors, which are those of the
// generator that it freezes.
type recorded struct{ static }

func (r recorded) public(x []float64) float64 { return r.generator.public(x) }
