package concept

import (
	"fmt"
	"math"
)

// Representation bounds the representation dimension of a class (Beimel, Nissim and Stemmer
// 2013), in nats: it lies between Low and High, which are +Inf if it is infinite.
//
// A random set H of functions, which need not belong to the class, represents the class if for
// each hypothesis c and each distribution of points, H contains with probability 3/4 a function
// that disagrees with c on a mass of at most 1/4. The dimension is the least ln of the largest
// size of such an H. Up to factors of alpha, beta and epsilon it is the number of examples that
// pure differential privacy requires.
type Representation struct{ Low, High float64 }

// String describes the bounds in words.
func (r Representation) String() string {
	switch {
	case math.IsInf(r.Low, 1):
		return "infinite"
	case r.Low == r.High:
		return fmt.Sprintf("%.4g", r.Low)
	case math.IsInf(r.High, 1):
		return fmt.Sprintf("at least %.4g", r.Low)
	}
	return fmt.Sprintf("between %.4g and %.4g", r.Low, r.High)
}

// represent bounds the representation dimension of c, the class of s with those dimensions.
//
// Upper bound: a uniform set of 3/4 of the hypotheses contains each of them with probability 3/4.
// Some classes have a better bound, Definition.Represented.
//
// Lower bound: fix a distribution of points for which each function is within 1/4 of at most B of
// N hypotheses. A set of at most k functions covers at most k B hypotheses, so that k >= 3/4 N/B.
// See patterned for B on shattered points, and packed for B on a separator. On three points or
// fewer a function covers only the hypothesis that it agrees with, and four hypotheses differ on
// some three points (Bondy 1972).
//
// Lower bound by the Littlestone dimension: by the minimax theorem, for each c some choice from H
// errs with probability at most 3/4 1/4 + 1/4 = 7/16 at every point. So the name of the choice
// predicts each label on a path of a mistake tree, given the previous labels, with that error,
// and thus contains at least 1 - entropy(7/16) bits about it.
// entropy(7/16) bits of it.
func represent(c Class, s Spec, vc, ldim Dimension) Representation {
	if ldim.Infinite() {
		return Representation{math.Inf(1), math.Inf(1)}
	}
	r := Representation{float64(ldim.Low) * (math.Ln2 - entropy(7./16)), math.Inf(1)}
	if c.Size() != nil {
		r.High = threeQuarters(c.LogSize())
		r.Low = max(r.Low, threeQuarters(min(c.LogSize(), 2*math.Ln2)))
	}
	if d := definitionOf(c); d.Represented != nil {
		r.High = min(r.High, d.Represented(s))
	}
	for k := 3; k <= min(vc.Low, maxPatterned); k++ {
		r.Low = max(r.Low, patterned(k))
	}
	if f, finite := c.(Finite); finite {
		for _, kind := range []string{"standard", "cube"} {
			if z, err := NewSeparator(f, s, kind, 0); err == nil {
				r.Low = max(r.Low, packed(c.LogSize(), float64(z.Hamming)/float64(z.Len())))
			}
		}
	}
	return r
}

// entropy returns the entropy, in nats, of a coin that shows heads with probability p in (0, 1).
func entropy(p float64) float64 { return -float64(p*math.Log(p)) - float64((1-p)*math.Log1p(-p)) }

// threeQuarters returns the ln of 3/4 of the number with that logarithm, where 3/4 of the number
// is rounded up to a whole number. It is at least 0.
func threeQuarters(log float64) float64 {
	const exact = 34 // whole numbers up to e^34 are unchanged by exp and log
	if log > exact {
		return log + math.Log(0.75)
	}
	if n := 0.75 * math.Exp(log); n > 1 {
		return math.Log(math.Ceil(n * (1 - 1e-12)))
	}
	return 0
}

// maxPatterned is the largest number of shattered points for which represent computes a bound.
const maxPatterned = 1024

// patterned returns a lower bound from k shattered points under their uniform distribution: there
// are 2^k patterns, and a function is within 1/4 of the patterns that differ from it on at most
// k/4 points.
func patterned(k int) float64 {
	ball, term := 0.0, 0.0 // logarithms of the size of the ball, and of the number of patterns at one distance
	for i := 1; i <= k/4; i++ {
		term += math.Log(float64(k-i+1) / float64(i))
		ball = max(ball, term) + math.Log1p(math.Exp(-math.Abs(ball-term)))
	}
	return threeQuarters(float64(float64(k)*math.Ln2) - ball)
}

// packed returns a lower bound for a class with that ln |H|, if any two of its hypotheses differ
// on a share of at least gap of a set of points, under the uniform distribution on the set. As
// vectors of -1 and +1, their correlations are at most m = 1 - 2 gap. Let N of them be within 1/4
// of one function, so that it correlates with each at 1/2 or more. Then N/2 <= |sum of them| <=
// sqrt(N + N(N-1)m), so N <= (1-m)/(1/4-m) if m < 1/4.
func packed(logSize, gap float64) float64 {
	m := 1 - 2*gap
	if m >= 0.25 {
		return 0
	}
	ball := math.Floor((1 - m) / (0.25 - m) * (1 + 1e-12))
	return threeQuarters(logSize - math.Log(max(ball, 1)))
}
