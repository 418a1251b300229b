package baseline

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/plugins/algo"
)

// queriesName is the name by which tables find the algorithm.
const queriesName = "baseline/queries"

// Queries returns baseline/queries, which uses no sample: its success in the task predict is due to
// the queries alone. An adversary that knows the target queries points near its edge, and this
// algorithm places its own edge there.
func Queries() algo.Algorithm[struct{}] {
	return algo.Algorithm[struct{}]{
		Name: queriesName, Version: "1.0.0",
		Doc: "Control without a sample: its edge is in the middle of the queries so far, with a random orientation; " +
			"not private.",
		Check: func(s *algo.Setting[struct{}]) error {
			_, err := guesserOf(s.Problem)
			return err
		},
		Predict: func(_ context.Context, t *algo.Trial[struct{}], _ *algo.Data) (algo.Answerer, error) {
			f, err := guesserOf(t.Problem)
			if err != nil {
				return nil, err
			}
			a := onlooker{f(t.Problem, t.Rand)}
			if t.Revealed != nil { // it sees the list once, and ignores the queries themselves
				for i := range t.Revealed.Len() {
					a.see(t.Revealed.X(i))
				}
				return offlooker{a}, nil
			}
			return a, nil
		},
	}
}

// A guesser guesses labels from the queries that it has seen.
type guesser interface {
	see(x []float64)
	label(x []float64) float64
}

// guesserOf returns the constructor of a guesser for a problem, whose first guess is random.
func guesserOf(p algo.Problem) (func(p algo.Problem, r *rand.Rand) guesser, error) {
	switch p.Class {
	case concept.Thresholds, concept.Points, concept.Intervals, concept.Stumps, concept.Rectangles:
		return newAxes, nil
	case concept.Halfspace:
		return newNearest, nil
	}
	return nil, algo.Invalid("%s: the queries show no edge of class %q: it supports thresholds, points, intervals, "+
		"stumps, rectangles and halfspace", queriesName, p.Class)
}

// onlooker answers by a guesser, which sees each query after its answer.
type onlooker struct{ guesser }

// Answer implements algo.Answerer.
func (a onlooker) Answer(_ context.Context, x []float64) (float64, bool, error) {
	y := a.label(x)
	a.see(x)
	return y, false, nil
}

// Predict implements algo.Model.
func (a onlooker) Predict(ctx context.Context, x *algo.Data, out []float64) error {
	for i := range out {
		out[i] = a.label(x.X(i))
	}
	return ctx.Err()
}

// offlooker answers by a guesser that has seen all queries beforehand.
type offlooker struct{ onlooker }

// Answer implements algo.Answerer.
func (a offlooker) Answer(_ context.Context, x []float64) (float64, bool, error) {
	return a.label(x), false, nil
}

// axes guesses boxes by the quantiles of the queries in each coordinate. A query at the edge of a
// box of d coordinates is next to each of its 2d sides equally often, half of the time outside: so
// a share of 1/(4d) of all queries is beyond each side.
type axes struct {
	class string
	seen  [][]float64 // queries by coordinate, sorted
}

// newAxes returns axes that have seen a uniform point.
func newAxes(p algo.Problem, r *rand.Rand) guesser {
	a := &axes{class: p.Class, seen: make([][]float64, p.Dim)}
	for j := range a.seen {
		a.seen[j] = []float64{float64(r.Uint64N(p.Domain))}
	}
	return a
}

func (a *axes) see(x []float64) {
	for j, v := range x {
		at, _ := slices.BinarySearch(a.seen[j], v)
		a.seen[j] = slices.Insert(a.seen[j], at, v)
	}
}

// quantile returns the q-quantile of the queries in coordinate j.
func (a *axes) quantile(j int, q float64) float64 {
	s := a.seen[j]
	return s[min(int(q*float64(len(s))), len(s)-1)]
}

// label implements guesser.
func (a *axes) label(x []float64) float64 {
	inside := true
	switch a.class {
	case concept.Thresholds:
		inside = x[0] >= a.quantile(0, 0.5)
	case concept.Points:
		inside = x[0] == a.quantile(0, 0.5)
	case concept.Stumps:
		j := a.narrowest()
		inside = x[j] >= a.quantile(j, 0.5)
	default:
		beyond := 1 / float64(4*len(x))
		for j, v := range x {
			inside = inside && v >= a.quantile(j, beyond) && v <= a.quantile(j, 1-beyond)
		}
	}
	if inside {
		return 1
	}
	return -1
}

// narrowest returns the coordinate in which the middle half of the queries has the smallest spread.
func (a *axes) narrowest() int {
	best, least := 0, math.Inf(1)
	for j := range a.seen {
		if span := a.quantile(j, 0.75) - a.quantile(j, 0.25); span < least {
			best, least = j, span
		}
	}
	return best
}

// nearest guesses the hyperplane through 0 that is nearest to the queries, in the mean of squares:
// its normal is the eigenvector of their moments with the least eigenvalue. It recomputes the
// normal when the number of queries has grown by a tenth, and keeps its orientation.
type nearest struct {
	normal  []float64
	moments *mat.SymDense
	seen    int
	fitted  int // number of queries at the last computation
}

// newNearest returns nearest with a uniform normal.
func newNearest(p algo.Problem, r *rand.Rand) guesser {
	n := &nearest{normal: make([]float64, p.Dim), moments: mat.NewSymDense(p.Dim, nil)}
	for j := range n.normal {
		n.normal[j] = r.NormFloat64()
	}
	return n
}

func (n *nearest) see(x []float64) {
	n.moments.SymRankOne(n.moments, 1, mat.NewVecDense(len(x), x))
	if n.seen++; n.seen*10 < n.fitted*11 {
		return
	}
	n.fitted = n.seen
	var e mat.EigenSym
	if !e.Factorize(n.moments, true) {
		return
	}
	var v mat.Dense
	e.VectorsTo(&v)
	fit := mat.Col(nil, 0, &v) // eigenvalues ascend
	if numeric.Dot(fit, n.normal) < 0 {
		for j := range fit {
			fit[j] = -fit[j]
		}
	}
	n.normal = fit
}

// label implements guesser.
func (n *nearest) label(x []float64) float64 {
	if numeric.Dot(x, n.normal) >= 0 {
		return 1
	}
	return -1
}
