package law

import (
	"cmp"
	"fmt"
	"math"
	"sort"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/schemas"
)

// Design says how the evaluation points of a trial are chosen where its error is not computed
// exactly. Under each design every point is drawn from a part of the law of its own, independently
// of the others, all parts are equally likely, and together they are the law. So the mean loss on
// the points is an unbiased estimate of the error of any model, and at least as precise as one on
// as many independent points of the law. Of an array that is so for losses that depend on two of the
// numbers; which parts of the law the points come from is drawn for all of them together, and for
// other losses the estimate is hardly less precise than on independent points: see array.
type Design int

// The designs. One that cuts the law is precise for answers that are constant on most of its parts.
const (
	Fresh  Design = iota // independent points of the law
	Strata               // points of one number: one in each of m intervals
	Grid                 // points of two numbers: one in each of k times k boxes
	Array                // points of more numbers: of each two of them one in each of k times k boxes, k a prime
)

// MaxPoints is the largest number of evaluation points of a trial.
const MaxPoints = 1_000_000_000

// maxSide is the largest number of boxes on a side of a grid, a prime.
const maxSide = 31_607

// precision is the share of alpha that the standard error of a measured error may have, as a rule.
const precision = 1.0 / 20

// DesignOf returns the design that suits a resolved problem.
func DesignOf(p *schemas.Problem) Design {
	if l := Lookup(p.Distribution); l != nil && l.design != nil {
		return l.design(p)
	}
	return Fresh
}

// cut bounds how many of m points are uncertain: those in parts of the law that are cut by a
// hypothesis of the class, or by a target of the class. On all other parts the one agrees with the
// other everywhere, or nowhere.
//
// Where a label changes, at one place along one number, it cuts one of m strata, and one column of
// boxes of a grid. Of an array the grid is that of the two numbers that hypothesis and target depend
// on.
func (d Design) cut(p *schemas.Problem, m int) float64 {
	class, _ := concept.Lookup(p.Class)
	changes := 2 * class.Changes * min(classOf(p).Dim, cmp.Or(class.Axes, math.MaxInt))
	switch d {
	case Strata:
		return float64(changes)
	case Grid, Array:
		return float64(changes * gridSide(m))
	}
	return float64(m)
}

// Spread bounds the standard error of the error that m points measure, if the model is a hypothesis of
// the class, whatever the true error is. The measured one is the mean of independent numbers of [0, 1],
// of which all but some are certain (see cut), so that it exceeds the true one by v with probability at
// most exp(-v^2/(2 Spread^2)) (Hoeffding 1963, Theorem 2).
func (d Design) Spread(p *schemas.Problem, m int) float64 {
	return math.Sqrt(d.cut(p, m)) / float64(2*m)
}

// Points returns a number of points that measure an error of about t, of a hypothesis of the class,
// with a standard error of at most a twentieth of alpha. Errors on strata are then off by that much
// at most, whatever is drawn.
//
// It is the least such number m, or a little more, so that t lies half-way between two errors that m
// labels can have. If t were one of them, errors above t would be measured as t, and pass, more often
// than errors below t as more, and fail.
func (d Design) Points(p *schemas.Problem, t, alpha float64) int {
	goal := precision * alpha
	switch d {
	case Strata:
		return halfway(atLeast(d.cut(p, 1)/goal), t)
	case Grid, Array:
		k := d.side(p, 1+sort.Search(maxSide-1, func(k int) bool { return d.Spread(p, (k+1)*(k+1)) <= goal }))
		return k * k
	}
	return halfway(atLeast(t*(1-t)/(goal*goal)), t)
}

// halfway returns the number from m on, and not much above, that comes nearest to making t times it
// lie half-way between two whole numbers: the least of those that do it equally well.
func halfway(m int, t float64) int {
	const tries = 1000
	best, least := m, 1.0
	below := math.Ceil(t*float64(m) - 0.5) // the first of the whole numbers
	for k := range tries {
		n := max(float64(m), math.Ceil((below+float64(k)+0.5)/t-0.5))
		if n > min(float64(m+m/20)+1/t, MaxPoints) {
			break
		}
		if off := math.Abs(math.Mod(t*n, 1) - 0.5); off < least-1e-9 {
			best, least = int(n), off
		}
	}
	return best
}

// atLeast returns the least whole number that is not below v, as far as rounding tells, and
// MaxPoints at most.
func atLeast(v float64) int { return int(min(math.Ceil(v*(1-1e-12)), MaxPoints)) }

// side returns the least number of boxes on a side, from k on, that the design can have.
func (d Design) side(p *schemas.Problem, k int) int {
	if d == Array {
		return primeFrom(max(k, classOf(p).Dim))
	}
	return k
}

// Fit returns the number of points of the design that is nearest to m, which is at least 1: grids and
// arrays have a square number of them.
func (d Design) Fit(p *schemas.Problem, m int) int {
	if d == Fresh || d == Strata {
		return m
	}
	k := min(gridSide(m), maxSide)
	for k > 1 && d.side(p, k) != k {
		k--
	}
	k = d.side(p, k)
	if next := d.side(p, k+1); next <= maxSide && next*next-m < m-k*k {
		k = next
	}
	return k * k
}

// StandardError returns the standard error of the error that m points measure, or a bound of it,
// where the true one is t and the model is a hypothesis of the class.
func (d Design) StandardError(p *schemas.Problem, t float64, m int) float64 {
	independent := math.Sqrt(t * (1 - t) / float64(m))
	if d == Fresh {
		return independent
	}
	return min(independent, d.Spread(p, m))
}

// gridSide returns the number of boxes on a side of the grid that has m.
func gridSide(m int) int { return int(math.Sqrt(float64(m))) }

// Off returns how far the error that m points measure can be from the true one, if the model is a
// hypothesis of the class; 0: chance alone bounds it.
func (d Design) Off(p *schemas.Problem, m int) float64 {
	if d != Strata {
		return 0
	}
	return d.cut(p, m) / float64(m)
}

// Least returns a number of independent points such that the error of any model on m points of the
// design is as surely close to the true one. Nothing better than one point is proved for an array and
// models that depend on more than two numbers.
func (d Design) Least(m int) int {
	if d == Array {
		return 1
	}
	return m
}

// Describe says in words what m points of the design are.
func (d Design) Describe(m int) string {
	switch d {
	case Strata:
		return fmt.Sprintf("%d strata", m)
	case Grid:
		return fmt.Sprintf("%[1]dx%[1]d grid", gridSide(m))
	case Array:
		return fmt.Sprintf("%[1]dx%[1]d array", gridSide(m))
	}
	return fmt.Sprintf("%d points", m)
}
