// Package distribution holds the distributions from which the samples of a problem are drawn:
// distributions of points, together with the targets that label the points.
//
// A distribution is one value of type Distribution in one file, and one line in the list All. The
// sweep file's schema, the checker and the messages use that list. To add a distribution, write
// such a file and add the line: the tests of this package check each entry against the contract
// of Distribution.
//
// The draws of a distribution are a function of its problem and of two streams of randomness, bit
// for bit. Each example is drawn completely before the next one: from equal streams, the sample
// of n is a prefix of that of 2n. Drawing allocates nothing.
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

// Distribution is a distribution of points with a distribution of targets. Its functions receive
// a resolved problem.
type Distribution struct {
	Name string // name in the sweep file
	Doc  string // one-line description of the points and their labels

	// Fits reports whether the distribution is one of points of a class.
	Fits func(class string) bool

	// Keys are the numeric keys of the problem that apply to the distribution, in the order in
	// which they are checked.
	Keys []*Key

	// LeastDim is the smallest dimension of the distribution, if the class has one; 0 means 1.
	LeastDim int

	// LeastDomain returns the smallest domain X for which the definition of the distribution is
	// valid, for a class that it fits; nil: the smallest domain of the class.
	LeastDomain func(class string) uint64

	// NoConstant reports whether the class omits the function that is -1 everywhere; nil: never.
	NoConstant func(class string) bool

	// OneTarget is the reason why the distribution supports only the target middle; empty: it
	// supports any target.
	OneTarget string

	// RefuseTarget returns the reason why the distribution does not support the target of a
	// problem, "" if it does; nil: it supports any.
	RefuseTarget func(p *schemas.Problem) string

	// LeastError returns the least error of the class, for a distribution whose labels agree with
	// no hypothesis of the class; nil: its target lies in the class, and the least error is 0.
	LeastError func(p *schemas.Problem) float64

	// Size returns the number of points that the distribution can draw, or +Inf.
	Size func(p *schemas.Problem) float64

	// Uniform means that every point of the domain is equally likely.
	Uniform bool

	// MarginAt is the quantile function of the margin y<u,x> at v in (0, 1), in dim dimensions
	// and with the key margin tau, for distributions whose points of one margin are uniform
	// around the normal u. It is nil for other distributions.
	MarginAt func(dim int, tau, v float64) float64

	// Formula reports whether samplers of a problem compute the error of every hypothesis of the
	// class; nil: never.
	Formula func(p *schemas.Problem) bool

	// open creates the distribution of one problem, whose class is given. It must not call
	// Lookup, nor any function that calls it, because Go would reject the initialization cycle.
	open func(p *schemas.Problem, class concept.Spec) Opened
}

// Exact reports whether errors under the distribution are computed exactly, over all points that
// it can draw, instead of on an evaluation sample.
func (l *Distribution) Exact(p *schemas.Problem) bool { return l.Size(p) <= MaxSupport }

// LeastError returns the least error of the class on a resolved problem with a distribution: 0 if
// the target lies in the class, as it does if an adversary chooses all points.
func LeastError(p *schemas.Problem) float64 {
	if l := Lookup(p.Distribution); l != nil && l.LeastError != nil {
		return l.LeastError(p)
	}
	return 0
}

// Opened is the distribution of one problem. It is immutable: any number of samplers may share one.
type Opened struct {
	// Support holds all points that the distribution can draw; nil unless Distribution.Exact.
	Support *Points

	// Sampler creates a sampler.
	Sampler func() Sampler
}

// Points holds weighted, labeled points.
type Points struct {
	X []float64 // row-major
	Y []float64 // labels, -1 or +1; nil: the target of each trial labels the points
	W []float64 // weights, which sum to 1; nil: all weights are equal
}

// Sampler draws clean labeled examples, for one trial after the other. It is not safe for
// concurrent use.
type Sampler interface {
	// Begin starts a trial: it draws the target, and the other random choices that the
	// distribution makes once per trial.
	Begin(target *rand.Rand)
	// Draw fills y with the labels, -1 or +1, of len(y) examples, and x, row-major, with their points.
	Draw(r *rand.Rand, x, y []float64)
	// Target returns the target of the trial; nil if examples are drawn with their labels.
	Target() concept.Target
}

// All lists the distributions in display order.
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

// Open prepares the distribution of a resolved problem without data for drawing. matrix is the
// class matrix, "" for other classes. If the problem has no distribution, because an adversary
// chooses all points, the sampler's Draw panics.
func Open(p *schemas.Problem, matrix string) Opened {
	if l := Lookup(p.Distribution); l != nil {
		return l.open(p, Spec(p, matrix))
	}
	return Opened{Sampler: func() Sampler { return undrawn{} }}
}

// Spec returns the class of a problem; matrix is the class matrix, "" for other classes.
func Spec(p *schemas.Problem, matrix string) concept.Spec {
	s := ClassOf(p)
	s.Matrix = matrix
	if l := Lookup(p.Distribution); l != nil && l.NoConstant != nil {
		s.NoConstant = l.NoConstant(p.Class)
	}
	return s
}

// ClassOf returns the class of a problem, independent of its distribution.
func ClassOf(p *schemas.Problem) concept.Spec {
	s := concept.Spec{Name: p.Class, Domain: p.Domain, Dim: p.Dim}
	s.Dim = concept.Width(s)
	return s
}

// targets returns a function that creates targets of a resolved problem. An unresolved problem is
// a programming error and panics.
func targets(p *schemas.Problem, class concept.Spec) func() concept.Target {
	_, target, err := concept.ParseTarget(class, p.Target, p.Literals)
	if err != nil {
		panic(fmt.Sprintf("distribution: open a problem that is not resolved: target %q: %v", p.Target, err))
	}
	return target
}

// DefaultTarget returns the default of the key target.
func (l *Distribution) DefaultTarget() string {
	if l.OneTarget != "" {
		return concept.MiddleTarget
	}
	return concept.RandomTarget
}

// undrawn is the sampler of problems whose points an adversary chooses.
type undrawn struct{}

func (undrawn) Begin(*rand.Rand)       {}
func (undrawn) Target() concept.Target { return nil }

func (undrawn) Draw(*rand.Rand, []float64, []float64) {
	panic("distribution: a sample of a class without a distribution")
}
