// Package law holds the laws of points: the distributions from which the samples of a problem are
// drawn, together with the targets that label their points.
//
// A law is one value of type Law in one file, and one line in the list All; the sweep file's
// schema, the checker and the messages ask that list. To add a law, write such a file and add the
// line: the tests of this package hold each entry to the contract that Law states.
//
// The draws of a law are a function of its problem and of two streams of randomness, bit for bit,
// and each example takes from its stream whatever it needs before the next one does: from equal
// streams, the sample of n is a prefix of that of 2n. Drawing allocates nothing.
//
// Start reading at Law, then uniform.go.
package law

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/schemas"
)

// MaxSupport is the largest number of points of a law that is evaluated exactly.
const MaxSupport = 4096

// Law is a distribution of points with a law of targets. Its functions take a resolved problem.
type Law struct {
	Name string // as the sweep file has it
	Doc  string // one line for people: how points are drawn, and by what they are labelled

	// Fits reports whether the law is one of points of a class.
	Fits func(class string) bool

	// Keys are the numbers that the law takes from the problem, in the order in which they are
	// checked.
	Keys []*Key

	// LeastDim is the smallest dimension that the law needs, where the class has one; 0 counts as 1.
	LeastDim int

	// LeastDomain returns the smallest domain X on which the law is what its definition says, for a
	// class that it fits; nil: whatever suits the class.
	LeastDomain func(class string) uint64

	// NoConstant reports whether the class is taken without the function that is -1 everywhere; nil:
	// never.
	NoConstant func(class string) bool

	// OneTarget says why the law is one of the target middle alone; empty: it takes any target.
	OneTarget string

	// RefuseTarget says why the law does not take the target of a problem, "" where it does; nil: it
	// takes any.
	RefuseTarget func(p *schemas.Problem) string

	// LeastError returns the least error of the class, for a law that labels points as no hypothesis of
	// the class does; nil: its target lies in the class, and the least error is 0.
	LeastError func(p *schemas.Problem) float64

	// Size returns the number of points that the law can draw, +Inf where they are infinitely many.
	Size func(p *schemas.Problem) float64

	// Uniform says that every point of the domain is equally likely.
	Uniform bool

	// MarginAt returns the margin y<u,x> that a uniform number v in (0, 1) stands for, in dim dimensions
	// and with the key margin tau, where points of one margin are uniform around the normal u. It is nil
	// for laws with other points.
	MarginAt func(dim int, tau, v float64) float64

	// Formula reports whether samplers of a problem compute the error of every hypothesis of the class;
	// nil: of none.
	Formula func(p *schemas.Problem) bool

	// open makes the law of one problem, whose class is given. It must not call Lookup, nor anything
	// that does: Go would reject the initialisation cycle.
	open func(p *schemas.Problem, class concept.Spec) Opened
}

// Exact reports whether errors under the law are computed exactly, over all points that it can
// draw, instead of on an evaluation sample.
func (l *Law) Exact(p *schemas.Problem) bool { return l.Size(p) <= MaxSupport }

// LeastError returns the least error of the class on a resolved problem with a law: 0 where the target
// lies in the class, as it does where an adversary chooses all points.
func LeastError(p *schemas.Problem) float64 {
	if l := Lookup(p.Distribution); l != nil && l.LeastError != nil {
		return l.LeastError(p)
	}
	return 0
}

// Opened is the law of one problem. It is immutable: any number of samplers may share one.
type Opened struct {
	// Support is all points that the law can draw; nil unless Law.Exact.
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
	// Begin starts a trial: it draws the target, and whatever else the law draws once a trial.
	Begin(target *rand.Rand)
	// Draw fills y with the labels, -1 or +1, of len(y) examples, and x, row-major, with their points.
	Draw(r *rand.Rand, x, y []float64)
	// Target returns the target of the trial; nil where examples are drawn with their labels.
	Target() concept.Target
}

// All lists the laws in the order in which people see them.
func All() []*Law {
	return []*Law{&uniform, &needle, &agnostic, &iso, &skew, &ballMargin, &isoFixed, &skewFixed}
}

// NamesFor lists the names of the laws that fit a class; there may be none.
func NamesFor(class string) []string {
	return names(slices.DeleteFunc(All(), func(l *Law) bool { return !l.Fits(class) }))
}

func names(laws []*Law) (list []string) {
	for _, l := range laws {
		list = append(list, l.Name)
	}
	return list
}

// Lookup returns the law with that name, or nil.
func Lookup(name string) *Law {
	for _, l := range All() {
		if l.Name == name {
			return l
		}
	}
	return nil
}

// Open makes the law of a resolved problem without data ready to draw from. matrix is the class
// matrix, "" for other classes. Where the problem has no law, because an adversary chooses all
// points, a sampler exists but panics on Draw.
func Open(p *schemas.Problem, matrix string) Opened {
	if l := Lookup(p.Distribution); l != nil {
		return l.open(p, Spec(p, matrix))
	}
	return Opened{Sampler: func() Sampler { return lawless{} }}
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

// classOf returns the class of a problem whatever its law.
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
		panic(fmt.Sprintf("law: open a problem that is not resolved: target %q: %v", p.Target, err))
	}
	return target
}

// DefaultTarget returns the target of a problem that states none.
func (l *Law) DefaultTarget() string {
	if l.OneTarget != "" {
		return concept.MiddleTarget
	}
	return concept.RandomTarget
}

// lawless is the sampler where an adversary chooses all points.
type lawless struct{}

func (lawless) Begin(*rand.Rand)       {}
func (lawless) Target() concept.Target { return nil }

func (lawless) Draw(*rand.Rand, []float64, []float64) {
	panic("law: a sample of a class without a law")
}
