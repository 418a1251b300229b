package adversary

import (
	"math/rand/v2"
	"sync"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/pipeline/problem/distribution"
	"github.com/shatterlab/shatter/schemas"
)

// Queries is one game of task predict from the adversary's side: Next and Observe for each query.
type Queries interface {
	// Next writes the next query into x, a point of the domain, and returns its clean label, -1 or +1.
	Next(x []float64) (truth float64)
	// Observe receives the answer to the last query, and whether it was marked as hard.
	Observe(label float64, hard bool)
}

// Rounds is one game of task online from the adversary's side: Next, Truth and Observe for each
// round.
type Rounds interface {
	// Next writes the next point of the domain into x.
	Next(x []float64)
	// Truth returns the label of that point, -1 or +1, given the mean of the learner's label for it,
	// in [-1, 1].
	Truth(answer float64) (y float64)
	// Observe receives the label, -1 or +1, of the answer: the answer itself, or a draw with that
	// mean.
	Observe(label float64)
}

// View holds the information of adversaries about a problem. It is safe for concurrent use: all
// games on the problem share one, with its cached results about the class.
type View struct {
	problem *schemas.Problem
	class   concept.Spec
	listed  func() (*listing, error) // created at the first call
}

// NewView creates the view of a resolved problem, which must not change; matrix is the class
// matrix, "" for other classes.
func NewView(p *schemas.Problem, matrix string) *View {
	v := &View{problem: p, class: distribution.Spec(p, matrix)}
	v.listed = sync.OnceValues(v.list)
	return v
}

// Queries starts a game of a resolved adversary of task predict. s must be at the trial of the
// game, and serves only this game until its end; n is the size of the sample, r the adversary's
// own randomness.
func (v *View) Queries(a schemas.Adversary, s distribution.Sampler, n int64, r rand.Source) Queries {
	return Lookup(a.Kind).queries(game{v, s, rand.New(r)}, a, n)
}

// Rounds starts a game of task online. s must be at the trial of the game, and serves only this
// game until its end; the number of rounds is public, r is the adversary's own randomness.
//
// The error is that of Resolve or CheckRounds, or reports that the Littlestone dimension of the
// class, which tree and smoothed require, takes too long to compute. The first of their games on
// a problem computes it, which takes a few seconds for the largest classes.
func (v *View) Rounds(a schemas.Adversary, s distribution.Sampler, rounds int64, r rand.Source) (Rounds, error) {
	if err := Resolve(true, v.problem, &a); err != nil {
		return nil, err
	}
	if err := CheckRounds(v.problem, rounds); err != nil {
		return nil, err
	}
	return Lookup(a.Kind).rounds(game{v, s, rand.New(r)}, a)
}

// game is the shared state of the games of all adversaries.
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

// against returns the label, -1 or +1, opposite to the answer; a fair coin if the answer is 0.
func (g *game) against(answer float64) float64 {
	switch {
	case answer > 0:
		return -1
	case answer < 0:
		return 1
	}
	return numeric.Coin(g.r)
}

// blindQueries is a game of queries that ignores answers.
type blindQueries struct{ game }

// Observe implements Queries.
func (*blindQueries) Observe(float64, bool) {}

// blindRounds is a game of rounds that ignores labels.
type blindRounds struct{ game }

// Observe implements Rounds.
func (*blindRounds) Observe(float64) {}
