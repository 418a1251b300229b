// Package noise holds the kinds of noise on the labels of a sample, or on whole examples. The
// evaluation always uses clean examples.
//
// A kind is one value of type Noise in one file, and one line in the list All. The sweep file's
// schema, the checker and the messages use that list.
package noise

import (
	"math"
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/problem/blame"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/schemas"
)

// Noise is a kind of noise.
type Noise struct {
	Name string // name in the sweep file
	Doc  string // one-line description of the wrong labels

	// Rate reports whether the kind takes a rate, a number in [0, 1/2).
	Rate bool

	// Points reports whether the kind also replaces points, for certain shapes.
	Points bool

	// Step returns a number such that at its multiples as sample sizes the share of wrong labels
	// equals the rate; 0 if there is none of useful size. It is nil if all sizes are equivalent.
	Step func(rate float64) int64

	// flipper creates a Flipper with a rate for points of a shape.
	flipper func(rate float64, points concept.Shape) Flipper
}

// Flipper corrupts labels or examples of one sample after the other. It is not safe for
// concurrent use. After the first samples it allocates nothing.
type Flipper interface {
	// Flip negates some of the labels y of the clean examples x, row-major, or replaces examples
	// by other valid ones, if its kind has Points. r is the noise's own stream; a kind without
	// randomness does not use it.
	Flip(r *rand.Rand, x, y []float64)
}

// Step returns Noise.Step of the kind and rate of n, or 0.
func Step(n schemas.Noise) int64 {
	if kind := Lookup(n.Kind); kind != nil && kind.Step != nil {
		return kind.Step(n.Rate)
	}
	return 0
}

// FirstWrong returns the least sample size with a wrong label, for kinds that turn a fixed number of
// labels; 0 for others.
func FirstWrong(n schemas.Noise) int64 {
	if kind := Lookup(n.Kind); kind == nil || kind.Step == nil || !(n.Rate > 0) {
		return 0
	}
	size := int64(max(1, math.Floor(1/n.Rate)))
	if flips(n.Rate, int(size)) == 0 {
		size++
	}
	return size
}

// All lists the kinds in display order.
func All() []*Noise { return []*Noise{&none, &random, &adversarial, &malicious} }

// Names lists the names of all kinds.
func Names() []string { return names(func(*Noise) bool { return true }) }

func names(ok func(*Noise) bool) (list []string) {
	for _, n := range All() {
		if ok(n) {
			list = append(list, n.Name)
		}
	}
	return list
}

// Lookup returns the kind with that name, or nil.
func Lookup(name string) *Noise {
	for _, n := range All() {
		if n.Name == name {
			return n
		}
	}
	return nil
}

// Resolve checks the noise of a problem, and fills in the default kind none. The error is a
// *blame.Error.
func Resolve(n *schemas.Noise) error {
	if n.Kind == "" && n.Rate == 0 {
		n.Kind = none.Name
	}
	switch kind := Lookup(n.Kind); {
	case kind == nil:
		return blame.Name("problem.noise.kind", n.Kind, Names())
	case !kind.Rate && n.Rate != 0:
		return blame.Key("problem.noise.rate", "%v does not apply to the kind %s; leave it out or set noise.kind to %s",
			n.Rate, n.Kind, wording.Or(names(func(n *Noise) bool { return n.Rate })))
	case !(n.Rate >= 0 && n.Rate < 0.5):
		return blame.Key("problem.noise.rate", "%v is outside [0, 0.5)", n.Rate)
	}
	return nil
}

// Hides reports whether the noise can make samples of any size from one target look as if another
// target had labeled them, which differs from it on a mass equal to the rate.
func Hides(n schemas.Noise, points concept.Shape) bool {
	switch points {
	case concept.Scalar, concept.Grid:
		return n.Rate > 0 && (n.Kind == adversarial.Name || n.Kind == malicious.Name)
	case concept.Ball:
		return n.Rate > 0 && n.Kind == adversarial.Name
	default:
		return false
	}
}

// New creates a flipper for a resolved noise on points of a shape.
func New(n schemas.Noise, points concept.Shape) Flipper {
	return Lookup(n.Kind).flipper(n.Rate, points)
}
