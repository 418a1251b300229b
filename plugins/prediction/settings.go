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

// Oblivious are the parameters of prediction/shrinkage-oblivious.
type Oblivious struct {
	K           int    `doc:"blocks, and hypotheses; 0: the least that privacy admits; n/k examples go into each, and the surplus is dropped" min:"0"`
	V           int    `doc:"budget: the most instances of BetweenThresholds that are ever started; 0: the number of hard queries that the halving argument allows, at most queries" min:"0"`
	Mode        string `doc:"proof of an instance's privacy, which sets the least k: paper (Lemma 1 as printed) or own (a third of the blocks)" choices:"paper,own"`
	Composition string `doc:"composition of the v instances: basic, advanced, optimal, or best of these" choices:"basic,advanced,optimal,best"`
}

// Halfspaces are the parameters of prediction/shrinkage-halfspace.
type Halfspaces struct {
	K           int    `doc:"blocks, and hypotheses; 0: the least that privacy admits; n/k examples go into each, and the surplus is dropped" min:"0"`
	V           int    `doc:"budget: the most instances of BetweenThresholds that are ever started; 0: one more than the hard queries that the paper's argument allows, at most queries" min:"0"`
	Mode        string `doc:"proof of an instance's privacy, which sets the least k: paper (Lemma 1 as printed) or own (a third of the blocks)" choices:"paper,own"`
	Composition string `doc:"composition of the v instances: basic, advanced, optimal, or best of these" choices:"basic,advanced,optimal,best"`
	Affine      bool   `doc:"halfspaces with an offset, in one dimension more; false: through the origin, like the problem's class"`
}

// Sparse are the parameters of prediction/sparse-vector.
type Sparse struct {
	K           int    `doc:"blocks, and hypotheses; 0: the least that privacy admits; n/k examples go into each, and the surplus is dropped" min:"0"`
	V           int    `doc:"budget: the most instances of BetweenThresholds that are ever started; 0: as many as prediction/shrinkage-oblivious takes for a class of this dimension" min:"0"`
	Mode        string `doc:"proof of an instance's privacy, which sets the least k: paper (Lemma 1 as printed) or own (a third of the blocks)" choices:"paper,own"`
	Composition string `doc:"composition of the v instances: basic, advanced, optimal, or best of these" choices:"basic,advanced,optimal,best"`
	Affine      bool   `doc:"class halfspace: with an offset; false: through the origin, like the problem's class"`
}

// Majority are the parameters of prediction/composition.
type Majority struct {
	K      int    `doc:"blocks, and hypotheses; 0: so many that noise changes no majority of three quarters, except with probability beta/2; any k is private" min:"0"`
	Noise  string `doc:"noise of each vote: gaussian (exactly (epsilon, delta)) or laplace (pure epsilon)" choices:"gaussian,laplace"`
	Affine bool   `doc:"class halfspace: with an offset; false: through the origin, like the problem's class"`
}

// NandiBassily are the parameters of prediction/nandi-bassily.
type NandiBassily struct {
	K           int    `doc:"blocks, and hypotheses; 0: the least that privacy admits; n/k examples go into each, and the surplus is dropped" min:"0"`
	V           int    `doc:"budget: the most instances of BetweenThresholds that are ever started; 0: m_u times alpha, rounded up" min:"0"`
	MU          int    `param:"m_u" doc:"queries that are labelled privately and then learned from; 0: 4 d/alpha, rounded up, for Vapnik-Chervonenkis dimension d" min:"0"`
	Mode        string `doc:"proof of an instance's privacy, which sets the least k: paper (Lemma 1 as printed) or own (a third of the blocks)" choices:"paper,own"`
	Composition string `doc:"composition of the v instances: basic, advanced, optimal, or best of these" choices:"basic,advanced,optimal,best"`
	Affine      bool   `doc:"class halfspace: with an offset; false: through the origin, like the problem's class"`
}

// Everlasting are the parameters of prediction/everlasting-lite.
type Everlasting struct {
	K           int     `doc:"blocks, and hypotheses; 0: the least that privacy admits; an epoch's sample goes into them evenly, and the surplus is dropped" min:"0"`
	V           int     `doc:"budget of each epoch: the most instances of BetweenThresholds that it starts; 0: as many as prediction/shrinkage-oblivious takes" min:"0"`
	Growth      float64 `doc:"number of queries in an epoch per example of its sample; the queries are the next epoch's sample" min:"1" max:"1000"`
	Mode        string  `doc:"proof of an instance's privacy, which sets the least k: paper (Lemma 1 as printed) or own (a third of the blocks)" choices:"paper,own"`
	Composition string  `doc:"composition of the v instances: basic, advanced, optimal, or best of these" choices:"basic,advanced,optimal,best"`
}

// checkProblem refuses classes, budgets and queries that an algorithm of that name cannot serve; pure says that delta may be 0.
func checkProblem[P any](s *algo.Setting[P], name string, pure bool, classes ...string) error {
	p := s.Problem
	switch {
	case !slices.Contains(classes, p.Class):
		return algo.Invalid("%s does not know class %q: use one of %s", name, p.Class, strings.Join(classes, ", "))
	case p.Class == "rectangles" && p.Dim > 2 && !noiseless(p):
		return algo.Invalid("%s has no exact minimiser for rectangles in dimension %d under label noise: use dimension 1 or 2, or noise none", name, p.Dim)
	case s.Queries < 1:
		return algo.Invalid("%s needs the number of queries beforehand: set queries to 1 or more, not %d", name, s.Queries)
	case !(s.Epsilon > 0) || math.IsInf(s.Epsilon, 1):
		return algo.Invalid("%s needs privacy.epsilon above 0 and finite, not %g", name, s.Epsilon)
	case !(s.Delta >= 0 && s.Delta < 1) || s.Delta == 0 && !pure:
		return algo.Invalid("%s is never pure: give privacy.delta in (0,1), not %g", name, s.Delta)
	}
	return nil
}

// noiseless says that some hypothesis of the class labels every sample without error.
func noiseless(p algo.Problem) bool { return p.Realizable && (p.Noise == "none" || p.Noise == "") }

// dimension is the Vapnik-Chervonenkis dimension of the problem's class, and its number of hypotheses: nil where it is infinite.
func dimension(p algo.Problem, affine bool) (int, *big.Int, error) {
	c, err := concept.New(finite.SpecOf(p))
	if err != nil {
		return 0, nil, algo.Invalid("prediction: %v", err)
	}
	if affine && p.Class == "halfspace" {
		return c.VC() + 1, nil, nil
	}
	return c.VC(), c.Size(), nil
}

// labelingsOf bounds the number of labelings of the queries: by Sauer's lemma, and by the number of hypotheses.
func labelingsOf(d int, hypotheses *big.Int, queries int) *big.Int {
	n := sauer(d, queries)
	if hypotheses != nil && hypotheses.Cmp(n) < 0 {
		return hypotheses
	}
	return n
}

func accountOf(mode, composition string) account {
	return account{mode: mode, share: privacy.Composition(composition).Share}
}

// resolve writes k and v where they are 0, theory being the v to take, and refuses a k that privacy does not admit or that n examples
// do not fill. Resolving resolved parameters changes nothing.
func (a account) resolve(k, v *int, theory int, epsilon, delta float64, n int) error {
	if *v == 0 {
		*v = max(1, theory)
	}
	eps0, delta0 := a.part(*v, epsilon, delta)
	least := math.Ceil(leastBlocks(a.mode, eps0, delta0))
	if !(least <= 1<<31) {
		return algo.Invalid("v = %d instances at epsilon %g and delta %g need %g blocks: lower v, or raise epsilon", *v, epsilon, delta, least)
	}
	if *k == 0 {
		*k = int(least)
	}
	if *k < int(least) {
		return algo.Invalid("k = %d blocks are not (%g, %g)-private with v = %d instances, by mode %s only from k = %.0f on: raise k, leave it out, or lower v",
			*k, epsilon, delta, *v, a.mode, least)
	}
	if n > 0 {
		return enough(n, *k)
	}
	return nil
}
