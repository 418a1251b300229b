package estimate

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/combin"
	"gonum.org/v1/gonum/stat/distuv"
)

// SignTest returns the two-sided p-value of a times heads and b times tails of a fair coin. With
// the pairs of trials of which only one succeeded, it is the exact test of McNemar (1947) that both
// succeed with the same probability. The number of pairs must not depend on what they showed: see
// [SequentialSignTest].
func SignTest(a, b int) float64 {
	if a == b {
		return 1
	}
	least, most := float64(min(a, b)), float64(max(a, b))
	return min(1, 2*mathext.RegIncBeta(most, least+1, 0.5)) // P(X <= least), X binomial (a+b, 1/2)
}

// SequentialSignTest tests the null hypothesis of [SignTest], and returns its p-value, for pairs
// whose number was determined by any rule, even one that looks at them. The p-value is 1 over the
// e-process of [LogWealth].
//
// The trials of a search are of that kind. It leaves a sample size as soon as that has shown
// something, and then the one cell of two that left first is the one that was luckier. Pairs at
// several sample sizes may be counted together. Two searches that visit these in different orders
// are, strictly, not one sequence of pairs, but replicas are rejected far below the level all the
// same.
func SequentialSignTest(a, b int) float64 {
	return min(1, math.Exp(-LogWealth(a, a+b, 0.5)))
}

// Fisher returns the two-sided p-value of Fisher's exact test (1935) that independent trials, k of
// n and l of m of which succeeded, succeed with the same probability: the probability of all tables
// with the same margins that are no more likely than this one.
func Fisher(k, n, l, m int) float64 {
	all := k + l
	choose := func(n, k int) float64 { return combin.LogGeneralizedBinomial(float64(n), float64(k)) }
	log := func(x int) float64 { return choose(n, x) + choose(m, all-x) - choose(n+m, all) }
	limit := log(k) + 1e-7 // equal ones may differ in their last digits
	sum := 0.0
	for x := max(0, all-m); x <= min(n, all); x++ {
		if p := log(x); p <= limit {
			sum += math.Exp(p)
		}
	}
	return min(1, sum)
}

// fewPairs is the number of differences up to which PairedTest goes through all their signs.
const fewPairs = 16

// PairedTest returns the two-sided p-value of independent differences whose mean is 0 under the
// null hypothesis. Few differences are tested by the share of all choices of their signs that give
// a sum at least as far from 0 (Fisher 1935), which is exact if a difference and its opposite are
// equally likely. More are tested by Student's t, but the p-value is never below what the signs
// could show.
func PairedTest(differences []float64) float64 {
	n := len(differences)
	if !slices.ContainsFunc(differences, func(d float64) bool { return d != 0 }) {
		return 1
	}
	if n <= fewPairs {
		return signFlips(differences)
	}
	mean, deviation := moments(differences)
	least := math.Pow(2, float64(1-n))
	if deviation == 0 {
		return least
	}
	t := distuv.StudentsT{Sigma: 1, Nu: float64(n - 1)}
	return max(least, 2*t.Survival(math.Abs(mean)/deviation*math.Sqrt(float64(n))))
}

// signFlips returns the share of all choices of signs that give a sum at least as far from 0. Sums
// that differ by rounding alone count as equal.
func signFlips(differences []float64) float64 {
	size, sum := 0.0, 0.0
	for _, d := range differences {
		size, sum = size+math.Abs(d), sum+d
	}
	limit := math.Abs(sum) - 1e-12*size
	count, all := 0, 1<<len(differences)
	for signs := range all {
		flipped := 0.0
		for left := uint(signs); left != 0; left &= left - 1 {
			flipped += differences[bits.TrailingZeros(left)]
		}
		if math.Abs(sum-2*flipped) >= limit {
			count++
		}
	}
	return float64(count) / float64(all)
}

// moments returns the mean and the standard deviation of v.
func moments(v []float64) (mean, deviation float64) {
	for _, x := range v {
		mean += x
	}
	mean /= float64(len(v))
	sum := 0.0
	for _, x := range v {
		sum += float64((x - mean) * (x - mean))
	}
	return mean, math.Sqrt(sum / float64(len(v)-1))
}

// Holm adjusts p-values of one family (Holm 1979). Rejecting those whose adjusted value is at most
// level rejects any true hypothesis with probability at most level, however they depend on each
// other.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p[i], p[j]) })
	adjusted, last := make([]float64, len(p)), 0.0
	for rank, i := range order {
		last = max(last, min(1, p[i]*float64(len(p)-rank)))
		adjusted[i] = last
	}
	return adjusted
}

// A Side is one of two cells that are compared.
type Side struct {
	Status    string // as in Result; empty if there is no bracket, as with regret
	Low, High int64  // bracket; 0: no such end
	Fixed     bool   // whether the numbers of trials were fixed beforehand, not by a search
}

// A Pair is two cells and what tests say of them.
type Pair struct {
	A, B  Side
	Tests []Test
}

// A Test holds the p-value of a null hypothesis under which two cells do not differ in one respect.
type Test struct {
	Of    string // what is compared: successes, errors, regret
	P     float64
	Least float64 // the smallest p-value that so many trials could have shown
}

// The verdicts of Compare.
const (
	Differ = "differ" // their brackets have no sample size in common, or a test rejects

	// NotToldApart means that nothing tells the two apart, which could have: that is no proof that they
	// are the same.
	NotToldApart = "not told apart"

	// Unknown means that nothing tells the two apart, but a side is not decided, or the trials are too
	// few to show anything.
	Unknown = "unknown"
)

// A Judgement is what [Compare] says of a pair.
type Judgement struct {
	Verdict  string
	By       []string  // what tells the two apart: "brackets", or what tests compare
	Adjusted []float64 // p-values of the pair's tests, adjusted to all tests of all pairs
}

// Compare judges pairs. The probability that any pair is told apart that does not differ, in n* or
// in what the test compares, is at most level plus the levels of the tables that the brackets are
// from. The tests share level as in Holm's method, and if two brackets of one n* have nothing in
// common, one of them is wrong.
func Compare(pairs []Pair, level float64) []Judgement {
	var p []float64
	for _, pair := range pairs {
		for _, t := range pair.Tests {
			p = append(p, t.P)
		}
	}
	p = Holm(p)
	tests := len(p)
	judgements := make([]Judgement, len(pairs))
	for i, pair := range pairs {
		j := &judgements[i]
		j.Adjusted, p = p[:len(pair.Tests)], p[len(pair.Tests):]
		if pair.A.below(pair.B) || pair.B.below(pair.A) {
			j.By = append(j.By, "brackets")
		}
		for k, t := range pair.Tests {
			if j.Adjusted[k] <= level {
				j.By = append(j.By, t.Of)
			}
		}
		switch {
		case len(j.By) > 0:
			j.Verdict = Differ
		case pair.A.decided() && pair.B.decided(),
			pair.A.done() && pair.B.done() && pair.could(level/float64(tests)):
			j.Verdict = NotToldApart
		default:
			j.Verdict = Unknown
		}
	}
	return judgements
}

// below reports whether n* of s is below that of t: it is at most High, and above Low.
func (s Side) below(t Side) bool { return s.High > 0 && s.High <= t.Low }

// decided reports whether the bracket is all that a search would find.
func (s Side) decided() bool {
	return slices.Contains([]string{StatusDecided, StatusAboveRange, StatusBelowRange, StatusInfeasible}, s.Status)
}

// done reports whether the cell has all the trials that it will have, and not all of them failed.
func (s Side) done() bool { return s.decided() || s.Fixed && s.Status != StatusFailed }

// could reports whether a test could reject at level.
func (p Pair) could(level float64) bool {
	return slices.ContainsFunc(p.Tests, func(t Test) bool { return t.Least <= level })
}
