package law

import (
	"fmt"
	"math"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/schemas"
)

// Design says how the evaluation points of a trial are chosen where its error is not computed
// exactly. Under each design every point is drawn from a part of the law of its own, independently
// of the others, all parts are equally likely, and together they are the law. So the mean loss on
// the points is an unbiased estimate of the error of any model, and at least as precise as one on
// as many independent points of the law.
type Design int

// The designs. One that cuts the law is precise for answers that are constant on most of its parts.
const (
	Fresh  Design = iota // independent points of the law
	Strata               // points of one number: one in each of m intervals
	Grid                 // points of two numbers: one in each of k times k boxes
)

// MaxPoints is the largest number of evaluation points of a trial.
const MaxPoints = 1_000_000_000

// precision is the share of alpha that the standard error of a measured error may have, as a rule.
const precision = 1.0 / 20

// DesignOf returns the design that suits a resolved problem.
func DesignOf(p *schemas.Problem) Design {
	if l := Lookup(p.Distribution); l != nil && l.design != nil {
		return l.design(p)
	}
	return Fresh
}

// cuts returns how many strata a hypothesis of the class cuts at most, together with a target of
// the class: on all others the one agrees with the other everywhere, or nowhere.
func cuts(p *schemas.Problem) float64 {
	d, _ := concept.Lookup(p.Class)
	return 2 * float64(d.Changes)
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
		return halfway(atLeast(cuts(p)/goal), t)
	case Grid:
		k := 1
		for (k+1)*(k+1) <= MaxPoints && gridError(k) > goal {
			k++
		}
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

// Fit returns the number of points of the design that is nearest to m, which is at least 1: a grid
// has a square number of them.
func (d Design) Fit(m int) int {
	if d == Grid {
		k := max(1, int(math.Round(math.Sqrt(float64(m)))))
		return k * k
	}
	return m
}

// StandardError returns the standard error of the error that m points measure, or a bound of it,
// where the true one is t and the model is a hypothesis of the class.
func (d Design) StandardError(p *schemas.Problem, t float64, m int) float64 {
	independent := math.Sqrt(t * (1 - t) / float64(m))
	switch d {
	case Strata:
		return min(independent, math.Sqrt(cuts(p))/float64(2*m))
	case Grid:
		return min(independent, gridError(gridSide(m)))
	}
	return independent
}

// gridSide returns the number of boxes on a side of the grid that has m.
func gridSide(m int) int { return int(math.Sqrt(float64(m))) }

// gridError bounds the standard error on k times k boxes: two rectangles cut at most 8k+8 of them,
// each of which adds at most 1/4 to the variance of the sum.
func gridError(k int) float64 { return math.Sqrt(float64(8*k+8)) / float64(2*k*k) }

// Off returns how far the error that m points measure can be from the true one, if the model is a
// hypothesis of the class; 0: no bound is certain.
func (d Design) Off(p *schemas.Problem, m int) float64 {
	if d != Strata {
		return 0
	}
	return cuts(p) / float64(m)
}

// Describe says in words what m points of the design are.
func (d Design) Describe(m int) string {
	switch d {
	case Strata:
		return fmt.Sprintf("%d strata", m)
	case Grid:
		k := gridSide(m)
		return fmt.Sprintf("%dx%d grid", k, k)
	}
	return fmt.Sprintf("%d points", m)
}
