// Package concept implements concept classes. It computes the number of hypotheses of a class,
// their labels, the exact number of errors of every hypothesis on a labeled sample, the best
// hypothesis under weights of either sign, and points on which all hypotheses differ. The classes
// of numbers (thresholds, points, intervals, stumps, rectangles) need no list of hypotheses for
// that; the others (parities, conjunctions, matrix) list their hypotheses, as far as memory
// allows.
//
// Labels are -1 and +1. Points are rows of Dim float64s: the integers 0..X-1, which float64
// represents exactly up to the largest X allowed, 2^40; the bits 0 and 1; vectors for halfspaces.
// The points of the thresholds on infinite orders, Naturals and Dyadics, are exact too.
//
// Every fact about a class is in its Definition, one file per class. Lookup returns it, and
// Definition explains how to add one. New creates a class. Its Profile holds the error counts of
// the whole class on one sample; the exponential mechanism, permute-and-flip and uniform draws
// among the minimizers use it, and all are exact. The Minimizer of a Finite class searches it for
// perturbed learners, whose noise is indexed by the points of a Separator.
package concept

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
)

// MaxDomain is the largest X of an ordered domain 0..X-1.
const MaxDomain = 1 << 40

// ErrNoExactMethod means that a class has no exact method for the requested computation.
var ErrNoExactMethod = errors.New("no exact method")

// Class is a set of hypotheses: functions from points to -1 and +1.
type Class interface {
	Name() string
	Dim() int         // numbers per point
	Size() *big.Int   // distinct hypotheses, |H|; nil if infinite
	LogSize() float64 // ln |H|; +Inf if infinite

	// VC returns the Vapnik-Chervonenkis dimension, or the least known upper bound if computing
	// it takes too long.
	VC() int

	// NewProfile returns an empty profile for this class. Reset allocates its memory. The error
	// wraps ErrNoExactMethod if the class has no profile.
	NewProfile() (Profile, error)
}

// facts holds the properties of a class that do not depend on data.
type facts struct {
	name string
	dim  int
	size *big.Int // nil if infinite
	vc   int
}

// Name implements Class.
func (f *facts) Name() string { return f.name }

// Dim implements Class.
func (f *facts) Dim() int { return f.dim }

// VC implements Class.
func (f *facts) VC() int { return f.vc }

// Size implements Class.
func (f *facts) Size() *big.Int {
	if f.size == nil {
		return nil
	}
	return new(big.Int).Set(f.size)
}

// LogSize implements Class.
func (f *facts) LogSize() float64 {
	if f.size == nil {
		return math.Inf(1)
	}
	size, _ := new(big.Float).SetInt(f.size).Float64()
	return math.Log(size)
}

// Hypothesis labels points.
type Hypothesis interface {
	// Labels fills out with the labels, -1 or +1, of the len(out) points in x, row-major.
	Labels(x, out []float64)
}

// Profile holds the number of errors of every hypothesis of a class on one sample. It owns
// scratch memory, which the next Reset reuses: one Profile serves one goroutine for many trials
// without allocating.
//
// err(h) is the number of examples that h mislabels. eps is in [0, +Inf]: 0 gives a uniform
// member of the class, +Inf a uniform member of the minimizers of err.
type Profile interface {
	// Reset loads a new sample: points x (row-major) with labels y, possibly none. It takes O(n
	// log n) for classes of one number, d times that for stumps, O(n^3) for rectangles, and the
	// time of one transform over all hypotheses for enumerated classes. The error names the first
	// row outside the domain, or is that of CheckSample; the profile is then unusable until the
	// next Reset.
	Reset(x, y []float64) error

	// Min returns the fewest errors of any hypothesis.
	Min() int

	// Exponential draws h by the exponential mechanism: with probability proportional to exp(-eps
	// err(h)/2).
	Exponential(eps float64, r *rand.Rand) Hypothesis

	// PermuteAndFlip draws h by permute-and-flip (McKenna and Sheldon 2020): in random order,
	// each h is accepted with probability exp(-eps (err(h) - Min)/2), and the first accepted h is
	// the answer.
	PermuteAndFlip(eps float64, r *rand.Rand) Hypothesis
}

// FewestErrors returns the fewest errors of a hypothesis of c on a sample: points x (row-major) with
// labels y. It takes about as long as Profile.Reset. The error wraps ErrNoExactMethod if the class
// has no exact method, and otherwise names the first row outside the domain.
func FewestErrors(c Class, x, y []float64) (int, error) {
	if thresholds, ok := c.(*infinite); ok {
		return thresholds.fewestErrors(x, y)
	}
	p, err := c.NewProfile()
	if err != nil {
		return 0, err
	}
	if err := p.Reset(x, y); err != nil {
		return 0, err
	}
	return p.Min(), nil
}

// Finite is a class whose hypotheses can be numbered and listed, and searched for the best one
// under weights of either sign.
type Finite interface {
	Class

	// Member returns hypothesis number i, from 0, in the fixed order of the class; i must be
	// below Size.
	Member(i uint64) Hypothesis

	// NewMinimizer prepares a search over the whole class with a linear term at the points z
	// (row-major), which it retains; z may be empty. The error wraps ErrNoExactMethod if the
	// class has no exact method, and otherwise names the first row outside the domain.
	NewMinimizer(z []float64) (Minimizer, error)
}

// Minimizer finds the hypothesis with the least sum of errors and a signed linear term: the
// oracle of every perturbed learner. It owns scratch memory: one Minimizer serves one goroutine
// for many trials without allocating.
type Minimizer interface {
	// Minimize returns the h that minimizes
	//
	//	sum_i w[i] 1[h(x_i) != y_i] + sum_j c[j] h(z_j),
	//
	// and that minimum. If several h attain it, the first in the order of the class is returned.
	// x has len(y) points, row-major; w and c are finite numbers of either sign. If w is nil, all
	// examples weigh 1; if c is nil, there is no linear term, otherwise len(c) is the number of
	// points z. The error names the first row outside the domain.
	Minimize(x, y, w, c []float64) (Hypothesis, float64, error)
}

// Spec identifies a class. Two specs identify the same class, with the same numbering of its
// hypotheses, if they are equal.
type Spec struct {
	Name       string // one of Names
	Domain     uint64 // X, the points of an ordered domain; 0 if the class has none
	Dim        int    // numbers per point; 0 means 1, as for an ordered domain
	NoConstant bool   // thresholds: omit the function that is -1 everywhere
	Matrix     string // matrix: '0' or '1' for each hypothesis and point, Domain characters per hypothesis
}

// SpecOf returns the class of a problem from the plugin protocol. The parameter is an interface
// that pluginv1.Problem implements, so that this package need not link it. For a problem over
// real data, New may reject the dimension of its points.
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
