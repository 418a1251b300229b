package prediction

import (
	"context"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/privacy"
	"github.com/shatterlab/shatter/plugins/algo"
)

const tinyMatrix = "00001111" + "00000011" + "01010101" + "11110000" + "00111100" + "00000000"

// problems returns problems without label noise, one for each class in some dimension.
func problems() []algo.Problem {
	var known []algo.Problem
	for _, p := range []algo.Problem{
		{Class: "thresholds", Domain: 1 << 12, Dim: 1}, {Class: "intervals", Domain: 1 << 10, Dim: 1},
		{Class: "rectangles", Domain: 32, Dim: 2},
		{Class: "rectangles", Domain: 16, Dim: 3}, {Class: "matrix", Domain: 8, Dim: 1, Matrix: tinyMatrix},
		{Class: "rectangles", Domain: 8, Dim: 2},
	} {
		if p.Noise, p.Realizable = "none", true; slices.Contains(concept.Names(), p.Class) {
			known = append(known, p)
		}
	}
	return known
}

// target labels a point of a problem by a hypothesis of its class that gives both labels.
func target(p algo.Problem, x []float64) float64 {
	inside := true
	for _, v := range x {
		switch p.Class {
		case "thresholds":
			inside = v >= float64(p.Domain)/2
		case "matrix":
			inside = tinyMatrix[int(v)] == '1'
		default:
			inside = inside && v >= float64(p.Domain)/8 && v < float64(p.Domain)*7/8
		}
	}
	return labelOf(inside)
}

// draw draws n uniform examples, labeled by target.
func draw(p algo.Problem, n int, r *rand.Rand) *algo.Data {
	var x, y []float64
	for range n {
		for range p.Dim {
			x = append(x, float64(r.Uint64N(p.Domain)))
		}
		y = append(y, target(p, x[len(x)-p.Dim:]))
	}
	return algo.NewData(x, p.Dim, y)
}

// setting returns a setting of a with its default parameters.
func setting[P any](a algo.Algorithm[P], p algo.Problem, queries int) algo.Setting[P] {
	return algo.Setting[P]{
		Params: a.Defaults, Task: "predict", Problem: p,
		Alpha: 0.1, Beta: 0.1, Epsilon: 1, Delta: 1e-6, Queries: queries,
	}
}

// runTrial runs one trial with queries drawn like the sample. It returns the number of wrong
// answers and the number of wrong answers of the final state.
func runTrial[P any](
	t *testing.T, a algo.Algorithm[P], s algo.Setting[P], n int, seed uint64,
) (wrong, final int) {
	t.Helper()
	s.N = n
	if err := a.Check(&s); err != nil {
		t.Fatalf("%s, %s: %v", a.Name, s.Problem.Class, err)
	}
	again := s
	if err := a.Check(&again); err != nil || !reflect.DeepEqual(again, s) {
		t.Errorf("%s: checked again: %v, %+v, %+v", a.Name, err, again, s)
	}
	r := rand.New(rand.NewPCG(seed, 77))
	sample, queries := draw(s.Problem, n, r), draw(s.Problem, s.Queries, r)
	trial := &algo.Trial[P]{Setting: s, Rand: rand.New(rand.NewPCG(seed, 1))}
	if s.Offline {
		trial.Revealed = queries
	}
	p, err := a.Predict(context.Background(), trial, sample)
	if err != nil {
		t.Fatalf("%s, %s: %v", a.Name, s.Problem.Class, err)
	}
	endLoan(trial, sample)
	for i := range queries.Len() {
		label, _, err := p.Answer(context.Background(), queries.X(i))
		if err != nil || label != 1 && label != -1 {
			t.Fatalf("%s, %s: answer %v, %v", a.Name, s.Problem.Class, label, err)
		}
		if label != queries.Y(i) {
			wrong++
		}
	}
	out := make([]float64, queries.Len())
	if err := p.Predict(context.Background(), queries, out); err != nil {
		t.Fatal(err)
	}
	for i, v := range out {
		if v != queries.Y(i) {
			final++
		}
	}
	return wrong, final
}

// endLoan ends the loan of a sample and of revealed queries. The next trial reuses their memory.
func endLoan[P any](trial *algo.Trial[P], sample *algo.Data) {
	clear(sample.Xs())
	clear(sample.Ys())
	*sample, trial.Revealed = algo.Data{}, nil
}

// plays runs an algorithm on all problems except those of the classes to skip, which it must
// reject. The sample is large enough for few errors.
func plays[P any](t *testing.T, a algo.Algorithm[P], offline bool, skip ...string) {
	t.Run(strings.ReplaceAll(a.Name, "/", " "), func(t *testing.T) {
		for _, p := range problems() {
			s := setting(a, p, 100)
			s.Offline = offline
			if err := a.Check(&s); err != nil {
				if !algo.IsInvalid(err) || !slices.Contains(skip, p.Class) {
					t.Errorf("%+v: %v", p, err)
				}
				continue
			}
			wrong, final := runTrial(t, a, s, 50000, 1)
			if wrong > 20 || final > 20 {
				t.Errorf("%s: %d answers and %d of the final state of 100 are wrong", p.Class, wrong, final)
			}
			g, err := a.Guarantee(&s)
			if err != nil || !(g.Epsilon > 0 && g.Epsilon <= s.Epsilon*(1+1e-12)) || g.Pure != (g.Delta == 0) ||
				g.Delta != 0 && g.Delta != s.Delta || g.Source == "" {
				t.Errorf("%s: %+v, %v", p.Class, g, err)
			}
		}
	})
}

func TestAlgorithmsPlay(t *testing.T) {
	// Budgets are small, so that a block has a few dozen examples.
	o, s, n, e := shrinkageOblivious(), sparseVector(), nandiBassily(), everlastingLite()
	o.Defaults.V, s.Defaults.V, n.Defaults.V, e.Defaults.V = 4, 4, 4, 6
	plays(t, o, false)
	plays(t, s, false)
	plays(t, n, false)
	plays(t, e, false, "rectangles") // rectangles: large blocks
	plays(t, composition(), false)
	plays(t, offline(), true, "rectangles")
	if len(Plugins()) != 7 {
		t.Errorf("%d plugins", len(Plugins()))
	}
}

// The default of k is the smallest k that privacy allows; smaller values are errors. The surplus of
// the sample is dropped. A sample that does not fill the blocks is an error.
func TestBlocks(t *testing.T) {
	a := shrinkageOblivious()
	s := setting(a, problems()[0], 1000)
	s.Params.V = 27
	if err := a.Check(&s); err != nil {
		t.Fatal(err)
	}
	eps0, delta0 := privacy.Best.Share(27, 1, 1e-6)
	least := int(math.Ceil(leastBlocks(Own, eps0, delta0)))
	if s.Params.K != least {
		t.Errorf("k = %d, want %d", s.Params.K, least)
	}
	s.N = least - 1
	if err := a.Check(&s); !algo.IsInfeasible(err) || !strings.Contains(err.Error(), "do not fill") {
		t.Errorf("n = k - 1: %v", err)
	}
	s.Params.K, s.N = least-1, 0
	if err := a.Check(&s); !algo.IsInvalid(err) || !strings.Contains(err.Error(), "needs at least k = ") {
		t.Errorf("one block too few: %v", err)
	}
	s.Params.K, s.Params.Mode = least, Paper
	if err := a.Check(&s); !algo.IsInvalid(err) {
		t.Errorf("the paper's k is larger: %v", err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	sample := draw(s.Problem, 103, r)
	blocks, err := partition(sample, 10, r)
	if err != nil {
		t.Fatal(err)
	}
	dealt := map[float64]int{}
	for i := range sample.Len() {
		dealt[sample.X(i)[0]]++
	}
	for _, b := range blocks {
		if len(b.x) < 10 || len(b.y) < 10 {
			t.Fatalf("a block of %d", len(b.y))
		}
	}
	for _, b := range blocks {
		for _, v := range b.x {
			dealt[v]--
			if dealt[v] < 0 {
				t.Fatalf("example %v was dealt out twice", v)
			}
		}
	}
}

// The default of v is theory's budget. The instances may be unable to spend all of a large epsilon.
func TestBudgets(t *testing.T) {
	a := shrinkageOblivious()
	s := setting(a, problems()[0], 1000)
	s.Beta = 0.15
	if err := a.Check(&s); err != nil || s.Params.V != 26 {
		t.Errorf("v = %d, %v", s.Params.V, err)
	}
	s = setting(a, problems()[0], 3)
	if err := a.Check(&s); err != nil || s.Params.V != 3 {
		t.Errorf("3 queries: v = %d, %v", s.Params.V, err)
	}
	s = setting(a, problems()[0], 1)
	s.Epsilon = 50
	if err := a.Check(&s); err != nil {
		t.Fatal(err)
	}
	if g, err := a.Guarantee(&s); err != nil || math.Abs(g.Epsilon-1) > 1e-9 {
		t.Errorf("epsilon 50 for one instance: %+v, %v", g, err)
	}
	h := shrinkageHalfspace()
	hs := setting(h, algo.Problem{Class: "halfspace", Dim: 4, Realizable: true, Noise: "none"}, 1000)
	if err := h.Check(&hs); err != nil || hs.Params.V != 5 {
		t.Errorf("halfspaces in R^4: v = %d, %v", hs.Params.V, err)
	}
	hs.Params = h.Defaults
	if hs.Params.Affine = false; h.Check(&hs) != nil || hs.Params.V != 4 {
		t.Errorf("halfspaces through the origin: v = %d", hs.Params.V)
	}
}

// Trials run with the noise and the budget that the guarantee assumes.
func TestTrialsKeepTheGuarantee(t *testing.T) {
	eps0, _ := privacy.Best.Share(4, 1, 1e-6)
	half, _ := privacy.Best.Share(4, 0.5, 1e-6)
	check := func(name string, p *predictor, k int, want float64) {
		t.Helper()
		if p.eps0 != want || p.budget != 4 || p.k != k || float64(k) < leastBlocks(Own, want, 1e-6/4) || p.started != 1 {
			t.Errorf("%s: %d instances of %v over %d blocks, want 4 of %v", name, p.budget, p.eps0, p.k, want)
		}
	}
	o, so := begin(t, shrinkageOblivious(), func(p *Oblivious) { p.V = 4 })
	check("oblivious", o.(*predictor), so.Params.K, eps0)
	v, sv := begin(t, sparseVector(), func(p *AffineBlocks) { p.V = 4 })
	check("sparse vector", v.(*predictor), sv.Params.K, eps0)
	n, sn := begin(t, nandiBassily(), func(p *NandiBassily) { p.V = 4 })
	check("Nandi and Bassily", n.(*learnAnswers).predictor, sn.Params.K, eps0)
	e, se := begin(t, everlastingLite(), func(p *Everlasting) { p.V = 4 })
	check("everlasting", e.(*epochs).predictor, se.Params.K, half)
	h, sh := beginHalfspaces(t, func(p *AffineBlocks) { p.V = 4 })
	check("halfspaces", h.(*predictor), sh.Params.K, eps0)
	m, _ := begin(t, composition(), func(p *Majority) {})
	if left := m.(*majority).left; left != 100 {
		t.Errorf("majority: %d answers", left)
	}
	if _, ok := v.(*predictor).gen.(static); !ok {
		t.Error("sparse vector shrinks")
	}
	s := setting(composition(), problems()[0], 100)
	if got, want := majorityScale(&s), 10/privacy.GaussianMu(1, 1e-6); math.Abs(got-want) > 1e-9 {
		t.Errorf("gaussian: scale %v, want %v", got, want)
	}
	if s.Params.Noise = Laplace; majorityScale(&s) != 100 {
		t.Errorf("laplace: scale %v, want 100", majorityScale(&s))
	}
	for votes, want := range []float64{-1, -1, -1, 1, 1, 1, 1} {
		p := majority{gen: count{n: votes}, k: 6}
		if got := p.label(nil); got != want {
			t.Errorf("%d votes of 6 without noise: %v", votes, got)
		}
	}
}

// count is a generator that always has the given number of votes.
type count struct {
	defaults
	n int
}

func (c count) votes([]float64) int           { return c.n }
func (c count) hard([]float64, float64) error { return nil }
func (c count) public([]float64) float64      { return 1 }

// begin starts a trial of 100 queries with a sample of 20,000 and with parameters modified by
// change.
func begin[P any](t *testing.T, a algo.Algorithm[P], change func(p *P)) (algo.Answerer, algo.Setting[P]) {
	t.Helper()
	s := setting(a, problems()[0], 100)
	change(&s.Params)
	if err := a.Check(&s); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	p, err := a.Predict(context.Background(), &algo.Trial[P]{Setting: s, Rand: r}, draw(s.Problem, 20000, r))
	if err != nil {
		t.Fatal(err)
	}
	return p, s
}

// beginHalfspaces starts a trial, as begin does, of shrinkageHalfspace in the plane.
func beginHalfspaces(t *testing.T, change func(p *AffineBlocks)) (algo.Answerer, algo.Setting[AffineBlocks]) {
	t.Helper()
	a := shrinkageHalfspace()
	s := setting(a, algo.Problem{Class: "halfspace", Dim: 2, Realizable: true, Noise: "none"}, 100)
	change(&s.Params)
	if err := a.Check(&s); err != nil {
		t.Fatal(err)
	}
	b := newHalfspaceTrial(2, 1, 5000, 0, 1).blocks[0]
	trial := &algo.Trial[AffineBlocks]{Setting: s, Rand: rand.New(rand.NewPCG(1, 1))}
	p, err := a.Predict(context.Background(), trial, algo.NewData(b.x, 2, b.y))
	if err != nil {
		t.Fatal(err)
	}
	return p, s
}

func TestRefusals(t *testing.T) {
	a := shrinkageOblivious()
	for _, c := range []struct {
		change func(s *algo.Setting[Oblivious])
		want   string
	}{
		{func(s *algo.Setting[Oblivious]) { s.Problem.Class = "parities" }, `does not support class "parities"`},
		{func(s *algo.Setting[Oblivious]) { s.Problem.Class = "halfspace" }, `does not support class "halfspace"`},
		{func(s *algo.Setting[Oblivious]) { s.Problem.Domain = 0 }, "domain 0"},
		{func(s *algo.Setting[Oblivious]) { s.Queries = 0 }, "number of queries"},
		{func(s *algo.Setting[Oblivious]) { s.Epsilon = 0 }, "privacy.epsilon"},
		{func(s *algo.Setting[Oblivious]) { s.Epsilon = math.Inf(1) }, "privacy.epsilon"},
		{func(s *algo.Setting[Oblivious]) { s.Epsilon = 1e-12 }, "lower v, or raise epsilon"},
		{func(s *algo.Setting[Oblivious]) { s.Delta = 0 }, "never pure"},
		{func(s *algo.Setting[Oblivious]) {
			s.Problem.Class, s.Problem.Dim, s.Problem.Noise = "rectangles", 3, "random"
		}, "no exact minimizer"},
	} {
		s := setting(a, problems()[0], 100)
		c.change(&s)
		if err := a.Check(&s); !algo.IsInvalid(err) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.want, err)
		}
	}
	o := offline()
	s := setting(o, problems()[0], 100)
	if err := o.Check(&s); !algo.IsInvalid(err) || !strings.Contains(err.Error(), "set adversary.offline") {
		t.Errorf("not offline: %v", err)
	}
	s = setting(o, problems()[1], 5000)
	s.Offline, s.Problem.Domain = true, 1<<20
	if err := o.Check(&s); !algo.IsInvalid(err) || !strings.Contains(err.Error(), "too many labelings") {
		t.Errorf("too many labelings: %v", err)
	}
	p, err := a.Predict(context.Background(), &algo.Trial[Oblivious]{
		Setting: algo.Setting[Oblivious]{
			Params:  Oblivious{Blocks{K: 1, V: 1, Mode: Own, Composition: "best"}},
			Problem: problems()[0], Epsilon: 1, Delta: 0.1,
		},
		Rand: rand.New(rand.NewPCG(1, 1)),
	}, algo.NewData([]float64{0.5}, 1, []float64{1}))
	if err == nil || !strings.Contains(err.Error(), "whole number") {
		t.Errorf("half a point: %v, %v", p, err)
	}
}

// The noise of the votes suffices for the announced number of answers, and no more answers are
// given.
func TestMajority(t *testing.T) {
	a := composition()
	for _, noise := range []string{Gaussian, Laplace} {
		s := setting(a, problems()[0], 2)
		s.Params.Noise, s.Params.K = noise, 5
		r := rand.New(rand.NewPCG(1, 1))
		p, err := a.Predict(context.Background(), &algo.Trial[Majority]{Setting: s, Rand: r}, draw(s.Problem, 50, r))
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			if _, _, err := p.Answer(context.Background(), []float64{1}); (err == nil) != (i < 2) {
				t.Errorf("%s, answer %d: %v", noise, i, err)
			}
		}
		// The noise on a tied vote has the documented distribution.
		m := p.(*majority)
		const draws = 20000
		scale, above := majorityScale(&s), 0.0
		for range draws {
			if m.noise() > scale {
				above++
			}
		}
		want := math.Erfc(math.Sqrt(0.5)) / 2
		if noise == Laplace {
			want = math.Exp(-1) / 2
		}
		if mean := want * draws; math.Abs(above-mean) > 5*math.Sqrt(mean) {
			t.Errorf("%s: %v of %d draws above the scale, expected %v", noise, above, draws, mean)
		}
		g, err := a.Guarantee(&s)
		if err != nil || g.Pure != (noise == Laplace) {
			t.Errorf("%s: %+v, %v", noise, g, err)
		}
		s.Delta = 0
		if err := a.Check(&s); (err == nil) != (noise == Laplace) {
			t.Errorf("%s, delta 0: %v", noise, err)
		}
	}
}

// The exponential mechanism draws each labeling with its weight.
func TestLabelingsAreDrawnByWeight(t *testing.T) {
	b := block{[]float64{1, 3, 5, 5, 6}, []float64{-1, 1, -1, 1, 1}}
	c, err := labelings(algo.Problem{Class: "thresholds", Domain: 8, Dim: 1}, b, []float64{2, 4, 5})
	if err != nil {
		t.Fatal(err)
	}
	const eps, draws = 1.5, 20000
	counts, total := map[float64]float64{}, 0.0 // counts by number of queries labeled +1
	for _, l := range c.list {
		total += math.Exp(-eps / 2 * float64(l.errors))
	}
	noise := seeded{rand.New(rand.NewPCG(4, 4))}
	key := func(h hypothesis) float64 { return h([]float64{2}) + h([]float64{4}) + h([]float64{5}) }
	for range draws {
		counts[key(c.draw(eps, noise.gumbel))]++
	}
	for _, l := range c.list {
		mean := draws * math.Exp(-eps/2*float64(l.errors)) / total
		if got := counts[key(c.hypothesis(l))]; math.Abs(got-mean) > 5*math.Sqrt(mean) {
			t.Errorf("%+v: drawn %v times, expected %v", l, got, mean)
		}
	}
}

// After m_u answers, the hypothesis learned from these answers the remaining queries. Its answers
// are wrong if the first queries did not resemble the sample.
func TestNandiBassilyLearnsItsAnswers(t *testing.T) {
	a := nandiBassily()
	s := setting(a, problems()[0], 200)
	s.Params.MU = 20
	if err := a.Check(&s); err != nil || s.Params.V != 2 {
		t.Fatalf("v = %d, %v", s.Params.V, err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	p, err := a.Predict(context.Background(), &algo.Trial[NandiBassily]{Setting: s, Rand: r}, draw(s.Problem, 20000, r))
	if err != nil {
		t.Fatal(err)
	}
	l := p.(*learnAnswers)
	for i := range 20 {
		x := []float64{1000} // far below the target 2048: the only information is that 1000 is -1
		if i%2 == 0 {
			x[0] = 4000
		}
		if _, _, err := l.Answer(context.Background(), x); err != nil || (l.final == nil) != (i < 19) {
			t.Fatalf("answer %d: %v, learned %v", i, err, l.final != nil)
		}
	}
	started := l.started
	label, hard, err := l.Answer(context.Background(), []float64{2500.0 - 1})
	if err != nil || hard || label != -1 || l.started != started {
		t.Errorf("2499, between 1000 and 4000: %v, %v, %v", label, hard, err)
	}
}

// Epochs grow, each learns from the queries of the previous epoch, and the trial's sample is not
// read again.
func TestEverlastingEpochs(t *testing.T) {
	a := everlastingLite()
	s := setting(a, problems()[0], 4000)
	s.Params.V, s.Params.Growth = 1, 2
	s.Epsilon = 2
	if err := a.Check(&s); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	n := s.Params.K + 5
	s.Queries = 14*n + 100 // epochs end after 2n, 4n and 8n queries
	sample, trial := draw(s.Problem, n, r), &algo.Trial[Everlasting]{Setting: s, Rand: r}
	p, err := a.Predict(context.Background(), trial, sample)
	if err != nil {
		t.Fatal(err)
	}
	endLoan(trial, sample)
	e := p.(*epochs)
	queries, length, next, wrong := draw(s.Problem, s.Queries, r), n, 0, 0
	for j := range s.Queries {
		if j == next {
			length *= 2
			next += length
		}
		if j == next-length {
			for i, y := range e.sample.y {
				if y != target(s.Problem, e.sample.x[i:i+1]) {
					wrong++
				}
			}
		}
		want := length
		if length >= s.Queries {
			want = 0 // the last epoch
		}
		if e.length != want || want > 0 && len(e.sample.y) != length/2 {
			t.Fatalf("query %d: an epoch of %d queries with %d examples, want %d queries", j, e.length, len(e.sample.y), length)
		}
		if _, _, err := p.Answer(context.Background(), queries.X(j)); err != nil {
			t.Fatal(err)
		}
	}
	if e.number != 4 || wrong > n/4 {
		t.Errorf("%d epochs, %d of the %d labels of the first three are wrong", e.number, wrong, 7*n)
	}
}

// checked returns the bounds of a setting whose parameters are resolved, by name.
func checked[P any](t *testing.T, a algo.Algorithm[P], s algo.Setting[P]) map[string]algo.Bound {
	t.Helper()
	if err := a.Check(&s); err != nil {
		t.Fatal(err)
	}
	list, err := a.Bound(&s)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]algo.Bound{}
	for _, b := range list {
		if b.Source == "" || !(b.Value >= 1) || math.IsInf(b.Value, 1) && b.Fails == "" {
			t.Errorf("%+v", b)
		}
		if order := b.Name == "table-1"; b.Order != order || b.Proved == order || order && b.Fails != "" {
			t.Errorf("%+v", b)
		}
		all[b.Name] = b
	}
	if len(all) != len(list) || all["table-1"].Name == "" {
		t.Errorf("%+v", list)
	}
	return all
}

// Bounds apply to the k and v of the row. If these are too small, the reason names the values to
// set.
func TestBounds(t *testing.T) {
	oblivious := func(change func(s *algo.Setting[Oblivious])) map[string]algo.Bound {
		s := setting(shrinkageOblivious(), problems()[0], 1000)
		change(&s)
		return checked(t, shrinkageOblivious(), s)
	}
	halfspace := func(d, queries int, change func(p *AffineBlocks)) map[string]algo.Bound {
		s := setting(shrinkageHalfspace(), algo.Problem{Class: "halfspace", Dim: d, Realizable: true}, queries)
		change(&s.Params)
		return checked(t, shrinkageHalfspace(), s)
	}
	majority := func(change func(s *algo.Setting[Majority])) map[string]algo.Bound {
		s := setting(composition(), problems()[0], 1000)
		change(&s)
		return checked(t, composition(), s)
	}
	revealed := setting(offline(), problems()[0], 1000)
	revealed.Offline = true
	fixed := []algo.Premise{algo.TargetInClass, algo.CleanLabels, algo.FixedBeforehand}
	for _, c := range []struct {
		name, bound string
		all         map[string]algo.Bound
		fails       string
		premises    []algo.Premise
	}{
		{"k by default", "oblivious", oblivious(func(*algo.Setting[Oblivious]) {}),
			"it requires k = 13975 blocks, and this row has k = 6389 for v = 27 instances: set k to 13975", fixed},
		{"enough blocks", "oblivious", oblivious(func(s *algo.Setting[Oblivious]) { s.Params.K = 13975 }), "", fixed},
		{"measured errors", "oblivious", oblivious(func(s *algo.Setting[Oblivious]) { s.Params.K, s.Test = 15094, 5000 }),
			"", fixed},
		{"a small budget", "oblivious", oblivious(func(s *algo.Setting[Oblivious]) { s.Params.V, s.Params.K = 12, 15094 }),
			"v = 12 instances are spent with probability up to 0.967, and public answers after that have no bound: set v to 27",
			fixed},
		{"the whole class", "adaptive", oblivious(func(s *algo.Setting[Oblivious]) { s.Params.K = 13975 }),
			"v = 27 instances are spent with probability up to 0.279, and public answers after that have no bound: set v to 34",
			fixed[:2]},
		{"enough instances", "adaptive", oblivious(func(s *algo.Setting[Oblivious]) { s.Params.V, s.Params.K = 34, 18987 }),
			"", fixed[:2]},
		{"boxes", "oblivious", oblivious(func(s *algo.Setting[Oblivious]) { s.Problem = problems()[3] }),
			"in dimension 3 the hypotheses may not have the fewest errors; use dimension 2 or less", fixed},
		{"plane", "adaptive", halfspace(2, 1000, func(p *AffineBlocks) { p.K = 2100 }), "", fixed[:2]},
		{"plane, k by default", "adaptive", halfspace(2, 1000, func(*AffineBlocks) {}),
			"it requires k = 1903 blocks, and this row has k = 775 for v = 3 instances: set k to 1903", fixed[:2]},
		{"plane, small budget", "adaptive", halfspace(2, 1000, func(p *AffineBlocks) { p.V = 2 }),
			"v = 2 instances are spent with probability up to 1, and public answers after that have no bound: set v to 3",
			fixed[:2]},
		{"plane, one query", "adaptive", halfspace(2, 1, func(*AffineBlocks) {}),
			"v = 1 instances are spent with probability up to 1, and public answers after that have no bound: set v to 2",
			fixed[:2]},
		{"space", "adaptive", halfspace(3, 1000, func(p *AffineBlocks) { p.K = 5000 }),
			"hypotheses of 4 coefficients may not have the largest convex depth; use at most 3", fixed[:2]},
		{"space, through the origin", "adaptive", halfspace(3, 1000, func(p *AffineBlocks) { p.K, p.Affine = 5000, false }),
			"", fixed[:2]},
		{"composition", "composition", majority(func(*algo.Setting[Majority]) {}), "", fixed[:2]},
		{"measured composition", "composition", majority(func(s *algo.Setting[Majority]) { s.Test = 5000 }), "", fixed[:2]},
		{"composition, pure", "composition",
			majority(func(s *algo.Setting[Majority]) { s.Params.Noise, s.Test = Laplace, 5000 }), "", fixed[:2]},
		{"few blocks", "composition", majority(func(s *algo.Setting[Majority]) { s.Params.K = 1000 }),
			"it requires k = 2379 blocks, and this row has k = 1000: set k to 2379", fixed[:2]},
		{"offline", "offline", checked(t, offline(), revealed),
			"it covers a hypothesis that gives the same answers; the states, whose errors are measured, " +
				"depend only on the queries and the labels chosen for them", fixed[:2]},
		{"stochastic", "table-1", checked(t, nandiBassily(), setting(nandiBassily(), problems()[0], 1000)), "", fixed},
		{"everlasting", "table-1", checked(t, everlastingLite(), setting(everlastingLite(), problems()[0], 1000)), "", fixed},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, ok := c.all[c.bound]
			if !ok || b.Fails != c.fails || !slices.Equal(b.Premises, c.premises) {
				t.Errorf("%+v\nwant premises %v, fails %q", b, c.premises, c.fails)
			}
		})
	}
	all := oblivious(func(s *algo.Setting[Oblivious]) { s.Alpha = 1e-300 }) // too small for its square to be a float64
	if !math.IsInf(all["oblivious"].Value, 1) {
		t.Errorf("%+v", all["oblivious"])
	}
	if got, want := all["table-1"].Value, math.Pow(math.Log(1000), 3.5); math.Abs(got-want) > 1e-9 {
		t.Errorf("table 1: %v, want %v", got, want)
	}
}

// For every strategy of choosing how hard queries split the labelings, v instances are spent with
// at most the probability that spent returns.
func TestSpent(t *testing.T) {
	const most = 40
	var last [most + 1]float64 // largest probability of another v-1 hard queries, by labelings
	for l := 1; l <= most; l++ {
		last[l] = 1
	}
	for v := 1; v < 20; v++ {
		var now [most + 1]float64
		for l := 2; l <= most; l++ {
			for part := 1; part < l; part++ {
				now[l] = max(now[l], (last[part]+last[l-part])/2)
			}
			if bound := spent(big.NewInt(int64(l)), v, 1000); now[l] > bound+1e-12 {
				t.Errorf("%d labelings, v = %d: probability %v, bounded by %v", l, v, now[l], bound)
			}
		}
		last = now
	}
	if p := spent(big.NewInt(1<<40), 5, 4); p != 0 {
		t.Errorf("5 instances and 4 queries: %v", p)
	}
}
