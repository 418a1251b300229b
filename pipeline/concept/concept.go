// Package concept knows concept classes: how many hypotheses they hold, how a hypothesis labels
// points, exactly how often every hypothesis errs on a labelled sample, which one is the best under
// weights of either sign, and at which points they all differ. The classes of numbers (thresholds,
// points, intervals, stumps, rectangles) need no list of hypotheses for that; the others (parities,
// conjunctions, matrix) list theirs, as far as memory allows.
//
// Labels are -1 and +1. Points are rows of Dim float64s: the integers 0..X-1, which float64 holds
// exactly up to the largest X allowed, 2^40; the bits 0 and 1; vectors for halfspaces. The points
// of the thresholds on infinite orders, Naturals and Dyadics, are exact too.
//
// Everything that is known of a class by its name stands in its Definition, one file for each
// class; Lookup finds it, and Definition says how to add one. New makes a class. Its Profile holds
// the error counts of the whole class on one sample, from which the exponential mechanism,
// permute-and-flip and uniform draws among the minimisers come, all exact. Its Minimizer searches a
// Finite class for perturbed learners, whose noise stands on a Separator.
package concept

import (
	"errors"
	"math/big"
	"math/rand/v2"
)

// MaxDomain is the largest X of an ordered domain 0..X-1.
const MaxDomain = 1 << 40

// ErrNoExactMethod says that a class has no exact method for what was asked.
var ErrNoExactMethod = errors.New("no exact method")

// Class is a set of hypotheses: functions from points to -1 and +1.
type Class interface {
	Name() string
	Dim() int         // numbers per point
	Size() *big.Int   // distinct hypotheses, |H|; nil where there are infinitely many
	LogSize() float64 // ln |H|; +Inf where there are infinitely many

	// VC returns the Vapnik-Chervonenkis dimension; where finding it takes too long, the least upper
	// bound known.
	VC() int

	// Best returns the least weighted error of a hypothesis on the points x (row-major) with labels y:
	// the least sum of w over the points labelled wrongly. With w nil every point weighs 1/len(y). It
	// takes about as long as Profile.Reset. The error wraps ErrNoExactMethod where the class has no
	// exact method, and otherwise names the first row outside the domain.
	Best(x, y, w []float64) (float64, error)

	// NewProfile returns an empty profile for this class. Its memory is allocated when it is Reset to
	// a sample. The error wraps ErrNoExactMethod where the class has none.
	NewProfile() (Profile, error)
}

// Hypothesis labels points.
type Hypothesis interface {
	// Labels fills out with the labels, -1 or +1, of the len(out) points in x, row-major.
	Labels(x, out []float64)
}

// Profile holds the number of errors of every hypothesis of a class on one sample. It owns scratch
// memory, which the next Reset reuses: one Profile serves one goroutine, trial after trial, without
// allocating.
//
// err(h) is the number of examples that h labels wrongly. eps is in [0, +Inf]: 0 gives a uniform
// member of the class, +Inf a uniform one among those with the fewest errors.
type Profile interface {
	// Reset takes a new sample: points x (row-major) with labels y, possibly none. It takes O(n log n)
	// for classes of one number, d times that for stumps, O(n^3) for rectangles, and the time of one
	// transform over all hypotheses where they are listed. The error names the first row outside the
	// domain, or is that of CheckSample; the profile is then unusable until the next Reset.
	Reset(x, y []float64) error

	// Min returns the fewest errors of any hypothesis.
	Min() int

	// Exponential draws h by the exponential mechanism: with probability proportional to exp(-eps
	// err(h)/2).
	Exponential(eps float64, r *rand.Rand) Hypothesis

	// PermuteAndFlip draws h by permute-and-flip (McKenna and Sheldon 2020): in random order, each h
	// is taken with probability exp(-eps (err(h) - Min)/2), and the first one taken is the answer.
	PermuteAndFlip(eps float64, r *rand.Rand) Hypothesis
}

// Finite is a class whose hypotheses can be numbered and listed, and searched for the best one
// under weights of either sign.
type Finite interface {
	Class

	// Member returns hypothesis number i, from 0, in the class's own fixed order; i must be below
	// Size.
	Member(i uint64) Hypothesis

	// NewMinimizer prepares a search over the whole class with a linear term at the points z
	// (row-major), which it keeps; z may be empty. The error wraps ErrNoExactMethod where the class
	// has no exact method, and otherwise names the first row outside the domain.
	NewMinimizer(z []float64) (Minimizer, error)
}

// Minimizer finds the hypothesis with the least sum of errors and a signed linear term: the oracle
// of every perturbed learner. It owns scratch memory: one Minimizer serves one goroutine, trial
// after trial, without allocating.
type Minimizer interface {
	// Minimize returns the h that minimises
	//
	//	sum_i w[i] 1[h(x_i) != y_i] + sum_j c[j] h(z_j),
	//
	// the first in the class's order where several do, and that minimum. x has len(y) points,
	// row-major; w and c are finite numbers of either sign. With w nil all examples weigh 1; with c
	// nil there is no linear term, otherwise it has as many numbers as there are points z. The error
	// names the first row outside the domain.
	Minimize(x, y, w, c []float64) (Hypothesis, float64, error)
}

// Spec names a class. Two specs name the same class, with the same numbering of its hypotheses, if
// they are equal.
type Spec struct {
	Name       string // one of Names
	Domain     uint64 // X, the points of an ordered domain; 0 where the class has none
	Dim        int    // numbers per point; 0 counts as the 1 of an ordered domain
	NoConstant bool   // thresholds without the one that labels every point -1
	Matrix     string // matrix: '0' or '1' for each hypothesis and point, Domain of them for each hypothesis
}

// SpecOf returns the class of a problem as plugins see it: it fits pluginv1.Problem, which this
// package need not link. The points of a problem over real data have their own numbers, which New
// may refuse.
func SpecOf(p interface {
	GetClass() string
	GetDomain() uint64
	GetDim() uint32
	GetNoConstant() bool
	GetMatrix() string
}) Spec {
	return Spec{
		Name: p.GetClass(), Domain: p.GetDomain(), Dim: int(p.GetDim()), NoConstant: p.GetNoConstant(),
		Matrix: p.GetMatrix(),
	}
}
