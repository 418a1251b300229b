// Package distribution holds the distributions of points: the distributions from which the samples
// of a problem are drawn, together with the targets that label their points.
//
// A distribution is one value of type Distribution in one file, and one line in the list All; the
// sweep file's schema, the checker and the messages ask that list. To add a distribution, write
// such a file and add the line: the tests of this package hold each entry to the contract that
// Distribution states.
//
// The draws of a distribution are a function of its problem and of two streams of randomness, bit
// for bit, and each example takes from its stream whatever it needs before the next one does: from
// equal streams, the sample of n is a prefix of that of 2n. Drawing allocates nothing.
//
// Start reading at Distribution, then uniform.go.
package distribution

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/schemas"
)

// MaxSupport is the largest number of points of a distribution that is evaluated exactly.
const MaxSupport = 4096

// Distribution is a distribution of points with a distribution of targets. Its functions take a
// resolved problem.
type Distribution struct {
	Name string // as the sweep file has it
	Doc  string // one line for people: how points are drawn, and by what they are labelled

	// Fits reports whether the distribution is one of points of a class.
	Fits func(class string) bool

	// Keys are the numbers that the distribution takes from the problem, in the order in which they
	// are checked.
	Keys []*Key

	// LeastDim is the smallest dimension that the distribution needs, where the class has one; 0
	// counts as 1.
	LeastDim int

	// LeastDomain returns the smallest domain X on which the distribution is what its definition
	// says, for a class that it fits; nil: whatever suits the class.
	LeastDomain func(class string) uint64

	// NoConstant reports whether the class is taken without the function that is -1 everywhere; nil:
	// never.
	NoConstant func(class string) bool

	// OneTarget says why the distribution is one of the target middle alone; empty: it takes any
	// target.
	OneTarget string

	// RefuseTarget says why the distribution does not take the target of a problem, "" where it
	// does; nil: it takes any.
	RefuseTarget func(p *schemas.Problem) string

	// LeastError returns the least error of the class, for a distribution that labels points as no hypothesis of
	// the class does; nil: its target lies in the class, and the least error is 0.
	LeastError func(p *schemas.Problem) float64

	// Size returns the number of points that the distribution can draw, +Inf where they are
	// infinitely many.
	Size func(p *schemas.Problem) float64

	// Uniform says that every point of the domain is equally likely.
	Uniform bool

	// MarginAt returns the margin y<u,x> that a uniform number v in (0, 1) stands for, in dim dimensions
	// and with the key margin tau, where points of one margin are uniform around the normal u. It is nil
	// for distributions with other points.
	MarginAt func(dim int, tau, v float64) float64

	// Formula reports whether samplers of a problem compute the error of every hypothesis of the class;
	// nil: of none.
	Formula func(p *schemas.Problem) bool

	// open makes the distribution of one problem, whose class is given. It must not call Lookup,
	// nor anything that does: Go would reject the initialisation cycle.
	open func(p *schemas.Problem, class concept.Spec) Opened
}

// Exact reports whether errors under the distribution are computed exactly, over all points that it
// can draw, instead of on an evaluation sample.
func (l *Distribution) Exact(p *schemas.Problem) bool { return l.Size(p) <= MaxSupport }

// LeastError returns the least error of the class on a resolved problem with a distribution: 0 where the target
// lies in the class, as it does where an adversary chooses all points.
func LeastError(p *schemas.Problem) float64 {
	if l := Lookup(p.Distribution); l != nil && l.LeastError != nil {
		return l.LeastError(p)
	}
	return 0
}

// Opened is the distribution of one problem. It is immutable: any number of samplers may share one.
type Opened struct {
	// Support is all points that the distribution can draw; nil unless Distribution.Exact.
	Support *Points

	// Sampler makes a sampler.
	Sampler func() Sampler
}

// Points are weighted, labelled points.
type Points struct {
	X []float64 // row-major
	Y []float64 // labels, -1 or +1; nil: the target of each trial labels the points
	W []float64 // weights, which sum to 1; nil: all points weigh the same
}

// Sampler draws clean labelled examples, for one trial after the other. It is not safe for
// concurrent use.
type Sampler interface {
	// Begin starts a trial: it draws the target, and whatever else the distribution draws once a
	// trial.
	Begin(target *rand.Rand)
	// Draw fills y with the labels, -1 or +1, of len(y) examples, and x, row-major, with their points.
	Draw(r *rand.Rand, x, y []float64)
	// Target returns the target of the trial; nil where examples are drawn with their labels.
	Target() concept.Target
}

// All lists the distributions in the order in which people see them.
func All() []*Distribution {
	return []*Distribution{&uniform, &needle, &agnostic, &iso, &skew, &ballMargin, &isoFixed, &skewFixed}
}

// NamesFor lists the names of the distributions that fit a class; there may be none.
func NamesFor(class string) []string {
	return names(slices.DeleteFunc(All(), func(l *Distribution) bool { return !l.Fits(class) }))
}

func names(distributions []*Distribution) (list []string) {
	for _, l := range distributions {
		list = append(list, l.Name)
	}
	return list
}

// Lookup returns the distribution with that name, or nil.
func Lookup(name string) *Distribution {
	for _, l := range All() {
		if l.Name == name {
			return l
		}
	}
	return nil
}

// Open makes the distribution of a resolved problem without data ready to draw from. matrix is the
// class matrix, "" for other classes. Where the problem has no distribution, because an adversary
// chooses all points, a sampler exists but panics on Draw.
func Open(p *schemas.Problem, matrix string) Opened {
	if l := Lookup(p.Distribution); l != nil {
		return l.open(p, Spec(p, matrix))
	}
	return Opened{Sampler: func() Sampler { return undrawn{} }}
}

// Spec returns the class of a problem; matrix is the class matrix, "" for other classes.
func Spec(p *schemas.Problem, matrix string) concept.Spec {
	s := classOf(p)
	s.Matrix = matrix
	if l := Lookup(p.Distribution); l != nil && l.NoConstant != nil {
		s.NoConstant = l.NoConstant(p.Class)
	}
	return s
}

// classOf returns the class of a problem whatever its distribution.
func classOf(p *schemas.Problem) concept.Spec {
	s := concept.Spec{Name: p.Class, Domain: p.Domain, Dim: p.Dim}
	s.Dim = concept.Width(s)
	return s
}

// targets returns a function that makes targets of a resolved problem. Any other problem is a
// programming error and panics.
func targets(p *schemas.Problem, class concept.Spec) func() concept.Target {
	_, target, err := concept.ParseTarget(class, p.Target, p.Literals)
	if err != nil {
		panic(fmt.Sprintf("distribution: open a problem that is not resolved: target %q: %v", p.Target, err))
	}
	return target
}

// DefaultTarget returns the target of a problem that states none.
func (l *Distribution) DefaultTarget() string {
	if l.OneTarget != "" {
		return concept.MiddleTarget
	}
	return concept.RandomTarget
}

// undrawn is the sampler where an adversary chooses all points.
type undrawn struct{}

func (undrawn) Begin(*rand.Rand)       {}
func (undrawn) Target() concept.Target { return nil }

func (undrawn) Draw(*rand.Rand, []float64, []float64) {
	panic("distribution: a sample of a class without a distribution")
}
