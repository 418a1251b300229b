package problem

import (
	"fmt"
	"math"
	"strings"

	"github.com/shatterlab/shatter/pipeline/numeric"
)

// The sequential rule reads the independent evaluation points of a trial in blocks: a sixteenth
// of them, then as many again as it has read, until the error so far is clearly on one side of
// the goal, or all are read. It depends on answers only.
//
// By Hoeffding's inequality a look decides for the wrong side of the goal with probability at
// most Misjudged/earlyLooks, and all early looks of a trial together with probability at most
// Misjudged. A trial that is read to its end has the same error as without the rule.
//
// An error at which a look stops is biased, because the look depends on it. So is the mean of all
// errors, each over the points that were read, and also the mean of the first block's error if a
// trial stops and of all points' error otherwise. The error on the first block alone is unbiased,
// and it is read in every trial.
const (
	// Misjudged bounds the probability that a trial stops on the wrong side of its goal.
	Misjudged = 1e-4

	// Leeway is the least distance of beta from 0 and 1 for which the rule is used. The rule
	// changes a probability of success by at most Misjudged, a hundredth of Leeway.
	Leeway = 100 * Misjudged

	// LeastSequential is the least number of points for which the rule is used.
	LeastSequential = 256

	earlyLooks       = 4
	sequentialPrefix = "at most "
)

// asSure is a share of the points of a trial. An error measured on this share, all of it read, is
// at least as certainly below the goal as one under the rule, because theory.Goal.Safe reserves a
// twentieth of beta for it: e^(-m d) + Misjudged <= beta/20 if e^(-asSure m d) = beta/20 and beta
// >= Leeway.
const asSure = 0.97

// Sequential returns an evaluation of final states with the rule, or unchanged if the rule does
// not apply: for exact errors, and for few points.
func (p *Problem) Sequential(e Evaluation) Evaluation {
	if p.Exact() || e.Least < LeastSequential {
		return e
	}
	e.Looks = looks(e.Least)
	e.Words = fmt.Sprintf("%s%s (%v)", sequentialPrefix, e.Words, Misjudged)
	e.Least = int(asSure * float64(e.Least))
	return e
}

// looks returns the numbers of points out of m after which the rule looks, ascending; the last is
// m.
func looks(m int) []int {
	all := make([]int, 1+earlyLooks)
	for i := range all {
		all[i] = (m-1)>>(earlyLooks-i) + 1
	}
	return all
}

// Clear reports whether an error that was measured as e on that many independent points is
// clearly above the goal t, or at most t.
func Clear(e float64, points int, t float64) bool {
	return float64(points)*numeric.Divergence(e, t) >= math.Log(earlyLooks/Misjudged)
}

// AllRead returns the words of an evaluation without the sequential rule, and reports whether the
// evaluation uses the rule.
func AllRead(words string) (plain string, sequential bool) {
	words, sequential = strings.CutPrefix(words, sequentialPrefix)
	if sequential {
		words, _, _ = strings.Cut(words, " (")
	}
	return words, sequential
}
