package adversary

import (
	"math/rand/v2"
	"sync"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/pipeline/problem/distribution"
	"github.com/shatterlab/shatter/schemas"
)

// Queries is one game of task predict, as the adversary plays it: for each query, Next and Observe.
type Queries interface {
	// Next writes the next query into x, a point of the domain, and returns its clean label, -1 or +1.
	Next(x []float64) (truth float64)
	// Observe tells the answer to the last query, and whether it was marked as hard.
	Observe(label float64, hard bool)
}

// Rounds is one game of task online, as the adversary plays it: for each round, Next, Truth and
// Observe.
type Rounds interface {
	// Next writes the next point of the domain into x.
	Next(x []float64)
	// Truth returns the label of that point, -1 or +1, given the mean of the learner's label for it,
	// in [-1, 1].
	Truth(answer float64) (y float64)
	// Observe tells the label, -1 or +1, that the answer came to: the answer itself, or a draw with
	// that mean.
	Observe(label float64)
}

// View is what adversaries know of a problem. All games on the problem share one, from any number
// of goroutines: what the first of them finds out about the class serves the others.
type View struct {
	problem *schemas.Problem
	class   concept.Spec
	listed  func() (*listing, error) // made at the first call
}

// NewView makes the view of a resolved problem, which must not change; matrix is the class matrix,
// "" for other classes.
func NewView(p *schemas.Problem, matrix string) *View {
	v := &View{problem: p, class: distribution.Spec(p, matrix)}
	v.listed = sync.OnceValues(v.list)
	return v
}

// Queries begins a game of a resolved adversary of task predict. s is at the trial that the game
// belongs to, and serves this game alone until it has ended; n is the size of the sample, r the
// adversary's own randomness.
func (v *View) Queries(a schemas.Adversary, s distribution.Sampler, n int64, r rand.Source) Queries {
	return Lookup(a.Kind).queries(game{v, s, rand.New(r)}, a, n)
}

// Rounds begins a game of task online. s is at the trial that the game belongs to, and serves this
// game alone until it has ended; the number of rounds is public, r is the adversary's own
// randomness.
//
// The error is that of Resolve or CheckRounds, or says that the Littlestone dimension of the class,
// which tree and smoothed need, takes too long to find. The first of their games on a problem finds
// it, which takes some seconds for the largest classes.
func (v *View) Rounds(a schemas.Adversary, s distribution.Sampler, rounds int64, r rand.Source) (Rounds, error) {
	if err := Resolve(true, v.problem, &a); err != nil {
		return nil, err
	}
	if err := CheckRounds(v.problem, rounds); err != nil {
		return nil, err
	}
	return Lookup(a.Kind).rounds(game{v, s, rand.New(r)}, a)
}

// game is what the games of all adversaries are made of.
type game struct {
	*View
	distribution distribution.Sampler
	r            *rand.Rand
}

// draw writes a point of the distribution into x, and returns its clean label.
func (g *game) draw(x []float64) float64 {
	var y [1]float64
	g.distribution.Draw(g.r, x, y[:])
	return y[0]
}

// truth returns the clean label of any point. The problem must have a target.
func (g *game) truth(x []float64) float64 { return g.distribution.Target().Label(x) }

// against returns the label, -1 or +1, that an answer is not; a fair coin where it is 0.
func (g *game) against(answer float64) float64 {
	switch {
	case answer > 0:
		return -1
	case answer < 0:
		return 1
	}
	return numeric.Coin(g.r)
}

// blindQueries is a game of queries that looks at no answer.
type blindQueries struct{ game }

// Observe implements Queries.
func (*blindQueries) Observe(float64, bool) {}

// blindRounds is a game of rounds that looks at no label.
type blindRounds struct{ game }

// Observe implements Rounds.
func (*blindRounds) Observe(float64) {}
