package problem

import (
	"fmt"
	"math"
	"strings"

	"github.com/shatterlab/shatter/pipeline/numeric"
)

// The sequential rule reads the independent evaluation points of a trial in blocks: a sixteenth of
// them, then as many again as it has read, until the error so far is clearly on one side of the
// goal, or all are read. It looks at answers alone.
//
// By Hoeffding's inequality a look takes the side on which the true error is not with probability
// at most Misjudged/earlyLooks, and all early looks of a trial together do with probability at most
// Misjudged. A trial that is read to its end has the error that it has without the rule.
//
// An error at which a look stops is biased, because the look depends on it; so is the mean of all
// errors, each over as many points as were read, and also the mean of the first block's where a
// trial stops and of all points' where it does not. The error on the first block alone is unbiased
// and read in every trial.
const (
	// Misjudged bounds the probability that a trial stops on the wrong side of its goal.
	Misjudged = 1e-4

	// Leeway is how far beta, and 1 - beta, have to be from 0 where the rule is used: it moves a
	// probability of success by at most Misjudged, a hundredth of that.
	Leeway = 100 * Misjudged

	// LeastSequential is the least number of points that the rule applies to.
	LeastSequential = 256

	earlyLooks       = 4
	sequentialPrefix = "at most "
)

// asSure is the share of the points of a trial such that an error on as many, all of them read, is
// at least as surely below the goal as one under the rule, as theory.Goal.Safe spends a twentieth of
// beta on it: e^(-m d) + Misjudged <= beta/20 where e^(-asSure m d) = beta/20 and beta >= Leeway.
const asSure = 0.97

// Sequential returns an evaluation of final states with the rule, or as it is where that does not
// apply: to exact errors, and to few points.
func (p *Problem) Sequential(e Evaluation) Evaluation {
	if p.Exact() || e.Least < LeastSequential {
		return e
	}
	e.Looks = looks(e.Least)
	e.Words = fmt.Sprintf("%s%s (%v)", sequentialPrefix, e.Words, Misjudged)
	e.Least = int(asSure * float64(e.Least))
	return e
}

// looks returns after how many of m points the rule looks, ascending; the last is m.
func looks(m int) []int {
	all := make([]int, 1+earlyLooks)
	for i := range all {
		all[i] = (m-1)>>(earlyLooks-i) + 1
	}
	return all
}

// Clear reports whether an error that was measured as e on that many independent points is clearly
// above the goal t, or at most t.
func Clear(e float64, points int, t float64) bool {
	return float64(points)*numeric.Divergence(e, t) >= math.Log(earlyLooks/Misjudged)
}

// AllRead returns the words of an evaluation without the sequential rule, and reports whether it is
// by that rule.
func AllRead(words string) (plain string, sequential bool) {
	words, sequential = strings.CutPrefix(words, sequentialPrefix)
	if sequential {
		words, _, _ = strings.Cut(words, " (")
	}
	return words, sequential
}
