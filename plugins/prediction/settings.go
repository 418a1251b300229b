package prediction

import (
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/privacy"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite"
)

// Blocks holds the parameters of all algorithms over BetweenThresholds.
type Blocks struct {
	K           int    `doc:"number of blocks, each with n/k examples and one hypothesis; 0: the least that privacy allows; the surplus is dropped" min:"0"`
	V           int    `doc:"budget: the largest number of instances of BetweenThresholds that are started (everlasting-lite: in an epoch); 0: by the theory of hard queries, at most queries (nandi-bassily: m_u times alpha, rounded up)" min:"0"`
	Mode        string `doc:"proof of an instance's privacy, which sets the least k: paper (Lemma 1 as printed) or own (a third of the blocks)" choices:"paper,own"`
	Composition string `doc:"composition of the v instances: basic, advanced, optimal, or the best of these" choices:"basic,advanced,optimal,best"`
}

// byDefault are the default parameters.
var byDefault = Blocks{Mode: Own, Composition: string(privacy.Best)}

// Oblivious holds the parameters of prediction/shrinkage-oblivious.
type Oblivious struct{ Blocks }

// AffineBlocks holds the parameters of the algorithms that also learn halfspaces:
// prediction/shrinkage-halfspace and prediction/sparse-vector.
type AffineBlocks struct {
	Blocks
	Affine bool `doc:"for class halfspace: true: with an offset, which adds a dimension; false: through the origin, like the problem's class"`
}

// Majority holds the parameters of prediction/composition.
type Majority struct {
	K      int    `doc:"number of blocks and hypotheses; 0: enough that noise changes no majority of three quarters, except with probability beta/2; any k is private" min:"0"`
	Noise  string `doc:"noise of each vote: gaussian (exactly (epsilon, delta)) or laplace (pure epsilon)" choices:"gaussian,laplace"`
	Affine bool   `doc:"for class halfspace: true: with an offset; false: through the origin, like the problem's class"`
}

// NandiBassily holds the parameters of prediction/nandi-bassily.
type NandiBassily struct {
	AffineBlocks
	MU int `param:"m_u" doc:"number of queries to label privately and then learn from; 0: 4 d/alpha, rounded up, for Vapnik-Chervonenkis dimension d" min:"0"`
}

// Everlasting holds the parameters of prediction/everlasting-lite.
type Everlasting struct {
	Blocks
	Growth float64 `doc:"number of queries in an epoch per example of its sample; the queries are the next epoch's sample" min:"1" max:"1000"`
}

// A budget is a view of the parameters shared by all algorithms over BetweenThresholds.
type budget struct {
	k, v              *int // the parameters K and V; resolve sets them
	mode, composition string
	affine            bool    // false for algorithms without this parameter
	share             float64 // part of epsilon for the instances
}

// budgeted constrains the parameters of an algorithm to types with a budget.
type budgeted[P any] interface {
	*P
	budget() budget
}

func (p *Blocks) budget() budget {
	return budget{k: &p.K, v: &p.V, mode: p.Mode, composition: p.Composition, share: 1}
}

func (p *AffineBlocks) budget() budget {
	b := p.Blocks.budget()
	b.affine = p.Affine
	return b
}

func (p *Everlasting) budget() budget {
	b := p.Blocks.budget()
	b.share = 0.5
	return b
}

// part returns the (eps0, delta0) of each of v instances. The proofs of their privacy require eps0
// <= 1.
func (b budget) part(epsilon, delta float64) (eps0, delta0 float64) {
	eps0, delta0 = privacy.Composition(b.composition).Share(*b.v, epsilon, delta)
	return min(eps0, 1), delta0
}

// resolve sets k and v if they are 0, v to theory. It returns an error for a k that is too small
// for privacy or whose blocks n examples do not fill. Resolving resolved parameters changes
// nothing.
func (b budget) resolve(theory int, epsilon, delta float64, n int) error {
	epsilon *= b.share
	if *b.v == 0 {
		*b.v = max(1, theory)
	}
	eps0, delta0 := b.part(epsilon, delta)
	least := math.Ceil(leastBlocks(b.mode, eps0, delta0))
	if !(least <= 1<<31) {
		return algo.Invalid("v = %d instances at epsilon %g and delta %g need %g blocks: lower v, or raise epsilon",
			*b.v, epsilon, delta, least)
	}
	if *b.k == 0 {
		*b.k = int(least)
	}
	if *b.k < int(least) {
		return algo.Invalid("k = %d blocks are not (%g, %g)-private with v = %d instances: "+
			"mode %s needs at least k = %.0f: raise k, omit it, or lower v", *b.k, epsilon, delta, *b.v, b.mode, least)
	}
	if n > 0 {
		return enough(n, *b.k)
	}
	return nil
}

// guarantee returns the privacy of v instances. If epsilon is so large that the eps0 of each is
// limited to 1, they spend less than epsilon.
func (b budget) guarantee(epsilon, delta float64) algo.Guarantee {
	epsilon *= b.share
	if eps0, delta0 := b.part(epsilon, delta); eps0 == 1 {
		epsilon = min(epsilon, privacy.Composition(b.composition).Epsilon(*b.v, eps0, delta0, delta))
	}
	proof := "Lemma 1 of " + yan + " (Bun, Steinke and Ullman 2016)"
	if b.mode == Own {
		proof = "the proof at leastBlocks in plugins/prediction"
	}
	return algo.Guarantee{
		Epsilon: epsilon, Delta: delta,
		Source: "at most v instances of BetweenThresholds, each private by " + proof + "; composition " + b.composition,
	}
}

// checkProblem returns an Invalid error if the algorithm of the given name does not support the
// class, the privacy or the queries of a setting. pure reports whether delta may be 0.
func checkProblem[P any](s *algo.Setting[P], name string, pure bool, classes ...string) error {
	p, noisyDim := s.Problem, familyOf(s.Problem.Class).noisyDim
	switch {
	case !slices.Contains(classes, p.Class):
		return algo.Invalid("%s does not support class %q: use one of %s", name, p.Class, strings.Join(classes, ", "))
	case noisyDim > 0 && p.Dim > noisyDim && !noiseless(p):
		return algo.Invalid("%s has no exact minimizer for %s in dimension %d under label noise: "+
			"use dimension 1 to %d, or noise none", name, p.Class, p.Dim, noisyDim)
	case s.Queries < 1:
		return algo.Invalid("%s needs the number of queries beforehand: set queries to 1 or more, not %d", name, s.Queries)
	case !(s.Epsilon > 0) || math.IsInf(s.Epsilon, 1):
		return algo.Invalid("%s needs privacy.epsilon above 0 and finite, not %g", name, s.Epsilon)
	case !(s.Delta >= 0 && s.Delta < 1) || s.Delta == 0 && !pure:
		return algo.Invalid("%s is never pure: set privacy.delta in (0,1), not %g", name, s.Delta)
	}
	if f := familyOf(p.Class); f.check != nil {
		return f.check(p)
	}
	return nil
}

// noiseless reports whether some hypothesis of the class labels every sample without error.
func noiseless(p algo.Problem) bool { return p.Realizable && (p.Noise == "none" || p.Noise == "") }

// dimension returns the Vapnik-Chervonenkis dimension of the problem's class and its number of
// hypotheses, which is nil if it is infinite.
func dimension(p algo.Problem, affine bool) (int, *big.Int, error) {
	c, err := concept.New(finite.SpecOf(p))
	if err != nil {
		return 0, nil, algo.Invalid("prediction: %v", err)
	}
	if affine && familyOf(p.Class).offset {
		return c.VC() + 1, nil, nil
	}
	return c.VC(), c.Size(), nil
}

// labelingsOf bounds the number of labelings of the queries, by Sauer's lemma and by the number of
// hypotheses.
func labelingsOf(d int, hypotheses *big.Int, queries int) *big.Int {
	n := sauer(d, queries)
	if hypotheses != nil && hypotheses.Cmp(n) < 0 {
		return hypotheses
	}
	return n
}
