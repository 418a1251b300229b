// Package concept knows concept classes: how many hypotheses they hold, how a hypothesis labels
// points, exactly how often every hypothesis errs on a labelled sample, which one is the best under
// weights of either sign, and at which points they all differ. Classes of numbers (thresholds,
// points, intervals, stumps, rectangles) are not listed for that, the others (parities,
// conjunctions, matrix) are, as far as memory allows.
//
// Labels are -1 and +1. Points are rows of Dim float64s: the integers 0..X-1, which float64 holds
// exactly up to the largest X allowed, 2^40, or the bits 0 and 1, and vectors for halfspaces. The
// thresholds on infinite orders, Naturals and Dyadics, have exact points too.
//
// Start with New, which names the classes, and Class. A Profile is one sample's error counts over a
// whole class; from it come the exponential mechanism, permute-and-flip and uniform draws among the
// minimisers, all exact. A Minimizer searches a Finite class for perturbed learners, whose noise
// stands on a Separator.
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
	VC() int          // Vapnik-Chervonenkis dimension; where it is too long to be found exactly, the least upper bound known

	// Best is the least weighted error of a hypothesis on the points x (row-major) with labels y: the
	// least sum of w over the points labelled wrongly. With w nil every point weighs 1/len(y). It
	// takes about as long as Profile.Reset. The error is ErrNoExactMethod, wrapped, where the class
	// has none, and otherwise names the first row outside the domain.
	Best(x, y, w []float64) (float64, error)

	// NewProfile is an empty profile for this class, to be Reset for each sample, which is what
	// allocates its memory; ErrNoExactMethod, wrapped, where there is none.
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
// err(h) is the number of examples that h labels wrongly, eps is in [0, +Inf]: 0 gives a uniform
// member of the class, +Inf a uniform one among those with the fewest errors.
type Profile interface {
	// Reset takes a new sample: points x (row-major) with labels y, possibly none. O(n log n) for
	// classes of one number, d times that for stumps, O(n^3) for rectangles, and the time of one
	// transform over all hypotheses where they are listed. The error names the first row outside the
	// domain, or is that of CheckSample; the profile is then unusable until the next Reset.
	Reset(x, y []float64) error

	// Min is the fewest errors of any hypothesis.
	Min() int

	// Exponential draws h with probability proportional to exp(-eps err(h)/2): the exponential
	// mechanism.
	Exponential(eps float64, r *rand.Rand) Hypothesis

	// PermuteAndFlip draws h by permute-and-flip (McKenna and Sheldon 2020): in random order, each h
	// is taken with probability exp(-eps (err(h) - Min)/2), and the first one taken is the answer.
	PermuteAndFlip(eps float64, r *rand.Rand) Hypothesis
}

// Finite is a class whose hypotheses can be numbered and listed, and searched for the best one
// under weights of either sign.
type Finite interface {
	Class

	// Member is hypothesis number i, from 0, in the class's own fixed order; i must be below Size.
	Member(i uint64) Hypothesis

	// NewMinimizer prepares a search over the whole class with a linear term at the points z
	// (row-major), which it keeps; z may be empty. ErrNoExactMethod, wrapped, where there is none for
	// this class; otherwise the error names the first row outside the domain.
	NewMinimizer(z []float64) (Minimizer, error)
}

// Minimizer finds the hypothesis with the least sum of errors and a signed linear term: the oracle
// of every perturbed learner. It owns scratch memory: one Minimizer serves one goroutine, trial
// after trial, without allocating.
type Minimizer interface {
	// Minimize is the h that minimises
	//
	//	sum_i w[i] 1[h(x_i) != y_i] + sum_j c[j] h(z_j),
	//
	// the first in the class's order where several do, and that minimum. x has len(y) points,
	// row-major; w and c are finite numbers of either sign; w nil: all 1; c nil: all 0, otherwise as
	// many as there are points z. The error names the first row outside the domain.
	Minimize(x, y, w, c []float64) (Hypothesis, float64, error)
}

// Spec names a class.
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
