package problem

import (
	"fmt"
	"math"
	"strings"

	"github.com/shatterlab/shatter/pipeline/problem/distribution"
)

// MaxPoints is the largest number of evaluation points of a trial.
const MaxPoints = 1_000_000_000

// precision is the default standard error of a measured error, as a share of alpha.
const precision = 1.0 / 20

// Test returns the number of evaluation points of a trial with the reference error and the
// goal alpha; 0 if no trial succeeds. It is the number in the problem, or one for which the
// standard error of an error at the goal is a twentieth of alpha. It is 0 if errors are computed
// exactly, and if the problem has no distribution.
func (p *Problem) Test(reference, alpha float64) int {
	if p.Exact() || p.spec.Distribution == "" && !p.Generated() {
		return 0
	}
	return p.sampled(reference, alpha)
}

// sampled returns the number of independent points that measure an error, as Test describes it.
func (p *Problem) sampled(reference, alpha float64) int {
	switch {
	case p.spec.Test > 0:
		return p.spec.Test
	case alpha == 0:
		reference, alpha = 0.5, 0.1
	}
	return pointsFor(min(reference+alpha, 0.5), alpha)
}

// pointsFor returns the least number of points that measure an error of t with a standard error
// of at most a twentieth of alpha, or a slightly larger number for which t lies half-way between
// two possible measured errors. If t were a possible measured error, errors above t would be
// measured as t, and pass, more often than errors below t would be measured as more, and fail.
func pointsFor(t, alpha float64) int {
	goal := precision * alpha
	return halfway(atLeast(t*(1-t)/(goal*goal)), t)
}

// halfway returns a number from m on, not much larger, for which t times the number is nearest to
// half-way between two whole numbers; the least such number in case of ties.
func halfway(m int, t float64) int {
	const tries = 1000
	best, least := m, 1.0
	below := math.Ceil(t*float64(m) - 0.5) // the first of the two whole numbers
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

// atLeast returns the least whole number that is not below v, except for rounding, and MaxPoints
// at most.
func atLeast(v float64) int { return int(min(math.Ceil(v*(1-1e-12)), MaxPoints)) }

// formula reports whether the errors of declared hypotheses of the class are computed by a formula.
func (p *Problem) formula() bool {
	l := distribution.Lookup(p.spec.Distribution)
	return l != nil && l.Formula != nil && l.Formula(&p.spec)
}

// Evaluation describes the measurement of errors.
type Evaluation struct {
	Words string // "exact", or the number of the evaluation points
	Least int    // number of independent points with the same confidence, at least; 0: errors are computed exactly

	// StandardError is the standard error of a measurement of a model whose true error is at the
	// goal.
	StandardError float64

	// States is the number of independent points that measure a state before the final one of task
	// predict, unless its first points show that its error is clearly below the goal; 0: such
	// states do not count, or are measured on the whole support.
	States int `json:",omitempty"`

	// Looks are the numbers of points, ascending, after which a trial may end: see Clear. The
	// last is the number of all points. Nil: all are read at once.
	Looks []int `json:",omitempty"`
}

// Computed is the evaluation of problems and models whose errors are computed exactly.
var Computed = Evaluation{Words: "exact"}

// Evaluation describes the measurement of errors with that many evaluation points per trial, for
// the goal reference + alpha. If states is true, errors of states before the final one of task
// predict count.
func (p *Problem) Evaluation(reference, alpha float64, test int, states bool) Evaluation {
	if p.Exact() && (!states || p.points() <= SmallSupport) {
		return Computed
	}
	words := "%d points"
	if p.Exact() {
		test, words = p.sampled(reference, alpha), "exact (other states: %d points)"
	}
	if test == 0 {
		return Evaluation{}
	}
	t := reference + alpha
	if alpha == 0 {
		t = 0.5 // any error
	}
	e := Evaluation{Words: fmt.Sprintf(words, test), Least: test, StandardError: math.Sqrt(t * (1 - t) / float64(test))}
	if states {
		e.States = test
	}
	return e
}

// HowMeasured describes the measurement of errors in a phrase, for Evaluation.Words.
func HowMeasured(words string) string {
	plain, sequential := AllRead(words)
	if sequential {
		return fmt.Sprintf("measured on at most %s, until success or failure is clear (wrongly in at most %v of trials)",
			plain, Misjudged)
	}
	if number, ok := strings.CutSuffix(words, " points"); ok {
		return "measured on " + number + " fresh points"
	}
	return "computed exactly"
}
